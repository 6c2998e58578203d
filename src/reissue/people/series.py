"""Presences over a whole series: one number for each person and each value, as the joint solver takes them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.texts import MISSING, ranked_texts
from reissue.release.presences import Presences
from reissue.solver.observation import Observation, pair_order

__all__ = ["SeriesPresences", "number_series"]

_FIRST_SEAT = -(2**62)
"""Seats are numbered downwards from here, where no identifier and no pseudonym is likely to be."""


@dataclass(frozen=True, eq=False)
class SeriesPresences:
    """People and values as numbers, and what each release says about them. Seats of cohorts are numbered as people."""

    releases: tuple[Presences, ...]
    observations: tuple[Observation, ...]
    """The same in these numbers."""
    names: tuple[str | None, ...]
    """Value to its text; None is the missing value."""
    people: int
    truth: tuple[Ints | None, ...]
    """Release to the true value of each person, -1 where the person is not in it; None where nobody knows."""
    rows: tuple[Ints, ...]
    """Release to the number of the person in each row."""
    seats: tuple[Ints, ...]
    """Release to the number of each seat; none where people are not in seats."""

    @property
    def knowledge(self) -> str:
        """What is known of people's groups: "groups", or "register"."""
        return "groups" if self.groups_known else "register"

    @property
    def groups_known(self) -> bool:
        """Whether everyone's group is known in every release."""
        return all(one.groups_known for one in self.releases)

    @property
    def identifiers(self) -> Ints:
        """Person to its identifier, where identifiers are whole numbers, as a ledger's pseudonyms are."""
        ids = np.empty(self.people, np.int64)
        for one, rows, seats in zip(self.releases, self.rows, self.seats, strict=True):
            ids[rows] = one.ids.cast(pl.Int64).to_numpy()
            if one.seats is not None:
                ids[seats] = _FIRST_SEAT - one.seats
        return ids

    @property
    def fits(self) -> float:
        """How many groups of a release a person fits, on average over all presences."""
        return sum(len(one.row) for one in self.releases) / max(sum(len(one.ids) for one in self.releases), 1)

    @property
    def strangers(self) -> int:
        """The number of records of people whom the adversary does not know at all, in all releases."""
        return sum(max(one.of_people - len(one.ids), 0) for one in self.releases)

    @property
    def values(self) -> int:
        """The number of different values."""
        return len(self.names)

    def of_first(self, releases: int) -> "SeriesPresences":
        """Restrict to the first releases, with the same numbers; who is in none of them is in no release."""
        if releases == len(self.observations):
            return self
        return replace(
            self,
            releases=self.releases[:releases],
            observations=self.observations[:releases],
            truth=self.truth[:releases],
            rows=self.rows[:releases],
            seats=self.seats[:releases],
        )


def number_series(releases: Sequence[Presences]) -> SeriesPresences:
    """Give people, seats and values numbers that hold for all releases."""
    named = [*(one.ids.cast(pl.String) for one in releases), *(_seats(one) for one in releases)]
    number = ranked_texts(pl.concat(named))[1]
    parts = np.split(number, np.cumsum([len(ids) for ids in named])[:-1])
    rows, seats = tuple(parts[: len(releases)]), tuple(parts[len(releases) :])
    people = int(number.max(initial=-1)) + 1
    texts = sorted(
        {name for one in releases for name in (*one.histogram.names, *_true_texts(one), *(one.totals or ()))}
    )
    place = {text: at for at, text in enumerate(texts)}
    return SeriesPresences(
        tuple(releases),
        tuple(_observation(*one, place) for one in zip(releases, rows, seats, strict=True)),
        tuple(None if text == MISSING else text for text in texts),
        people,
        tuple(_truth(one, mine, place, people) for one, mine in zip(releases, rows, strict=True)),
        rows,
        seats,
    )


def _seats(one: Presences) -> pl.Series:
    """What the seats of a release are called among people; nothing where people are not in seats."""
    return one.ids.clear().cast(pl.String) if one.seats is None else pl.Series(_FIRST_SEAT - one.seats).cast(pl.String)


def _true_texts(one: Presences) -> list[str]:
    return [] if one.truth is None else one.truth.unique().to_list()


def _coded(texts: pl.Series, place: dict[str, int]) -> Ints:
    return np.asarray(texts.replace_strict(place, return_dtype=pl.Int64).to_numpy())


def _truth(one: Presences, rows: Ints, place: dict[str, int], people: int) -> Ints | None:
    if one.truth is None:
        return None
    truth = np.full(people, -1, np.int64)
    truth[rows] = _coded(one.truth, place)
    return truth


def _observation(one: Presences, rows: Ints, seats: Ints, place: dict[str, int]) -> Observation:
    """One release in numbers; records that no known person can have are strangers'."""
    seated = one.seats is not None
    person, group = (seats, one.records) if seated else (rows[one.row], one.group)
    fakes = np.zeros_like(one.counterfeits) if seated else one.counterfeits
    order = pair_order(person, group)
    shown = one.histogram
    value = np.array([place[name] for name in shown.names], np.int64)[shown.value]
    cells = np.lexsort((value, shown.group))
    least = np.asarray(shown.count if one.least is None else one.least, np.int64)
    sizes = np.bincount(shown.group, least, one.groups).astype(np.int64)
    candidates = np.bincount(group, minlength=one.groups)
    short = np.maximum(sizes - fakes - candidates, 0)
    unknown = int(sizes.sum() - fakes.sum() - short.sum()) - len(seats if seated else rows)
    known_person, known_value = _insiders(one, seats if seated else rows, place)
    label, label_group, label_value = _labels(one, place)
    return Observation(
        person[order],
        group[order],
        shown.group[cells],
        value[cells],
        np.asarray(shown.count, np.int64)[cells],
        fakes + short,
        strangers=max(unknown, 0),
        absent=np.empty(0, np.int64) if one.complete else np.sort(rows),
        known_person=known_person,
        known_value=known_value,
        occupant=np.append(rows, np.full(len(seats) - len(rows), -1))[order] if seated else np.empty(0, np.int64),
        counterfeits=_fakes(one, place),
        cell_least=np.empty(0, np.int64) if one.least is None else least[cells],
        label=label,
        label_group=label_group,
        label_value=label_value,
    )


def _insiders(one: Presences, numbers: Ints, place: dict[str, int]) -> tuple[Ints, Ints]:
    """The people whose values the adversary knows, sorted, and these values."""
    if one.insider is None or one.truth is None or not one.insider.any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    known = np.flatnonzero(one.insider)
    order = np.argsort(numbers[known])
    return numbers[known][order], _coded(one.truth, place)[known][order]


def _labels(one: Presences, place: dict[str, int]) -> tuple[Ints, Ints, Ints]:
    """What a panel shows of its seats: numbers, groups and values; nothing in any other form."""
    if one.labels is None:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.argsort(one.labels.label)
    return one.labels.label[order], one.labels.group[order], _coded(one.labels.text, place)[order]


def _fakes(one: Presences, place: dict[str, int]) -> Ints:
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
