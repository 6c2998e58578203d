"""A candidate release attacked together with all earlier ones, by everyone who could hold several of them.

Attacks that judge a release by itself look at the candidate only: earlier releases were judged when they went out. All
others, anyone's too, look at the whole series that a group of colluding recipients holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reissue.attacks import Knowledge, Published, Series, find, registered
from reissue.findings import Finding, Findings, Status
from reissue.ledger.ledger import Ledger, Recorded
from reissue.policy import Policy
from reissue.release import Release
from reissue.schema import Schema

__all__ = ["attack_together", "held_together"]


@dataclass(frozen=True, eq=False)
class _Candidate:
    number: int
    release: Release
    schema: Schema
    policy: Policy

    def finding(self, attack: str, releases: Sequence[Published], numbers: Sequence[int]) -> Finding:
        """One attack on the candidate and the earlier releases given."""
        series = Series(
            (*releases, Published(self.release.tables, self.release)),
            self.schema,
            self.policy.exact,
            dict(self.policy.ceilings),
            (*numbers, self.number),
        )
        found = find(attack)(series, Knowledge())
        return replace(found, releases=series.numbers) if found.status == Status.NOT_RUN else found


def attack_together(
    ledger: Ledger, earlier: Sequence[Recorded], release: Release, policy: Policy, recipients: Sequence[str]
) -> Findings:
    """What all attacks of the policy find."""
    names = list(policy.attacks if policy.attacks is not None else registered())
    candidate = _Candidate(len(earlier) + 1, release, release.schema, policy)
    findings = [candidate.finding(name, (), ()) for name in names if find(name).alone]
    over_all = [name for name in names if not find(name).alone]
    for some in held_together(earlier, recipients, policy) if over_all else []:
        numbers = [one.number for one in some]
        for how in _HOW:
            asked = [name for name in over_all if _how(name, policy) == how]
            read = [_read(ledger, one, release, how) for one in some] if asked else []
            findings += [candidate.finding(name, read, numbers) for name in asked]
    order = {name: place for place, name in enumerate(names)}
    return Findings(tuple(sorted(findings, key=lambda one: order[one.attack])))


_HOW = ("whole", "everyone", "present")
"""What an attack needs of earlier releases: all, who stood where, or where those stood who are in the next one."""


def _how(attack: str, policy: Policy) -> str:
    """What an attack needs.

    In the update attack a person's values follow from that person's own groups: who is not in the next release was
    judged before. But without a ceiling the limit is what all releases tell by themselves, so all are needed.
    """
    if attack == "updates" and (attack in policy.ceilings or policy.risk is not None):
        return "present"
    return "everyone" if attack in {"updates", "equivalence"} else "whole"


def _read(ledger: Ledger, one: Recorded, release: Release, how: str) -> Published:
    if how == "whole":
        return ledger.published(one, release.schema)
    return ledger.followed(one, release.schema, release.table.ids if how == "present" else None)


def held_together(earlier: Sequence[Recorded], recipients: Sequence[str], policy: Policy) -> list[tuple[Recorded, ...]]:
    """The earlier releases that someone who gets the next one may hold, for each group of colluding recipients.

    A release without recipients is public: everyone holds it. Groups that hold less than another are left out.
    """
    window = tuple(earlier if policy.look_back is None else earlier[-policy.look_back :])
    if policy.collude is None:
        return [window]
    everyone = {name for one in earlier for name in one.recipients} | set(recipients)
    groups = [set(group) for group in policy.collude] + [{name} for name in sorted(everyone)]
    reached = [group for group in groups if not recipients or group & set(recipients)] or [set()]
    held = {
        tuple(one for one in window if not one.recipients or group & set(one.recipients))
        for group in map(frozenset, reached)
    }
    return [
        some
        for some in sorted(held, key=_numbers)
        if not any(set(_numbers(some)) < set(_numbers(more)) for more in held)
    ]


def _numbers(some: Sequence[Recorded]) -> tuple[int, ...]:
    return tuple(one.number for one in some)
