"""The worst case of a correspondence attack: one target's groups, and which of their records are ruled out.

**Releases that are no global recodings**: groups as boxes, two releases at a time.
A person of group p in the earlier release stands in a group q of the later one whose box meets p's. If p and q overlap
no other group of their own releases, whoever knows the person's values knows both groups, and at most
sum_s min(n_p(s), n_q(s)) records are left. Counts alone do not tell who is in which q; but a value of p that only
one such q holds takes all its records there. So people are counted only where they must be: this finds real exposures
(if records only arrived), and never proves that there are none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.attacks.stories import Case, TargetGroup, case, in_words, shown, value_text
from reissue.counting.histogram import common
from reissue.errors import CannotRunError
from reissue.published.boxes import BoxBounds, SeriesCounts
from reissue.published.joins import overlapping
from reissue.words import listed, plural

__all__ = ["Exposure", "exposures", "of_pair", "tell"]

_MOST = 200_000_000
"""How many pairs of boxes are compared before giving up."""


@dataclass(frozen=True)
class Exposure:
    """The worst that two releases do to people who must be there."""

    earlier: int
    later: int
    """The releases, from 0."""
    groups: tuple[int, int]
    left: int
    people: int
    """How many people have less left than the limit, at least."""


def exposures(views: SeriesCounts, limit: int) -> list[Exposure]:
    """For every two releases the worst group pair below the limit, if somebody must stand there."""
    boxes = [views.bounds(release) for release in range(len(views.releases))]
    if sum(map(len, boxes)) ** 2 > _MOST:
        raise CannotRunError(
            "the releases are no global recodings, and have too many groups to compare them all.", too_large=True
        )
    alone = [_alone(box) for box in boxes]
    found = []
    for earlier in range(len(boxes)):
        for later in range(earlier + 1, len(boxes)):
            pairs = _meeting(boxes[earlier], boxes[later])
            worst = _worst(views, earlier, later, pairs, alone[earlier], alone[later], limit)
            if worst is not None:
                found.append(worst)
    return found


def _meeting(one: BoxBounds, other: BoxBounds) -> tuple[Ints, Ints]:
    """The pairs of groups whose boxes overlap, sorted."""
    none = np.empty(0, np.int64)
    found = [(none, none), *overlapping(one, other)]
    rows, columns = (np.concatenate([part[side] for part in found]) for side in (0, 1))
    order = np.lexsort((columns, rows))
    return rows[order], columns[order]


def _alone(box: BoxBounds) -> Bools:
    """Which groups overlap no other group of their release."""
    return np.asarray(np.bincount(_meeting(box, box)[0], minlength=len(box)) == 1)


def _worst(
    views: SeriesCounts,
    earlier: int,
    later: int,
    pairs: tuple[Ints, Ints],
    one_alone: Bools,
    other_alone: Bools,
    limit: int,
) -> Exposure | None:
    one, other = views.releases[earlier], views.releases[later]
    pair, mine, its = common(one, other, *pairs)
    where = np.bincount(mine, minlength=len(one.count))
    if not where.all():
        raise CannotRunError("a later release lacks records that an earlier one had, so there is nothing to follow.")
    left = np.bincount(pair, np.minimum(one.count[mine], other.count[its]), len(pairs[0])).astype(np.int64)
    certain = np.bincount(pair, one.count[mine] * (where[mine] == 1), len(pairs[0])).astype(np.int64)
    known = one_alone[pairs[0]] & other_alone[pairs[1]]
    exposed = np.flatnonzero(known & (certain > 0) & (left < limit))
    if not len(exposed):
        return None
    worst = exposed[np.argmin(left[exposed])]
    groups = int(pairs[0][worst]), int(pairs[1][worst])
    return Exposure(earlier, later, groups, int(left[worst]), int(certain[exposed].sum()))


_NAMED = 3
"""How many values are gone through one by one."""
_BARS = 12
UNIT = "records"


def tell(
    views: SeriesCounts,
    numbers: Sequence[int],
    groups: Mapping[int, int],
    terms: Mapping[int, int],
    limit: int,
    since: int | None = None,
) -> Case:
    """The case of a target.

    `groups` are its groups by release (from 0), `terms` how many records with each value are left for it, and `since`
    is the last release in which it was not yet.
    """
    left = sum(terms.values())
    counts = {place: _counts(views, place, group) for place, group in groups.items()}
    drawn = list(groups)[: _BARS // 2] + list(groups)[len(groups) - _BARS // 2 :] if len(groups) > _BARS else groups
    bars: list[TargetGroup] = [
        {
            "label": f"release {numbers[place]}",
            "size": sum(counts[place].values()),
            "left": left,
            "published": shown(views.text(place, groups[place])),
        }
        for place in drawn
    ]
    steps = _steps(views, numbers, counts, terms, limit, since)
    look = in_words(bars[0]["published"])
    steps[0] += f" In release {numbers[next(iter(groups))]} that is: {look}."
    if len(drawn) < len(groups):
        steps.append(f"The picture shows the first and the last {_BARS // 2} of {len(groups)} releases.")
    return case(steps, {"kind": "candidates", "bars": bars, "limit": limit, "unit": UNIT})


def of_pair(views: SeriesCounts, numbers: Sequence[int], worst: Exposure, limit: int) -> Case:
    """The case of a target of two releases that were compared as boxes."""
    groups = dict(zip((worst.earlier, worst.later), worst.groups, strict=True))
    one, other = (_counts(views, place, group) for place, group in groups.items())
    terms = {value: min(number, other[value]) for value, number in one.items() if value in other}
    return tell(views, numbers, groups, terms, limit)


def _counts(views: SeriesCounts, place: int, group: int) -> dict[int, int]:
    """Value to its records in a group."""
    view = views.releases[place]
    mine = slice(int(view.starts[group]), int(view.starts[group + 1]))
    return dict(zip(view.value[mine].tolist(), view.count[mine].tolist(), strict=True))


def _steps(
    views: SeriesCounts,
    numbers: Sequence[int],
    counts: Mapping[int, Mapping[int, int]],
    terms: Mapping[int, int],
    limit: int,
    since: int | None,
) -> list[str]:
    held = [numbers[place] for place in counts]
    sizes = {numbers[place]: sum(own.values()) for place, own in counts.items()}
    arrival = f", arrived after release {numbers[since]}" if since is not None else ""
    several = len(held) > 1
    releases = f"releases {held[0]} to {held[-1]}" if len(held) > 3 else f"releases {listed(held)}"
    where, each = (releases, "each of them") if several else (f"release {held[0]}", "it")
    known = f"The adversary knows someone's quasi-identifiers, and that this person is in {where}{arrival}"
    found = [
        f"{known}: that tells the person's group in {each}.",
        f"By itself, the group has {_sizes(sizes)} that look alike.",
    ]
    cracked = _cracked(views, counts, terms)
    if not cracked:
        found.append("Every record has a possible partner in all the other releases, so none can be ruled out.")
    else:
        before = f", and is none that release {numbers[since]} must have had already" if since is not None else ""
        found.append(f"The person's record stays in all later releases, always with the same value{before}.")
        found.append(" ".join(_ruled_out(views, numbers, counts, terms, value) for value in cracked[:_NAMED]))
    left = sum(terms.values())
    found.append(f"In all, {plural(left, 'record')} can still be the person's; the limit is {limit:,}.")
    return found


def _sizes(sizes: Mapping[int, int]) -> str:
    if len(sizes) > 3:
        return f"{min(sizes.values()):,} to {plural(max(sizes.values()), 'record')}"
    return listed([f"{plural(size, 'record')} in release {number}" for number, size in sizes.items()])


def _cracked(views: SeriesCounts, counts: Mapping[int, Mapping[int, int]], terms: Mapping[int, int]) -> list[int]:
    """The values of which records are ruled out, those with most first."""
    most = {value: max(own.get(value, 0) for own in counts.values()) for own in counts.values() for value in own}
    lost = {value: number - terms.get(value, 0) for value, number in most.items()}
    return sorted((value for value in lost if lost[value] > 0), key=lambda value: (-lost[value], _name(views, value)))


def _name(views: SeriesCounts, value: int) -> str:
    return value_text("\1".join("\0" if text is None else text for text in views.values[value]))


def _ruled_out(
    views: SeriesCounts,
    numbers: Sequence[int],
    counts: Mapping[int, Mapping[int, int]],
    terms: Mapping[int, int],
    value: int,
) -> str:
    """What is left of the records with one value."""
    own = {numbers[place]: held.get(value, 0) for place, held in counts.items()}
    few, many = min(own, key=lambda one: own[one]), max(own, key=lambda one: own[one])
    left = terms.get(value, 0)
    seen = f"Records with {_name(views, value)}: {own[many]:,} in release {many}"
    if left == own[few] < own[many]:
        return f"{seen}, but {own[few] or 'none'} in release {few}, so {left or 'none'} can be the person's."
    return f"{seen}, of which {left or 'none'} can be the person's."
