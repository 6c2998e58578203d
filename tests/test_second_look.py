"""The second look: plain formulas say what the shared kernels say, and notice where a kernel lies."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from reissue.attacks.findings import Finding, Status
from reissue.errors import InternalError
from reissue.ledger import Ledger
from reissue.papers.coalition.contributions import Contributions, private
from reissue.papers.correspondence.history import ChainHistory, add_release
from reissue.papers.correspondence.state import KeptReleases
from reissue.papers.equivalence.exact import any_attack, cheapest
from reissue.papers.updates.attack import risks
from reissue.people.histories import histories_of_members
from reissue.people.knowledge import Knowledge
from reissue.people.membership import membership
from reissue.published.series import Series
from reissue.publishing import gate
from reissue.publishing.publish import publish_next
from reissue.requirements import parse
from reissue.updates import read_updates
from reissue.verify.second_look import _left, confirm, confirm_coalitions, confirm_posteriors
from tests.attacks.brute import random_history, schema, seeded
from tests.attacks.carrying import random_groups
from tests.attacks.test_carry import PLAIN
from tests.attacks.test_coalition_contributions import Rows, columns, rows
from tests.attacks.test_coalition_search import DOMAIN, GROWING
from tests.attacks.test_equivalence_contract import some_bucket
from tests.effort import examples
from tests.ledger.test_after import plan, tables

SEEDS = st.integers(0, 10**6)


def history_of(seed: int, releases: int, attributes: int) -> ChainHistory:
    history = None
    for frame in random_history(seeded(seed), releases, attributes, 14, 3).frames():
        history = add_release(history, frame, schema(attributes))
    assert history is not None
    return history


@draws(SEEDS, st.integers(2, 5), st.integers(1, 3))
@examples(60)
def test_what_is_left_of_chains_is_what_the_formula_says(seed: int, releases: int, attributes: int) -> None:
    history = history_of(seed, releases, attributes)
    for chain, left in enumerate(history.chains.sizes.tolist()):
        nodes = history.chains.nodes[:, chain].tolist()
        point = np.array([column.lo[node] for column, node in zip(history.quasi, nodes, strict=True)])
        assert _left(history, point, int(history.chains.arrived[chain])) == left


@draws(SEEDS)
@examples(40)
def test_chains_that_lie_are_noticed(seed: int) -> None:
    """Chains that claim to have more left than there is: nothing of them goes into the second formula."""
    history = history_of(seed, 3, 1)
    least = int(history.chains.sizes.min())
    lying = replace(history, chains=replace(history.chains, count=history.chains.count + 100))
    state = KeptReleases((1, 2, 3), None, apart=False, history=lying)
    rng = np.random.default_rng(seed)
    said = Finding("correspondence", Status.WITHSTOOD, "", (1, 2, 3), limit=least)
    assert confirm(state, said, rng)
    if history.shown.groups <= 12:
        # All groups are looked at, each at its first leaf, for those who came first and those who came last.
        everyone = [
            _left(history, np.array([history.quasi[0].lo[node]]), arrived)
            for node in history.shown.nodes[0].tolist()
            for arrived in (0, 2)
        ]
        worst = min(left for left in everyone if left)
        assert not confirm(state, replace(said, limit=worst + 1), rng)


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
    assert confirm_coalitions(contributions, requirement, m, np.random.default_rng(0)) == fine


@draws(SEEDS)
@examples(20)
def test_posteriors_by_whole_histories(seed: int) -> None:
    plain = replace(PLAIN, updates={"order": ["v0", "v1", "v2"]})
    series = Series.read(random_groups(seed, releases=3, changing=True), plain)
    linked = histories_of_members(membership(series, Knowledge(), strangers=False))
    model = read_updates(plain, linked.names)
    found = risks(linked, model)
    largest = np.zeros(len(linked.table))
    np.maximum.at(largest, found.person, found.largest)
    assert confirm_posteriors(linked, model, largest)
    largest[0] -= 0.01
    assert not confirm_posteriors(linked, model, largest)


def test_what_is_not_confirmed_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    months = tables(3)
    with Ledger.create(tmp_path / "ledger", plan()) as ledger:
        publish_next(months[0], ledger)
        monkeypatch.setattr(gate, "confirm", lambda *_: False)
        with pytest.raises(InternalError, match="second formula"):
            publish_next(months[1], ledger)
        assert len(ledger.releases) == 1
        monkeypatch.undo()
        publish_next(months[1], ledger)
        assert len(ledger.releases) == 2
