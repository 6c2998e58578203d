"""The equivalence attack carried on: who was shown to have the same value as whom, and the groups that showed it.

What pairs of groups show only grows (see `groups`): classes, and each group once in terms of classes. Whole
buckets are attacked exactly, so who was in which bucket when is kept for as long as all groups are whole buckets (see
`buckets`). While no two of those are nearly the same, pairs of groups show nothing, and no groups are kept
beside. Whether values stay is known from what is left of everybody's values (see `attacks.updates.beliefs`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints, State
from reissue.attacks.equivalence.buckets import Found, Newest, Stays, kinds_of, look
from reissue.attacks.equivalence.groups import Groups, Shown
from reissue.attacks.equivalence.propagation import falling
from reissue.attacks.updates.beliefs import believe
from reissue.counting.hashing import mix
from reissue.kernels.tracking.incremental import enrolled
from reissue.people.histories import of_members
from reissue.people.membership import Membership, named_membership
from reissue.published.series import Series

__all__ = ["Arrival", "arrive", "domino_of", "state_with"]


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

    @property
    def where(self) -> Ints:
        """Presence to its person's number among all people."""
        return self.here[self.members.person]

    @property
    def whole(self) -> bool:
        """Whether all groups are whole buckets: no two have one distribution."""
        return len(np.unique(self.shapes)) == len(self.shapes)


def arrive(state: State | None, series: Series) -> Arrival:
    """The newest release."""
    members, known, lasting = named_membership(series)
    real = members.real
    beliefs = believe(state, of_members(members), known[real])
    here = np.empty(len(real), np.int64)
    total = 0 if state is None else int(state["everyone"])
    new = len(beliefs["people"]) - len(_kept(state, "people"))
    who = np.concatenate([_kept(state, "who"), total + np.arange(new)])
    here[real], total = who[beliefs.pop("at")], total + new
    named = ~real & (lasting >= 0)
    before = _kept(state, "fakes")
    fake_who, at, total = _numbered(before, _kept(state, "fake_who"), lasting[named], total)
    here[named] = fake_who[at]
    alone = ~real & (lasting < 0)
    here[alone] = total + np.arange(int(alone.sum()))
    kinds, shapes = _signatures(members, beliefs["names"])
    total += int(alone.sum())
    fakes = enrolled(before, lasting[named])[0]
    return Arrival(members, beliefs, who, fakes, fake_who, here, total, kinds, shapes)


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
    shapes = np.add.reduceat(mix(value + reduced.astype(np.uint64)), starts).view(np.int64)
    return kinds_of(shapes, np.add.reduceat(members.count, starts)), shapes


def state_with(state: State | None, arrival: Arrival, limit: int) -> tuple[dict[str, Any], Ints]:
    """The state with this release, which shows more together with all that came before; and known people's least e."""
    stays = _stays(state, arrival)
    found, near = Found.nothing(), True
    if stays is not None:
        found, near = look(
            Found.read(state) if state is not None and not _raised(state, limit) else None, *stays, limit
        )
    shown = _pairs(state, arrival, limit, near=near)
    kept: dict[str, Any] = {
        **arrival.beliefs,
        "who": arrival.who.astype(np.int32),
        "fakes": arrival.fakes,
        "fake_who": arrival.fake_who.astype(np.int32),
        "everyone": arrival.people,
        "limit": limit,
        "smallest": min(int(arrival.members.sizes.min()), arrival.people if state is None else state["smallest"]),
        "exact": stays is not None and found.exact,
        **({} if stays is None else {**stays[0].arrays(), **found.arrays()}),
        **({} if shown is None else _as_kept(shown)),
    }
    if shown is None and not len(found.e):
        return kept, np.empty(0, np.int64)
    others = np.zeros(arrival.people, np.int64) if shown is None else shown.least(limit)
    least = found.least(others)[arrival.who]
    return kept, least[least > 0]


def _raised(state: State, limit: int) -> bool:
    """Whether attacks are looked for that were not before."""
    return limit > int(state["limit"])


def _stays(state: State | None, arrival: Arrival) -> tuple[Stays, Newest] | None:
    """Who was in which bucket when, this release in particular; None once there were groups that are none."""
    if not arrival.whole or (state is not None and "bucket" not in state):
        return None
    before = Stays.none() if state is None else Stays.read(state)
    return before.after(arrival.where, arrival.members.group, arrival.shapes, arrival.people)


def _counted(arrival: Arrival) -> bool:
    """Whether every group shows as many values as it has people: then its kind follows from those."""
    return bool((kinds_of(arrival.shapes, arrival.members.sizes) == arrival.kinds).all())


def _pairs(state: State | None, arrival: Arrival, limit: int, *, near: bool) -> Shown | None:
    """What pairs of groups show with this release; None while that is nothing, and the groups are whole buckets."""
    plain, counted = state is None or "classes" not in state, _counted(arrival)
    if plain and counted and not near and (state is None or not _raised(state, limit)):
        return None
    shown = _shown(state)
    groups = Groups(np.append(0, np.cumsum(arrival.members.sizes)), arrival.where, arrival.kinds)
    shown = shown.and_people(arrival.people - len(shown.classes)).and_groups(groups, limit)
    whole = arrival.whole and (state is None or "bucket" in state)
    nothing = len(shown.apart) == len(shown.classes) and not shown.apart.any()
    return None if plain and counted and whole and nothing else shown


def _shown(state: State | None) -> Shown:
    """What pairs of groups have shown: nothing, if only whole buckets were kept."""
    if state is None:
        return Shown.nothing()
    if "classes" not in state:
        return replace(Shown.nothing(int(state["everyone"])), groups=Stays.read(state).groups(), limit=state["limit"])
    groups = Groups(state["groups"], state["member"], state["kind"])
    return Shown(state["classes"].astype(np.int64), state["apart"].astype(np.int64), groups, state["limit"])


def _as_kept(shown: Shown) -> dict[str, Any]:
    return {
        "classes": shown.classes.astype(np.int32),
        "apart": shown.apart.astype(np.int32),
        "groups": shown.groups.starts,
        "member": shown.groups.member.astype(np.int32),
        "kind": shown.groups.kind,
    }


def domino_of(state: State) -> tuple[int, int]:
    """How many people's values become known with one person's: see `_propagation.domino`."""
    if "classes" not in state and state["smallest"] > 2:
        # Everyone is a class alone, and knowing one of a group's three or more values tells no other.
        return 0, 0
    shown = _shown(state)
    return falling(
        shown.groups, shown.classes, state["who"].astype(np.int64), pl.Series(state["people"]).cast(pl.String)
    )
