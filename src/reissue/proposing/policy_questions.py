"""Four questions in words, and the policy that their answers lead to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reissue.attacks import find
from reissue.errors import InputError, nearest

__all__ = ["QUESTIONS", "Proposal", "propose_policy", "read_answers"]

_GENERALIZED = '# form = "permuted" would publish exact quasi-identifiers: that shows who is in the table.'
QUESTIONS: Mapping[str, str] = {
    "removed": "Are records ever removed from one release to the next?",
    "changes": "Do sensitive values change while a record stays?",
    "providers": "Do several parties contribute records, who could look for each other's?",
    "known": "Do recipients know how you anonymize?",
}
"""Short name to question; yes or no."""


@dataclass(frozen=True)
class Proposal:
    """A method, and why."""

    method: str
    why: str
    require: str
    options: str
    """As TOML; empty for none."""
    attacks: tuple[str, ...]
    risk: float | None = None
    """How likely a person's value may become, where the method does not promise it by itself."""
    suppress: float = 0.05
    """The share of rows that may be left out: of people whom no place keeps below the limit."""
    unminded: tuple[str, ...] = ()
    """Attacks of the list that the method does nothing against."""

    def as_toml(self, answers: Mapping[str, bool]) -> str:
        """The `[policy]` section, with the answers and reasons as comments."""
        said = [f"# {question} {'Yes' if answers[name] else 'No'}." for name, question in QUESTIONS.items()]
        listed = ", ".join(f'"{attack}"' for attack in self.attacks)
        lines = [
            "[policy]",
            *said,
            f"# So the method is {self.method}: {self.why}.",
            f'require = "{self.require}"    # what every release must meet',
            f'method = "{self.method}"',
            *([f"options = {self.options}"] if self.options else []),
            *([_GENERALIZED] if "form" in self.options else []),
            "limit = 0.75    # nobody may be linked to a value more surely, all releases solved for everyone at once",
            *([f"risk = {self.risk}    # the same, following one person at a time"] if self.risk else []),
            f"suppress = {self.suppress}    # the share of rows that may be left out for that",
            *self._expected(),
            f"attacks = [{listed}]    # what every release must withstand",
            f"# Of these {self._comparing()} with all earlier ones. A release that was not compared is refused.",
            '# ceilings, not_run, counterfeits, collude, alone: see "Policy" in the reference.',
        ]
        return "\n".join(lines) + "\n"

    def _comparing(self) -> str:
        """The attacks that compare releases, as the beginning of a sentence."""
        names = [name for name in self.attacks if find(name).compares]
        return f"{names[0]} compares it" if len(names) == 1 else f"{' and '.join(names)} compare it"

    def _expected(self) -> list[str]:
        """A warning where the method does not mind all of the attacks."""
        if not self.unminded:
            return []
        names = " and ".join(self.unminded)
        return [f"# The method does not care for {names}: expect refusals where such an attack succeeds or cannot run."]


_BY_METHOD = {
    "distinct": Proposal(
        "distinct",
        "it keeps a person's possible values apart although they change; [updates] may say how, else it is seen",
        "m-unique=5",
        '{ risk = 0.7, ineligible = "counterfeits", form = "generalized" }',
        ("joint",),
        0.7,
        0.1,
    ),
    "equivalence": Proposal(
        "equivalence",
        "people stand with the same values while they are there, and it is not seen who has the same value as whom",
        "simple-l=3",
        '{ e = 3, form = "generalized" }',
        ("updates", "equivalence"),
    ),
    "providers": Proposal(
        "providers",
        "no party can take its own records out and find somebody in what is left",
        "k=5",
        "{ m = 1 }",
        ("coalition", "correspondence"),
        unminded=("correspondence",),
    ),
    "correspondence": Proposal(
        "correspondence",
        "where records only arrive, it keeps enough records for everyone whoever compares releases",
        "k=5",
        "",
        ("correspondence",),
    ),
}


def propose_policy(answers: Mapping[str, bool]) -> Proposal:
    """The method that fits best. What it does not care for is left to an attack that must be withstood.

    Whatever the answers are, one of the attacks compares releases. Methods for one release alone (`mask`) are not
    proposed for a series; `providers` is, with an attack that then refuses what leaks.
    """
    if answers["changes"]:
        chosen = _BY_METHOD["distinct"]
    elif answers["providers"] and not answers["removed"]:
        chosen = _BY_METHOD["providers"]
    elif answers["removed"] or answers["known"]:
        chosen = _BY_METHOD["equivalence"]
    else:
        chosen = _BY_METHOD["correspondence"]
    more = {"providers": "coalition", "known": "minimality"}
    added = tuple(attack for name, attack in more.items() if answers[name] and attack not in chosen.attacks)
    return replace(chosen, attacks=chosen.attacks + added, unminded=chosen.unminded + added)


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
