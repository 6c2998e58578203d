"""What a panel gives away: a person can only be one of the slots that were always where the person was.

A panel numbers its slots, and the numbers last. Someone who knows where a person was in each release, and when the slot
that the person is in was published at all, looks for the labels with the same history of groups. These are the
candidates, with all that they ever showed. So the groups of every release fall into *histories*, each with counts of
its own, whatever order they were published in: a slot that ends alone, or moves to another group alone, is found.

O((slots + labels) x releases), a sort for each release.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reissue._arrays import Ints
from reissue.kernels.everyone.observations import Observation

__all__ = ["by_history", "histories"]


def by_history(series: Sequence[Observation]) -> list[tuple[Observation, Ints]]:
    """Each release with histories instead of groups, and the published group of each; as it is where it is no panel."""
    panels = [place for place, seen in enumerate(series) if len(seen.label)]
    found = [(seen, np.arange(seen.groups)) for seen in series]
    if not panels:
        return found
    some = [series[place] for place in panels]
    of_person, of_label = _histories_of(some)
    for place, seen in zip(panels, some, strict=True):
        found[place] = _regrouped(seen, of_person, of_label)
    return found


def histories(marks: Sequence[Ints], groups: Sequence[Ints], marked: int) -> Ints:
    """Mark to the number of its history: the same for marks that are in the same groups of the same releases."""
    made = np.zeros(marked, np.int64)
    for mark, group in zip(marks, groups, strict=True):
        here = np.zeros(marked, np.int64)
        here[mark] = group + 1
        made = np.unique(made * (int(group.max(initial=-1)) + 2) + here, return_inverse=True)[1].reshape(-1)
    return made


def _histories_of(series: Sequence[Observation]) -> tuple[Ints, tuple[Ints, Ints]]:
    """Person to history, and labels, sorted, with theirs: the same numbers for the same histories."""
    labels = np.unique(np.concatenate([seen.label for seen in series]))
    people = 1 + max(int(seen.person.max(initial=-1)) for seen in series)
    marks = [np.concatenate([seen.person, people + np.searchsorted(labels, seen.label)]) for seen in series]
    groups = [np.concatenate([seen.group, seen.label_group]) for seen in series]
    found = histories(marks, groups, people + len(labels))
    return found[:people], (labels, found[people:])


def _regrouped(seen: Observation, of_person: Ints, of_label: tuple[Ints, Ints]) -> tuple[Observation, Ints]:
    labels, history = of_label
    width = 1 + max(int(of_person.max(initial=-1)), int(history.max(initial=-1)))
    mine = seen.group * width + of_person[seen.person]
    shown = seen.label_group * width + history[np.searchsorted(labels, seen.label)]
    keys, group = np.unique(np.concatenate([mine, shown]), return_inverse=True)
    person_group, label_group = np.split(group.reshape(-1), [len(mine)])
    values = int(seen.label_value.max(initial=-1)) + 1
    slots, count = np.unique(label_group * values + seen.label_value, return_counts=True)
    nobody = np.bincount(label_group, minlength=len(keys)) - np.bincount(person_group, minlength=len(keys))
    made = replace(
        seen,
        group=person_group,
        slot_group=slots // values,
        slot_value=slots % values,
        slot_count=count,
        free=np.maximum(nobody, 0),
        label_group=label_group,
    )
    return made, keys // width
