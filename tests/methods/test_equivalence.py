"""e-equivalence: releases without attacks below e, checked by definition; history graphs; contraction."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reissue import anonymize
from reissue.attacks import Knowledge
from reissue.errors import DataError, InputError, NotMetError, RequirementError
from reissue.papers.equivalence.exact import BucketHistory, buckets, cheapest
from reissue.papers.equivalence.history_graph import END, History
from reissue.papers.tracking.membership import membership
from reissue.published import read_published
from reissue.published.series import Series
from reissue.release.release import Release
from reissue.taxonomy import parse_column
from tests.effort import examples
from tests.methods.streams import SCHEMA, drafted, publish, published, stream


def smallest_cut(edges: dict[tuple[int, int], int]) -> int | None:
    """The smallest cut of a component, over all ways to part it."""
    nodes = sorted({node for ends in edges for node in ends})
    joined = {node: {node} for node in nodes}
    for a, b in edges:
        both = joined[a] | joined[b]
        for node in both:
            joined[node] = both
    best = None
    for part in {frozenset(component) for component in joined.values()}:
        inside = sorted(part)
        for size in range(1, len(inside)):
            for side in itertools.combinations(inside, size):
                value = sum(n for (a, b), n in edges.items() if {a, b} <= part and (a in side) != (b in side))
                best = value if best is None else min(best, value)
    return best


def least_by_definition(bucket: BucketHistory, bound: int = 2) -> int | None:
    """Definition 10 with small whole weights: the least |W.S| / 2 that is not 0, with W.U = 0."""
    sizes = bucket.weights @ bucket.patterns
    found = []
    for weights in itertools.product(range(-bound, bound + 1), repeat=bucket.patterns.shape[1]):
        counted = bucket.patterns @ np.array(weights)
        if sizes @ np.array(weights) == 0 and counted.any():
            found.append(int((bucket.weights * np.abs(counted)).sum()) // 2)
    return min(found, default=None)


def graph_of(bucket: BucketHistory) -> dict[tuple[int, int], int]:
    """The full history graph of a bucket nobody came back to."""
    last, edges = bucket.patterns.shape[1], Counter[tuple[int, int]]()
    for pattern, weight in zip(bucket.patterns, bucket.weights.tolist(), strict=True):
        came, stayed = int(pattern.argmax()), int(pattern.sum())
        edges[came + 1, END if came + stayed == last else came + stayed + 1] += weight
    return dict(edges)


def whole_buckets(releases: list[Release]) -> list[BucketHistory]:
    """The buckets through all releases; where a bucket was empty in between, that is a release without it."""
    found = buckets(membership(Series.read(releases, SCHEMA), Knowledge()))
    assert found is not None
    return found


def check_release(release: Release, frame: pl.DataFrame, m: int) -> None:
    tables, fakes = release.tables, release.draft.counterfeits
    assert next(iter(tables.values())).height == frame.height + release.counterfeits
    assert published(release) == drafted(release, frame, exact=True), "a record was lost or changed"
    for _, values, _ in published(release):
        assert len(values) >= m
        assert len({number for _, number in values}) == 1, "the bucket is not balanced"
    assert release.counterfeits == (0 if fakes is None else len(fakes.groups))
    assert release.counterfeits == (tables["counterfeits"]["counterfeits"].sum() if "counterfeits" in tables else 0)


@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(1, 3), st.booleans(), st.booleans())
@example(69870, 2, 2, True, True)  # a bucket of nobody but people who came back
@examples(40)
def test_no_stream_has_an_attack_below_e(seed: int, m: int, e: int, exact: bool, returns: bool) -> None:
    frames = stream(seed, releases=4, returns=returns)
    form = "two tables" if seed % 2 else "permuted"
    releases = publish(frames, "equivalence", f"simple-l={m}", e=e, exact=exact, form=form)
    for release, frame in zip(releases, frames, strict=True):
        check_release(release, frame, m)
    for bucket in whole_buckets(releases):
        assert (least_by_definition(bucket) or e) >= e
        assert not cheapest(bucket, e).any()
    again = publish(frames, "equivalence", f"simple-l={m}", e=e, exact=exact, form=form)
    for one, other in zip(releases, again, strict=True):
        assert all(one.tables[name].equals(other.tables[name]) for name in one.tables)


@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(2, 4))
@examples(40)
def test_the_cut_rule_keeps_all_cuts_of_the_full_history_above_2_e_minus_2(seed: int, m: int, e: int) -> None:
    releases = publish(stream(seed, releases=4), "equivalence", f"simple-l={m}", e=e, exact=False)
    for bucket in whole_buckets(releases):
        sizes = bucket.weights @ bucket.patterns
        if (sizes > 0).all():
            cut = smallest_cut(graph_of(bucket))
            assert cut is None or cut > 2 * (e - 1)


@given(st.integers(0, 10**6))
@examples(15)
def test_the_exact_program_never_spends_more_than_the_cut(seed: int) -> None:
    # Not release by release (what one saves changes what follows), but where both see the same past: the first.
    frames = stream(seed, releases=1, size=9)
    cut, exact = (
        publish(frames, "equivalence", "simple-l=2", e=4, exact=flag)[0].counterfeits for flag in (False, True)
    )
    assert exact <= cut


# --- history graphs --------------------------------------------------------------------------------------------------

Steps = list[tuple[list[int], int]]
steps = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.integers(0, 5)), min_size=1, max_size=5
)


def walk(steps: Steps, limit: int | None = None, *, thorough: bool = True, balanced: bool = False) -> History:
    """A history of random steps; contracted before each if there is a limit."""
    history = History()
    alive: dict[int, int] = {}
    for release, (leaving, came) in enumerate(steps, start=1):
        left = {since: min(number, leaving[since]) for since, number in alive.items()}
        left = {since: number for since, number in left.items() if number}
        alive = {since: number - left.get(since, 0) for since, number in alive.items()} | {release: came}
        history = history if limit is None else history.contract(limit, thorough=thorough, balanced=balanced)
        history = history.step(release, left, came)
    return history


@given(steps)
@examples(150)
def test_the_cut_between_the_last_release_and_the_end(given_steps: Steps) -> None:
    history, last = walk(given_steps), len(given_steps)
    nodes = sorted({node for ends in history.edges for node in ends} - {last, END})
    best = min(
        sum(n for (a, b), n in history.edges.items() if (a in {last, *side}) != (b in {last, *side}))
        for size in range(len(nodes) + 1)
        for side in itertools.combinations(nodes, size)
    )
    # Nothing between them: nothing new.
    best = best or 99
    assert [history.cut(last, limit) for limit in (1, 3, 99)] == [min(best, limit) for limit in (1, 3, 99)]


@given(steps, st.integers(1, 7), st.booleans())
@examples(150)
def test_contracting_on_the_way_changes_no_cut_and_no_attack_below_the_limit(
    given_steps: Steps, limit: int, thorough: bool
) -> None:
    full, small, last = walk(given_steps), walk(given_steps, limit, thorough=thorough), len(given_steps)
    assert small.cut(last, limit) == full.cut(last, limit)
    assert small.attack(last, limit) == full.attack(last, limit)
    assert len(small.edges) <= len(full.edges)
    smaller = walk(given_steps, limit, thorough=thorough, balanced=True)
    assert smaller.attack(last, limit) == full.attack(last, limit)
    assert smaller.cut(last, limit) >= full.cut(last, limit)


def joined(edges: dict[tuple[int, int], int], release: int) -> bool:
    """Whether a path leads from a release to the end."""
    reached = {release}
    for _ in edges:
        reached |= {node for ends in edges if reached & set(ends) for node in ends}
    return END in reached


@given(steps, st.integers(1, 3))
@examples(60)
def test_the_exact_attack_against_all_potentials_that_can_be_below_the_limit(given_steps: Steps, limit: int) -> None:
    history, last = walk(given_steps[:4]), min(len(given_steps), 4)
    nodes = sorted({node for ends in history.edges for node in ends})
    if not joined(dict(history.edges), last):
        assert history.attack(last, limit) is None
        return
    best = None
    for chosen in itertools.product(range(-2, 3), repeat=len(nodes)):
        potential = dict(zip(nodes, chosen, strict=True))
        drops = [(n, potential[b] - potential[a]) for (a, b), n in history.edges.items()]
        cost = sum(n * abs(drop) for n, drop in drops)
        if potential[last] != potential[END] and not sum(n * drop for n, drop in drops) and cost < limit:
            best = cost if best is None else min(best, cost)
    assert history.attack(last, limit) == best


def test_histories_stay_small_over_hundreds_of_releases() -> None:
    rng = np.random.default_rng(2)
    full = small = History()
    alive: dict[int, int] = {}
    for release in range(1, 301):
        left = {
            since: int(rng.integers(0, min(number, 3) + 1)) for since, number in alive.items() if rng.random() < 0.3
        }
        left = {since: number for since, number in left.items() if number}
        alive = {s: n - left.get(s, 0) for s, n in alive.items() if n > left.get(s, 0)}
        came = 9 if sum(left.values()) else 0
        alive |= {release: came} if came else {}
        small = small.step(release, left, came).contract(9)
        if release <= 40:
            full = full.step(release, left, came)
            assert small.cut(release, 9) == full.cut(release, 9) or not came
    assert len({node for ends in small.edges for node in ends}) < 40
    assert len(small.nodes) < 40


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"e": 0}, {"e": "two"}, {"e": True}, {"form": "both"}, {"exact": "no"}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        anonymize(stream(1)[0], SCHEMA, "simple-l=2", method="equivalence", **options)


def test_the_requirement_is_a_bound_on_shares() -> None:
    with pytest.raises(RequirementError, match="simple-l=10"):
        anonymize(stream(1)[0], SCHEMA, "m-unique=2", method="equivalence")


def test_another_e_is_refused() -> None:
    frames = stream(1)
    memory = publish(frames[:1], "equivalence", "simple-l=2", e=2)[0].draft.memory
    with pytest.raises(InputError, match="begun with e = 2"):
        anonymize(frames[1], SCHEMA, "simple-l=2", method="equivalence", memory=memory, e=3)


def test_counterfeits_keep_their_quasi_identifiers_while_they_live() -> None:
    for seed in range(20):
        releases = publish(stream(seed, releases=4), "equivalence", "simple-l=2", e=2)
        looks: dict[int, tuple[Any, ...]] = {}
        for release in releases:
            fakes, memory = release.draft.counterfeits, release.draft.memory
            if fakes is not None and fakes.names is not None and memory is not None and memory.rows is not None:
                rows = [memory.rows[name].to_list() for name in ("q", "r")]
                for name, *look in zip(fakes.names.tolist(), *rows, strict=True):
                    assert looks.setdefault(name, tuple(look)) == tuple(look)


def _values(release: Release) -> list[list[tuple[str, int]]]:
    """The values of each bucket, as published."""
    shown = release.tables["release"]
    return sorted(sorted(Counter(rows["s"].to_list()).items()) for _, rows in shown.group_by("group"))


@pytest.mark.parametrize("seed", range(8))
def test_generalized_rows_are_the_exact_ones_seen_less_well(seed: int) -> None:
    """The same buckets, values and counterfeits as with exact quasi-identifiers; at least k rows look the same."""
    frames = stream(seed, releases=4, size=30)
    exact = publish(frames, "equivalence", "simple-l=2", e=2, form="permuted")
    for one, release in zip(exact, publish(frames, "equivalence", "simple-l=2", e=2, k=3), strict=True):
        assert (one.draft.groups == release.draft.groups).all()
        assert _values(one) == _values(release)
        shown, own = release.tables["release"], one.tables["release"]
        assert shown.group_by("q", "r").len()["len"].min() >= 3  # type: ignore[operator]
        for name, coding in zip(("q", "r"), one.table.codings, strict=True):
            box, value = parse_column(shown[name], coding), parse_column(own[name].cast(pl.String), coding)
            # Hall's condition for points and intervals: sorted by either end, each box finds a row of its own.
            assert (np.sort(box.lo) <= np.sort(value.lo)).all()
            assert (np.sort(box.hi) >= np.sort(value.hi)).all()


def test_what_looks_alike_does_not_depend_on_values() -> None:
    frame = stream(3, releases=1, size=60)[0]
    other = frame.with_columns(s=pl.Series(np.random.default_rng(1).permutation(frame["s"].to_numpy())))
    looks = [publish([one], "equivalence", "simple-l=2", e=1, k=4)[0].draft.looks for one in (frame, other)]
    assert looks[0] is not None
    assert looks[1] is not None
    assert (looks[0][:60] == looks[1][:60]).all()


def test_exact_quasi_identifiers_are_told() -> None:
    frame = stream(3, releases=1, size=60)
    for form in ("permuted", "two tables"):
        (release,) = publish(frame, "equivalence", "simple-l=2", e=1, form=form)
        assert release.draft.exact
        assert release.warnings == ("Quasi-identifiers are exact: this shows who is in the table.",)
        assert read_published(dict(release.tables), SCHEMA).exact
    (release,) = publish(frame, "equivalence", "simple-l=2", e=1, k=6)
    assert not release.warnings
    assert not read_published(dict(release.tables), SCHEMA).exact
    assert not read_published(release, SCHEMA).exact


def test_fewer_rows_than_must_look_alike_are_refused() -> None:
    with pytest.raises(NotMetError, match="fewer than the 50"):
        publish(stream(3, releases=1), "equivalence", "simple-l=2", e=1, k=50)


@pytest.mark.parametrize(("method", "requirement"), [("equivalence", "simple-l=3"), ("invariance", "m-unique=3")])
def test_thousands_of_values_are_refused_before_the_work_starts(method: str, requirement: str) -> None:
    values = [f"v{number % 5_000}" for number in range(20_000)]
    frame = pl.DataFrame({"id": range(20_000), "q": [1] * 20_000, "r": ["x"] * 20_000, "s": values})
    with pytest.raises(
        DataError, match="5,000 different values in this series, and this method can take 2,000"
    ) as told:
        anonymize(frame, SCHEMA, requirement, method=method)
    assert "coarser values" in str(told.value)
    assert "v4" not in str(told.value)
