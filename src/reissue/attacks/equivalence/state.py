"""What the equivalence attack keeps: who was shown to have the same value as whom, and the groups that showed it.

What pairs of groups show only grows (see `groups`): classes, and each group once in terms of classes. Whole
buckets are attacked exactly, so who was in which bucket when is kept for as long as all groups are whole buckets (see
`buckets`). While no two of those are nearly the same, pairs of groups show nothing, and no groups are kept
beside. Whether values stay is known from what is left of everybody's values (see `attacks.updates.beliefs`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.attacks.equivalence.buckets import BucketPresence, Found, Newest, kinds_of, look
from reissue.attacks.equivalence.groups import Shown, ValueGroups
from reissue.attacks.equivalence.propagation import falling
from reissue.attacks.updates.beliefs import LeftValues, believe
from reissue.counting.hashing import mix
from reissue.kernels.tracking.incremental import enrolled
from reissue.people.histories import histories_of_members
from reissue.people.membership import Arrivals, Membership

__all__ = ["ArrivedRelease", "Evidence", "NumberedCrowd", "arrive", "domino_of", "with_arrival"]


def _nobody() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class NumberedCrowd:
    """Everybody by now, numbered in the order in which they arrived, strangers too."""

    beliefs: LeftValues = field(default_factory=LeftValues)
    """What is left of the known people's values; and these people, in the order in which they arrived."""
    who: Ints = field(default_factory=_nobody)
    """Known person to its number among all people."""
    fakes: Ints = field(default_factory=_nobody)
    """The lasting numbers of people nobody knows, and their numbers among all people."""
    fake_who: Ints = field(default_factory=_nobody)
    total: int = 0
    """How many people there are."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What all releases so far show."""

    VERSION: ClassVar[int] = 1

    crowd: NumberedCrowd
    limit: int
    """Attacks below it were looked for."""
    smallest: int
    """The smallest group there was."""
    presence: BucketPresence | None
    """Who was in which bucket when; None once there were groups that are no whole buckets."""
    found: Found
    """What exact attacks on buckets found."""
    pairs: Shown | None
    """What pairs of groups show; None while that is nothing, and the groups are whole buckets."""
    below: Ints
    """The smallest e of each known person who is in an attack."""

    @property
    def exact(self) -> bool:
        """Whether what was found is certain: there is no more."""
        return self.presence is not None and self.found.exact


@dataclass(frozen=True, eq=False)
class ArrivedRelease:
    """A release in the terms of all earlier ones."""

    members: Membership
    crowd: NumberedCrowd
    """Everybody with those of this release."""
    here: Ints
    """Person of this release to its number among all people."""
    kinds: Ints
    """Group to a number for its multiset of values."""
    shapes: Ints
    """Group to a number for its distribution of values."""

    @property
    def where(self) -> Ints:
        """Presence to its person's number among all people."""
        return self.here[self.members.person]

    @property
    def whole(self) -> bool:
        """Whether all groups are whole buckets: no two have one distribution."""
        return len(np.unique(self.shapes)) == len(self.shapes)


def arrive(before: NumberedCrowd, newest: Arrivals) -> ArrivedRelease:
    """The newest release."""
    members, real, lasting = newest.members, newest.members.real, newest.strangers
    beliefs, at = believe(before.beliefs, histories_of_members(members), newest.known[real])
    here = np.empty(len(real), np.int64)
    new = len(beliefs.index.people) - len(before.who)
    who = np.concatenate([before.who, before.total + np.arange(new)])
    here[real], total = who[at], before.total + new
    named = ~real & (lasting >= 0)
    fake_who, of_named, total = _numbered(before.fakes, before.fake_who, lasting[named], total)
    here[named] = fake_who[of_named]
    alone = ~real & (lasting < 0)
    here[alone] = total + np.arange(int(alone.sum()))
    total += int(alone.sum())
    fakes = enrolled(before.fakes, lasting[named])[0]
    return ArrivedRelease(
        members, NumberedCrowd(beliefs, who, fakes, fake_who, total), here, *_signatures(members, beliefs.names)
    )


def _numbered(known: Ints, numbers: Ints, arriving: Ints, total: int) -> tuple[Ints, Ints, int]:
    """The numbers of all who are known by now, the places of those who arrive, and how many people there are then."""
    everyone, at, _ = enrolled(known, arriving)
    new = len(everyone) - len(known)
    return np.concatenate([numbers, total + np.arange(new)]), at, total + new


def _signatures(members: Membership, names: Sequence[str | None]) -> tuple[Ints, Ints]:
    """Group to numbers for its multiset and for its distribution of values, the same in every release."""
    place = {name: number for number, name in enumerate(names)}
    number = np.array([place[None if name == "\0" else name] for name in members.names], np.uint64)
    shown = members.histogram
    value = mix(number[shown.value] + np.uint64(1))
    shapes = np.add.reduceat(mix(value + shown.reduced.astype(np.uint64)), shown.starts[:-1]).view(np.int64)
    return kinds_of(shapes, shown.sizes), shapes


def with_arrival(before: Evidence | None, arrival: ArrivedRelease, limit: int) -> Evidence:
    """What is shown with this release, together with all earlier ones."""
    known, crowd = before if before is not None and limit <= before.limit else None, arrival.crowd
    stays = _stays(before, arrival)
    found, near = Found.nothing(), True
    if stays is not None:
        found, near = look(None if known is None else known.found, *stays, limit)
    pairs = _pairs(before, arrival, limit, near=near)
    least = _nobody()
    if pairs is not None or len(found.e):
        others = np.zeros(crowd.total, np.int64) if pairs is None else pairs.least(limit)
        least = found.least(others)[crowd.who]
    smallest = int(arrival.members.sizes.min())
    return Evidence(
        crowd,
        limit,
        smallest if before is None else min(smallest, before.smallest),
        None if stays is None else stays[0],
        found,
        pairs,
        least[least > 0],
    )


def _stays(before: Evidence | None, arrival: ArrivedRelease) -> tuple[BucketPresence, Newest] | None:
    """Who was in which bucket when, this release in particular; None once there were groups that are none."""
    presence = BucketPresence.none() if before is None else before.presence
    if not arrival.whole or presence is None:
        return None
    return presence.after(arrival.where, arrival.members.group, arrival.shapes, arrival.crowd.total)


def _counted(arrival: ArrivedRelease) -> bool:
    """Whether every group shows as many values as it has people: then its kind follows from those."""
    return bool((kinds_of(arrival.shapes, arrival.members.sizes) == arrival.kinds).all())


def _pairs(before: Evidence | None, arrival: ArrivedRelease, limit: int, *, near: bool) -> Shown | None:
    """What pairs of groups show with this release; None while that is nothing, and the groups are whole buckets."""
    plain, counted = before is None or before.pairs is None, _counted(arrival)
    if plain and counted and not near and (before is None or limit <= before.limit):
        return None
    shown = _shown(before)
    groups = ValueGroups(np.append(0, np.cumsum(arrival.members.sizes)), arrival.where, arrival.kinds)
    shown = shown.and_people(arrival.crowd.total - len(shown.classes)).and_groups(groups, limit)
    whole = arrival.whole and (before is None or before.presence is not None)
    nothing = len(shown.apart) == len(shown.classes) and not shown.apart.any()
    return None if plain and counted and whole and nothing else shown


def _shown(evidence: Evidence | None) -> Shown:
    """What pairs of groups have shown: nothing, if only whole buckets were kept."""
    if evidence is None:
        return Shown.nothing()
    if evidence.pairs is not None:
        return evidence.pairs
    groups = Shown.nothing().groups if evidence.presence is None else evidence.presence.groups()
    return replace(Shown.nothing(evidence.crowd.total), groups=groups, limit=evidence.limit)


def domino_of(evidence: Evidence) -> tuple[int, int]:
    """How many people's values become known with one person's: see `propagation.falling`."""
    if evidence.pairs is None and evidence.smallest > 2:
        # Everyone is a class alone, and knowing one of a group's three or more values tells no other.
        return 0, 0
    shown, crowd = _shown(evidence), evidence.crowd
    return falling(shown.groups, shown.classes, crowd.who, pl.Series(crowd.beliefs.index.people).cast(pl.String))
