"""What someone gets out of a rehearsed series who knows more than the limit is about.

Someone may know everyone's group, or learn which people tend to have which value.
"""

from dataclasses import replace

from reissue.attacks.findings import Finding, Status
from reissue.papers.definetti.series import LIMIT
from reissue.people.knowledge import Knowledge
from reissue.publishing.attack import attack
from reissue.publishing.plan.outcome import KnownGroups, Outcome
from reissue.publishing.plan.rehearsal import Rehearsal

__all__ = ["learnt_from", "with_known_groups"]

_ATTACK = "definetti"
_WHO = f"Someone who also learns which people tend to have which value (the attack {_ATTACK})"


def with_known_groups(rehearsal: Rehearsal, outcome: Outcome, limit: float) -> Outcome:
    """The outcome of a setting that withstood, with what someone gets who knows everyone's group."""
    if outcome.steps[-1].knowledge == "groups":
        return replace(outcome, known_groups=KnownGroups(outcome.risk or 0.0, outcome.exposed))
    limits, known = {"joint": limit}, Knowledge(groups=True)
    found = attack(rehearsal.released, rehearsal.schema, only="joint", limits=limits, knowledge=known)["joint"]
    if found.status == Status.NOT_RUN:
        return outcome
    return replace(outcome, known_groups=KnownGroups(float(found.worst or 0.0), int(found.people or 0)))


def learnt_from(rehearsal: Rehearsal) -> str:
    """A sentence: the limit is about readers who do not learn, so how far this one gets is said beside it."""
    return sentence(attack(rehearsal.earlier, rehearsal.schema, only=_ATTACK)[_ATTACK])


def sentence(finding: Finding) -> str:
    """A finding in the words of a plan."""
    if finding.status == Status.NOT_RUN:
        return f"{_WHO} was not tried: {finding.reason}"
    above = finding.details.get("above")
    if above is None:
        right, before = finding.details["accuracy"], finding.details["baseline"]
        return f"{_WHO} guesses {right:.1%} of the values of a release right, and {before:.1%} without learning."
    if not above["people"]:
        return f"{_WHO} links nobody to a value more surely than {LIMIT:g} either."
    return (
        f"{_WHO} links {above['people']:,} of {finding.population:,} people more surely than {LIMIT:g}, and is "
        f"right about {above['right']:,}: the limit does not cover that."
    )
