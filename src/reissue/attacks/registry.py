"""How attacks are registered and found, the built-in ones the same way as anyone's, and what an adversary knows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from reissue._plugins import all_registered, find_registered, keep_registered
from reissue.attacks.fold import Fold, Run, at_hand

__all__ = [
    "Attack",
    "Heading",
    "attack",
    "by_default",
    "find",
    "registered",
]

Written = TypeVar("Written", bound=Fold[Any, Any] | Run)


class Heading(StrEnum):
    """The three questions under which a record puts what was found (Article 29 Working Party, Opinion 05/2014)."""

    SINGLING_OUT = "singling out"
    """Whether a person's records can be isolated."""
    LINKABILITY = "linkability"
    """Whether records about one person can be linked, here or with another table."""
    INFERENCE = "inference"
    """Whether a person's value can be deduced."""


@dataclass(frozen=True)
class Attack:
    """A registered attack."""

    name: str
    fold: Fold[Any, Any]
    """How it goes through the releases at hand."""
    summary: str
    """One sentence for people who read a list of attacks."""
    insiders: bool = False
    """Whether it takes a coalition's own records into account itself; they are taken out for all others."""
    per_release: bool = False
    """Whether it judges every release by itself: what else was published does not matter to it."""
    fewest: int = 1
    """How many releases it needs: with fewer there is nothing for it to do."""
    kept: Fold[Any, Any] | None = None
    """How it goes on in a ledger, which keeps its state and no earlier release; None: it begins anew with all of them.

    People's identifiers are whole numbers there: a ledger's pseudonyms.
    """
    needs: str = ""
    """What must be given for it to run: "It needs ...", in plain words."""
    story: str = ""
    """What such an adversary has and does, for people who read no papers."""
    prevention: tuple[str, ...] = ()
    """What would prevent it, in plain sentences."""
    command: str = ""
    """The command line that does so."""
    heavy: bool = False
    """Whether it takes so long that a timeline looks at a few places of a series only."""
    any_columns: bool = False
    """Whether releases may show different quasi-identifiers."""
    any_values: bool = False
    """Whether releases may show different sensitive columns, or none."""
    several_rows: bool = False
    """Whether it is right where a person may have several rows; else it is not run there."""
    follows: bool = False
    """Whether it needs nothing of an earlier release but who was in which group, and each group's values."""
    by_cells: bool = False
    """Whether it decides on the different rows and their numbers (`Tables.times`), so that an engine may count them."""
    by_people: bool = False
    """Whether it decides on these and on who has which of them, so that an engine may count them and say that."""
    files_alone: bool = False
    """Whether it is for those who have nothing but the files: a gate, which knows more, asks for it only by name."""
    on_request: bool = False
    """Whether it is run only where it is asked for by name, here or in a policy: it takes longer than all others."""
    each_column: bool = False
    """Whether it takes the values of all sensitive columns for one value: where there are several, it is run for each
    column by itself too, and the worst decides."""
    asked_if: str = ""
    """The question of `reissue init` whose answer yes puts it into the policy; none for an attack of other reasons."""
    heading: Heading = Heading.INFERENCE
    """Which of the three questions it answers, for the record."""
    no_probability: str = ""
    """Why its number is no probability, where it looks like one."""

    @property
    def compares(self) -> bool:
        """Whether it looks at releases together, where there are several."""
        return not self.per_release


BUILT_IN = {
    "coalition": "reissue.papers.coalition.attack",
    "composition": "reissue.attacks.composition.attack",
    "correspondence": "reissue.papers.correspondence.attack",
    "definetti": "reissue.papers.definetti.attack",
    "disclosure": "reissue.attacks.disclosure.attack",
    "equivalence": "reissue.papers.equivalence.attack",
    "joint": "reissue.attacks.joint.attack",
    "mechanism": "reissue.papers.mechanism.attack",
    "minimality": "reissue.papers.minimality.attack",
    "trajectory": "reissue.attacks.trajectory.attack",
    "updates": "reissue.papers.updates.attack",
}
"""Built-in attacks and their modules, which are imported when they are asked for."""

GROUP = "reissue.attacks"
"""The entry points by which other packages bring their own."""

_REGISTRY: dict[str, Attack] = {}


def attack(
    name: str,
    summary: str,
    *,
    insiders: bool = False,
    per_release: bool = False,
    fewest: int = 1,
    kept: Fold[Any, Any] | None = None,
    needs: str = "",
    story: str = "",
    prevention: Sequence[str] = (),
    command: str = "",
    heavy: bool = False,
    any_columns: bool = False,
    any_values: bool = False,
    several_rows: bool = False,
    follows: bool = False,
    by_cells: bool = False,
    by_people: bool = False,
    files_alone: bool = False,
    on_request: bool = False,
    each_column: bool = False,
    asked_if: str = "",
    heading: Heading = Heading.INFERENCE,
    no_probability: str = "",
) -> Callable[[Written], Written]:
    """Register an attack, a function over all releases or a fold: `reissue.attack(...)` and the command line find it.

    A ledger keeps the state of a fold, or of another one `kept` beside; of a function only of such a one. Reports tell
    what it `needs`, the `story` of its adversary and the `prevention`; an attack may leave them out.
    """

    def keep(written: Written) -> Written:
        fold = written if isinstance(written, Fold) else at_hand(written)
        own = fold if kept is None and fold.state is not None else kept
        known = Attack(
            name,
            fold,
            summary,
            insiders=insiders,
            per_release=per_release,
            fewest=fewest,
            kept=own,
            needs=needs,
            story=story,
            prevention=tuple(prevention),
            command=command,
            heavy=heavy,
            any_columns=any_columns,
            any_values=any_values,
            several_rows=several_rows,
            follows=follows,
            by_cells=by_cells,
            by_people=by_people,
            files_alone=files_alone,
            on_request=on_request,
            each_column=each_column,
            asked_if=asked_if,
            heading=heading,
            no_probability=no_probability,
        )
        _register(known)
        return written

    return keep


def _register(attack: Attack) -> None:
    """Keep an attack. Nobody replaces a built-in one."""
    keep_registered(attack.name, attack, "attack", BUILT_IN, _REGISTRY)


def registered() -> dict[str, Attack]:
    """All attacks by name, in the order of their names."""
    return all_registered(GROUP, BUILT_IN, _REGISTRY)


def by_default() -> list[str]:
    """The names of the attacks that are run where nobody names any."""
    return [name for name, one in registered().items() if not one.on_request]


def find(name: str) -> Attack:
    """The attack of this name; a built-in one is imported when it is asked for."""
    return find_registered(name, "attack", GROUP, BUILT_IN, _REGISTRY)
