"""A limit on what m-Distinct releases tell: everybody's posterior is computed, and kept at or below it.

The largest posterior of *any* candidate value counts, not that of the true one: so the grouping depends on nothing that
readers do not see, and whoever knows the algorithm learns nothing from it.

A person above the limit first changes places with somebody of the same bucket and value, whose groups show other
values: nothing else changes by that. If no such change helps, a counterfeit with the same value takes the place, and
the person stands among counterfeits whose values are chosen to bring the posterior down. If that does not help either
the person is left out of this release, if so many may be; else the release is refused: an unlucky history cannot always
be mended.

Everybody's past is remembered for this.

What a group shows never changes by it: a person changes places with somebody of the same bucket and value; or a
counterfeit with the same value takes the place, and the person stands among counterfeits. So all who need another place
are looked at together, and whoever has moved is not moved again until what is known is counted anew.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.hashing import mix
from reissue.errors import InputError, NotMetError
from reissue.methods.invariance.register import RegisterState
from reissue.methods.registry import Job
from reissue.papers.distinct.past import PlacesSoFar, largest_posteriors, some_of, with_place
from reissue.papers.tracking.forward_backward import PresenceHistory, ValueDistributions, together
from reissue.updates import UpdateModel

__all__ = ["DistinctState", "Exposed", "Formed", "Repair", "RiskLimit", "RiskOutcome", "even", "multisets"]

_CHOICES = 64
"""How many places are tried for somebody above the limit."""
_BEST = 8
"""How many of them, the best ones, are asked whether they would change."""
_ROUNDS = 3
_AT_ONCE = 2048
_HOPELESS = 100
"""After how many people without remedy, beside those who may be left out, the search is given up."""


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

    def add(self, groups: Sequence[int], values: Sequence[int], buckets: Sequence[int]) -> None:
        """Counterfeits, each with its group, value and bucket."""
        self.groups, self.values, self.bucket = (
            np.append(old, np.array(new, np.int32))
            for old, new in ((self.groups, groups), (self.values, values), (self.bucket, buckets))
        )


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


def even(places: Sequence[Sequence[int]]) -> ValueDistributions:
    """Groups that are m-unique: every value has the same share."""
    number = np.repeat(np.arange(len(places)), [len(place) for place in places])
    values = np.array([value for place in places for value in place], np.int64)
    return ValueDistributions.of(number, values, np.ones(len(values)), len(places))


@dataclass(eq=False)
class Repair:
    """Other places for people above the limit."""

    formed: Formed
    of_group: Ints
    """Group to its place; not of groups that are made by the repair."""
    shown: ValueDistributions
    largest: Callable[[Ints, Ints, ValueDistributions], Floats]
    """The largest posteriors of rows at places."""
    limit: float
    rng: np.random.Generator

    def __post_init__(self) -> None:
        rows = self.formed.rows
        self._key = self.formed.bucket[:rows].astype(np.int64) * (1 << 32) + self.formed.values[:rows]
        self._pool = np.argsort(self._key, kind="stable")
        self._keys = self._key[self._pool]
        self._moved = np.zeros(rows, np.bool_)

    def mend(self, rows: Ints, spare: int) -> None:
        """Find places for these rows, some at a time; give up when too many have none."""
        failed = 0
        for begin in range(0, len(rows), _AT_ONCE):
            some = rows[begin : begin + _AT_ONCE]
            for _ in range(_ROUNDS):
                self._swap(some[~self._moved[some]])
            some = some[~self._moved[some]]
            self._set_apart(some)
            failed += int((~self._moved[some]).sum())
            if failed > _HOPELESS + spare:
                return

    def _swap(self, rows: Ints) -> None:
        """Change places with people of the same bucket and value, where both are then below the limit."""
        groups = self.formed.groups
        first, after = (np.searchsorted(self._keys, self._key[rows], side) for side in ("left", "right"))
        drawn = self.rng.random((len(rows), _CHOICES)) * (after - first)[:, np.newaxis]
        other = self._pool[first[:, np.newaxis] + drawn.astype(np.int64)]
        own = self.of_group[groups[rows]]
        old = groups[other] < len(self.of_group)
        place = self.of_group[np.where(old, groups[other], 0)]
        at, which = np.nonzero(old & ~self._moved[other] & (place != own[:, np.newaxis]))
        risk = self.largest(rows[at], place[at, which], self.shown)
        fine = np.flatnonzero(risk <= self.limit)
        fine = fine[np.lexsort((risk[fine], at[fine]))]
        at, which = at[fine], which[fine]
        best = np.arange(len(at)) - np.searchsorted(at, at) < _BEST
        at, which = at[best], which[best]
        partner = other[at, which]
        willing = self.largest(partner, own[at], self.shown) <= self.limit
        for row, second in zip(rows[at[willing]].tolist(), partner[willing].tolist(), strict=True):
            if not self._moved[row] and not self._moved[second]:
                groups[[row, second]] = groups[[second, row]]
                self._moved[[row, second]] = True

    def _set_apart(self, rows: Ints) -> None:
        """Leave a counterfeit with the same value behind, and stand among others with the best values."""
        formed = self.formed
        keys, of_row = np.unique(self._key[rows], return_inverse=True)
        listed: list[list[tuple[int, ...]]] = [self._choices(*divmod(key, 1 << 32)) for key in keys.tolist()]
        number = np.array([len(choices) for choices in listed], np.int64)
        starts = len(self.shown.widths) + np.cumsum(number) - number
        shown = together(self.shown, even(list(itertools.chain.from_iterable(listed))))
        mine = number[of_row]
        at = np.repeat(np.arange(len(rows)), mine)
        which = np.arange(len(at)) - np.repeat(np.cumsum(mine) - mine, mine)
        risk = self.largest(rows[at], starts[of_row[at]] + which, shown)
        order = np.lexsort((risk, at))
        best = order[np.flatnonzero(np.diff(at[order], prepend=-1))]
        group = int(formed.groups.max(initial=-1)) + 1
        added: list[tuple[int, int, int]] = []
        for pair in best[risk[best] <= self.limit].tolist():
            row = int(rows[at[pair]])
            bucket, value = int(formed.bucket[row]), int(formed.values[row])
            added.append((int(formed.groups[row]), value, bucket))
            added += [(group, one, bucket) for one in listed[of_row[at[pair]]][which[pair]] if one != value]
            formed.groups[row], self._moved[row] = group, True
            group += 1
        if added:
            formed.add(*zip(*added, strict=True))

    def _choices(self, bucket: int, value: int) -> list[tuple[int, ...]]:
        """Values of a group of its own for somebody with this one, all different: some at random, where many are."""
        entries, found = self.formed.entries[bucket], set()
        for own in np.flatnonzero(entries[:, value]).tolist():
            sets = [np.flatnonzero(entry) for place, entry in enumerate(entries) if place != own]
            total = int(np.prod([float(len(one)) for one in sets]))
            if total <= 4 * _CHOICES:
                ways: Any = itertools.product(*(one.tolist() for one in sets))
            else:
                ways = zip(*(self.rng.choice(one, 4 * _CHOICES).tolist() for one in sets), strict=True)
            found |= {(value, *way) for way in ways if len({value, *way}) == len(way) + 1}
        return sorted(found)


_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class DistinctState(RegisterState):
    """What is left for the next release; a line of `signatures` are its values, and -1 beyond the last."""

    VERSION: ClassVar[int] = 2

    star: int
    updates: Bools
    """Value x value: what can become what."""
    past: PlacesSoFar | None
    """Everybody's past, if there is a limit."""


class Exposed(Exception):  # noqa: N818
    """People above the limit, for whom no other places were found."""

    def __init__(self, rows: Ints, limit: "RiskLimit") -> None:
        super().__init__()
        self.rows, self.limit = rows, limit


@dataclass(frozen=True, eq=False)
class RiskLimit:
    """The limit, if there is one, and everybody's past."""

    limit: float | None
    model: UpdateModel
    past: PlacesSoFar
    release: int
    """The number of the release that is being made, from 0."""

    @classmethod
    def of(cls, job: Job, model: UpdateModel, m: int) -> "RiskLimit":
        """From a method's options and memory."""
        limit = job.options["risk"]
        number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if limit is not None and not (number and 0 < limit <= 1):
            raise InputError("The option 'risk' must be a number above 0 and at most 1.")
        if limit is not None and limit * m < 1 - _SLACK:
            raise InputError(
                f"A limit on risk below 1/{m} cannot be kept by groups of {m}: a single release tells more. Choose m "
                "to be 1/risk or more."
            )
        if limit is None or job.state is None:
            return cls(limit, model, PlacesSoFar.none(), 0)
        if job.state.past is None:
            raise InputError("This series was begun without a limit on risk, so nobody's past is remembered.")
        return cls(limit, model, job.state.past, job.state.register.release)

    def keep_to(
        self, formed: Formed, people: Ints, rng: np.random.Generator, spare: int
    ) -> "tuple[Formed, RiskOutcome | None]":
        """The groups with nobody above the limit, and what is known of everyone then; raises Exposed if some are."""
        if self.limit is None:
            return formed, None
        view = self.past.of(people)
        outcome = self._outcome(view, formed)
        bad = np.flatnonzero(outcome.largest > self._most)
        if len(bad):
            repair = Repair(formed, outcome.of_group, outcome.shown, self._largest(view), self._most, rng)
            repair.mend(bad, spare)
            outcome = self._outcome(view, formed)
        above = np.flatnonzero(outcome.largest > self._most)
        if len(above):
            raise Exposed(above, self)
        return formed, outcome

    def refusal(self, rows: Ints, spare: int) -> NotMetError:
        """Why there is no release, and what would help."""
        first = ", ".join(str(row + 1) for row in rows[:5].tolist())
        allowed = f"more than the {spare:,} that may be left out" if spare else "and none may be left out"
        return NotMetError(
            f"The values of {len(rows):,} people would be more likely than {self.limit:g} (first rows: {first}), "
            f"{allowed}; no other places were found for all of them. Nothing was published. Allow a larger share of "
            "rows to be left out (`suppress`), or raise the limit."
        )

    def _outcome(self, view: PresenceHistory, formed: Formed) -> "RiskOutcome":
        """What is known of every row, this release too."""
        number, listed = multisets(formed.groups, formed.values)
        shown = together(self.past.shown, even(listed))
        at = len(self.past.shown.widths) + np.arange(len(listed))
        place = at[number[formed.groups[: formed.rows]]]
        return RiskOutcome(shown, at[number], place, self._judged(view, place, shown))

    @property
    def _most(self) -> float:
        return (self.limit or 1.0) + _SLACK

    def _judged(self, view: PresenceHistory, place: Ints, shown: ValueDistributions) -> Floats:
        """The largest posteriors of some people with their places in this release."""
        return largest_posteriors(with_place(view, self.release, place), shown, self.model)

    def _largest(self, view: PresenceHistory) -> Callable[[Ints, Ints, ValueDistributions], Floats]:
        """What would be known of some people, who may repeat, at other places."""

        def largest(rows: Ints, at: Ints, shown: ValueDistributions) -> Floats:
            return self._judged(some_of(view, rows), at, shown)

        return largest

    def after(self, outcome: "RiskOutcome | None", people: Ints) -> PlacesSoFar | None:
        """Everybody's past after a release; None if there is no limit."""
        return None if outcome is None else self.past.after(people, self.release, outcome.place, outcome.shown)


@dataclass(frozen=True, eq=False)
class RiskOutcome:
    """Where everybody stands in the release, and what is known then."""

    shown: ValueDistributions
    of_group: Ints
    """Group to its place."""
    place: Ints
    """Row to its place."""
    largest: Floats
    """Row to the largest posterior of any of its values in any release."""

    @property
    def risk(self) -> float:
        """The largest posterior of anyone."""
        return float(self.largest.max(initial=0.0))
