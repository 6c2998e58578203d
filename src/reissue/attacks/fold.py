"""An attack as a fold: releases are added one by one, and at any time it can be judged what all of them give away."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from reissue.attacks.findings import Finding
from reissue.counting.resources import threads
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series

__all__ = ["Fold", "Run", "at_hand", "fold_over", "one_by_one", "release_by_release", "some_members"]

Seen = TypeVar("Seen")
State = TypeVar("State")
Outcome = TypeVar("Outcome")

Run = Callable[[Series, Knowledge], Finding]
"""An attack written whole: releases and knowledge to what it found. Where it does not apply: CannotRunError."""


def _as_found(_state: Any, found: Finding, _series: Series, _knowledge: Knowledge) -> Finding:
    return found


@dataclass(frozen=True)
class Fold(Generic[Seen, State]):
    """Four functions; each raises CannotRunError where the attack does not apply.

    A whole run sees all releases at once and adds one after the other; a ledger sees and adds the newest one alone. A
    timeline judges the states that a run went through.
    """

    see: Callable[[Series, Knowledge], Iterable[Seen]]
    """What the adversary sees in each release of a series."""
    add: Callable[[State | None, Seen], State]
    """The state with one more release; None is the state before the first one."""
    judge: Callable[[State, Series], Finding]
    """What all releases added so far give away; of the series only how it is judged: schema, limits, exactness.

    It raises CannotCarryError where only a run over all releases at once can tell.
    """
    explain: Callable[[State, Finding, Series, Knowledge], Finding] = _as_found
    """A finding with the case that it tells; the series has all releases if the fold `looks_back`."""
    looks_back: bool = False
    """Whether a case is explained from earlier releases too; else from the state alone."""
    state: type[State] | None = None
    """What a ledger keeps of it: a frozen dataclass with a VERSION."""
    grown: Callable[[State, Series, Sequence[int]], Iterator[Finding | None]] | None = None
    """What was given away after some releases, by their places in order, from the state after all of them.

    For folds that see all releases at once; None where the attack could not be run then. Others are judged by the
    states that they had. Of an attack that judges every release by itself: what each of these gives away.
    """


def fold_over(
    fold: Fold[Seen, State], series: Series, knowledge: Knowledge, *, apart: bool = False
) -> Iterator[tuple[int, State]]:
    """Place and state after each release of a series; with `apart` the state of each release alone."""
    state: State | None = None
    for place, seen in enumerate(fold.see(series, knowledge)):
        state = fold.add(None if apart else state, seen)
        yield place, state


def one_by_one(series: Series, knowledge: Knowledge) -> Iterator[Series]:
    """Each release as a series of its own: for folds that read a release when they add it."""
    for place, number in enumerate(series.numbers, start=1):
        yield series.of([number])
        knowledge.progress(place / len(series))


# --- attacks that look at every release by itself -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Outcomes(Generic[Outcome]):
    """What each release by itself comes to."""

    knowledge: Knowledge
    found: tuple[Outcome, ...]


def release_by_release(
    outcome: Callable[[PublishedRelease, Series, Knowledge], Outcome],
    judge: Callable[[Sequence[Outcome], Series, Knowledge], Finding],
    explain: Callable[[Sequence[Outcome], Finding, Series, Knowledge], Finding],
) -> Fold[_Outcomes[Outcome], _Outcomes[Outcome]]:
    """What each release comes to, by that a judgement of some, and the case of all: a timeline looks at none again.

    Releases are looked at in several threads, and answer in their order.
    """

    def see(series: Series, knowledge: Knowledge) -> Iterator[_Outcomes[Outcome]]:
        with ThreadPoolExecutor(threads()) as several:
            for found in several.map(lambda release: outcome(release, series, knowledge), series.releases):
                yield _Outcomes(knowledge, (found,))

    def add(state: _Outcomes[Outcome] | None, seen: _Outcomes[Outcome]) -> _Outcomes[Outcome]:
        return seen if state is None else replace(seen, found=state.found + seen.found)

    def judged(state: _Outcomes[Outcome], series: Series) -> Finding:
        return judge(state.found, series, state.knowledge)

    def each(state: _Outcomes[Outcome], series: Series, places: Sequence[int]) -> Iterator[Finding]:
        for place in places:
            yield judge(state.found[place : place + 1], series.of([series.numbers[place]]), state.knowledge)

    def explained(state: _Outcomes[Outcome], found: Finding, series: Series, knowledge: Knowledge) -> Finding:
        return explain(state.found, found, series, knowledge)

    return Fold(see, add, judged, explained, grown=each)


# --- attacks that are written whole ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _AtHand:
    """Some releases of a series, all of which are at hand."""

    series: Series
    knowledge: Knowledge
    places: tuple[int, ...]

    def run(self, attack: Run) -> Finding:
        total = len(self.series)
        if len(self.places) == total:
            return attack(self.series, self.knowledge)
        members = some_members(self.knowledge.members, self.places, total)
        some = self.series.of([self.series.numbers[place] for place in self.places])
        return attack(some, replace(self.knowledge, members=members))


def at_hand(run: Run) -> Fold[Any, Any]:
    """A whole attack as a fold that keeps its releases: judging is running."""

    def see(series: Series, knowledge: Knowledge) -> Iterator[_AtHand]:
        return (_AtHand(series, knowledge, (place,)) for place in range(len(series)))

    def add(state: _AtHand | None, seen: _AtHand) -> _AtHand:
        return seen if state is None else replace(seen, places=state.places + seen.places)

    def judge(state: _AtHand, _: Series) -> Finding:
        return state.run(run)

    return Fold(see, add, judge)


def some_members(members: Sequence[Any] | None, places: Sequence[int], total: int) -> Sequence[Any] | None:
    """The tables of people for some releases, where there is one for every release."""
    return members if members is None or len(members) != total else [members[place] for place in places]
