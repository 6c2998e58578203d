"""A ceiling on what m-Distinct releases tell: everybody's posterior is computed, and kept at or below it.

The largest posterior of *any* candidate value counts, not that of the true one: so the grouping depends on nothing that
readers do not see, and whoever knows the algorithm learns nothing from it.

A person above the ceiling first changes places with somebody of the same bucket and value, whose groups show other
values: nothing else changes by that. If no such change helps, a counterfeit with the same value takes the place, and
the person stands among counterfeits whose values are chosen to bring the posterior down. If that does not help either
the person is left out of this release, if so many may be; else the release is refused: an unlucky history cannot always
be mended.

Everybody's past is remembered for this, as far as it matters to later releases (`attacks/_pasts`).
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.algorithms._base import Job
from reissue.attacks._forward import Places
from reissue.attacks._hashing import mix
from reissue.attacks._pasts import Judged, Past, Shaped, View, begun, read_past
from reissue.attacks._trails import Distributions
from reissue.errors import InputError, NotMetError
from reissue.updates import UpdateModel, mark_of

__all__ = ["Ceiling", "Exposed", "Formed", "Outcome", "multisets"]

_SLACK = 1e-9
_KEPT = "trail_"
_CHOICES = 64
"""How many places are tried for somebody above the ceiling."""
_HOPELESS = 100
"""After how many different cases without remedy the search is given up: the release is refused anyway."""


class Exposed(Exception):  # noqa: N818
    """People above the ceiling, for whom no other places were found."""

    def __init__(self, rows: Ints, ceiling: "Ceiling") -> None:
        super().__init__()
        self.rows, self.ceiling = rows, ceiling


@dataclass(eq=False)
class Formed:
    """Groups of records; the rows of the table first, then counterfeits."""

    groups: Codes
    values: Codes
    bucket: Codes
    """Record to its bucket."""
    entries: Sequence[Bools]
    """Bucket to its entries (entries x values)."""
    rows: int

    def add(self, group: int, values: Sequence[int], bucket: int) -> None:
        """Counterfeits with these values in a group."""
        number = len(values)
        self.groups = np.append(self.groups, np.full(number, group, np.int32))
        self.values = np.append(self.values, np.array(values, np.int32))
        self.bucket = np.append(self.bucket, np.full(number, bucket, np.int32))


def multisets(groups: Codes, labels: Ints | Codes) -> tuple[Ints, list[list[int]]]:
    """Group to the number of its multiset of labels, and what these are, sorted."""
    keys = np.zeros(int(groups.max(initial=-1)) + 1, np.uint64)
    np.add.at(keys, groups, mix(labels.astype(np.uint64) + np.uint64(1)))
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    chosen = np.zeros(len(keys), np.bool_)
    chosen[first] = True
    some = np.flatnonzero(chosen[groups])
    of = number.reshape(-1)
    order = some[np.lexsort((labels[some], of[groups[some]]))]
    ends = np.searchsorted(of[groups[order]], np.arange(len(first) + 1))
    listed = [labels[order[a:b]].tolist() for a, b in itertools.pairwise(ends.tolist())]
    return of.astype(np.int64), listed


@dataclass(frozen=True, eq=False)
class Ceiling:
    """The ceiling, if there is one, and everybody's past."""

    limit: float | None
    model: UpdateModel
    past: Past
    release: int
    """The number of the release that is being made, from 0."""

    @classmethod
    def of(cls, job: Job, model: UpdateModel, m: int) -> "Ceiling":
        """From a method's options and memory."""
        limit = job.options["risk"]
        number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if limit is not None and not (number and 0 < limit <= 1):
            raise InputError("The option 'risk' must be a number above 0 and at most 1.")
        if limit is not None and limit * m < 1 - _SLACK:
            raise InputError(
                f"A ceiling on risk below 1/{m} cannot be kept by groups of {m}: a single release tells more. Choose m "
                "to be 1/risk or more."
            )
        if limit is None or not job.memory:
            return cls(limit, model, begun(job.table.schema, model, m), 0)
        return cls(limit, model, _remembered(job, model, m), int(job.memory["release"]))

    def keep_to(
        self, formed: Formed, people: Ints, rng: np.random.Generator, spare: int
    ) -> "tuple[Formed, Outcome | None]":
        """The groups with nobody above the ceiling, and what is known of everyone then; raises Exposed if some are."""
        if self.limit is None:
            return formed, None
        view = self.past.look(people, self.release)
        outcome = self._outcome(view, formed)
        bad = np.flatnonzero(outcome.judged.largest > self.limit + _SLACK)
        if len(bad):
            repair = _Repair.of(self, formed, view, rng)
            for row in bad.tolist():
                repair.mend(row)
                if len(repair.hopeless) > _HOPELESS + spare:
                    break
            outcome = self._outcome(view, formed)
        above = np.flatnonzero(outcome.judged.largest > self.limit + _SLACK)
        if len(above):
            raise Exposed(above, self)
        return formed, outcome

    def refusal(self, rows: Ints, spare: int) -> NotMetError:
        """Why there is no release, and what would help."""
        first = ", ".join(str(row + 1) for row in rows[:5].tolist())
        allowed = f"more than the {spare:,} that may be left out" if spare else "and none may be left out"
        return NotMetError(
            f"The values of {len(rows):,} people would be more likely than {self.limit:g} (first rows: {first}), "
            f"{allowed}; no other places were found for them. Nothing was published. Allow a larger share of rows to "
            "be left out (`suppress`), or raise the ceiling."
        )

    def _outcome(self, view: View, formed: Formed) -> "Outcome":
        """What is known of every row, this release too."""
        number, listed = multisets(formed.groups, formed.values)
        shown, at = self.past.shown.joined(_even(listed))
        place = at[number[formed.groups[: formed.rows]]]
        return Outcome(shown, place, self.past.judged(view, place, shown.places, self.model))

    def among(self, view: View, row: int, choices: Sequence[Sequence[int]]) -> Floats:
        """Choice of a group's values to the largest posterior of somebody with this past."""
        return self.past.chosen(view, row, _even(choices), self.model)

    def memory(self, outcome: "Outcome | None", people: Ints) -> Mapping[str, Any]:
        """What is remembered after a release."""
        if outcome is None:
            return {}
        past = self.past.after(people, self.release, outcome.place, outcome.shown, outcome.judged, self.model)
        return {f"{_KEPT}{name}": part for name, part in past.arrays().items()} | {"model": mark_of(self.model)}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where everybody stands in the release, and what is known then."""

    shown: Distributions
    place: Ints
    judged: Judged

    @property
    def risk(self) -> float:
        """The largest posterior of anyone."""
        return float(self.judged.largest.max(initial=0.0))


def _remembered(job: Job, model: UpdateModel, m: int) -> Past:
    """Everybody's past as it was kept, also as it was kept at first: a table of everybody by release."""
    kept = {name.removeprefix(_KEPT): part for name, part in job.memory.items() if name.startswith(_KEPT)}
    if "trail" in job.memory:
        return _again(job, model, m)
    if not kept:
        raise InputError("This series was begun without a ceiling on risk, so nobody's past is remembered.")
    past = read_past(kept)
    if isinstance(past, Shaped) and job.memory["model"] != mark_of(model):
        raise InputError(
            "The table has sensitive values that change the update model itself, so that the past would have to be "
            "looked at anew. Nothing was published. Let the model list all values that can occur, and begin the series "
            "anew, or leave out the option 'risk'."
        )
    return past


def _again(job: Job, model: UpdateModel, m: int) -> Past:
    """Everybody's past, release by release, from a table of everybody's places (-1 for none)."""
    memory, past = job.memory, begun(job.table.schema, model, m)
    starts, values = memory["place_starts"].tolist(), memory["place_values"]
    shown, at = past.shown.joined(_even([values[a:b].tolist() for a, b in itertools.pairwise(starts)]))
    for release, column in enumerate(memory["trail"].T):
        there = np.flatnonzero(column >= 0)
        people, place = memory["trail_people"][there], at[column[there]]
        view: View = past.look(people, release)
        judged = past.judged(view, place, shown.places, model)
        past = past.after(people, release, place, shown, judged, model)
    return past


def _even(places: Sequence[Sequence[int]]) -> Places:
    """Groups that are m-unique: every value has the same share."""
    number = np.repeat(np.arange(len(places)), [len(place) for place in places])
    values = np.array([value for place in places for value in place], np.int64)
    return Places.of(number, values, np.ones(len(values)), len(places))


@dataclass(eq=False)
class _Repair:
    """Other places for people above the ceiling. What a group shows never changes by it."""

    ceiling: Ceiling
    formed: Formed
    view: View
    rng: np.random.Generator
    shows: Sequence[list[int]]
    """Group to its values."""
    pool: Ints
    """The rows, by bucket and value."""
    keys: Ints
    """Bucket and value of each of the pool, as one number."""
    hopeless: set[tuple[int | bytes, ...]] = field(default_factory=set)
    """Pasts, with bucket and value, for which nothing was found."""

    @classmethod
    def of(cls, ceiling: Ceiling, formed: Formed, view: View, rng: np.random.Generator) -> "_Repair":
        """Look up once what is asked for again and again."""
        order = np.lexsort((formed.values, formed.groups))
        ends = np.searchsorted(formed.groups[order], np.arange(int(formed.groups.max()) + 2))
        shows = [formed.values[order[a:b]].tolist() for a, b in itertools.pairwise(ends.tolist())]
        key = formed.bucket[: formed.rows].astype(np.int64) * (1 << 32) + formed.values[: formed.rows]
        pool = np.argsort(key, kind="stable")
        return cls(ceiling, formed, view, rng, shows, pool, key[pool])

    def mend(self, row: int) -> None:
        """Change places with somebody, or stand among counterfeits, if one of them helps."""
        case = (*self.ceiling.past.told_apart(self.view, row), self._key(row))
        if case not in self.hopeless and not self._swap(row) and not self._apart(row):
            self.hopeless.add(case)

    def _key(self, row: int) -> int:
        return int(self.formed.bucket[row]) * (1 << 32) + int(self.formed.values[row])

    def _limit(self) -> float:
        return (self.ceiling.limit or 1.0) + _SLACK

    def _swap(self, row: int) -> bool:
        """Change places with somebody of the same bucket and value, if both are then below the ceiling."""
        groups = self.formed.groups
        if groups[row] >= len(self.shows):  # pragma: no cover
            return False
        first, after = np.searchsorted(self.keys, [self._key(row), self._key(row) + 1])
        others = self.pool[first + self.rng.permutation(int(after - first))[:_CHOICES]]
        others = others[(groups[others] != groups[row]) & (groups[others] < len(self.shows))]
        if not len(others):
            return False
        mine = self.ceiling.among(self.view, row, [self.shows[group] for group in groups[others].tolist()])
        here = self.shows[groups[row]]
        for other in others[np.argsort(mine, kind="stable")][: int((mine <= self._limit()).sum())].tolist():
            if self.ceiling.among(self.view, other, [here])[0] <= self._limit():
                groups[[row, other]] = groups[[other, row]]
                return True
        return False

    def _apart(self, row: int) -> bool:
        """Leave a counterfeit with the same value behind, and stand among others with the best values."""
        formed = self.formed
        bucket, value = int(formed.bucket[row]), int(formed.values[row])
        choices = self._choices(formed.entries[bucket], value)
        if not choices:
            return False
        worst = self.ceiling.among(self.view, row, [[value, *choice] for choice in choices])
        best = int(worst.argmin())
        if worst[best] > self._limit():
            return False
        formed.add(int(formed.groups[row]), [value], bucket)
        formed.groups[row] = int(formed.groups.max()) + 1
        formed.add(int(formed.groups[row]), choices[best], bucket)
        return True

    def _choices(self, entries: Bools, value: int) -> list[tuple[int, ...]]:
        """Values for the other entries, all different: some of the ways at random, where there are many."""
        found: set[tuple[int, ...]] = set()
        for own in np.flatnonzero(entries[:, value]).tolist():
            sets = [np.flatnonzero(entry) for place, entry in enumerate(entries) if place != own]
            total = int(np.prod([float(len(one)) for one in sets]))
            if total <= 4 * _CHOICES:
                ways: Any = itertools.product(*(one.tolist() for one in sets))
            else:
                ways = (tuple(int(self.rng.choice(one)) for one in sets) for _ in range(4 * _CHOICES))
            found |= {way for way in ways if len({value, *way}) == len(way) + 1}
        return sorted(found)
