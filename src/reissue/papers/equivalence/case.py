"""The worst case of an equivalence attack: two sets of people that a subtraction shows to have the same values.

Of fine groups, two that show the same values and differ in e people each; of a whole bucket, its history graph with the
cut that the integer program found.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Ints
from reissue.attacks.stories import (
    Case,
    CutHistory,
    HistoryEdge,
    HistoryNode,
    case,
    group_text,
    in_words,
    short,
    value_text,
)
from reissue.papers.equivalence.exact import BucketHistory, Witness, witness
from reissue.papers.equivalence.groups import Equivalences, apart_from, groups_of, rests
from reissue.papers.tracking.membership import Membership
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series
from reissue.words import listed, plural

__all__ = ["CaseContext", "case_of", "case_of_person", "two_groups"]

_NODES = 30
_EDGES = 90
_NAMED = 3
_TINY = 1e-6


@dataclass(frozen=True, eq=False)
class CaseContext:
    """What all cases tell."""

    series: Series
    knowledge: Knowledge
    members: Membership
    limit: int
    falling: int
    """How many people's values become known with one, at worst."""

    def values(self, group: int) -> str:
        """What a group shows."""
        shown = self.members.histogram.counts_of(group)
        names = sorted(value_text(self.members.names[value]) for value in shown)
        return short(", ".join(names)) or ""

    def number(self, group: int) -> int:
        """The number of a group's release."""
        return self.series.numbers[int(self.members.release[group])]

    def end(self, e: int) -> list[str]:
        """What it comes to."""
        same = "this person and that one have" if e == 1 else f"these {e} people and those {e} have"
        sentences = [f"So {same} the same {'value' if e == 1 else 'values'}; the limit is {self.limit}."]
        if self.falling:
            others = "1 other person" if self.falling == 1 else f"{self.falling:,} other people"
            sentences.append(f"Once a single value becomes known, such steps give away up to {others}.")
        return sentences


def case_of(
    context: CaseContext, e: int, pairs: Equivalences, judged: Sequence[tuple[BucketHistory, Ints]]
) -> Case | None:
    """The smallest e of somebody who is known, if it can be shown."""
    members = context.members
    for bucket, of_pattern in judged:
        of_person = np.repeat(np.arange(len(bucket.weights)), bucket.weights)
        hit = np.flatnonzero((of_pattern[of_person] == e) & members.real[bucket.people])
        shown = of_bucket(context, bucket, int(of_person[hit[0]]), e) if len(hit) else None
        if shown is not None:
            return shown
    return of_groups(context, pairs, e)


def case_of_person(
    context: CaseContext, person: int, e: int, pairs: Equivalences, judged: Sequence[tuple[BucketHistory, Ints]]
) -> Case | None:
    """One person's smallest e, if one bucket or two groups show it; None if only several together do."""
    for bucket, _ in judged:
        place = np.flatnonzero(bucket.people == person)
        if len(place):
            of_person = np.repeat(np.arange(len(bucket.weights)), bucket.weights)
            return of_bucket(context, bucket, int(of_person[place[0]]), e)
    return next((_of_pair(context, pair, e) for pair in _pairs_of(context.members, pairs, person, e)), None)


def _pairs_of(members: Membership, found: Equivalences, person: int, e: int) -> Iterator[tuple[int, int]]:
    """Pairs of groups that differ in e classes, of which just one has the person."""
    own = members.group[members.person == person]
    # Those whom a pair shows with e = 1 are in one class.
    classes = np.arange(len(members.real)) if e == 1 else found.classes
    for group in own.tolist():
        others, apart = apart_from(members, classes, group)
        for other in np.setdiff1d(others[apart == e], own).tolist():
            first, last = sorted((group, other))
            yield first, last


# --- fine groups -----------------------------------------------------------------------------------------------------


def of_groups(context: CaseContext, found: Equivalences, e: int) -> Case | None:
    """Two groups that differ in e people each; None if no pair shows it by itself."""
    pair = two_groups(context.members, found, e)
    return None if pair is None else _of_pair(context, pair, e)


def _of_pair(context: CaseContext, pair: tuple[int, int], e: int) -> Case:
    size = int(context.members.sizes[pair[0]])
    looks = [_look(context, group) for group in pair]
    places = [f"release {context.number(group)}" for group in pair]
    linked = "" if e == 1 else ", or are known from other groups to have the same value"
    cancel = "1 person is in both and cancels" if size - e == 1 else f"{size - e} people are in both{linked} and cancel"
    left = "1 is left on either side" if e == 1 else f"{e} are left on either side"
    steps = [
        f"The adversary knows who is in a group of {places[0]}{looks[0]} and in one of {places[1]}{looks[1]}.",
        f"Both have {plural(size, 'record')} and show the same values: {context.values(pair[0])}.",
        f"Subtracting one from the other, {cancel} out; {left}.",
        *context.end(e),
    ]
    nodes: list[HistoryNode] = [
        {"label": f"{place}: {context.values(group)}", "people": size, "side": 0}
        for place, group in zip(places, pair, strict=True)
    ]
    nodes.append({"label": "in one of them only", "people": 2 * e, "side": 1})
    edges: list[HistoryEdge] = [{"from": 0, "to": 1, "weight": size - e, "cut": False}] if size > e else []
    edges += [{"from": place, "to": 2, "weight": e, "cut": True} for place in (0, 1)]
    return case(steps, _picture(nodes, edges, context.limit))


def two_groups(members: Membership, found: Equivalences, e: int) -> tuple[int, int] | None:
    """Two groups that show the same values and differ in e people (or classes of people) each; None if none do."""
    return next(_differing_in_one(members) if e == 1 else _differing(members, found, e), None)


def _look(context: CaseContext, group: int) -> str:
    if not len(context.members.label):
        return ""
    release = int(context.members.release[group])
    shown = group_text(context.series, context.knowledge, release, int(context.members.label[group]))
    return f" ({in_words(shown)})" if shown else ""


def _differing_in_one(members: Membership) -> Iterator[tuple[int, int]]:
    """Pairs of groups of one kind that differ in one person each: known people first, then small groups."""
    rest = rests(groups_of(members, np.arange(len(members.real))))
    order = np.argsort(rest, kind="stable")
    one, other = order[:-1], order[1:]
    same = (rest[one] == rest[other]) & (members.person[one] != members.person[other])
    one, other = one[same], other[same]
    unknown = 2 - members.real[members.person[one]].astype(np.int64) - members.real[members.person[other]]
    ranked = np.lexsort((other, one, members.sizes[members.group[one]], unknown))
    for place in ranked.tolist():
        pair = sorted(int(group) for group in (members.group[one[place]], members.group[other[place]]))
        people = [set(members.person[members.group == group].tolist()) for group in pair]
        # Equal numbers hardly ever stand for different groups, but they may.
        if len(people[0] - people[1]) == len(people[1] - people[0]) == 1:
            yield pair[0], pair[1]


def _differing(members: Membership, found: Equivalences, e: int) -> Iterator[tuple[int, int]]:
    """Pairs of groups that differ in e classes, of which one has a person whose smallest e that is."""
    people = np.flatnonzero(found.least == e)
    people = people[np.argsort(~members.real[people], kind="stable")]
    for group in members.group[members.person == people[0]].tolist() if len(people) else []:
        others, apart = apart_from(members, found.classes, group)
        for other in others[apart == e].tolist():
            first, last = sorted((group, other))
            yield first, last


# --- a whole bucket --------------------------------------------------------------------------------------------------


def of_bucket(context: CaseContext, bucket: BucketHistory, pattern: int, e: int) -> Case | None:
    """The history graph of a bucket, and an attack that the people of a pattern are in; None if it is not found."""
    found = witness(bucket, pattern, e)
    if found is None:
        return None
    numbers = [context.number(int(group)) for group in bucket.groups]
    mine = found.pattern * np.sign(found.pattern[pattern])
    sides = [_people(bucket, counted, numbers) for counted in (mine, -mine)]
    known = f"The adversary knows who is in a bucket in each of {_releases(numbers)}"
    steps = [
        f"{known}; its values are always in the same proportions: {context.values(int(bucket.groups[0]))}.",
        "People in some of these releases are counted for, in others against, so often that most of them cancel out.",
        f"Left are {sides[0]} on one side, and {sides[1]} on the other.",
        *context.end(e),
    ]
    return case(steps, _graph(context, bucket, found, numbers))


def _releases(numbers: Sequence[int]) -> str:
    return f"releases {listed(numbers)}" if len(numbers) <= 12 else f"{len(numbers)} releases"


def _people(bucket: BucketHistory, counted: Ints, numbers: Sequence[int]) -> str:
    """Who is left on the side that counts above 0."""
    sets = []
    for pattern in np.flatnonzero(counted > 0).tolist():
        there = [number for number, here in zip(numbers, bucket.patterns[pattern].tolist(), strict=True) if here]
        where = f"release {there[0]} only" if len(there) == 1 else _releases(there)
        often = "" if counted[pattern] == 1 else f" (counted {counted[pattern]} times)"
        sets.append(f"{plural(int(bucket.weights[pattern]), 'person', 'people')} of {where}{often}")
    more = len(sets) - _NAMED
    return listed(sets) if more <= 0 else f"{', '.join(sets[:_NAMED])} and {plural(more, 'other set')}"


def _graph(context: CaseContext, bucket: BucketHistory, found: Witness, numbers: Sequence[int]) -> CutHistory:
    """A node for each release and one for the end; an edge from where people arrived to where they were gone."""
    arrived = bucket.patterns.argmax(axis=1)
    gone = bucket.patterns.shape[1] - bucket.patterns[:, ::-1].argmax(axis=1)
    potential = np.append(0, np.cumsum(found.release))
    side = (np.abs(potential - potential[-1]) > _TINY).astype(np.int64)
    cut = found.pattern != 0
    shown = _important(arrived, gone, cut, bucket.weights, len(numbers) + 1)
    place = {node: number for number, node in enumerate(shown)}
    values = context.values(int(bucket.groups[0]))
    sizes = bucket.weights @ bucket.patterns
    nodes: list[HistoryNode] = [
        {"label": f"release {numbers[node]}: {values}", "people": int(sizes[node]), "side": int(side[node])}
        if node < len(numbers)
        else {"label": "still there", "people": int(bucket.weights[gone == node].sum()), "side": int(side[node])}
        for node in shown
    ]
    weights: dict[tuple[int, int, bool], int] = {}
    for start, stop, crossed, weight in zip(arrived, gone, cut, bucket.weights, strict=True):
        if int(start) in place and int(stop) in place:
            ends = (place[int(start)], place[int(stop)], bool(crossed))
            weights[ends] = weights.get(ends, 0) + int(weight)
    ordered = sorted(weights.items(), key=lambda edge: (not edge[0][2], -edge[1], edge[0]))[:_EDGES]
    edges: list[HistoryEdge] = [
        {"from": one, "to": other, "weight": weight, "cut": crossed} for (one, other, crossed), weight in ordered
    ]
    return _picture(nodes, edges, context.limit)


def _important(arrived: Ints, gone: Ints, cut: Ints, weights: Ints, total: int) -> list[int]:
    """The nodes to show: those of cut edges, then those with most people, in order."""
    rank = np.zeros(total)
    for ends in (arrived, gone):
        rank += np.bincount(ends, weights + cut * (weights.sum() + 1), total)
    used = np.flatnonzero(rank)
    return sorted(used[np.argsort(-rank[used], kind="stable")][:_NODES].tolist())


def _picture(nodes: list[HistoryNode], edges: list[HistoryEdge], limit: int) -> CutHistory:
    return {"kind": "history", "nodes": nodes, "edges": edges, "limit": limit}
