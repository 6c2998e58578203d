"""The second look: plain formulas say what the shared kernels say, and notice where a kernel lies."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from reissue.attacks import Knowledge, find, registry, run_attack
from reissue.attacks.findings import Finding, Status
from reissue.errors import InternalError
from reissue.ledger import Ledger
from reissue.papers.coalition.contributions import Contributions, private
from reissue.papers.correspondence.chains import Targets, targets
from reissue.papers.equivalence.exact import any_attack, cheapest
from reissue.papers.second_look import (
    coalitions_leave_enough,
    confirm_chains,
    confirm_posteriors,
    largest_posteriors,
    records_left,
    targets_have_enough,
)
from reissue.papers.tracking.membership import histories_of_members, membership
from reissue.papers.updates.attack import risks
from reissue.published.boxes import SeriesCounts, counts_of
from reissue.published.series import Series
from reissue.publishing.anonymize import anonymize
from reissue.publishing.publish import publish_next
from reissue.release.release import Release
from reissue.requirements import parse
from reissue.updates import read_updates
from tests.attacks.brute import random_history, schema, seeded
from tests.attacks.carrying import random_groups
from tests.attacks.test_coalition_contributions import Rows, columns, rows
from tests.attacks.test_coalition_search import DOMAIN, GROWING
from tests.attacks.test_equivalence_contract import some_bucket
from tests.attacks.test_equivalence_twin import PLAIN
from tests.effort import examples
from tests.ledger.test_after import plan, tables

SEEDS = st.integers(0, 10**6)


def chains_of(seed: int, releases: int, attributes: int) -> tuple[list[Targets], SeriesCounts]:
    """The chains of random releases, and what was published of them."""
    frames = random_history(seeded(seed), releases, attributes, 14, 3).frames()
    views = counts_of(Series.read(frames, schema(attributes)).releases, schema(attributes))
    assert views is not None
    return list(targets(views)), views


@draws(SEEDS, st.integers(2, 5), st.integers(1, 3))
@examples(60)
def test_what_is_left_of_chains_is_what_the_formula_says(seed: int, releases: int, attributes: int) -> None:
    chains, views = chains_of(seed, releases, attributes)
    for part in chains:
        for chain, left in enumerate(part.sizes.tolist()):
            nodes = zip(views.quasi, part.nodes[:, chain].tolist(), strict=True)
            point = np.array([column.lo[node] for column, node in nodes])
            assert records_left(views, point, part.arrived) == left


@draws(SEEDS)
@examples(40)
def test_chains_that_lie_are_noticed(seed: int) -> None:
    """An attack that claims to have more left than there is."""
    chains, views = chains_of(seed, 3, 1)
    least = min(int(part.sizes[part.sizes > 0].min(initial=10**9)) for part in chains)
    rng = np.random.default_rng(seed)
    assert targets_have_enough(views, least, rng)
    if sum(one.groups for one in views.releases) <= 12:
        # All groups are looked at, each at its first leaf, for those who came first and those who came last.
        everyone = [
            records_left(views, np.array([views.quasi[0].lo[node]]), arrived)
            for one in views.releases
            for node in one.nodes[0].tolist()
            for arrived in (0, 2)
        ]
        worst = min(left for left in everyone if left)
        assert not targets_have_enough(views, worst + 1, rng)


@draws(SEEDS, st.integers(1, 4))
@examples(60)
def test_buckets_by_the_definition(seed: int, limit: int) -> None:
    bucket = some_bucket(seed)
    assert any_attack(bucket, limit) == bool((cheapest(bucket, limit) > 0).any())
    assert not any_attack(bucket, limit, most=-1)


@pytest.mark.parametrize("text", GROWING)
@draws(records=rows, m=st.integers(0, 3))
@examples(20)
def test_coalitions_one_by_one(text: str, records: Rows, m: int) -> None:
    contributions, requirement = Contributions.of_rows(*columns(records), DOMAIN), parse(text)
    used = np.unique(contributions.group)
    fine = bool(private(contributions, requirement, m)[used].all())
    assert coalitions_leave_enough(contributions, requirement, m, np.random.default_rng(0)) == fine


@draws(SEEDS)
@examples(20)
def test_posteriors_by_whole_histories(seed: int) -> None:
    plain = replace(PLAIN, updates={"order": ["v0", "v1", "v2"]})
    series = Series.read(random_groups(seed, releases=3, changing=True), plain)
    linked = histories_of_members(membership(series, Knowledge(), others=False))
    model = read_updates(plain, linked.names)
    found = risks(linked, model)
    largest = np.zeros(len(linked.table))
    np.maximum.at(largest, found.person, found.largest)
    everything = np.ones(len(model.names), np.bool_)
    assert largest_posteriors(linked, model, everything) == pytest.approx(largest)
    said = Finding("updates", Status.WITHSTOOD, "", series.numbers, limit=float(largest.max()))
    assert confirm_posteriors(series, said, np.random.default_rng(0))
    assert not confirm_posteriors(series, replace(said, limit=float(largest.max()) - 0.01), np.random.default_rng(0))


def test_what_is_not_confirmed_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    months = tables(3)
    honest = find("correspondence")
    with Ledger.create(tmp_path / "ledger", plan()) as ledger:
        publish_next(months[0], ledger)
        monkeypatch.setitem(registry._REGISTRY, "correspondence", replace(honest, confirm=lambda *_: False))
        with pytest.raises(InternalError, match="second formula"):
            publish_next(months[1], ledger)
        assert len(ledger.releases) == 1
        monkeypatch.undo()
        publish_next(months[1], ledger)
        assert len(ledger.releases) == 2


def test_the_second_look_at_a_series_that_withstood_agrees() -> None:
    months = tables(2)
    made: list[Release] = []
    for month in months:
        made.append(anonymize(month, plan(), "k=3", method="correspondence", after=[one.frame for one in made]))
    series = Series.read([one.frame for one in made], plan())
    found = run_attack(find("correspondence"), series, Knowledge())
    assert found.status == Status.WITHSTOOD
    assert confirm_chains(series, found, np.random.default_rng(0))
    assert not confirm_chains(series, replace(found, limit=10**6), np.random.default_rng(0))
