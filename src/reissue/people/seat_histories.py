"""Histories of seats: in a panel, a person can only be in one of the seats that were always where the person was.

A panel numbers its seats, and the numbers last. Someone who knows a person's group in each release, and in which
releases the person's seat was published, looks for the labels with the same history of groups. These are the
candidates, with everything that they ever showed. So the groups of each release fall into *histories*, each with counts
of its own, whatever order they were published in: a seat that ends alone, or moves to another group alone, is found.

With a register only, a person fits several groups of a release, and may be in every history that is in one of them
whenever both are there. (That it is one and the same history in all releases is not used: posteriors are the more
cautious for it.)

O((seats + labels) x releases), with a sort for each release; with a register O(pairs x releases^2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.segments import ranges
from reissue.solver.observation import Observation, pair_order

__all__ = ["by_history"]


def by_history(series: Sequence[Observation]) -> list[tuple[Observation, Ints]]:
    """Replace groups by histories in each panel, and give the published group of each; other releases are unchanged."""
    panels = [place for place, seen in enumerate(series) if len(seen.label)]
    found = [(seen, np.arange(seen.groups)) for seen in series]
    some = [series[place] for place in panels]
    if not panels:
        return found
    made = _of_seats(some) if all(len(seen.occupant) for seen in some) else _of_register(some)
    for place, one in zip(panels, made, strict=True):
        found[place] = one
    return found


def _histories(marks: Sequence[Ints], groups: Sequence[Ints], marked: int) -> Ints:
    """Mark to the number of its history: the same for marks that are in the same groups of the same releases."""
    made = np.zeros(marked, np.int64)
    for mark, group in zip(marks, groups, strict=True):
        here = np.zeros(marked, np.int64)
        here[mark] = group + 1
        made = np.unique(made * (int(group.max(initial=-1)) + 2) + here, return_inverse=True)[1].reshape(-1)
    return made


def _regrouped(seen: Observation, person: Ints, group: Ints, label_group: Ints, groups: int) -> Observation:
    """Put people and labels into other groups, in which the labels' values are counted."""
    values = int(seen.label_value.max(initial=-1)) + 1
    cells, count = np.unique(label_group * values + seen.label_value, return_counts=True)
    return replace(
        seen,
        person=person,
        group=group,
        cell_group=cells // values,
        cell_value=cells % values,
        cell_count=count,
        free=np.zeros(groups, np.int64),
        label_group=label_group,
    )


# --- who is in which seat is known -----------------------------------------------------------------------------------


def _of_seats(series: Sequence[Observation]) -> list[tuple[Observation, Ints]]:
    """The persons are seats, and the group of each is known."""
    labels = np.unique(np.concatenate([seen.label for seen in series]))
    people = 1 + max(int(seen.person.max(initial=-1)) for seen in series)
    marks = [np.concatenate([seen.person, people + np.searchsorted(labels, seen.label)]) for seen in series]
    groups = [np.concatenate([seen.group, seen.label_group]) for seen in series]
    found = _histories(marks, groups, people + len(labels))
    width, made = int(found.max(initial=-1)) + 1, []
    for seen, mark, group in zip(series, marks, groups, strict=True):
        keys, number = np.unique(group * width + found[mark], return_inverse=True)
        mine, shown = np.split(number.reshape(-1), [len(seen.person)])
        regrouped = _regrouped(seen, seen.person, mine, shown, len(keys))
        nobody = np.bincount(shown, minlength=len(keys)) - np.bincount(mine, minlength=len(keys))
        made.append((replace(regrouped, free=np.maximum(nobody, 0)), keys // width))
    return made


# --- a register ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Fitting:
    """The histories in one release, and those that people may be in."""

    histories: Ints
    """Sorted by group, then number."""
    group: Ints
    """History to its group."""
    keys: Ints
    """Person and history (person x number of histories + history), by person."""
    there: Ints
    """People who are certainly in the release."""

    @classmethod
    def of(cls, seen: Observation, of_label: Ints, total: int) -> "_Fitting":
        keys = np.unique(seen.label_group * total + of_label)
        group, history = keys // total, keys % total
        starts = np.searchsorted(group, np.arange(seen.groups + 1))
        widths = np.diff(starts)[seen.group]
        mine = history[ranges(starts[seen.group], widths)]
        pairs = np.repeat(seen.person, widths) * total + mine
        return cls(history, group, pairs, np.setdiff1d(seen.person, seen.absent))

    def allows(self, keys: Ints, total: int) -> Bools:
        """Which pairs of a person and a history are consistent with this release."""
        both = np.isin(keys // total, self.there) & np.isin(keys % total, self.histories)
        return ~both | np.isin(keys, self.keys)


def _of_register(series: Sequence[Observation]) -> list[tuple[Observation, Ints]]:
    """The persons are people, and the groups that they fit are known."""
    labels = np.unique(np.concatenate([seen.label for seen in series]))
    marks = [np.searchsorted(labels, seen.label) for seen in series]
    found = _histories(marks, [seen.label_group for seen in series], len(labels))
    total = int(found.max(initial=-1)) + 1
    fitting = [_Fitting.of(seen, found[mark], total) for seen, mark in zip(series, marks, strict=True)]
    made = []
    for seen, mark, here in zip(series, marks, fitting, strict=True):
        fits = np.ones(len(here.keys), np.bool_)
        for other in fitting:
            fits &= other.allows(here.keys, total)
        # People whom the releases rule out everywhere were linked wrongly: they keep all their pairs.
        kept = here.keys[fits | ~np.isin(here.keys // total, here.keys[fits] // total)]
        place = np.empty(total, np.int64)
        place[here.histories] = np.arange(len(here.histories))
        person, group = kept // total, place[kept % total]
        order = pair_order(person, group)
        one = _regrouped(seen, person[order], group[order], place[found[mark]], len(here.histories))
        made.append((_with_nobody(one, seen, here.group), here.group))
    return made


def _with_nobody(made: Observation, seen: Observation, group: Ints) -> Observation:
    """Put counterfeits into their history, or into any where their group has several."""
    alone = np.bincount(group, minlength=seen.groups) == 1
    free = np.where(alone, seen.free, 0)[group]
    return replace(made, free=free, strangers=seen.strangers + int(seen.free[~alone].sum()))
