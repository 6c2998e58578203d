"""From the last release to this one: who is still there, who is back, and what empty slots have become."""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.errors import InternalError
from reissue.methods.cohorts.slots import CohortState, Slots
from reissue.methods.cohorts.update_model import Changes, distance, update_model
from reissue.methods.invariance.plan import codes_of
from reissue.methods.registry import Job
from reissue.solver.transitions import Model

__all__ = ["Arrival", "arrive"]

FORGOTTEN = 0.05
"""Where rows of the update model are no farther apart than this, an earlier value says nothing about a later one."""


@dataclass(frozen=True, eq=False)
class Arrival:
    """A new table against what was remembered."""

    slots: Slots
    """All slots that are carried on, those who stayed or are back in theirs."""
    new: Ints
    """Rows of people who may take any slot."""
    apart: Ints
    """Rows of people who are back and whose slot is gone: they bring its name along."""
    apart_name: Ints
    refused: Ints
    """Rows of people who are back and cannot be shown: someone has their slot, or it cannot have their value."""
    changes: Changes
    model: Model
    stayed: int


def arrive(job: Job, memory: CohortState) -> Arrival:
    """Carry the slots on, then let people back in."""
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
        return Arrival(Slots.none(), everyone, nobody, nobody, nobody, changes, model, int(stays.sum()))
    slots = replace(memory.slots, value=value.astype(np.int32), row=row)
    returns = _into_panel if job.options["form"] == "panel" else _with_returns
    return returns(job, memory, slots, known, model, before, changes)


def _rows_of(people: Ints, memory: CohortState) -> Ints:
    """Slot to the row of who is in it, -1 where nobody is any more."""
    order = np.argsort(people)
    at = np.minimum(np.searchsorted(people[order], memory.people), len(people) - 1)
    row = np.where(people[order][at] == memory.people, order[at], -1)
    return np.where(memory.slots.row >= 0, np.append(row, -1)[memory.slots.row], -1)


def _moved(values: Ints, model: Model, rng: np.random.Generator) -> Ints:
    """Each value one step of the model later."""
    chance = rng.random(len(values))
    if model.steps is None:
        return values
    ends = np.cumsum(model.steps, axis=1)
    ends[:, -1] = np.inf
    line = np.minimum(ends, 1.0) + np.arange(len(ends))[:, np.newaxis]
    at = np.searchsorted(line.reshape(-1), values + np.minimum(chance, 1 - 1e-12), "right")
    return np.asarray(np.minimum(at - values * model.values, model.values - 1))


def _with_returns(
    job: Job, memory: CohortState, slots: Slots, known: Bools, model: Model, before: Ints, changes: Changes
) -> Arrival:
    """Those who are back take their own slot, whatever it has become, if it can have become their value."""
    people, lasting = _present(job.people), _present(job.stable_code)[job.table.sensitive]
    others = np.flatnonzero(~known)
    found = memory.departed.find(people[others])
    back, place = others[found >= 0], found[found >= 0]
    gap = memory.release + 1 - memory.departed.release[place]
    forgotten = _far_enough(gap, model)
    name = memory.departed.slot[place]
    order = np.argsort(slots.name)
    at = _positions(slots.name[order], name)
    mine = np.where(at >= 0, np.append(order, -1)[at], -1)
    gone, taken = mine < 0, np.append(slots.filled, False)[mine] | ~_last(name, memory.departed.release[place])
    takes = ~gone & ~taken & ~forgotten & _possible(model, np.append(before, 0)[mine], lasting[back])
    value, row = slots.value.copy(), slots.row.copy()
    value[mine[takes]], row[mine[takes]] = lasting[back[takes]], back[takes]
    new = np.sort(np.concatenate([others[found < 0], back[forgotten]]))
    apart = gone & ~taken & ~forgotten
    history = np.where(slots.history >= 0, codes_of(job, slots.history), -1)
    carried = replace(slots, value=codes_of(job, value), row=row, history=history)
    refused = back[~forgotten & ~apart & ~takes]
    return Arrival(carried, new, back[apart], name[apart], refused, changes, model, int(known.sum()))


def _into_panel(
    job: Job, memory: CohortState, slots: Slots, known: Bools, model: Model, before: Ints, changes: Changes
) -> Arrival:
    """Those who are back take their own slot if nothing was shown of it while they were away.

    Else it has gone a way of its own, which all readers of a panel have seen: with the value of whoever is back it
    would make a step that others do not make, or be one of the few that happen to have it. So they are left out.
    """
    arrival = _with_returns(job, memory, slots, known, model, before, changes)
    people = _present(job.people)
    here = np.flatnonzero(arrival.slots.filled & ~slots.filled)
    gap = memory.release + 1 - memory.departed.release[memory.departed.find(people[arrival.slots.row[here]])]
    seen = here[slots.rested[here] < gap - 1]
    row, value = arrival.slots.row.copy(), arrival.slots.value.copy()
    refused = np.concatenate([arrival.refused, arrival.apart, row[seen]])
    row[seen], value[seen] = -1, codes_of(job, slots.value[seen])
    none, kept = np.empty(0, np.int64), replace(arrival.slots, row=row, value=value)
    return replace(arrival, slots=kept, apart=none, apart_name=none, refused=refused)


def _present(array: Ints | None) -> Ints:
    assert array is not None  # noqa: S101 - `arrive` has looked
    return array


def _far_enough(gap: Ints, model: Model) -> Bools:
    """Whether an absence was so long that the value before it says nothing any more."""
    number, of = np.unique(gap, return_inverse=True)
    return np.array([distance(model, int(one)) <= FORGOTTEN for one in number], np.bool_)[of.reshape(-1)]


def _last(name: Ints, release: Ints) -> Bools:
    """Of people who are back, whether each had the slot of that name last: others had it before."""
    order = np.lexsort((-release, name))
    last = np.zeros(len(name), np.bool_)
    last[order[np.unique(name[order], return_index=True)[1]]] = True
    return last


def _positions(names: Ints, wanted: Ints) -> Ints:
    """Where each wanted name is among sorted ones, -1 where it is not."""
    if not len(names):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    return np.where(names[at] == wanted, at, -1)


def _possible(model: Model, before: Ints, after: Ints) -> Bools:
    steps: Floats = model.after(1)
    return np.asarray(steps[before, after] > 0)
