"""From the last release to this one: who stayed, who returned, and how the values of empty seats have changed.

Counterfeits that continue empty seats follow the schema's update model if it states probabilities. Otherwise they
follow the transitions observed in the holder's own tables so far, within what the schema allows.
"""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.errors import InternalError
from reissue.methods.cohorts.seats import CohortState, Seats
from reissue.methods.invariance.plan import codes_of, value_names
from reissue.methods.registry import Job
from reissue.solver.transition_learning import smoothed
from reissue.solver.transitions import Model
from reissue.updates import read_updates

__all__ = ["Arrival", "Changes", "arrive", "distance", "update_model"]


_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Changes:
    """Observed transitions between persistent codes."""

    counted: Ints
    """3 x distinct transitions: from, to and count."""

    def more(self, before: Ints, after: Ints) -> "Changes":
        """Add transitions."""
        all_of = np.hstack([self.counted, np.stack([before, after, np.ones(len(before), np.int64)])])
        pairs, place = np.unique(all_of[:2], axis=1, return_inverse=True)
        return Changes(np.vstack([pairs, np.bincount(place.reshape(-1), all_of[2], pairs.shape[1]).astype(np.int64)]))

    def table(self, values: int) -> Floats:
        """Return the counts as a matrix."""
        counts = np.zeros((values, values))
        np.add.at(counts, (self.counted[0], self.counted[1]), self.counted[2])
        return counts


def update_model(job: Job, values: int, changes: Changes) -> Model:
    """Return the transition probabilities of the series."""
    if not job.table.schema.updates:
        return _learned(changes.table(values), None)
    model = read_updates(job.table.schema, value_names(job, values))
    if model.fixed:
        return Model(values)
    if model.even:
        return _learned(changes.table(values), model.can[:values, :values])
    # Values that have not occurred cannot be shown: their probability is distributed over the others.
    steps = model.chance[:values, :values]
    total = steps.sum(axis=1, keepdims=True)
    return Model(values, np.where(total > _LEAST, steps / np.maximum(total, _LEAST), np.eye(values)))


def _learned(counts: Floats, can: Bools | None) -> Model:
    """Estimate the transition probabilities; if no change was observed, values stay."""
    if counts.sum() == np.trace(counts):
        return Model(len(counts))
    steps = smoothed(counts)
    if can is not None:
        steps = steps * (can | np.eye(len(can), dtype=np.bool_))
        steps /= steps.sum(axis=1, keepdims=True)
    return Model(len(counts), steps)


def distance(model: Model, gap: int) -> float:
    """Return the largest total variation distance between the rows of the transition matrix after some releases."""
    if model.steps is None or model.values < 2:
        return 1.0 if model.values > 1 else 0.0
    rows = model.after(gap)
    return float(max(np.abs(rows - one).sum(axis=1).max() for one in rows) / 2)


FORGOTTEN = 0.05
"""Total variation distance up to which an earlier value counts as forgotten."""


@dataclass(frozen=True, eq=False)
class Arrival:
    """A new table matched with the state of the series."""

    seats: Seats
    """All continued seats, with the people who stayed or returned to theirs."""
    new: Ints
    """Rows of newcomers: they may take any seat."""
    apart: Ints
    """Rows of people who returned and whose seat has ended: their new seat gets its number."""
    apart_name: Ints
    refused: Ints
    """Rows of people who returned and must be suppressed: their seat is taken, or cannot have reached their value."""
    changes: Changes
    model: Model
    stayed: int


def arrive(job: Job, memory: CohortState) -> Arrival:
    """Continue all seats, then assign people who returned."""
    if job.people is None or job.stable_code is None:
        raise InternalError("A method that remembers was run without people. Please report this.")
    lasting = job.stable_code[job.table.sensitive]
    width = int(job.stable_code.max()) + 1
    row = _rows_of(job.people, memory)
    stays = row >= 0
    changes = Changes(memory.changes).more(memory.slots.value[stays].astype(np.int64), lasting[row[stays]])
    model = update_model(job, width, changes)
    before = memory.slots.value.astype(np.int64)
    value = np.where(stays, lasting[row], _moved(before, model, job.rng))
    known = np.zeros(job.table.rows, np.bool_)
    known[row[stays]] = True
    if distance(model, 1) <= FORGOTTEN:
        everyone, nobody = np.arange(job.table.rows), np.empty(0, np.int64)
        return Arrival(Seats.none(), everyone, nobody, nobody, nobody, changes, model, int(stays.sum()))
    seats = replace(memory.slots, value=value.astype(np.int32), row=row)
    returns = _into_panel if job.options["form"] == "panel" else _with_returns
    return returns(job, memory, seats, known, model, before, changes)


def _rows_of(people: Ints, memory: CohortState) -> Ints:
    """Return the row of the person in each seat; -1 if the person has left."""
    order = np.argsort(people)
    at = np.minimum(np.searchsorted(people[order], memory.people), len(people) - 1)
    row = np.where(people[order][at] == memory.people, order[at], -1)
    return np.where(memory.slots.row >= 0, np.append(row, -1)[memory.slots.row], -1)


def _moved(values: Ints, model: Model, rng: np.random.Generator) -> Ints:
    """Draw the next value of each seat from the transition probabilities."""
    chance = rng.random(len(values))
    if model.steps is None:
        return values
    ends = np.cumsum(model.steps, axis=1)
    ends[:, -1] = np.inf
    line = np.minimum(ends, 1.0) + np.arange(len(ends))[:, np.newaxis]
    at = np.searchsorted(line.reshape(-1), values + np.minimum(chance, 1 - 1e-12), "right")
    return np.asarray(np.minimum(at - values * model.values, model.values - 1))


def _with_returns(
    job: Job, memory: CohortState, seats: Seats, known: Bools, model: Model, before: Ints, changes: Changes
) -> Arrival:
    """Let people who returned take their old seat if its value can have become theirs."""
    people, lasting = _present(job.people), _present(job.stable_code)[job.table.sensitive]
    others = np.flatnonzero(~known)
    found = memory.departed.find(people[others])
    back, place = others[found >= 0], found[found >= 0]
    gap = memory.release + 1 - memory.departed.release[place]
    forgotten = _far_enough(gap, model)
    name = memory.departed.slot[place]
    order = np.argsort(seats.name)
    at = _positions(seats.name[order], name)
    mine = np.where(at >= 0, np.append(order, -1)[at], -1)
    gone, taken = mine < 0, np.append(seats.filled, False)[mine] | ~_last(name, memory.departed.release[place])
    takes = ~gone & ~taken & ~forgotten & _possible(model, np.append(before, 0)[mine], lasting[back])
    value, row = seats.value.copy(), seats.row.copy()
    value[mine[takes]], row[mine[takes]] = lasting[back[takes]], back[takes]
    new = np.sort(np.concatenate([others[found < 0], back[forgotten]]))
    apart = gone & ~taken & ~forgotten
    history = np.where(seats.history >= 0, codes_of(job, seats.history), -1)
    carried = replace(seats, value=codes_of(job, value), row=row, history=history)
    refused = back[~forgotten & ~apart & ~takes]
    return Arrival(carried, new, back[apart], name[apart], refused, changes, model, int(known.sum()))


def _into_panel(
    job: Job, memory: CohortState, seats: Seats, known: Bools, model: Model, before: Ints, changes: Changes
) -> Arrival:
    """Let people who returned take their old seat if nothing of it was published meanwhile (panels).

    Otherwise all recipients of a panel have seen the seat follow a sequence of its own: with the value of the person
    who returned it would make an unusual transition. Such people are suppressed.
    """
    arrival = _with_returns(job, memory, seats, known, model, before, changes)
    people = _present(job.people)
    here = np.flatnonzero(arrival.seats.filled & ~seats.filled)
    gap = memory.release + 1 - memory.departed.release[memory.departed.find(people[arrival.seats.row[here]])]
    seen = here[seats.rested[here] < gap - 1]
    row, value = arrival.seats.row.copy(), arrival.seats.value.copy()
    refused = np.concatenate([arrival.refused, arrival.apart, row[seen]])
    row[seen], value[seen] = -1, codes_of(job, seats.value[seen])
    none, kept = np.empty(0, np.int64), replace(arrival.seats, row=row, value=value)
    return replace(arrival, seats=kept, apart=none, apart_name=none, refused=refused)


def _present(array: Ints | None) -> Ints:
    assert array is not None  # noqa: S101  # checked by `arrive`
    return array


def _far_enough(gap: Ints, model: Model) -> Bools:
    """Return whether each absence was so long that the earlier value is forgotten."""
    number, of = np.unique(gap, return_inverse=True)
    return np.array([distance(model, int(one)) <= FORGOTTEN for one in number], np.bool_)[of.reshape(-1)]


def _last(name: Ints, release: Ints) -> Bools:
    """Return for each person who returned whether they were the last occupant of their seat."""
    order = np.lexsort((-release, name))
    last = np.zeros(len(name), np.bool_)
    last[order[np.unique(name[order], return_index=True)[1]]] = True
    return last


def _positions(names: Ints, wanted: Ints) -> Ints:
    """Return the position of each number in a sorted array; -1 if it is absent."""
    if not len(names):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    return np.where(names[at] == wanted, at, -1)


def _possible(model: Model, before: Ints, after: Ints) -> Bools:
    steps: Floats = model.after(1)
    return np.asarray(steps[before, after] > 0)
