"""The joint attack carried on in a ledger: the last releases whole, older ones as what they left behind.

Of the last `WINDOW` releases it is kept who may be in which group and what the groups show; pseudonyms only. Of older
ones each person keeps a message: what they say about the person's last value there, which is where the chain begins
again. Older multipliers are so no longer scaled; how little that changes is tested. Where how values change is learned
from the releases, each one goes on from what the ones before taught. Claims about values of older
releases stay as they were when the release left the window. True values calibrate, and are never kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks._base import Knowledge, State
from reissue.attacks._carry import lasting_values
from reissue.attacks._carry_people import meet
from reissue.attacks._series import Series
from reissue.attacks.joint.base_rates import base_rates, expecting
from reissue.attacks.joint.beliefs import Beliefs, Claims, believe
from reissue.attacks.joint.case import Solved, with_case
from reissue.attacks.joint.finding import Judged, Reader, finding_of
from reissue.attacks.joint.sight import see
from reissue.attacks.joint.update_model import Seen, update_model
from reissue.findings import Finding
from reissue.kernels.observations import Observation
from reissue.kernels.transitions import Model

__all__ = ["WINDOW", "Past", "Recent", "add", "judge"]

WINDOW = 12


@dataclass(frozen=True, eq=False)
class Recent:
    """One of the last releases."""

    time: int
    seen: Observation
    fits: float
    knows_groups: bool
    multipliers: Floats
    """Where scaling starts from; none before the release was solved."""

    def arrays(self) -> dict[str, Any]:
        """As plain arrays and numbers."""
        seen = {one.name: getattr(self.seen, one.name) for one in fields(Observation)}
        own = {"time": self.time, "fits": self.fits, "knows_groups": self.knows_groups, "multipliers": self.multipliers}
        return seen | own

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> "Recent":
        """From what `arrays` gave."""
        seen = {one.name: kept[one.name] for one in fields(Observation)}
        own = {one.name: kept[one.name] for one in fields(cls) if one.name != "seen"}
        return cls(seen=Observation(**seen), **own)


@dataclass(frozen=True, eq=False)
class Past:
    """What releases before the window say about each person's last value there; sorted by person, then value."""

    person: Ints
    value: Ints
    weight: Floats
    time: Ints
    """Person to the time of the last release before the window that the person was in; -1: none."""
    best: Floats
    """Person to the surest claim about a value in these releases."""
    steps: Floats
    """Value x value: how values change, as all releases so far taught; empty if they did not."""

    @classmethod
    def read(cls, state: State | None, people: int) -> "Past":
        """From a state, with room for new people."""
        none, nothing = np.empty(0, np.int64), np.empty(0)
        kept = {} if state is None else {one.name: state[f"past_{one.name}"] for one in fields(cls)}
        time = np.full(people, -1, np.int64)
        best = np.zeros(people)
        if kept:
            time[: len(kept["time"])], best[: len(kept["best"])] = kept["time"], kept["best"]
        steps = kept.get("steps", np.empty((0, 0)))
        return cls(kept.get("person", none), kept.get("value", none), kept.get("weight", nothing), time, best, steps)

    def arrays(self) -> dict[str, Any]:
        """For a state."""
        return {f"past_{one.name}": getattr(self, one.name) for one in fields(self)}

    def prior(self, people: Ints, first: Ints, model: Model, rates: Floats) -> Floats:
        """People x values: what is expected of their first value in the window, which they have at a given time."""
        place = np.full(len(self.time), -1, np.int64)
        place[people] = np.arange(len(people))
        mine = np.flatnonzero(place[self.person] >= 0)
        said = np.zeros((len(people), model.values))
        said[place[self.person[mine]], self.value[mine]] = self.weight[mine]
        table, old = np.tile(rates, (len(people), 1)), self.time[people] >= 0
        gap = first - self.time[people]
        for steps in np.unique(gap[old]):
            some = old & (gap == steps)
            table[some] = said[some] @ model.after(int(steps))
        return table

    def after(self, time: int, people: Ints, beliefs: Beliefs, beginnings: Floats) -> "Past":
        """With the oldest release of the window gone into it; `people` are the persons of the beliefs' numbers."""
        layer = beliefs.layers[0]
        said = layer.peaked(beginnings[layer.person[layer.row], layer.value] * beliefs.messages[0])
        gone = people[layer.person]
        kept = ~np.isin(self.person, gone)
        person = np.concatenate([self.person[kept], people[layer.person[layer.row]]])
        value, weight = np.concatenate([self.value[kept], layer.value]), np.concatenate([self.weight[kept], said])
        order = np.lexsort((value, person))
        when, best = self.time.copy(), self.best.copy()
        when[gone] = time
        best[gone] = np.maximum(best[gone], beliefs.largest(0)[0])
        return Past(person[order], value[order], weight[order], when, best, self.steps)


def add(state: State | None, series: Series) -> State:
    """The state after one more release, the newest and only one of the series."""
    newest = see(series, Knowledge())
    met = meet(state, newest.identifiers)
    names, number = lasting_values([] if state is None else state["names"], newest.names)
    at = met.at.astype(np.int64)
    time = 0 if state is None else int(state["time"]) + 1
    here = Recent(time, _renumbered(newest.observations[0], at, number), newest.fits, newest.knows_groups, np.empty(0))
    window = [*_window(state), here]
    numbers = [*([] if state is None else state["numbers"]), *series.numbers]
    true = _truth(newest.truth[0], at, number)
    solved = _solve(window, Past.read(state, len(met.people)), names, numbers, series, true)
    if len(window) > WINDOW:
        window = window[1:]
    kept = {
        f"{place}.{name}": value
        for place, (one, scaled) in enumerate(zip(window, solved.multipliers[-len(window) :], strict=True))
        for name, value in replace(one, multipliers=scaled).arrays().items()
    }
    told = {"names": list(names), "time": time, "numbers": numbers, "window": len(window)}
    return {**met.arrays(), **kept, **solved.past.arrays(), **told, "finding": solved.finding.as_dict()}


def judge(state: State, _: Series) -> Finding:
    """What all releases added so far give away together."""
    return Finding(**{**state["finding"], "releases": tuple(state["numbers"])})


@dataclass(frozen=True, eq=False)
class _Solved:
    finding: Finding
    past: Past
    multipliers: tuple[Floats, ...]


def _solve(
    window: Sequence[Recent],
    past: Past,
    names: Sequence[str | None],
    numbers: Sequence[int],
    series: Series,
    truth: Ints | None,
) -> _Solved:
    """Everyone at once over the window, begun from what older releases left."""
    people = np.unique(np.concatenate([one.seen.people for one in window]))
    seen = [_compact(one.seen, people) for one in window]
    times = [one.time for one in window]
    rates = base_rates(seen, len(names))
    seen = expecting(seen, rates)
    starts: list[Floats | None] = [one.multipliers if len(one.multipliers) else None for one in window]
    unknown: list[Ints | None] = [None] * (len(window) - 1)
    steps = past.steps if past.steps.size else None
    chosen = update_model(series.schema, Seen(seen, names, [*unknown, truth], rates, times, steps, starts))
    if steps is None and chosen.source == "releases":
        # Multipliers of values that stay, which these releases do not allow, are no place to start from.
        starts = [None] * len(window)
    prior = past.prior(people, _first(seen, times, len(people)), chosen.model, rates)
    beliefs = believe(seen, chosen.model, prior=prior, times=times, start=starts, exact=series.exact)
    fits = float(np.mean([one.fits for one in window]))
    reader = Reader("groups" if all(one.knows_groups for one in window) else "register", fits, chosen.source)
    known = None if truth is None else _of(truth, people)
    judged = Judged.of(beliefs, reader, [*unknown, known], len(people))
    solved = Solved(seen, chosen.model, times, names, numbers[-len(window) :])
    finding = with_case(finding_of(_with_past(judged, past, people), series), judged, solved)
    if len(window) > WINDOW:
        past = past.after(times[0], people, beliefs, prior)
    if chosen.source == "releases" and chosen.model.steps is not None:
        past = replace(past, steps=chosen.model.steps)
    return _Solved(finding, past, beliefs.scaled.multipliers)


def _with_past(judged: Judged, past: Past, people: Ints) -> Judged:
    """Everyone who ever was there, with the surest claim about older values where that is surer."""
    claims, everyone = judged.claims, len(past.time)
    chance, release = past.best.copy(), np.where(past.time >= 0, 0, -1)
    value, sure = np.full(everyone, -1, np.int64), past.best >= 1
    chance[people] = np.maximum(chance[people], claims.chance)
    release[people], value[people] = np.maximum(claims.release, 0), claims.value
    sure[people] |= claims.sure
    return replace(judged, claims=Claims(chance, release, value, sure))


def _of(truth: Ints, people: Ints) -> Ints:
    """The true values of some people, -1 for those beyond the newest ones."""
    return np.where(people < len(truth), truth[np.minimum(people, len(truth) - 1)], -1)


def _first(seen: Sequence[Observation], times: Sequence[int], people: int) -> Ints:
    first = np.full(people, -1, np.int64)
    for one, time in zip(reversed(seen), reversed(times), strict=True):
        first[one.people] = time
    return first


def _window(state: State | None) -> list[Recent]:
    if state is None:
        return []
    parts: list[dict[str, Any]] = [{} for _ in range(int(state["window"]))]
    for key, kept in state.items():
        place, dot, name = key.partition(".")
        if dot:
            parts[int(place)][name] = kept
    return [Recent.read(part) for part in parts]


def _renumbered(seen: Observation, person: Ints, value: Ints) -> Observation:
    """With lasting numbers of people and values, sorted by them."""
    pairs = np.lexsort((seen.group, person[seen.person]))
    slots = np.lexsort((value[seen.slot_value], seen.slot_group))
    known = np.argsort(person[seen.known_person])
    return replace(
        seen,
        person=person[seen.person][pairs],
        group=seen.group[pairs],
        slot_group=seen.slot_group[slots],
        slot_value=value[seen.slot_value][slots],
        slot_count=seen.slot_count[slots],
        absent=np.sort(person[seen.absent]),
        known_person=person[seen.known_person][known],
        known_value=value[seen.known_value][known],
    )


def _compact(seen: Observation, people: Ints) -> Observation:
    """With the numbers that people have among those of the window."""
    at = [np.searchsorted(people, one) for one in (seen.person, seen.absent, seen.known_person)]
    return replace(seen, person=at[0], absent=at[1], known_person=at[2])


def _truth(truth: Ints | None, at: Ints, number: Ints) -> Ints | None:
    if truth is None:
        return None
    made = np.full(int(at.max(initial=-1)) + 1, -1, np.int64)
    made[at] = np.where(truth >= 0, number[np.maximum(truth, 0)], -1)
    return made
