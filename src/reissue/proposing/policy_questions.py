"""Four questions in words, and the policy that their answers lead to.

Nobody has to answer: a question that is left open counts as the harder case, and a policy is only proposed that its
schema can be published with.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reissue import attacks, methods
from reissue.errors import InputError, nearest
from reissue.methods import Algorithm, Suggestion
from reissue.proposing.from_table import Guess
from reissue.requirements import parse
from reissue.schema import Role, toml_value

__all__ = [
    "ASSUMED",
    "QUESTIONS",
    "Proposal",
    "harmless_values",
    "policy_for",
    "propose_policy",
    "read_answers",
]

_GENERALIZED = '# form = "permuted" would publish exact quasi-identifiers: that shows who is in the table.'
QUESTIONS: Mapping[str, str] = {
    "removed": "Are records ever removed from one release to the next?",
    "changes": "Do sensitive values change while a record stays?",
    "providers": "Do several parties contribute records, who could look for each other's?",
    "known": "Do recipients know how you anonymize?",
    "untrue": "May some published sensitive values be untrue, if estimates correct for it?",
}
"""Yes-no questions by short name."""
ASSUMED: Mapping[str, bool] = {"removed": True, "changes": True, "providers": False, "known": False, "untrue": True}
"""The answers to assume: people come and go, their values change, and estimates are what analysts need."""
_UNFOLLOWED = (
    "# But no column is the identifier, so nobody can be followed from release to release. What follows is for a table",
    "# to which records are only added. If records are removed or change, make a column the identifier, and run",
    "# `reissue init` again.",
)
_LIMIT = "limit = 0.75    # the highest probability of a value, all releases solved for everyone at once"
_SKEWED = 0.3
"""A share of a value above which no similar share can be required in every group."""
_FEW = 3
"""Minimum number of values for methods that keep several values in every group."""
_HARMLESS = (
    "# Most people have the value named under harmless_values: whoever guesses it is right, so it is not protected.",
    "# All other values are. Change this if being linked to that value harms somebody.",
)
_COMPARED = "with all earlier ones. A release that was not compared is refused."
_RANDOMIZED = (
    "# Published values are true with a chosen probability, drawn once and kept: no release, whatever is combined with",
    "# it, makes anybody surer of a value than the limit. Analysts estimate with the side table (`reissue estimate`).",
    "# Not covered is who also knows how soon people with each value leave: `reissue plan` finds these rates in waves,",
    "# and writes them as  randomized = { departures = {...} }  before the first release.",
    'values = "randomized"    # "exact" publishes them as they are, and needs a method such as cohorts',
)
_VALUELESS = "no column is sensitive: there is nothing to link people to, so these may be unable to run"
_TWO_VALUES, _HALF = "l=2", "simple-l=2"
_RARE = 0.4
"""Values with a share below this can be kept below one half in every group."""
_COUNTERFEITS = "counterfeits = {share}    # maximum share of counterfeit records: this method needs many"


@dataclass(frozen=True)
class Proposal:
    """A method, and a policy to begin a series with."""

    method: str
    suggestion: Suggestion
    added: tuple[str, ...] = ()
    """Attacks beside the method's own, because of the answers."""
    unfollowed: bool = False
    """Whether no column identifies people, so that nobody can be followed from release to release."""
    harmless: Mapping[str, str] = field(default_factory=dict)
    """The most frequent value of each sensitive column."""
    valueless: bool = False
    """Whether no column is sensitive, so that there is nothing to infer."""
    randomized: bool = False
    """Whether published values are true with a chosen probability only."""

    @property
    def attacks(self) -> tuple[str, ...]:
        """What every release must withstand."""
        return self.suggestion.attacks + self.added

    def as_toml(self, answers: Mapping[str, bool], assumed: Collection[str] = ()) -> str:
        """The `[policy]` section, with answers and reasons as comments; those in `assumed` were not given."""
        own = self.suggestion
        limits = ", ".join(f"{name} = {limit}" for name, limit in own.limits.items())
        said = [
            f"# {question} {'Yes' if answers[name] else 'No'}{', assumed' if name in assumed else ''}."
            for name, question in QUESTIONS.items()
        ]
        listed = ", ".join(f'"{attack}"' for attack in self.attacks)
        lines = [
            "[policy]",
            *said,
            *(_UNFOLLOWED if self.unfollowed else ()),
            f"# So the method is {self.method}: {own.why}.",
            f'require = "{own.require}"    # what every release must meet',
            f'method = "{self.method}"',
            *([f"options = {own.options}"] if own.options else []),
            *([_GENERALIZED] if "form" in own.options else []),
            _LIMIT,
            *self._harmless(),
            *([f"limits = {{ {limits} }}    # the same, following one person at a time"] if limits else []),
            f"suppress = {own.suppress}    # maximum share of suppressed records for that",
            *([] if own.counterfeits is None else [_COUNTERFEITS.format(share=own.counterfeits)]),
            *(_RANDOMIZED if self.randomized else self._withstood(listed)),
            '# limits, not_run, counterfeits, collude, alone: see "Policy" in the reference.',
        ]
        return "\n".join(lines) + "\n"

    def _withstood(self, listed: str) -> list[str]:
        """The attacks that decide whether a release goes out."""
        return [
            *self._expected(),
            f"attacks = [{listed}]    # what every release must withstand",
            *([f"not_run = [{listed}]    # {_VALUELESS}"] if self.valueless else []),
            *([] if self.valueless else [f"# Of these {self._comparing()} {_COMPARED}"]),
        ]

    def _harmless(self) -> tuple[str, ...]:
        """Which values need no protection, and why."""
        if not self.harmless:
            return ()
        return (*_HARMLESS, f"harmless_values = {toml_value({name: [value] for name, value in self.harmless.items()})}")

    def _comparing(self) -> str:
        """The attacks that compare releases, as the beginning of a sentence."""
        names = [name for name in self.attacks if attacks.find(name).compares]
        return f"{names[0]} compares it" if len(names) == 1 else f"{' and '.join(names)} compare it"

    def _expected(self) -> list[str]:
        """A warning if the method ignores some of the attacks."""
        unminded = self.suggestion.unminded + self.added
        if not unminded:
            return []
        names = " and ".join(unminded)
        return [f"# The method ignores {names}: expect refusals where such an attack finds somebody or cannot run."]


def policy_for(guesses: Sequence[Guess], given: Mapping[str, bool]) -> str:
    """The `[policy]` section for a proposed schema and given answers; empty if no policy would do."""
    roles = {guess.role for guess in guesses if not guess.confirm}
    if Role.QUASI not in roles or any(guess.several for guess in guesses):
        return ""
    answers = {**ASSUMED, "providers": Role.PROVIDER in roles, **given}
    secret = [guess for guess in guesses if guess.role == Role.SENSITIVE and not guess.confirm]
    answers["untrue"] &= not any(guess.amounts for guess in secret)
    harmless = harmless_values(guesses)
    few = bool(harmless) or any(0 < guess.values < _FEW for guess in secret)
    proposed = propose_policy(answers, roles - {Role.SENSITIVE} if few else roles)
    skewed = proposed.suggestion.skewed
    if skewed and max((guess.largest for guess in secret), default=0.0) > _SKEWED:
        proposed = replace(proposed, suggestion=replace(proposed.suggestion, require=skewed))
    if few:
        several = _HALF if max(guess.protected for guess in secret) < _RARE else _TWO_VALUES
        asked = f"{proposed.suggestion.require} & {several}"
        proposed = replace(proposed, suggestion=replace(proposed.suggestion, require=asked))
    proposed = replace(
        proposed,
        harmless=harmless,
        unfollowed=Role.IDENTIFIER not in roles,
        valueless=Role.SENSITIVE not in roles,
    )
    return proposed.as_toml(answers, assumed=QUESTIONS.keys() - given.keys())


def harmless_values(guesses: Sequence[Guess]) -> dict[str, str]:
    """The most frequent value of each sensitive column, which is proposed as one that needs no protection."""
    secret = (guess for guess in guesses if guess.role == Role.SENSITIVE and not guess.confirm)
    return {guess.column: guess.harmless for guess in secret if guess.harmless is not None}


def propose_policy(answers: Mapping[str, bool], roles: Collection[Role] = tuple(Role)) -> Proposal:
    """Propose the most suitable method among those for which columns of these roles suffice.

    What it ignores is left to an attack that must be withstood; one of the attacks always compares releases. Methods
    for a single release (`mask`) are not proposed for a series; `providers` is, with an attack that refuses leaks.
    """
    suggested = {
        name: its.suggestion
        for name, its in methods.registered().items()
        if its.suggestion is not None and _has_all(its, its.suggestion, roles)
    }
    if _randomizes(answers, roles):
        return Proposal("pool", _DRAWN, randomized=True)
    method = min((one for one in suggested if suggested[one].suits(answers)), key=lambda one: suggested[one].rank)
    chosen = suggested[method].suiting(answers)
    asked = (name for name, its in attacks.registered().items() if answers.get(its.asked_if, False))
    return Proposal(method, chosen, tuple(sorted(name for name in asked if name not in chosen.attacks)))


_DRAWN = Suggestion(
    suits=lambda answers: answers["untrue"],
    rank=0,
    why="it groups people by what others may know of them, and values are protected by randomizing them",
    require="k=5",
    attacks=(),
)
"""The policy of randomized values, whatever method groups the quasi-identifiers."""


def _randomizes(answers: Mapping[str, bool], roles: Collection[Role]) -> bool:
    """Whether values should be randomized: people can be followed, and what is published once is published again."""
    followed = {Role.IDENTIFIER, Role.SENSITIVE} <= set(roles)
    return answers["untrue"] and followed and (answers["removed"] or answers["changes"])


def _has_all(method: Algorithm, its: Suggestion, roles: Collection[Role]) -> bool:
    """Whether there are people to follow and values to protect, if the method needs them."""
    follows = method.stateful or any(attacks.Accepts.ROSTERS in attacks.find(name).accepts for name in its.attacks)
    followed = Role.IDENTIFIER in roles or not follows
    protected = Role.SENSITIVE in roles or not any(part.sensitive for part in parse(its.require).parts())
    return followed and protected


def read_answers(texts: list[str]) -> dict[str, bool]:
    """Read answers such as `removed=yes`."""
    answers = {}
    for text in texts:
        name, _, answer = text.partition("=")
        if name.strip() not in QUESTIONS:
            raise InputError("There is no question of that name." + nearest(name.strip(), QUESTIONS))
        if answer.strip().lower() not in {"yes", "no"}:
            raise InputError(f"The answer to '{name.strip()}' must be yes or no.")
        answers[name.strip()] = answer.strip().lower() == "yes"
    return answers
