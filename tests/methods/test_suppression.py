"""Rows left out so that others lose less: by `pool`, and by `correspondence` in a table that grows."""

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import InputError, NotMetError, RequirementError
from reissue.ledger import Ledger
from reissue.methods.suppression import edges
from reissue.publishing.anonymize import anonymize
from reissue.publishing.publish import publish
from reissue.release.release import Release
from reissue.schema import Role, Schema
from reissue.testing.releases import check_release, samples
from reissue.utility import measure
from tests.attacks.brute import LEAVES, NODES, Record, brute_left, schema, seeded
from tests.effort import examples
from tests.strategies import Case, tables

SCHEMA = Schema.of_columns(quasi=["year", "zip"], sensitive=["s"])


def patients(rows: int = 400, seed: int = 0) -> pl.DataFrame:
    """Two birth years that nobody has."""
    rng = np.random.default_rng(seed)
    year = rng.integers(1930, 2010, rows)
    year[:2] = 1654, 1700
    return pl.DataFrame({"year": year, "zip": rng.integers(10_000, 10_400, rows), "s": rng.choice(list("abcd"), rows)})


@pytest.mark.parametrize("method", ["pool", "correspondence"])
def test_outliers_are_left_out_where_that_pays(method: str) -> None:
    frame = patients()
    whole = anonymize(frame, SCHEMA, "k=5", method=method, seed=0, boxes="tight")
    fewer = anonymize(frame, SCHEMA, "k=5", method=method, suppress=0.05, seed=0, boxes="tight")
    assert whole.suppressed == 0
    assert 0 < fewer.suppressed <= 20
    assert (fewer.draft.groups[:2] == -1).all()
    assert measure(fewer).loss < 0.95 * measure(whole).loss


@examples(40)
@given(
    tables(min_rows=12),
    st.sampled_from(["k=2", "k=3 & simple-l=2", "k=2 & t=0.3", "beta=1", "simple-l=2"]),
    st.sampled_from(["fast", "balanced"]),
)
def test_a_larger_share_of_suppressed_rows_never_loses_more(case: Case, require: str, effort: str) -> None:
    lost: list[float] = []
    for share in (0, 0.05, 0.1, 0.16, 0.25, 0.5):
        try:
            release = anonymize(case.frame, case.schema, require, suppress=share, seed=3, effort=effort)
        except (NotMetError, RequirementError):
            assert not lost, "what can be published with few suppressed rows can be with more"
            continue
        assert release.suppressed <= share * len(case.frame)
        lost.append(measure(release).loss)
    assert lost == sorted(lost, reverse=True)


@pytest.mark.parametrize("method", ["pool", "correspondence"])
def test_a_value_that_too_many_have_is_left_out_as_often_as_needed(method: str) -> None:
    frame = patients(40).with_columns(s=pl.Series(["HIV"] * 22 + ["flu"] * 18))
    with pytest.raises(RequirementError, match="No release of this table"):
        anonymize(frame, SCHEMA, "simple-l=2", method=method, seed=0)
    with pytest.raises(RequirementError, match=r"itself|they do not meet"):
        anonymize(frame, SCHEMA, "simple-l=2", method=method, suppress=0.05, seed=0)
    release = anonymize(frame, SCHEMA, "simple-l=2", method=method, suppress=0.1, seed=0)
    assert release.suppressed == 4
    assert Counter(release.tables["release"]["s"]) == {"HIV": 18, "flu": 18}


@pytest.mark.parametrize("method", ["pool", "correspondence", "mask"])
@pytest.mark.parametrize("requirement", samples())
@examples(8)
@given(case=tables(), suppress=st.sampled_from([0.1, 0.3, 0.6]))
def test_contract(method: str, requirement: str, case: Case, suppress: float) -> None:
    if method != "mask":
        check_release(method, case.frame, case.schema, requirement, suppress=suppress)
        return
    try:
        release = anonymize(case.frame, case.schema, f"k=2 & {requirement}", method=method, suppress=suppress, seed=1)
    except (InputError, NotMetError):
        return
    assert release.suppressed <= suppress * case.frame.height


@examples(60)
@given(case=tables(min_rows=6, max_rows=20), suppress=st.sampled_from([0.1, 0.3]))
@pytest.mark.parametrize("method", ["pool", "correspondence"])
def test_nothing_is_left_out_at_a_loss(method: str, case: Case, suppress: float) -> None:
    whole = anonymize(case.frame, case.schema, "k=2", method=method, seed=0)
    fewer = anonymize(case.frame, case.schema, "k=2", method=method, suppress=suppress, seed=0)
    assert measure(fewer).loss <= measure(whole).loss + 1e-9


@examples(100)
@given(case=tables(min_rows=4, max_rows=12))
def test_edges_promise_what_trimming_a_group_saves(case: Case) -> None:
    """The twin: every group, attribute and end, and every number of rows that go, by hand."""
    release = anonymize(case.frame, case.schema, "k=3", seed=0) if case.frame.height >= 3 else None
    if release is None:
        return
    rows, promise = edges(release.table, release.draft, np.arange(release.table.rows))
    found = dict(zip(rows.tolist(), promise.tolist(), strict=True))
    for group in range(release.groups):
        members = np.flatnonzero(release.draft.groups == group)
        mine = [row for row in members.tolist() if row in found]
        best = max((gain for gain, _ in trimmed(release, members)), default=0.0)
        if not mine:
            assert best <= 1e-9
            continue
        assert found[mine[0]] * len(mine) == pytest.approx(best)
        assert any(gain == pytest.approx(best) and gone == mine for gain, gone in trimmed(release, members))


def trimmed(release: Release, members: np.ndarray) -> list[tuple[float, list[int]]]:
    """What each way to trim one group saves, less what the rows that go had."""
    table = release.table

    def lost(rows: np.ndarray, place: int) -> float:
        codes, taxonomy = table.codes[place][rows], table.taxonomies[place]
        return float(taxonomy.loss(*taxonomy.snap(np.array([codes.min()]), np.array([codes.max()])))[0])

    had = len(table.codes) - sum(lost(members, place) for place in range(len(table.codes)))
    ways = []
    for place, codes in enumerate(table.codes):
        for sign in (1, -1):
            order = members[np.argsort(sign * codes[members].astype(np.int64), kind="stable")]
            for gone in range(1, len(order)):
                saved = (len(order) - gone) * (lost(members, place) - lost(order[gone:], place))
                ways.append((saved - gone * had, sorted(order[:gone].tolist())))
    return ways


# --- a table that grows ----------------------------------------------------------------------------------------------


def published(release: Release) -> list[Record]:
    return [(tuple(row[:-2]), row[-2]) for row in release.tables["release"].rows()]


def series(seed: int, attributes: int, releases: int) -> tuple[list[Release], list[set[int]]] | None:
    """A tiny table that grows, each release made after the earlier ones with rows to spare; None if one is refused."""
    rng = seeded(seed)
    form = schema(attributes).with_roles({"row": Role.KEEP})
    raw: list[tuple[str, ...]] = []
    made: list[Release] = []
    for _ in range(releases):
        new = [(*(rng.choice(LEAVES) for _ in range(attributes)), rng.choice("xy")) for _ in range(rng.randint(2, 5))]
        raw += new
        frame = pl.DataFrame(
            [(*values, row) for row, values in enumerate(raw)], schema=[*form.quasi, "s", "row"], orient="row"
        )
        try:
            made.append(
                anonymize(
                    frame,
                    form,
                    "k=2",
                    method="correspondence",
                    suppress=rng.choice([0.2, 0.4, 0.6]),
                    seed=0,
                    after=[one.tables["release"].drop("row") for one in made],
                )
            )
        except NotMetError:
            return None
    return made, [set(one.tables["release"]["row"]) for one in made]


@pytest.mark.parametrize(
    ("attributes", "releases"), [(1, 2), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((2, 2), (1, 3)))]
)
def test_who_was_left_out_arrives_when_first_published(attributes: int, releases: int) -> None:
    """Nobody published ever leaves, and whatever happened according to the definition, two are left to everyone."""
    used = later = 0
    for seed in range(60):
        found = series(seed, attributes, releases)
        if found is None:
            continue
        made, rows = found
        assert all(before <= after for before, after in itertools.pairwise(rows))
        everyone = [set(range(one.table.rows)) for one in made]
        later += any((all_ - shown) & rows[-1] for all_, shown in zip(everyone, rows, strict=True))
        left = brute_left([published(one) for one in made])
        assert all(number == 0 or number >= 2 for number in left.values())
        used += made[0].suppressed > 0 or made[-1].suppressed > 0
    assert used > 3
    assert later > 0


def test_a_row_that_may_have_been_published_is_never_left_out() -> None:
    form = schema(1)
    first = pl.DataFrame({"q0": ["*"] * 4, "s": list("xxyy")})
    frame = pl.DataFrame({"q0": ["a", "a", "c", "c", "c"], "s": list("xyxyy")})
    with pytest.raises(NotMetError, match="No next release can be safe yet"):
        anonymize(frame, form, "k=2", method="correspondence", after=[first], suppress=0.5)
    assert set(NODES) >= set(first["q0"])


def test_outliers_cost_a_ledgers_growing_table_nothing(tmp_path: Path) -> None:
    """One of 1654 from the beginning, one of 1700 who arrives later: both are left out, month by month."""
    frame = patients(600).with_columns(id=pl.int_range(600), year=pl.col("year").replace(1700, 1950))
    frame = frame.with_columns(year=pl.when(pl.col("id") == 500).then(1700).otherwise(pl.col("year")))
    losses = {}
    for suppress in (0.0, 0.02):
        policy = {
            "require": "k=5",
            "method": "correspondence",
            "attacks": ["correspondence"],
            "sensitive_values": ["none of these"],
        }
        plan = replace(SCHEMA.with_roles({"id": Role.IDENTIFIER}), policy={**policy, "suppress": suppress})
        with Ledger.create(tmp_path / f"{suppress}.ledger", plan) as ledger:
            made = [publish(frame[:rows], ledger) for rows in (400, 600)]
        assert all((release.suppressed > 0) == (suppress > 0) for release in made)
        losses[suppress] = [measure(release).losses["year"] for release in made]
    assert all(fewer < 0.5 * whole for fewer, whole in zip(losses[0.02], losses[0.0], strict=True))
