"""Four questions in words, and the policy that their answers lead to.

Nobody has to answer: a question that is left open counts as the harder case, and a policy is only proposed that its
schema can be published with.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from reissue import algorithms, attacks
from reissue.algorithms import Algorithm, Suggestion
from reissue.errors import InputError, nearest
from reissue.proposing.propose import Guess
from reissue.requirements import parse
from reissue.schema import Role

__all__ = [
    "ASSUMED",
    "GUESSABLE",
    "NEARLY_ALL",
    "QUESTIONS",
    "Proposal",
    "common_share",
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
}
"""Short name to question; yes or no."""
ASSUMED: Mapping[str, bool] = {"removed": True, "changes": True, "providers": False, "known": False}
"""The answers of somebody who does not know: people come and go, and their values change."""
_UNFOLLOWED = (
    "# But no column is the identifier, and methods for people who come and go, or whose values change, follow people.",
)
_LIMIT = ("limit = 0.75    # nobody may be linked to a value more surely, all releases solved for everyone at once",)
GUESSABLE = 0.95
"""The limit where most people have the same sensitive value, or there are only two."""
_SKEWED = 0.3
"""Where a value has more than this share, no share of it near that can be asked for in every group."""
NEARLY_ALL = 0.9
"""Where more people than this share have the same sensitive value, it cannot be hidden that somebody has it."""
_GUESSABLE = (
    "# Most people have the same sensitive value, or there are only two: who guesses it is often right anyway. So this",
    "# policy hides who is who, and keeps a value from becoming certain. Finer values could be protected better.",
    f"limit = {GUESSABLE}    # nobody may be linked to a value more surely, all releases solved for everyone at once",
)
_NOTHING_TO_HIDE = (
    "# Nearly all people have the same sensitive value: who guesses it is right. So this policy hides who is who only,",
    "# and does NOT keep who has another value from becoming known. Finer values could be protected.",
    "limit = 1.0",
)
_COMPARED = "with all earlier ones. A release that was not compared is refused."
_VALUELESS = "no column is sensitive: there is nothing to link people to, so these may be unable to run"
_TWO_VALUES = "l=2"
_COUNTERFEITS = "counterfeits = {share}    # the most records of nobody, as a share of people: this method needs many"


@dataclass(frozen=True)
class Proposal:
    """A method, and the policy with which its series may begin."""

    method: str
    suggestion: Suggestion
    added: tuple[str, ...] = ()
    """Attacks beside the method's own, for what was answered."""
    unfollowed: bool = False
    """Whether no column says who is who, so that nobody can be followed from release to release."""
    common: float = 0.0
    """The share of the most frequent sensitive value, where that is most people's or there are only two."""
    valueless: bool = False
    """Whether no column is sensitive, so that there is nothing to link people to."""

    @property
    def attacks(self) -> tuple[str, ...]:
        """What every release must withstand."""
        return self.suggestion.attacks + self.added

    def as_toml(self, answers: Mapping[str, bool], assumed: Collection[str] = ()) -> str:
        """The `[policy]` section, with the answers and reasons as comments; those of `assumed` nobody gave."""
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
            *self._limit(),
            *([f"limits = {{ {limits} }}    # the same, following one person at a time"] if limits else []),
            f"suppress = {own.suppress}    # the share of rows that may be left out for that",
            *([] if own.counterfeits is None else [_COUNTERFEITS.format(share=own.counterfeits)]),
            *self._expected(),
            f"attacks = [{listed}]    # what every release must withstand",
            *([f"not_run = [{listed}]    # {_VALUELESS}"] if self.valueless else []),
            *([] if self.valueless else [f"# Of these {self._comparing()} {_COMPARED}"]),
            '# limits, not_run, counterfeits, collude, alone: see "Policy" in the reference.',
        ]
        return "\n".join(lines) + "\n"

    def _limit(self) -> tuple[str, ...]:
        """How surely anybody may be linked to a value, and why no less."""
        if not self.common:
            return _LIMIT
        return _NOTHING_TO_HIDE if self.common > NEARLY_ALL else _GUESSABLE

    def _comparing(self) -> str:
        """The attacks that compare releases, as the beginning of a sentence."""
        names = [name for name in self.attacks if attacks.find(name).compares]
        return f"{names[0]} compares it" if len(names) == 1 else f"{' and '.join(names)} compare it"

    def _expected(self) -> list[str]:
        """A warning where the method does not mind all of the attacks."""
        unminded = self.suggestion.unminded + self.added
        if not unminded:
            return []
        names = " and ".join(unminded)
        return [f"# The method ignores {names}: expect refusals where such an attack finds somebody or cannot run."]


def policy_for(guesses: Sequence[Guess], given: Mapping[str, bool]) -> str:
    """The `[policy]` section for a proposed schema and the answers that were given; empty where no policy would do."""
    roles = {guess.role for guess in guesses if not guess.confirm}
    if Role.QUASI not in roles or any(guess.several for guess in guesses):
        return ""
    answers = {**ASSUMED, "providers": Role.PROVIDER in roles, **given}
    common = common_share(guesses)
    proposed = propose_policy(answers, roles - {Role.SENSITIVE} if common else roles)
    skewed = proposed.suggestion.skewed
    if skewed and max(guess.largest for guess in guesses if not guess.confirm) > _SKEWED:
        proposed = replace(proposed, suggestion=replace(proposed.suggestion, require=skewed))
    if 0 < common <= NEARLY_ALL:
        asked = f"{proposed.suggestion.require} & {_TWO_VALUES}"
        proposed = replace(proposed, suggestion=replace(proposed.suggestion, require=asked))
    proposed = replace(
        proposed,
        common=common,
        unfollowed=Role.IDENTIFIER not in roles,
        valueless=Role.SENSITIVE not in roles,
    )
    return proposed.as_toml(answers, assumed=QUESTIONS.keys() - given.keys())


def common_share(guesses: Sequence[Guess]) -> float:
    """The share of the most frequent sensitive value, where that is most people's or there are only two; else 0."""
    return max((guess.common for guess in guesses if not guess.confirm), default=0.0)


def propose_policy(answers: Mapping[str, bool], roles: Collection[Role] = tuple(Role)) -> Proposal:
    """The method that suits best among those that columns of these roles are enough for.

    What it ignores is left to an attack that must be withstood. Whatever the answers are, one of the attacks compares
    releases. Methods for one release alone (`mask`) are not proposed for a series; `providers` is, with an attack that
    then refuses what leaks.
    """
    suggested = {
        name: its.suggestion
        for name, its in algorithms.registered().items()
        if its.suggestion is not None and _has_all(its, its.suggestion, roles)
    }
    method = min((one for one in suggested if suggested[one].suits(answers)), key=lambda one: suggested[one].rank)
    chosen = suggested[method].suiting(answers)
    asked = (name for name, its in attacks.registered().items() if answers.get(its.asked_if, False))
    return Proposal(method, chosen, tuple(sorted(name for name in asked if name not in chosen.attacks)))


def _has_all(method: Algorithm, its: Suggestion, roles: Collection[Role]) -> bool:
    """Whether there is somebody to be followed and something to be protected, where the method asks for it."""
    follows = method.stateful or any(attacks.find(name).follows for name in its.attacks)
    followed = Role.IDENTIFIER in roles or not follows
    protected = Role.SENSITIVE in roles or not any(part.sensitive for part in parse(its.require).parts())
    return followed and protected


def read_answers(texts: list[str]) -> dict[str, bool]:
    """`removed=yes` and the like."""
    answers = {}
    for text in texts:
        name, _, answer = text.partition("=")
        if name.strip() not in QUESTIONS:
            raise InputError("There is no question of that name." + nearest(name.strip(), QUESTIONS))
        if answer.strip().lower() not in {"yes", "no"}:
            raise InputError(f"The answer to '{name.strip()}' must be yes or no.")
        answers[name.strip()] = answer.strip().lower() == "yes"
    return answers
