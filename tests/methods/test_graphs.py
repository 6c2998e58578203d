"""The histories of many buckets in one table, against one full history for each."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reissue.papers.equivalence.history_graph import END, History, _cheapest, tied_nodes
from reissue.papers.equivalence.method import Graphs, KeptGraphs
from tests.effort import examples

SIZE = 3


class Buckets:
    """Some buckets as a table of histories, and beside it their full histories, nothing contracted."""

    def __init__(self, seed: int, buckets: int, limit: int, *, exact: bool) -> None:
        self.rng = np.random.default_rng(seed)
        self.buckets, self.limit, self.exact = buckets, limit, exact
        self.memory: KeptGraphs | None = None
        self.full = [History() for _ in range(buckets)]
        self.alive: list[dict[int, int]] = [{} for _ in range(buckets)]
        self.release = 0

    def step(self, rate: float) -> tuple[Graphs, list[History]]:
        """Some leave, some come; the table before the step is made, and the full histories after it."""
        self.release += 1
        left = [{w: int(self.rng.binomial(n, rate)) for w, n in alive.items()} for alive in self.alive]
        rows = [(b, w) for b, of in enumerate(left) for w, n in of.items() for _ in range(n)]
        signature, since = np.array(rows, np.int32).reshape(-1, 2).T
        here = np.array([sum(alive.values()) for alive in self.alive])
        graphs = Graphs.of(self.memory, self.release, self.limit, exact=self.exact)
        graphs.leave(here, signature, since, np.empty(0, np.int32))
        stay = here - graphs.left
        came = self.rng.integers(0, 3, self.buckets) * SIZE + -stay % SIZE
        for bucket, gone in enumerate(left):
            there = {w: n - gone[w] for w, n in self.alive[bucket].items() if n > gone[w]}
            self.alive[bucket] = there | ({self.release: int(came[bucket])} if came[bucket] else {})
            moved = {w: n for w, n in gone.items() if n}
            if moved or came[bucket]:
                self.full[bucket] = self.full[bucket].step(self.release, moved, int(came[bucket]))
        self.came = came
        self.changed = [bool(any(gone.values()) or n) for gone, n in zip(left, came, strict=True)]
        return graphs, self.full

    def close(self, graphs: Graphs) -> None:
        graphs.close(self.came)
        self.memory = graphs.kept()


cases = st.tuples(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.05, 0.2, 0.5]))


@given(cases)
@examples(60)
def test_the_table_asks_for_what_the_full_histories_ask_for(case: tuple[int, int, int, float]) -> None:
    seed, number, e, rate = case
    limit = 2 * (e - 1) + 1
    buckets = Buckets(seed, number, limit, exact=False)
    for release in range(1, 25):
        graphs, full = buckets.step(rate)
        wanted: dict[int, int] = {}
        for bucket, history in enumerate(full):
            if buckets.changed[bucket] and buckets.alive[bucket]:
                cut = history.cut(release, limit)
                wanted |= {bucket: -(-(limit - cut) // SIZE)} if cut < limit else {}
        assert dict(graphs.wanting(buckets.came, np.full(number, SIZE))) == wanted
        buckets.close(graphs)


@given(cases)
@examples(40)
def test_what_the_table_lets_pass_has_no_attack(case: tuple[int, int, int, float]) -> None:
    seed, number, e, rate = case
    limit = 2 * (e - 1) + 1
    buckets = Buckets(seed, number, limit, exact=True)
    for release in range(1, 9):
        graphs, full = buckets.step(rate)
        wanted = dict(graphs.wanting(buckets.came, np.full(number, SIZE)))
        for bucket, sets in list(wanted.items()):
            wanted[bucket] = graphs.least(bucket, int(buckets.came[bucket]), SIZE, sets)
        for bucket, history in enumerate(full):
            if buckets.changed[bucket] and buckets.alive[bucket]:
                real = history.attack(release, limit) is not None
                assert real == (wanted.get(bucket, 0) > 0)
        buckets.close(graphs)


@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.2, 0.5]))
@examples(60)
def test_a_cut_below_the_size_of_a_bucket_is_an_attack(seed: int, rate: float) -> None:
    buckets = Buckets(seed, 1, SIZE, exact=False)
    for release in range(1, 9):
        graphs, (history,) = buckets.step(rate)
        cut = history.cut(release, SIZE)
        if buckets.changed[0] and buckets.alive[0] and cut < SIZE:
            assert history.attack(release, SIZE) == cut
        buckets.close(graphs)


Links = dict[tuple[int, int], int]
links = st.dictionaries(
    st.tuples(st.integers(1, 4), st.sampled_from([END, 2, 3, 4, 5])).filter(lambda ends: ends[0] != ends[1]),
    st.integers(1, 5),
    min_size=1,
    max_size=8,
)


@given(links, st.integers(1, 9))
@examples(150)
def test_nodes_that_are_tied_change_no_attack(edges: Links, limit: int) -> None:
    """The same with one node for all that nothing below the limit tells apart as with all of them."""
    edges[5, END] = edges.get((5, END), 1)
    assert History(edges).attack(5, limit) == _least(edges, 5, limit)


@given(links, st.integers(1, 9))
@examples(100)
def test_no_attack_parts_nodes_that_are_tied(edges: Links, limit: int) -> None:
    between = np.zeros((6, 6), np.int64)
    for (came, gone), number in edges.items():
        between[came, gone] = number
    classes = tied_nodes(between, limit)
    for one, other in zip(*np.nonzero(classes[:, np.newaxis] == classes), strict=True):
        if one < other:
            assert _least(edges, int(one), limit, int(other)) is None


def _least(edges: Links, one: int, limit: int, other: int = END) -> int | None:
    """By the integer program alone, in both directions."""
    costs = [_cheapest(edges, *pair, limit) for pair in ((one, other), (other, one))]
    return min((cost for cost in costs if cost is not None), default=None)


def test_histories_of_small_buckets_stay_small_over_hundreds_of_releases() -> None:
    # As the method does it: where the cut is short, sets are added until it is not.
    for exact, limit in ((False, 5), (True, 5), (False, 9), (True, 9)):
        buckets = Buckets(7, 6, limit, exact=exact)
        rows = []
        for release in range(1, 301):
            graphs, _ = buckets.step(0.1)
            buckets.full = [History() for _ in range(6)]
            for bucket, sets in list(graphs.wanting(buckets.came, np.full(6, SIZE))):
                buckets.came[bucket] += sets * SIZE
                buckets.alive[bucket][release] = int(buckets.came[bucket])
            buckets.close(graphs)
            rows.append(len(graphs.edges) + len(graphs.nodes))
        assert max(rows) < 6 * 250
        assert max(rows[200:]) <= max(rows[:100])


def test_a_program_that_presolving_spoils_is_solved_without() -> None:
    edges = {(1, END): 2, (1, 2): 5, (3, END): 3}
    assert _least(edges, 1, 4, 3) is None
