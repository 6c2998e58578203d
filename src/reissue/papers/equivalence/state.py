"""What the equivalence attack keeps: who was shown to have the same value as whom, and the groups that showed it.

What pairs of groups show only grows (see `groups`): classes, and each group once in terms of classes. Whole
buckets are attacked exactly, so who was in which bucket when is kept for as long as all groups are whole buckets (see
`buckets`). While no two of those are nearly the same, pairs of groups show nothing, and no groups are kept
beside. Small components are solved for good (see `components`): what they showed once stays true. Whether values can
have stayed is known from what is left of everybody's values (see `attacks.updates.beliefs`), and from all groups
together (see `fixed_values`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.hashing import mix
from reissue.counting.histogram import Histogram
from reissue.papers.equivalence.buckets import BucketPresence, Found, Newest, apart, kinds_of, look
from reissue.papers.equivalence.components import solve
from reissue.papers.equivalence.fixed_values import contradicts_truth, no_values_fit
from reissue.papers.equivalence.groups import Shown, ValueGroups, smaller
from reissue.papers.equivalence.propagation import falling
from reissue.papers.equivalence.shown_values import KindValues
from reissue.papers.tracking.incremental import enrolled
from reissue.papers.tracking.membership import Arrivals, Membership, histories_of_members
from reissue.papers.updates.beliefs import LeftValues, believe, contradicted

__all__ = ["ArrivedRelease", "Evidence", "NumberedCrowd", "arrive", "domino_of", "with_arrival"]


_PRESENCES = 100_000
"""Presences of people in groups, at most, that are put together anew for every release."""


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

    VERSION: ClassVar[int] = 2

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
    kinds: KindValues
    """What each kind of group shows."""
    counted: bool
    """Whether every group so far shows as many values as it has members."""
    solved: Ints
    """Person, of all, to the smallest e that a component showed; 0 for none."""
    exact: bool
    """Whether there is no smaller e, in any world."""
    linear: bool
    """Whether there is none that sums of groups show."""
    changing: bool
    """Whether groups contradict each other, or what is true now, unless values change."""


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
    shows: Histogram
    """What each group shows, by values' lasting numbers."""
    truth: Ints
    """Person of this release to the true value, by its lasting number; -1 where nobody knows."""

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
    crowd = NumberedCrowd(beliefs, who, fakes, fake_who, total)
    return ArrivedRelease(members, crowd, here, *_signatures(members, beliefs.names), *_shown_and_true(newest, beliefs))


def _shown_and_true(newest: Arrivals, beliefs: LeftValues) -> tuple[Histogram, Ints]:
    """What each group shows, and the true value of each person, by values' lasting numbers."""
    members, shown = newest.members, newest.members.histogram
    place = {name: number for number, name in enumerate(beliefs.names)}
    number = np.array([place[None if name == "\0" else name] for name in members.names], np.int64)
    groups = np.repeat(np.arange(shown.groups), shown.lengths)
    order = np.lexsort((number[shown.value], groups))
    shows = Histogram(shown.starts, number[shown.value][order], np.asarray(shown.count, np.int64)[order], len(place))
    truth = np.full(len(members.real), -1, np.int64)
    if newest.truth is not None:
        people, texts = newest.truth
        truth[people] = [place.get(None if name == "\0" else name, len(place)) for name in texts]
    return shows, truth


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
    presence = None if stays is None else stays[0]
    pairs = _pairs(before, arrival, limit, near=near)
    smallest, old = int(arrival.members.sizes.min()), np.zeros(0, np.int64) if before is None else before.solved
    evidence = Evidence(
        crowd,
        limit,
        smallest if before is None else min(smallest, before.smallest),
        presence,
        found,
        pairs,
        _nobody(),
        (KindValues() if before is None else before.kinds).and_more(arrival.kinds, arrival.shows),
        _counted(arrival) and (before is None or before.counted),
        np.append(old, np.zeros(crowd.total - len(old), np.int64)),
        exact=False,
        linear=presence is not None and found.exact and apart(presence, arrival.shows),
        changing=contradicted(crowd.beliefs) or (before is not None and before.changing),
    )
    evidence = _with_components(evidence, before, arrival)
    least = found.least(np.zeros(crowd.total, np.int64) if pairs is None else pairs.least(limit))
    least = smaller(least, np.where(evidence.solved < limit, evidence.solved, 0))[crowd.who]
    return replace(evidence, below=least[least > 0])


def _with_components(evidence: Evidence, before: Evidence | None, arrival: ArrivedRelease) -> Evidence:
    """With what all groups together say, while there are few; a contradiction once is one forever."""
    if evidence.changing or not evidence.counted or before is None:
        return evidence
    shown, limit = _shown(evidence), evidence.limit
    if len(shown.groups.member) > _PRESENCES:
        return evidence
    groups, shows = shown.groups, evidence.kinds.of(shown.groups.kind)
    truth = np.full(evidence.crowd.total, -1, np.int64)
    truth[arrival.here] = arrival.truth
    of_class = np.full(len(shown.apart), -1, np.int64)
    of_class[shown.classes] = truth  # of one class all have the same, or the next line tells that they have not
    if contradicts_truth(groups, shows, shown.classes, truth) or no_values_fit(groups, shows, of_class):
        return replace(evidence, changing=True)
    found = solve(groups, shows, np.bincount(shown.classes, minlength=len(shown.apart)), limit)
    if found.contradicted:
        return replace(evidence, changing=True)
    solved = smaller(evidence.solved, found.least[shown.classes])
    return replace(evidence, solved=solved, exact=found.exact, linear=evidence.linear or found.linear)


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
