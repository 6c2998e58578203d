"""Crowd: everyone whom a reader knows, over a whole series, with one number for each person and each value."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.texts import MISSING, ranked_texts
from reissue.people.candidates import Sighting
from reissue.solver.observations import Observation, pair_order

__all__ = ["Crowd", "crowd_of"]


@dataclass(frozen=True, eq=False)
class Crowd:
    """People and values as numbers, and what each release says about them."""

    observations: tuple[Observation, ...]
    names: tuple[str | None, ...]
    """Value to its text; None is the missing value."""
    people: int
    truth: tuple[Ints | None, ...]
    """Release to the true value of each person, -1 where the person is not in it; None where nobody knows."""
    sightings: tuple[Sighting, ...]
    of_row: tuple[Ints, ...]
    """Release to the person of each row of its sighting."""
    inside: tuple[Ints, ...]
    """Release to who is in the first rows of its sighting, where rows are slots; else nobody."""

    @property
    def knowledge(self) -> str:
        """What is known of people's groups: "groups", or "register"."""
        return "groups" if self.knows_groups else "register"

    @property
    def knows_groups(self) -> bool:
        """Whether everyone's group is known in every release."""
        return all(one.knows_groups for one in self.sightings)

    @property
    def identifiers(self) -> Ints:
        """Person to its identifier, where identifiers are whole numbers, as a ledger's pseudonyms are."""
        ids = np.empty(self.people, np.int64)
        for one, mine, inside in zip(self.sightings, self.of_row, self.inside, strict=True):
            ids[mine] = one.ids.cast(pl.Int64).to_numpy()
            ids[inside] = _occupants(one).cast(pl.Int64).to_numpy()
        return ids

    @property
    def fits(self) -> float:
        """How many groups of a release a person fits, on average over all presences."""
        rows = sum(len(one.ids) for one in self.sightings)
        return sum(len(one.row) for one in self.sightings) / max(rows, 1)

    def of_first(self, releases: int) -> "Crowd":
        """The first releases, for the same people and values; who is in none of them is in no release."""
        if releases == len(self.observations):
            return self
        return replace(
            self,
            observations=self.observations[:releases],
            truth=self.truth[:releases],
            sightings=self.sightings[:releases],
            of_row=self.of_row[:releases],
            inside=self.inside[:releases],
        )

    @property
    def values(self) -> int:
        """How many different values there are."""
        return len(self.names)


def crowd_of(sightings: Sequence[Sighting]) -> Crowd:
    """Give people and values numbers that hold for all releases."""
    named = [*(one.ids for one in sightings), *(_occupants(one) for one in sightings)]
    together = pl.concat(named)
    if together.dtype == pl.String:
        number = ranked_texts(together)[1]
    else:
        number = (together.rank("dense").cast(pl.Int64) - 1).to_numpy()
    parts = np.split(number, np.cumsum([len(ids) for ids in named])[:-1])
    of_row, inside = tuple(parts[: len(sightings)]), tuple(parts[len(sightings) :])
    people = int(number.max(initial=-1)) + 1
    texts = sorted(
        {name for one in sightings for name in (*one.histogram.names, *_true_texts(one), *(one.totals or ()))}
    )
    place = {text: at for at, text in enumerate(texts)}
    return Crowd(
        tuple(_observation(*one, place) for one in zip(sightings, of_row, inside, strict=True)),
        tuple(None if text == MISSING else text for text in texts),
        people,
        tuple(_truth(*one, place, people) for one in zip(sightings, of_row, inside, strict=True)),
        tuple(sightings),
        of_row,
        inside,
    )


def _occupants(one: Sighting) -> pl.Series:
    """Who is in the first rows, where rows are slots."""
    return one.ids.clear() if one.occupant is None else one.occupant.drop_nulls()


def _true_texts(one: Sighting) -> list[str]:
    return [] if one.truth is None else one.truth.unique().to_list()


def _coded(texts: pl.Series, place: dict[str, int]) -> Ints:
    return np.asarray(texts.replace_strict(place, return_dtype=pl.Int64).to_numpy())


def _truth(one: Sighting, of_row: Ints, inside: Ints, place: dict[str, int], people: int) -> Ints | None:
    if one.truth is None:
        return None
    truth = np.full(people, -1, np.int64)
    truth[of_row if one.occupant is None else inside] = _coded(one.truth, place)
    return truth


def _observation(one: Sighting, of_row: Ints, inside: Ints, place: dict[str, int]) -> Observation:
    """The same with lasting numbers; records that no known person can have are strangers'."""
    person = of_row[one.row]
    order = pair_order(person, one.group)
    shown = one.histogram
    value = np.array([place[name] for name in shown.names], np.int64)[shown.value]
    slots = np.lexsort((value, shown.group))
    sizes = np.bincount(shown.group, shown.count, one.groups).astype(np.int64)
    candidates = np.bincount(one.group, minlength=one.groups)
    short = np.maximum(sizes - one.counterfeits - candidates, 0)
    unknown = int(sizes.sum() - one.counterfeits.sum() - short.sum()) - len(of_row)
    known = np.flatnonzero(one.known) if one.known is not None and one.truth is not None else np.empty(0, np.int64)
    names = of_row[known]
    sorted_known = np.argsort(names)
    values = _coded(one.truth, place)[known] if one.truth is not None and len(known) else np.empty(0, np.int64)
    shown_slots = _labels(one, place)
    return Observation(
        person[order],
        one.group[order],
        shown.group[slots],
        value[slots],
        np.asarray(shown.count, np.int64)[slots],
        one.counterfeits + short,
        strangers=max(unknown, 0),
        absent=np.empty(0, np.int64) if one.sure else np.sort(of_row),
        known_person=names[sorted_known],
        known_value=values[sorted_known] if len(known) else values,
        occupant=inside if one.occupant is None else np.append(inside, np.full(len(of_row) - len(inside), -1))[order],
        fakes=_fakes(one, place),
        label=shown_slots[0],
        label_group=shown_slots[1],
        label_value=shown_slots[2],
    )


def _labels(one: Sighting, place: dict[str, int]) -> tuple[Ints, Ints, Ints]:
    """What a panel shows of its slots: numbers, groups and values; nothing in any other form."""
    if one.labels is None:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.argsort(one.labels.label)
    return one.labels.label[order], one.labels.group[order], _coded(one.labels.text, place)[order]


def _fakes(one: Sighting, place: dict[str, int]) -> Ints:
    """Value to how many records of it are nobody's: those that are published beyond what people have."""
    if one.totals is None:
        return np.empty(0, np.int64)
    shown = one.histogram
    made = np.zeros(len(place), np.int64)
    np.add.at(made, np.array([place[name] for name in shown.names], np.int64)[shown.value], shown.count)
    for text, count in one.totals.items():
        if count:
            made[place[text]] -= count
    return made
