"""Correspondence attacks from their definition: enumerate what may have happened (the paper's generators).

A history gives every record of the last release an arrival time and one record of each release since then, all with
its sensitive value and with a leaf in common, so that every record of every release is used once. What is left of a
target is, value by value, the largest number of records that match it in one history.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from reissue import Hierarchy
from reissue.counting import starts_of
from reissue.papers.correspondence.chains import Targets
from reissue.published.boxes import PublishedValues, ReleaseCounts, SeriesCounts
from reissue.schema import Schema

__all__ = [
    "CHILDREN",
    "LEAVES",
    "NODES",
    "Chain",
    "History",
    "Record",
    "brute_left",
    "chain_of",
    "left_of",
    "random_history",
    "recoded",
    "schema",
    "seeded",
    "views_of",
]

TREE = {"A": ["a", "b"], "B": ["c", "d"]}
LEAVES = ("a", "b", "c", "d")
NODES = {"*": (0, 3), "A": (0, 1), "B": (2, 3), "a": (0, 0), "b": (1, 1), "c": (2, 2), "d": (3, 3)}
CHILDREN = {"*": ("A", "B"), "A": ("a", "b"), "B": ("c", "d")}
CUTS = (("*",), ("A", "B"), ("a", "b", "B"), ("A", "c", "d"), ("a", "b", "c", "d"))

Box = tuple[str, ...]
Record = tuple[Box, str]
Chain = tuple[Box, ...]


@dataclass(frozen=True)
class History:
    """Raw records by arrival, each release's cuts, and what was published."""

    arrivals: tuple[tuple[Record, ...], ...]
    cuts: tuple[tuple[tuple[str, ...], ...], ...]

    @property
    def releases(self) -> list[list[Record]]:
        """What was published: everything that had arrived, recoded."""
        published = []
        for number, cuts in enumerate(self.cuts, start=1):
            known = itertools.chain.from_iterable(self.arrivals[:number])
            published.append([(recoded(values, cuts), s) for values, s in known])
        return published

    def frames(self) -> list[pl.DataFrame]:
        """The releases as published tables."""
        names = [f"q{place}" for place in range(len(self.cuts[0]))]
        return [
            pl.DataFrame([(*box, s) for box, s in rows], schema=[*names, "s"], orient="row") for rows in self.releases
        ]


def recoded(values: Box, cuts: Sequence[Sequence[str]]) -> Box:
    """A raw record's nodes in the cuts."""
    return tuple(
        next(n for n in cut if NODES[n][0] <= NODES[v][0] <= NODES[n][1]) for v, cut in zip(values, cuts, strict=True)
    )


def seeded(seed: int) -> random.Random:
    """Random cases, the same every time."""
    return random.Random(seed)  # noqa: S311


def random_history(rng: random.Random, releases: int, attributes: int, records: int, values: int) -> History:
    """A tiny series: somebody is in the first release; later ones may bring nobody."""
    number = rng.randint(1, records)
    raw = [(tuple(rng.choice(LEAVES) for _ in range(attributes)), rng.choice("xyz"[:values])) for _ in range(number)]
    ends = sorted(rng.randint(1, number) for _ in range(releases - 1))
    arrivals = [raw[start:end] for start, end in itertools.pairwise([0, *ends, number])]
    cuts = [tuple(rng.choice(CUTS) for _ in range(attributes)) for _ in range(releases)]
    return History(tuple(tuple(some) for some in arrivals), tuple(cuts))


def schema(attributes: int) -> Schema:
    """The schema of the histories."""
    quasi = [f"q{place}" for place in range(attributes)]
    return Schema.of_columns(
        quasi=quasi, sensitive=["s"], taxonomies={name: Hierarchy("tree", tree=TREE) for name in quasi}
    )


def views_of(releases: Sequence[Sequence[Record]]) -> SeriesCounts:
    """Releases as an attacker reads them, without the way through frames."""
    names = sorted(NODES, key=lambda name: NODES[name])
    nodes = [
        PublishedValues(
            f"q{place}",
            np.array([NODES[name][0] for name in names], np.int32),
            np.array([NODES[name][1] for name in names], np.int32),
            tuple(names),
            exact=True,
        )
        for place in range(len(releases[0][0][0]))
    ]
    values = sorted({s for rows in releases for _, s in rows})
    views = []
    for rows in releases:
        counted = sorted((tuple(map(names.index, box)), values.index(s), c) for (box, s), c in Counter(rows).items())
        boxes = sorted({box for box, _, _ in counted})
        group = np.array([boxes.index(box) for box, _, _ in counted])
        views.append(
            ReleaseCounts(
                starts_of(group, len(boxes)),
                np.array([s for _, s, _ in counted]),
                np.array([c for _, _, c in counted]),
                len(values),
                np.array(boxes, np.int32).T,
            )
        )
    return SeriesCounts(tuple(nodes), tuple(views), tuple((s,) for s in values))


def left_of(some: Iterable[Targets], views: SeriesCounts) -> dict[tuple[int, Chain], int]:
    """What the attack leaves, by arrival time and chain of groups."""
    answer: dict[tuple[int, Chain], int] = {}
    for part in some:
        for chain, left in enumerate(part.sizes.tolist()):
            entry = part.starts[chain]
            boxes = []
            for release, entries in enumerate(part.entries, start=part.arrived):
                group = int(views.releases[release].group[entries[entry]])
                boxes.append(tuple(str(text) for text in views.text(release, group).values()))
            answer[part.arrived, tuple(boxes)] = left
    return answer


def chain_of(values: Box, arrived: int, cuts: Sequence[Sequence[Sequence[str]]]) -> Chain:
    """The groups of somebody with these values."""
    return tuple(recoded(values, some) for some in cuts[arrived:])


# --- the definition --------------------------------------------------------------------------------------------------


def meet(chain: Chain) -> bool:
    """Whether boxes have a leaf in common."""
    return all(
        max(NODES[name][0] for name in names) <= min(NODES[name][1] for name in names)
        for names in zip(*chain, strict=True)
    )


def possible_chains(releases: Sequence[Sequence[Record]], arrived: int) -> set[Chain]:
    """The groups of everyone who could have arrived then, by their exact values."""
    boxes = [{box for box, _ in rows} for rows in releases[arrived:]]
    return {chain for chain in itertools.product(*boxes) if meet(chain)}


def brute_left(releases: Sequence[Sequence[Record]]) -> dict[tuple[int, Chain], int]:
    """What is left of every target, by arrival time and chain of groups."""
    left: dict[tuple[int, Chain], int] = {}
    for arrived in range(len(releases)):
        for chain in possible_chains(releases, arrived):
            left[arrived, chain] = sum(
                _most([[box for box, its in rows if its == s] for rows in releases], arrived, chain)
                for s in {s for _, s in releases[-1]}
            )
    return left


def _most(boxes: list[list[Box]], arrived: int, target: Chain) -> int:
    """The most records of one value that follow the target's chain in one history."""
    last = sorted(boxes[-1])
    names = [sorted(set(rows)) for rows in boxes[:-1]]
    start = tuple(tuple(rows.count(name) for name in known) for rows, known in zip(boxes[:-1], names, strict=True))

    @cache
    def best(done: int, unused: tuple[tuple[int, ...], ...]) -> float:
        if done == len(last):
            return 0.0 if not any(map(any, unused)) else -np.inf
        answer = -np.inf
        for chain, rest in _ways((last[done],), len(names) - 1, unused, names):
            mine = len(names) + 1 - len(chain) == arrived and chain == target
            answer = max(answer, mine + best(done + 1, rest))
        return answer

    return int(best(0, start))


def _ways(
    chain: Chain, release: int, unused: tuple[tuple[int, ...], ...], names: list[list[Box]]
) -> Iterator[tuple[Chain, tuple[tuple[int, ...], ...]]]:
    """Every way in which a record may have come: it arrived here, or was in the release before as well."""
    yield chain, unused
    if release < 0:
        return
    for place, name in enumerate(names[release]):
        longer = (name, *chain)
        if unused[release][place] and meet(longer):
            counts = list(unused[release])
            counts[place] -= 1
            yield from _ways(longer, release - 1, (*unused[:release], tuple(counts), *unused[release + 1 :]), names)
