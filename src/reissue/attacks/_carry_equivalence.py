"""The equivalence attack carried on: who was shown to have the same value as whom, and the groups that showed it.

What pairs of groups show only grows (see `_carry_groups`): classes, and each group once in terms of classes. Whole
buckets are attacked exactly, so who was in which bucket when is kept for as long as all groups are whole buckets.
Whether values stay is known from what is left of everybody's values (see `_carry_beliefs`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.attacks._base import State
from reissue.attacks._carry import bits_with, enrolled
from reissue.attacks._carry_beliefs import believe
from reissue.attacks._carry_groups import Groups, Shown
from reissue.attacks._equivalence_exact import Bucket, cheapest, tells_newest
from reissue.attacks._following import of_members
from reissue.attacks._hashing import mix
from reissue.attacks._membership import Membership, named_membership
from reissue.attacks._propagation import falling
from reissue.attacks._series import Series

__all__ = ["Arrival", "arrive", "domino_of", "state_with", "with_buckets"]

_STAYS = ("stay_who", "stay_shape", "stay_bits")


@dataclass(frozen=True, eq=False)
class Arrival:
    """A release in the terms of all that came before."""

    members: Membership
    beliefs: dict[str, Any]
    """What is left of everybody's values; and the known people, in the order in which they came."""
    who: Ints
    """Known person to its number among all people, strangers too."""
    fakes: Ints
    """The lasting numbers of people nobody knows, and their numbers among all people."""
    fake_who: Ints
    here: Ints
    """Person of this release to its number among all people."""
    people: int
    """How many people there are by now."""
    kinds: Ints
    """Group to a number for its multiset of values."""
    shapes: Ints
    """Group to a number for its distribution of values."""
    shown: Shown
    """What was shown before."""


def arrive(state: State | None, series: Series) -> Arrival:
    """The newest release."""
    members, known, lasting = named_membership(series)
    real = members.real
    beliefs = believe(state, of_members(members), known[real])
    shown = _shown(state)
    here = np.empty(len(real), np.int64)
    new = len(beliefs["people"]) - len(_kept(state, "people"))
    who = np.concatenate([_kept(state, "who"), len(shown.classes) + np.arange(new)])
    here[real], total = who[beliefs.pop("at")], len(shown.classes) + new
    named = ~real & (lasting >= 0)
    before = _kept(state, "fakes")
    fake_who, at, total = _numbered(before, _kept(state, "fake_who"), lasting[named], total)
    here[named] = fake_who[at]
    alone = ~real & (lasting < 0)
    here[alone] = total + np.arange(int(alone.sum()))
    kinds, shapes = _signatures(members, beliefs["names"])
    total += int(alone.sum())
    fakes = enrolled(before, lasting[named])[0]
    return Arrival(members, beliefs, who, fakes, fake_who, here, total, kinds, shapes, shown)


def _kept(state: State | None, name: str) -> Ints:
    return np.empty(0, np.int64) if state is None else np.asarray(state[name], np.int64)


def _numbered(known: Ints, numbers: Ints, arriving: Ints, total: int) -> tuple[Ints, Ints, int]:
    """The numbers of all who are known by now, the places of those who arrive, and how many people there are then."""
    everyone, at, _ = enrolled(known, arriving)
    new = len(everyone) - len(known)
    return np.concatenate([numbers, total + np.arange(new)]), at, total + new


def _signatures(members: Membership, names: Sequence[str | None]) -> tuple[Ints, Ints]:
    """Group to numbers for its multiset and for its distribution of values, the same in every release."""
    place = {name: number for number, name in enumerate(names)}
    number = np.array([place[None if name == "\0" else name] for name in members.names], np.uint64)
    starts = np.flatnonzero(np.diff(members.value_group, prepend=-1))
    common = np.gcd.reduceat(members.count, starts)
    reduced = members.count // common[members.value_group]
    value = mix(number[members.value] + np.uint64(1))
    found = [np.add.reduceat(mix(value + count.astype(np.uint64)), starts) for count in (members.count, reduced)]
    return found[0].view(np.int64), found[1].view(np.int64)


def _shown(state: State | None) -> Shown:
    if state is None:
        return Shown.nothing()
    groups = Groups(state["groups"], state["member"], state["kind"])
    return Shown(state["classes"].astype(np.int64), state["apart"].astype(np.int64), groups, state["limit"])


def state_with(state: State | None, arrival: Arrival, limit: int) -> dict[str, Any]:
    """The state with this release: what it shows together with all that came before."""
    members, shown = arrival.members, arrival.shown
    starts = np.append(0, np.cumsum(members.sizes))
    groups = Groups(starts, arrival.here[members.person], arrival.kinds)
    shown = shown.and_people(arrival.people - len(shown.classes)).and_groups(groups, limit)
    return {
        **arrival.beliefs,
        **_stays(state, arrival),
        "who": arrival.who.astype(np.int32),
        "fakes": arrival.fakes,
        "fake_who": arrival.fake_who.astype(np.int32),
        "classes": shown.classes.astype(np.int32),
        "apart": shown.apart.astype(np.int32),
        "groups": shown.groups.starts,
        "member": shown.groups.member.astype(np.int32),
        "kind": shown.groups.kind,
        "limit": limit,
        "least": shown.least(limit),
    }


def domino_of(state: State) -> tuple[int, int]:
    """How many people's values become known with one person's: see `_propagation.domino`."""
    shown = _shown(state)
    return falling(
        shown.groups, shown.classes, state["who"].astype(np.int64), pl.Series(state["people"]).cast(pl.String)
    )


# --- whole buckets ---------------------------------------------------------------------------------------------------


def _stays(state: State | None, arrival: Arrival) -> dict[str, Any]:
    """Who was in which bucket when; nothing once a release has two groups of one distribution."""
    if (state is not None and "stay_who" not in state) or len(np.unique(arrival.shapes)) < len(arrival.shapes):
        return {}
    release = 0 if state is None else len(state["numbers"])
    bits = np.empty((0, 0), np.uint8) if state is None else state["stay_bits"]
    before = [_kept(state, name) for name in _STAYS[:2]]
    mine = arrival.here[arrival.members.person], arrival.shapes[arrival.members.group]
    order = None if state is None else state["stay_order"]
    keys, at, order = enrolled(_stay_keys(*before), _stay_keys(*mine), order)
    who, shape = (np.append(old, np.empty(len(keys) - len(old), np.int64)) for old in before)
    who[at], shape[at] = mine
    return {
        "stay_who": who.astype(np.int32),
        "stay_order": order.astype(np.int32),
        "stay_shape": shape,
        "stay_bits": bits_with(bits, len(keys), release, at),
    }


def _stay_keys(who: Ints, shape: Ints) -> Ints:
    keys = mix(who.astype(np.uint64) + np.uint64(1)) ^ mix(shape.view(np.uint64))
    return np.asarray(keys.view(np.int64))


def with_buckets(before: State | None, after: State, limit: int) -> tuple[Ints, Ints]:
    """Stay to the smallest e below the limit in its bucket, 0 for none and -1 for no telling; and all people's least.

    An attack that does not tell the newest release from the end is one of the release before, with the same people on
    either side. So a bucket in which nothing can tell them apart keeps what was found: nearly every one.
    """
    releases = len(after["numbers"])
    rows = len(after["stay_who"])
    found = np.zeros(rows, np.int64)
    again = np.ones(rows, np.bool_)
    shapes, of_row = np.unique(after["stay_shape"], return_inverse=True)
    of_row = of_row.reshape(-1)
    if before is not None and limit <= before["limit"]:
        kept = before["stay_least"]
        found[: len(kept)] = np.where(kept < limit, kept, 0)
        again = _untied(after, of_row, len(shapes), limit, releases)[of_row]
        again |= (np.bincount(of_row, found < 0, len(shapes)) > 0)[of_row]
    for bucket, own in _buckets(after, np.flatnonzero(again), releases):
        if before is None or limit > before["limit"] or (found[own] < 0).any() or tells_newest(bucket, limit):
            found[own] = np.repeat(cheapest(bucket, limit), bucket.weights)
    least = np.asarray(after["least"]).copy()
    who = after["stay_who"].astype(np.int64)
    below = np.full(len(least), limit)
    np.minimum.at(below, who[found > 0], found[found > 0])
    smaller = (below < limit) & ((least == 0) | (below < least))
    return found, np.where(smaller, below, least)


def _untied(state: State, bucket: Ints, buckets: int, limit: int, releases: int) -> Bools:
    """In which buckets something may tell the newest release from the end.

    Not where so many people came that they do not count in any attack, nor where the bucket is not in the release.
    """
    bits = state["stay_bits"]
    here = (bits[:, (releases - 1) // 8] & np.uint8(128 >> (releases - 1) % 8)) > 0
    once = here & (np.bitwise_count(bits).sum(axis=1) == 1)
    came = np.bincount(bucket[once], minlength=buckets)
    there = np.bincount(bucket[here], minlength=buckets) > 0
    return there & (came < limit)


def _buckets(state: State, rows: Ints, releases: int) -> Iterator[tuple[Bucket, Ints]]:
    """The buckets of some stays, and which stays they are, pattern by pattern."""
    rows = rows[np.argsort(state["stay_shape"][rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(state["stay_shape"][rows])) + 1
    for own in np.split(rows, cuts) if len(rows) else []:
        bits = np.ascontiguousarray(state["stay_bits"][own])
        packed = bits.view(np.dtype((np.void, bits.shape[1]))).reshape(-1)
        _, first, pattern, weights = np.unique(packed, return_index=True, return_inverse=True, return_counts=True)
        patterns = np.unpackbits(bits[first], axis=1, count=releases).astype(np.bool_)
        ordered = own[np.argsort(pattern.reshape(-1), kind="stable")]
        people = state["stay_who"][ordered].astype(np.int64)
        yield Bucket(patterns[:, patterns.any(axis=0)], weights, people), ordered
