"""What an attack is, and how one is registered and found: the built-in ones the same way as anyone's.

An attack is a function from releases and what the adversary knows to a finding. `attack` registers it with a short
declaration; whoever runs, lists or explains attacks goes by that declaration, never by a name. Three built-in attacks
have a role of their own: `VERDICT`, `ALONE` and `SLOTS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from reissue._arrays import Ints
from reissue._plugins import all_names, all_registered, find_registered, keep_registered
from reissue.attacks.findings import ALONE, FIRST, Finding
from reissue.errors import InternalError
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = [
    "ALONE",
    "SLOTS",
    "VERDICT",
    "Accepts",
    "Attack",
    "Confirm",
    "Fold",
    "Heading",
    "Kept",
    "Run",
    "Runs",
    "attack",
    "by_default",
    "find",
    "look_up",
    "names",
    "on_counts",
    "registered",
    "running",
]

VERDICT = FIRST
"""The attack on which the verdict rests wherever people are known; a ledger goes on with its state."""
SLOTS = "trajectory"
"""The attack that every panel must withstand: it follows the slots."""

Run = Callable[[Series, Knowledge], Finding]
"""Releases and knowledge to a finding; raises CannotRunError where the attack does not apply."""
Confirm = Callable[[Series, Finding, np.random.Generator], bool]
"""Whether a sample, judged by a second formula, says the same as a finding that exposes nobody."""


class Kept(Protocol):
    """A frozen dataclass with a `VERSION`, stored with the release that it follows. People are pseudonyms."""

    @property
    def finding(self) -> Finding:
        """What all releases so far give away together."""

    @property
    def exposed(self) -> Ints:
        """The people whom the newest release exposes."""

    @property
    def near(self) -> Ints:
        """The people whom it nearly exposes."""

    def companions(self, people: Ints) -> list[Ints]:
        """For each of some people those who may have been in a group with them when they were last there."""


State = TypeVar("State", bound=Kept)


@dataclass(frozen=True)
class Fold(Generic[State]):
    """How a ledger goes on with an attack, so that it need not begin anew with every release.

    Two functions over a state; each raises CannotRunError where the attack does not apply.
    """

    state: type[State]
    """The class of the state."""
    add: Callable[[State | None, Series], State]
    """The state with one more release, the only one of the series; None is the state before the first release."""
    restore: Callable[[State, State], State]
    """A state made again from the stored releases, with what the one before it knew and releases do not say."""


class Heading(StrEnum):
    """The three questions under which a record puts what was found (Article 29 Working Party, Opinion 05/2014)."""

    SINGLING_OUT = "singling out"
    """Whether a person's records can be isolated."""
    LINKABILITY = "linkability"
    """Whether records about one person can be linked, here or with another table."""
    INFERENCE = "inference"
    """Whether a person's value can be deduced."""


class Accepts(Flag):
    """Releases and knowledge for which an attack is right; of the rest it is spared, or not run, with the reason."""

    NOTHING = 0
    """Releases with the same columns, one record per person, every row at hand."""
    OTHER_COLUMNS = auto()
    """Releases that show different quasi-identifiers."""
    OTHER_VALUES = auto()
    """Releases that show different sensitive columns, or none."""
    REPEATED_RECORDS = auto()
    """Several records of one person."""
    COUNTED_ROWS = auto()
    """Different rows with how often each occurs (`Tables.times`), as an engine counts them."""
    COUNTED_PEOPLE = auto()
    """The same, where the engine also says who has which of them."""
    ROSTERS = auto()
    """Earlier releases as who was in which group, and each group's values: no published columns."""
    COALITIONS = auto()
    """A coalition's own records, which it takes out itself; for other attacks they are taken out before."""
    COUNTS = auto()
    """Tables of counts among the releases; for other attacks they are taken out before."""


class Runs(StrEnum):
    """Where an attack is run unless somebody names the attacks."""

    ALWAYS = "always"
    """In every audit, and before every release of a ledger."""
    IN_AUDITS = "in audits"
    """In audits: it is for those who have nothing but the files, and a ledger knows more."""
    ON_COUNTS = "on counts"
    """Where there are tables of counts among the releases."""
    ON_REQUEST = "on request"
    """Nowhere: it takes longer than all others."""


@dataclass(frozen=True)
class Attack:
    """A registered attack: its function, and what others need to know about it."""

    name: str
    run: Run
    summary: str
    """One sentence for a list of attacks."""

    fewest: int = 1
    """How many releases it needs."""
    per_release: bool = False
    """Whether it judges every release by itself: what else was published does not matter to it."""
    each_column: bool = False
    """Whether it takes the values of all sensitive columns for one value: where there are several, it is run for each
    column by itself too, and the worst decides."""
    accepts: Accepts = Accepts.NOTHING
    """Inputs for which it is right beyond the plain case."""
    runs: Runs = Runs.ALWAYS
    """Where it is run unless somebody names the attacks."""
    asked_if: str = ""
    """The question of `reissue init` whose answer yes puts it into the policy."""

    needs: str = ""
    """What must be given for it to run: "It needs ..."."""
    story: str = ""
    """What such an adversary has and does, for people who read no papers."""
    prevention: tuple[str, ...] = ()
    """What would prevent it, in sentences."""
    command: str = ""
    """The command line that does so."""
    heading: Heading = Heading.INFERENCE
    """Which of the three questions it answers."""
    no_probability: str = ""
    """Why its measure is no probability, where it looks like one."""

    confirm: Confirm | None = None
    """A second look at a sample, by other code, before a ledger publishes what the attack found to expose nobody."""
    fold: Fold[Any] | None = None
    """How a ledger goes on from one release to the next; None: the attack is run again on the stored releases."""

    @property
    def compares(self) -> bool:
        """Whether it looks at releases together, where there are several."""
        return not self.per_release


BUILT_IN = {
    "coalition": "reissue.papers.coalition.attack",
    "composition": "reissue.attacks.composition.attack",
    "correspondence": "reissue.papers.correspondence.attack",
    "definetti": "reissue.papers.definetti.attack",
    "differencing": "reissue.attacks.differencing.attack",
    "disclosure": "reissue.attacks.disclosure.attack",
    "equivalence": "reissue.papers.equivalence.attack",
    "joint": "reissue.attacks.joint.attack",
    "joint-mechanism": "reissue.papers.mechanism.joint",
    "mechanism": "reissue.papers.mechanism.attack",
    "minimality": "reissue.papers.minimality.attack",
    "posterior": "reissue.attacks.posterior",
    "shilling": "reissue.papers.coalition.shilling",
    "trajectory": "reissue.attacks.trajectory.attack",
    "updates": "reissue.papers.updates.attack",
}
"""Built-in attacks and their modules, which are imported when they are asked for."""
NOT_ALWAYS = {
    "composition": Runs.IN_AUDITS,
    "differencing": Runs.ON_COUNTS,
    "joint-mechanism": Runs.ON_REQUEST,
    "mechanism": Runs.ON_REQUEST,
    "posterior": Runs.ON_REQUEST,
    "shilling": Runs.ON_REQUEST,
    "trajectory": Runs.IN_AUDITS,
}
"""Where those of them run that do not run always: stated here so that choosing attacks imports none of them."""

GROUP = "reissue.attacks"
"""The entry points by which other packages bring their own."""

_REGISTRY: dict[str, Attack] = {}


def attack(
    name: str,
    summary: str,
    *,
    fewest: int = 1,
    per_release: bool = False,
    each_column: bool = False,
    accepts: Accepts = Accepts.NOTHING,
    runs: Runs = Runs.ALWAYS,
    asked_if: str = "",
    needs: str = "",
    story: str = "",
    prevention: Sequence[str] = (),
    command: str = "",
    heading: Heading = Heading.INFERENCE,
    no_probability: str = "",
    confirm: Confirm | None = None,
    fold: Fold[Any] | None = None,
) -> Callable[[Run], Run]:
    """Register a function as an attack: `reissue.attack(...)`, policies, reports and the command line find it.

    Parameters
    ----------
    name, summary
        What it is called, and one sentence on what it does.
    fewest, per_release, each_column, accepts, runs, asked_if
        What it can be given, and where it is run (see `Attack`).
    needs, story, prevention, command, heading, no_probability
        What lists and reports tell about it.
    confirm, fold
        A second look before a ledger publishes, and how a ledger goes on with it.

    Examples
    --------
    >>> from reissue.attacks import Finding, Status, attack
    >>> @attack("alone", "Looks for groups of one record.", per_release=True)
    ... def alone(series, knowledge):
    ...     people = max(int((release.sizes == 1).sum()) for release in series.releases)
    ...     status = Status.EXPOSED if people else Status.WITHSTOOD
    ...     return Finding("alone", status, f"{people} people are alone.", series.numbers, people=people)

    """

    def register(run: Run) -> Run:
        if name in BUILT_IN and runs is not Runs.ALWAYS:
            raise InternalError(f"{name} is built in: where it is run is stated in NOT_ALWAYS, not in its declaration.")
        one = Attack(
            name,
            run,
            summary,
            fewest,
            per_release,
            each_column,
            accepts,
            NOT_ALWAYS.get(name, runs) if name in BUILT_IN else runs,
            asked_if,
            needs,
            story,
            tuple(prevention),
            command,
            heading,
            no_probability,
            confirm,
            fold,
        )
        keep_registered(name, one, "attack", BUILT_IN, _REGISTRY)
        return run

    return register


def registered() -> dict[str, Attack]:
    """All attacks by name, sorted. It imports every one; `names` and `find` do not."""
    return all_registered(GROUP, BUILT_IN, _REGISTRY)


def names() -> list[str]:
    """The names of all attacks, sorted."""
    return all_names(GROUP, BUILT_IN, _REGISTRY)


def running(*where: Runs) -> list[str]:
    """The names of the attacks that are run there unless somebody names the attacks."""
    return [name for name in names() if _runs(name) in where]


def by_default() -> list[str]:
    """The names of the attacks that an audit runs unless somebody names them."""
    return running(Runs.ALWAYS, Runs.IN_AUDITS)


def on_counts() -> list[str]:
    """The names of those that are run beside them where there are tables of counts."""
    return running(Runs.ON_COUNTS)


def find(name: str) -> Attack:
    """The attack of this name; a built-in one is imported when it is asked for."""
    return find_registered(name, "attack", GROUP, BUILT_IN, _REGISTRY)


def look_up(name: str) -> Attack | None:
    """The attack of this name, or None: a finding may come from a plug-in that is not installed here."""
    return find(name) if name in names() else None


def _runs(name: str) -> Runs:
    """Where an attack runs. A built-in one is not imported to tell."""
    return NOT_ALWAYS.get(name, Runs.ALWAYS) if name in BUILT_IN else _REGISTRY[name].runs
