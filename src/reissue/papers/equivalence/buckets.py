"""Whole buckets carried on: who was in which of them when, and what the exact attack found in each.

Kept are the stretches of releases that each person was in its bucket: all groups there have been can be made of that
again. Mostly none is needed. Two releases of a bucket differ at least by those who are in the newer one for the first
time, and an attack that does not tell the newest release from the end is one of the release before. So buckets into
which enough people arrived keep what was found in them; the others, few and small ones, are looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.hashing import mix
from reissue.counting.histogram import Histogram
from reissue.papers.equivalence.exact import BucketHistory, cheapest, tells_newest
from reissue.papers.equivalence.groups import ValueGroups
from reissue.papers.tracking.incremental import enrolled
from reissue.papers.tracking.presence import PresenceIntervals

__all__ = ["BucketPresence", "Found", "Newest", "apart", "kinds_of", "look"]

_BUCKETS = 500
"""Buckets whose values are compared all together, at most."""


def kinds_of(shapes: Ints, sizes: Ints) -> Ints:
    """A number for each multiset of values: its distribution, and how many they are."""
    return np.asarray(mix(shapes.view(np.uint64) + mix(sizes.astype(np.uint64))).view(np.int64))


@dataclass(frozen=True, eq=False)
class BucketPresence:
    """Who was in which bucket when."""

    shapes: Ints
    """Bucket to the number of its distribution of values, in the order in which they arrived."""
    bucket: Codes
    """Person to its first bucket."""
    when: PresenceIntervals
    """Person to the releases in which it was there."""
    more: Ints
    """Presences of people who were in another bucket too, person and bucket (2 x presences)."""
    more_when: PresenceIntervals
    releases: int = 0

    @classmethod
    def none(cls) -> "BucketPresence":
        """Before the first release."""
        never = PresenceIntervals.none()
        return cls(np.empty(0, np.int64), np.empty(0, np.int32), never, np.empty((2, 0), np.int64), never)

    def after(self, here: Ints, group: Ints, shapes: Ints, people: int) -> "tuple[BucketPresence, Newest]":
        """With one more release: the person and group of each presence, the groups' distributions, all people so far.

        No two groups may have one distribution.
        """
        number = {shape: place for place, shape in enumerate(self.shapes.tolist())}
        own = np.array([number.setdefault(shape, len(number)) for shape in shapes.tolist()], np.int32)
        mine = own[group]
        bucket = np.append(self.bucket, np.full(people - len(self.bucket), -1, np.int32))
        fresh = bucket[here] < 0
        bucket[here[fresh]] = mine[fresh]
        first = bucket[here] == mine
        when = self.when.after(people, self.releases, here[first])
        keys, at, _ = enrolled(self.more[0] * len(number) + self.more[1], here[~first] * len(number) + mine[~first])
        more_when = self.more_when.after(len(keys), self.releases, at)
        fresh[~first] = at >= self.more.shape[1]
        more = np.stack([keys // len(number), keys % len(number)])
        after = BucketPresence(np.array(list(number), np.int64), bucket, when, more, more_when, self.releases + 1)
        there = np.zeros(len(number), np.bool_)
        there[own] = True
        return after, Newest(there, np.bincount(mine[fresh], minlength=len(number)))

    def buckets(self, chosen: Bools) -> Iterator[tuple[int, BucketHistory]]:
        """Some of the buckets, each with its number."""
        first, further = np.flatnonzero(chosen[self.bucket]), np.flatnonzero(chosen[self.more[1]])
        number = np.concatenate([self.bucket[first].astype(np.int64), self.more[1, further]])
        who = np.concatenate([first, self.more[0, further]])
        there = np.vstack([self.when.there(first, self.releases), self.more_when.there(further, self.releases)])
        order = np.argsort(number, kind="stable")
        cuts = np.flatnonzero(np.diff(number[order])) + 1
        for own in np.split(order, cuts) if len(order) else []:
            yield int(number[own[0]]), _bucket(who[own], there[own])

    def groups(self) -> ValueGroups:
        """All groups of all releases, of people."""
        sizes, members, kinds = [], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for release in range(self.releases):
            first, further = self.when.inside(release), self.more_when.inside(release)
            bucket = np.concatenate([self.bucket[first], self.more[1, further]])
            members.append(np.concatenate([first, self.more[0, further]])[np.argsort(bucket, kind="stable")])
            used, size = np.unique(bucket, return_counts=True)
            kinds.append(kinds_of(self.shapes[used], size))
            sizes.append(size)
        return ValueGroups(np.cumsum(np.concatenate([[0], *sizes])), np.concatenate(members), np.concatenate(kinds))


def _bucket(who: Ints, there: Bools) -> BucketHistory:
    """One bucket: people and the releases in which each was there."""
    bits = np.packbits(there, axis=1)
    packed = bits.view(np.dtype((np.void, bits.shape[1]))).reshape(-1)
    _, first, pattern, weights = np.unique(packed, return_index=True, return_inverse=True, return_counts=True)
    people = who[np.argsort(pattern.reshape(-1), kind="stable")]
    return BucketHistory(there[first][:, there.any(axis=0)], weights, people)


def apart(presence: BucketPresence, shown: Histogram) -> bool:
    """Whether an attack on all buckets is one on each: nobody was in two, and no bucket's values are a sum of others'.

    `shown` is what the newest release's groups show. No where there are too many buckets to tell.
    """
    if presence.more.shape[1] or len(presence.shapes) != shown.groups or shown.groups > _BUCKETS:
        return False
    counts = np.zeros((shown.groups, shown.values))
    counts[shown.group, shown.value] = shown.reduced
    return int(np.linalg.matrix_rank(counts)) == shown.groups


@dataclass(frozen=True, eq=False)
class Newest:
    """The newest release, bucket by bucket."""

    there: Bools
    """Whether the bucket is in it."""
    arrived: Ints
    """How many people are in it for the first time."""


@dataclass(frozen=True, eq=False)
class Found:
    """What exact attacks on buckets found: person, bucket and the smallest e; -1 where there is no telling."""

    who: Ints
    bucket: Ints
    e: Ints

    @classmethod
    def nothing(cls) -> "Found":
        """Before the first release."""
        return cls(*(np.empty(0, np.int64) for _ in range(3)))

    @property
    def exact(self) -> bool:
        """Whether all of it is certain."""
        return not (self.e < 0).any()

    def least(self, others: Ints) -> Ints:
        """Person to the smallest e, of what was found here and otherwise; 0 for none."""
        some = self.e > 0
        least = np.where(others > 0, others, np.iinfo(np.int64).max)
        np.minimum.at(least, self.who[some], self.e[some])
        return np.where(least < np.iinfo(np.int64).max, least, 0)


def look(before: Found | None, presence: BucketPresence, newest: Newest, limit: int) -> tuple[Found, bool]:
    """What is found below the limit after a release, and whether two releases of a bucket are nearly the same.

    `before` is what was found up to the release before, by a limit that was no smaller; None to look at all buckets.
    Nearly the same are groups of one size that differ in people fewer than the limit, or in one.
    """
    doubtful = newest.there & (newest.arrived < max(limit, 2))
    again = np.ones(len(doubtful), np.bool_)
    if before is not None:
        again[:] = False
        again[before.bucket[before.e < 0]] = True
    near, found = False, []
    for number, bucket in presence.buckets(doubtful | again):
        near |= bool(doubtful[number]) and _nearly(bucket, max(limit, 2))
        few = doubtful[number] and newest.arrived[number] < limit
        if again[number] or (few and tells_newest(bucket, limit)):
            again[number] = True
            e = np.repeat(cheapest(bucket, limit), bucket.weights)
            some = np.flatnonzero(e)
            found.append((bucket.people[some], np.full(len(some), number), e[some]))
    old = Found.nothing() if before is None else before
    kept = ~again[old.bucket] & (old.e < limit)
    parts = [(old.who[kept], old.bucket[kept], old.e[kept]), *found]
    return Found(*(np.concatenate(column) for column in zip(*parts, strict=True))), near


def _nearly(bucket: BucketHistory, limit: int) -> bool:
    """Whether the newest release of a bucket differs from one as large in fewer people than the limit, but in some."""
    sizes = bucket.weights @ bucket.patterns
    alike = (bucket.weights * bucket.patterns[:, -1]) @ bucket.patterns
    apart = sizes[-1] - alike
    return bool(((sizes == sizes[-1]) & (apart > 0) & (apart < limit)).any())
