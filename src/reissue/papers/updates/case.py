"""The update attack's worst case: one person's update graph, as a picture and step by step.

Shown is the person with the largest posterior of those of whom the releases together tell more than each one alone; of
equal ones that with the shortest history, of whom the release alone tells least, whose history passes the fewest
values, and then the first. Only that person's graph is built again.
"""

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.stories import (
    Case,
    Link,
    PathColumn,
    PathEdge,
    PathNode,
    Paths,
    Shown,
    group_text,
    story_of,
    value_text,
)
from reissue.papers.tracking.forward_backward import blocks
from reissue.papers.tracking.membership import PersonHistories
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series
from reissue.updates import UpdateModel
from reissue.words import listed, percent, plural

__all__ = ["tell", "worst_place"]

_COLUMNS = 12
_NODES = (12, 8, 6, 4, 3)
"""How many values a release may show: fewer where the picture would grow too large."""
_LARGEST = 16_000
"""Characters of a picture."""
_SLACK = 1e-9
_OTHERS = "others"


def worst_place(linked: PersonHistories, person: Ints, release: Ints, largest: Floats, limit: float) -> tuple[int, int]:
    """The person to show, and the release in which most is known: from everybody's largest posterior in each."""
    places = linked.places
    alone = np.maximum.reduceat(places.share, places.starts[:-1])[linked.table[person, release]]
    gained = largest > alone + _SLACK
    above = largest > limit + _SLACK
    chosen = gained & above if (gained & above).any() else above if above.any() else gained
    some = np.flatnonzero(chosen) if chosen.any() else np.arange(len(largest))
    some = some[largest[some] >= largest[some].max() - _SLACK]
    rows = linked.table[person[some]]
    length = (rows >= 0).sum(axis=1)
    values = np.where(rows >= 0, places.widths[rows], 0).sum(axis=1)
    before = np.round(alone[some], 9)
    first = some[np.lexsort((release[some], person[some], values, before, length))[0]]
    return int(person[first]), int(release[first])


def tell(
    series: Series,
    knowledge: Knowledge,
    linked: PersonHistories,
    model: UpdateModel,
    worst: tuple[int, int],
    limit: float,
) -> Case:
    """The case of one person, who is best known in the given release."""
    person, release = worst
    graph = _graph(linked, model, person)
    shown = _telling(graph, release)
    columns = [_published(series, knowledge, linked, person, int(graph.releases[at])) for at in shown]
    picture = next(
        found
        for most in _NODES
        for found in [_picture(series, graph, shown, columns, most, limit)]
        if len(json.dumps(found)) < _LARGEST or most == _NODES[-1]
    )
    several = linked.groups is not None and bool((linked.groups[person, graph.releases] < 0).any())
    at = int(np.flatnonzero(graph.releases == release)[0])
    return story_of(_link(series, graph, at, limit, several=several), picture, _shown(graph, len(shown)))


# --- the graph -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Graph:
    """One person's update graph."""

    releases: Ints
    """The releases that the person is in, from 0."""
    names: list[list[str]]
    """For each of them the values of the person's group, in words and in their order."""
    share: list[Floats]
    posterior: list[Floats]
    steps: list[Bools]
    """From each of them to the next: which value can have become which."""
    fixed: bool
    """Whether values never change."""

    def lead(self, one: int, other: int) -> Bools:
        """Which values of one of the releases can have become which of a later one, by way of those between."""
        found = self.steps[one]
        for step in self.steps[one + 1 : other]:
            found = found @ step
        return found


def _graph(linked: PersonHistories, model: UpdateModel, person: int) -> _Graph:
    (block,) = blocks(linked.table[[person]], linked.places, model)
    releases, places = block.release[0], linked.places
    values, shares, chances = [], [], []
    for at, place in enumerate(linked.table[person, releases].tolist()):
        own = slice(int(places.starts[place]), int(places.starts[place + 1]))
        known = np.zeros(len(model.names))
        np.add.at(known, block.value[0, at], block.posterior[0, at])
        texts = [value_text(linked.names[value]) for value in places.value[own].tolist()]
        order = np.argsort(np.array(texts), kind="stable")
        values.append((places.value[own][order], [texts[place] for place in order.tolist()]))
        shares.append(places.share[own][order])
        chances.append(known[places.value[own]][order])
    chance = [model.steps(int(gap)) if not model.fixed else None for gap in np.diff(releases)]
    steps = [
        before[:, np.newaxis] == after if step is None else step[np.ix_(before, after)] > 0
        for (before, _), (after, _), step in zip(values, values[1:], chance, strict=False)
    ]
    return _Graph(releases, [texts for _, texts in values], shares, chances, steps, model.fixed)


def _telling(graph: _Graph, release: int) -> list[int]:
    """The releases to show: that in which most is known, and those of which the others tell most, in order."""
    gain = np.array([float((after - before).max()) for before, after in zip(graph.share, graph.posterior, strict=True)])
    gain[graph.releases == release] = np.inf
    return sorted(np.argsort(-gain, kind="stable")[:_COLUMNS].tolist())


def _published(series: Series, knowledge: Knowledge, linked: PersonHistories, person: int, release: int) -> Shown:
    group = -1 if linked.groups is None else int(linked.groups[person, release])
    return {} if group < 0 else group_text(series, knowledge, release, group)


# --- the picture -----------------------------------------------------------------------------------------------------

_Slots: TypeAlias = list[list[int]]
"""The nodes of a column: which values each one stands for."""


def _slots(graph: _Graph, at: int, most: int) -> _Slots:
    """The likeliest values by themselves, in their order, and all others as one."""
    total = len(graph.names[at])
    if total <= most:
        return [[place] for place in range(total)]
    order = np.lexsort((-graph.share[at], -graph.posterior[at])).tolist()
    return [[place] for place in sorted(order[: most - 1])] + [sorted(order[most - 1 :])]


def _picture(series: Series, graph: _Graph, shown: list[int], looks: list[Shown], most: int, limit: float) -> Paths:
    slots = [_slots(graph, at, most) for at in shown]
    columns: list[PathColumn] = []
    for at, look, own in zip(shown, looks, slots, strict=True):
        nodes: list[PathNode] = [
            {
                "value": graph.names[at][some[0]] if len(some) == 1 else _OTHERS,
                "share": _rounded(graph.share[at][some].sum()),
                "posterior": _rounded(graph.posterior[at][some].sum()),
            }
            for some in own
        ]
        label = f"release {series.numbers[int(graph.releases[at])]}"
        columns.append({"label": label, "published": look, "nodes": nodes})
    edges = [
        edge
        for column, (one, other) in enumerate(pairwise(shown))
        for edge in _edges(graph, column, (one, other), slots[column], slots[column + 1])
    ]
    return {"kind": "paths", "columns": columns, "edges": edges, "limit": limit}


def _edges(graph: _Graph, column: int, pair: tuple[int, int], before: _Slots, after: _Slots) -> list[PathEdge]:
    one, other = pair
    lead = graph.lead(one, other)
    # A step between two values that both lie on paths lies on a path itself.
    alive = lead & (graph.posterior[one] > 0)[:, np.newaxis] & (graph.posterior[other] > 0)
    return [
        {"column": column, "from": left, "to": right, "possible": bool(alive[np.ix_(some, others)].any())}
        for left, some in enumerate(before)
        for right, others in enumerate(after)
        if lead[np.ix_(some, others)].any()
    ]


# --- the steps -------------------------------------------------------------------------------------------------------


def _known(series: Series, graph: _Graph, *, several: bool) -> str:
    numbers = [series.numbers[release] for release in graph.releases.tolist()]
    places = f"releases {listed(numbers)}" if len(numbers) > 1 else f"release {numbers[0]} only"
    each = "each of them" if len(numbers) > 1 else "it"
    group = f"the person's group in {each}" if not several else f"which groups of {each} the person may stand in"
    return (
        f"The adversary knows that the person is in {places}, and knows the person's quasi-identifiers: that tells "
        f"{group}."
    )


def _link(series: Series, graph: _Graph, at: int, limit: float, *, several: bool) -> Link:
    number = series.numbers[int(graph.releases[at])]
    best, alone = int(graph.posterior[at].argmax()), graph.share[at]
    likelier = "" if np.isclose(alone[best], alone.max()) else f", and another one has {percent(alone.max())}"
    certain = np.count_nonzero(graph.posterior[at]) == 1
    return Link(
        _known(series, graph, several=several),
        number,
        graph.names[at][best],
        f"it shows {plural(len(alone), 'value')} there{likelier}",
        float(alone[best]),
        (_ruled_out(graph, at, f"release {number}"),) if len(graph.releases) > 1 else (),
        1.0 if certain else min(float(graph.posterior[at][best]), 1 - 1e-9),
        limit,
    )


def _shown(graph: _Graph, shown: int) -> list[str]:
    total = len(graph.releases)
    return [f"The picture shows the {shown} of the {total} releases that tell most."] if shown < total else []


def _ruled_out(graph: _Graph, at: int, here: str) -> str:
    total, left = len(graph.share[at]), int(np.count_nonzero(graph.posterior[at]))
    why = (
        "Values do not change, so the person's value must be in all of these groups"
        if graph.fixed
        else "A value can only become what the update model says, so each value needs a way through all of these groups"
    )
    if left == total:
        return f"{why}: none of the {total} in {here} is ruled out, but some become likelier than others."
    were = "is" if total - left == 1 else "are"
    return f"{why}: of the {total} in {here}, {total - left:,} {were} ruled out and {left:,} left."


def _rounded(number: float) -> float:
    return round(float(number), 9)
