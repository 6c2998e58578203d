"""The price of a release: told before it is recorded, measured by making it, and a reason to refuse."""

import tomllib
from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl
import pytest

import reissue as ri
from reissue.outcome.price import view_of
from reissue.publishing.changes import Change, cheaper_changes
from tests.cli.conftest import Reissue
from tests.cli.terminal import Terminal

SCHEMA = """
[columns]
number = "identifier"
age = "quasi"
sex = "quasi"
postcode = "quasi"
diagnosis = "sensitive"

[taxonomy.age]
ranges = [5, 10, 20, 40]
[taxonomy.sex]
flat = true
[taxonomy.postcode]
flat = true

[policy]
require = "k=5 & l=3 & confidence=0.5"
method = "cohorts"
options = { by_itself = true, counterfeits = 0.1 }
counterfeits = 0.15
attacks = ["joint"]
"""


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Everybody has a postcode of their own, so that nothing of it is left in any group."""
    random = Random(5)  # noqa: S311  # invented people
    rows = [
        (f"P{place}", random.randint(18, 94), random.choice("mw"), f"{random.randint(1000, 99999):05d}")
        for place in range(300)
    ]
    ill = [random.choice(["E11.9", "I10", "J45.0", "K21.9", "M54.5"]) for _ in rows]
    frame = pl.DataFrame(rows, schema=["number", "age", "sex", "postcode"], orient="row")
    return frame.with_columns(pl.Series("diagnosis", ill))


@pytest.fixture(scope="module")
def price(people: pl.DataFrame) -> ri.Price:
    return ri.preview(people, "none.ledger", ri.Schema.loads(SCHEMA), budget=60)


def test_a_release_of_which_nothing_is_left_says_so(price: ri.Price) -> None:
    view = view_of(price)
    assert price.costliest == "postcode"
    assert ("postcode", "100.0%", "nothing is left") in view.columns.rows
    assert "more was paid than this release needs" in view.headline.next
    assert f"{price.posterior:.2f}; the limit is {price.limit:.2f}" in view.headline.next
    assert any("'postcode' loses most: 100.0%" in one for one in view.sentences)
    assert price.without_costliest is not None
    assert price.without_costliest.losses["postcode"] == 1
    assert str(price.loss)[:4] in str(price.as_dict()["loss"])


def test_what_would_cost_less_is_what_it_gives_when_it_is_made(people: pl.DataFrame, price: ri.Price) -> None:
    """The twin: the same release made by `anonymize` alone."""
    assert 0 < len(price.cheaper) <= 3
    assert [one.loss for one in price.cheaper] == sorted(one.loss for one in price.cheaper)
    for one in price.cheaper:
        schema = one.change.on(ri.Schema.loads(SCHEMA))
        policy = ri.Policy.of(schema)
        made = ri.anonymize(people, schema, policy.require, method=policy.method, seed=1, **policy.options)
        lost = ri.measure(made).losses
        mean = sum(lost.get(name, 1.0) for name in ("age", "sex", "postcode")) / 3
        assert one.loss == pytest.approx(mean, abs=0.06), one.change.sentence
        assert one.loss < price.loss


def test_a_change_says_what_the_file_says_then(price: ri.Price) -> None:
    schema = ri.Schema.loads(SCHEMA)
    for one in price.tried:
        assert one.change.on(schema) != schema
        assert tomllib.loads(one.change.text) == one.change.sections


def test_columns_are_left_out_before_a_series_begins_only(people: pl.DataFrame) -> None:
    schema = ri.Schema.loads(SCHEMA)
    table, policy = ri.Table.read(people, schema), ri.Policy.of(schema)
    offered = [cheaper_changes(table, policy, {"postcode": 1.0}, first=first) for first in (True, False)]
    assert any("columns" in one.sections for one in offered[0])
    assert not any("columns" in one.sections for one in offered[1])
    assert (
        Change("Publish 'postcode' by its first characters (2, 1)", {"taxonomy": {"postcode": {"prefix": [2, 1]}}})
        in (offered[1])
    )


def test_a_release_that_loses_too_much_is_refused(people: pl.DataFrame, tmp_path: Path) -> None:
    place, schema = tmp_path / "x.ledger", ri.Schema.loads(SCHEMA)
    with pytest.raises(ri.RefusedError, match=r"at most 40\.0% is allowed") as refused:
        ri.publish(people, place, schema, max_loss=0.4)
    assert not list(tmp_path.iterdir())
    strict = replace(schema, policy={**schema.policy, "max_loss": 0.4})
    with pytest.raises(ri.RefusedError, match="price"):
        ri.publish(people, place, strict)
    step = refused.value.report.steps[0]
    assert step.change is not None
    assert "tried, and nobody is exposed" in step.sentence
    assert ri.publish(people, place, step.change.on(schema), max_loss=0.4).table.rows == 300


@pytest.mark.parametrize("wrong", [-0.1, 1.5])
def test_a_loss_is_a_share(people: pl.DataFrame, wrong: float) -> None:
    with pytest.raises(ri.InputError, match="max_loss"):
        ri.publish(people, "x.ledger", ri.Schema.loads(SCHEMA), max_loss=wrong)


@pytest.fixture
def folder(people: pl.DataFrame, tmp_path: Path) -> Path:
    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


WORK = ("publish", "people.csv", "--ledger", "x.ledger", "--schema", "schema.toml")


def test_the_shell_tells_the_price_and_refuses(reissue: Reissue, folder: Path) -> None:
    dry = reissue(*WORK, "--dry-run")
    assert dry.code == 0
    assert "postcode" in dry.out
    assert "nothing is left" in dry.out
    assert "What costs less, as it was tried:" in dry.out
    assert not list(folder.glob("x.ledger*"))
    refused = reissue(*WORK, "--max-loss", "0.4")
    assert (refused.code, "price: the release would lose" in refused.err) == (1, True)
    assert not list(folder.glob("x.ledger*"))
    made = reissue(*WORK, "--json")
    assert made.json["price"]["losses"]["postcode"] == 1
    assert made.json["price"]["cheaper"] == []


def test_a_terminal_asks_before_it_records(folder: Path) -> None:
    with Terminal(folder, *WORK, "--budget", "0s") as terminal:
        terminal.wait_for("loses most: 100.0%")
        terminal.wait_for("Record release 1?")
        terminal.type("n")
        assert terminal.end() == 1
    assert not list(folder.glob("x.ledger*"))
    with Terminal(folder, *WORK, "--yes", "--budget", "0s") as terminal:
        assert terminal.end() == 0
    assert (folder / "x.ledger").is_dir()
