"""Tables of counts in a ledger: judged with earlier tables and microdata, refused by their differences, protected."""

import contextlib
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.cli._app import run
from reissue.contingency import CountTable
from reissue.contingency.bounds import bounds
from reissue.contingency.protection import noise_of, protect, protector_from
from reissue.publishing.check_output import OutputRules, check_magnitudes, check_output
from reissue.publishing.publish import publish_next
from reissue.publishing.tables import compare_protections, publish_table, tabulate, tabulated
from reissue.schema import Schema
from reissue.synth import Population

SCHEMA = """
[columns]
patient = "identifier"
age = "quasi"
sex = "quasi"
disease = "sensitive"

[taxonomy.age]
ranges = [20, 40]

[policy]
require = "k=5 & l=2"
method = "pool"
limit = 0.75
attacks = ["joint"]
"""
BY = [["sex", "disease"]]


def schema() -> Schema:
    return Schema.loads(SCHEMA)


def months(number: int, people: int = 300, seed: int = 3) -> list[pl.DataFrame]:
    decade = (pl.col("age") // 20 * 20).alias("age")
    return [one.select("patient", decade, "sex", "disease") for one in Population(seed, people).months(number)]


@pytest.fixture
def ledger(tmp_path: Path) -> ri.Ledger:
    return ri.Ledger.create(tmp_path / "h.ledger", schema())


def test_tables_are_recorded_and_refused_by_their_differences(ledger: ri.Ledger) -> None:
    waves = months(2)
    first = publish_table(tabulate(waves[0], schema(), BY), ledger, register=waves[0])
    assert (first.number, first.recorded) == (1, True)
    with pytest.raises(ri.RefusedError) as refused:
        publish_table(tabulate(waves[1], schema(), BY), ledger, register=waves[1])
    text = str(refused.value)
    assert "differences of 2 tables isolate fewer than 5 people" in text
    assert not any(value in text for value in waves[0]["disease"].unique().to_list()), "no values in messages"
    assert [one.counts for one in ledger.releases] == [True]
    assert not ledger.trust().changed


def test_the_same_people_get_the_same_noise(ledger: ri.Ledger) -> None:
    wave = months(1)[0]
    asked = {"protection": "cellkey=2", "totals": True, "key": ledger.key}
    one, frame = tabulated(wave, schema(), BY, **asked)  # type: ignore[arg-type]
    again, _ = tabulated(wave.sample(fraction=1.0, shuffle=True, seed=5), schema(), BY, **asked)  # type: ignore[arg-type]
    true = tabulated(wave, schema(), BY, totals=True)[0][0]
    assert one[0].texts() == again[0].texts()
    assert one[0].texts() != true.texts()
    assert (one[0].low <= true.low).all()
    assert (true.low <= one[0].high).all()
    assert "Total" in frame["sex"].to_list()


def test_a_table_and_microdata_are_judged_together(ledger: ri.Ledger, tmp_path: Path) -> None:
    wave = months(1, people=400)[0]
    publish_table(tabulate(wave, schema(), BY), ledger, register=wave)
    made = publish_next(wave, ledger)
    assert made.number == 2
    assert made.findings["joint"].releases == (1, 2)
    again = publish_table(tabulate(wave, schema(), BY), ledger, register=wave)
    assert again.findings["joint"].releases == (1, 2, 3)
    assert [one.counts for one in ledger.releases] == [True, False, True]
    assert ledger.export(1, tmp_path / "t.csv")


def test_what_no_register_backs_is_not_published(ledger: ri.Ledger) -> None:
    with pytest.raises(ri.RefusedError, match="give a table of people"):
        publish_table(tabulate(months(1)[0], schema(), BY), ledger)
    assert not ledger.releases


def command(folder: Path, words: str) -> tuple[int, str]:
    """The exit code and the output of a command in a folder."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = run(words.split())
    return code, out.getvalue()


def test_commands_tabulate_publish_and_check(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    for number, wave in enumerate(months(2), start=1):
        wave.write_csv(tmp_path / f"m{number}.csv")
    made = "tabulate m1.csv --schema s.toml --by sex,disease --protect threshold=5 --totals --out t1.csv"
    assert command(tmp_path, made)[0] == 0
    assert "1-4" in (tmp_path / "t1.csv").read_text()
    code, said = command(tmp_path, "publish t1.csv --ledger h.ledger --schema s.toml --register m1.csv")
    assert code == 0, said
    assert "Release 1: a table of" in said
    code, said = command(tmp_path, "tabulate m2.csv --ledger h.ledger --by sex,disease --protect round=10 --dry-run")
    assert code in {0, 1}, said
    assert command(tmp_path, "tabulate m2.csv --schema s.toml --by sex,disease --totals --out t2.csv")[0] == 0
    code, said = command(tmp_path, "check-output t2.csv --ledger h.ledger --threshold 3 --record r.json")
    assert code == 1, said
    assert "difference" in said
    assert (tmp_path / "r.json").is_file()
    assert command(tmp_path, "tabulate m2.csv --schema s.toml --by sex --protect blur=3")[0] == 2


# --- protection -------------------------------------------------------------------------------------------------------


def two_way() -> CountTable:
    cells = [("f", "a", 3), ("f", "b", 40), ("m", "a", 25), ("m", "b", 30), ("f", "c", 20), ("m", "c", 9)]
    rows = [
        *cells,
        ("f", None, 63),
        ("m", None, 64),
        (None, "a", 28),
        (None, "b", 70),
        (None, "c", 29),
        (None, None, 127),
    ]
    frame = pl.DataFrame([row[:2] for row in rows], schema={"sex": pl.String, "ill": pl.String}, orient="row")
    return CountTable.of("count", frame, [row[2] for row in rows])


def test_totals_do_not_give_suppressed_cells_away() -> None:
    made = protect(two_way(), protector_from("threshold=5"))
    assert made.low[0] == 1
    assert made.hidden >= 4, "one cell is told by two totals, so three more are hidden"
    (found,) = bounds([made])
    small = made.low < made.high
    assert (found.high - found.low)[small].min() >= 3
    assert found.consistent


@pytest.mark.parametrize("how", ["round=5", "random=3", "cellkey=2", "threshold=5"])
def test_the_true_count_is_in_what_is_published(how: str) -> None:
    table, rng = two_way(), np.random.default_rng(1)
    for _ in range(20):
        made = protect(table, protector_from(how), rng.integers(0, 1 << 16, table.cells))
        assert (made.low <= table.low).all()
        assert (table.low <= made.high).all()


def test_noise_has_no_bias_and_is_bounded() -> None:
    chance = noise_of(3)
    values = np.arange(-3, 4)
    assert chance.sum() == pytest.approx(1)
    assert (chance * values).sum() == pytest.approx(0)
    assert (chance * values**2).sum() == pytest.approx(2, rel=1e-6)


def test_protections_are_compared_by_error_and_exposure() -> None:
    found = {
        one.protection: one for one in compare_protections(months(3, people=150), schema(), [["age", "sex", "disease"]])
    }
    assert found["none"].error == 0
    assert found["none"].people > 0
    assert found["round=10"].people < found["none"].people
    assert found["round=10"].error > found["round=5"].error > 0


# --- output checking --------------------------------------------------------------------------------------------------


def test_an_output_is_checked_by_itself() -> None:
    frame = pl.DataFrame(
        {"sex": ["f", "f", "m", "m"], "disease": ["flu", "HIV", "flu", "HIV"], "count": [12, 0, 30, 4]}
    )
    found = check_output(frame, schema())
    assert [(one.rule, one.population) for one in found.problems] == [
        ("threshold", "sex m, disease HIV"),
        ("class disclosure", "sex f"),
    ]
    assert not found.passed
    assert any("ledger" in one for one in found.not_checked)
    assert found.as_dict()["rules"]["threshold"] == 10


def test_magnitudes_are_checked_for_dominance_and_by_p_percent() -> None:
    records = pl.DataFrame(
        {"sex": ["f"] * 12 + ["m"] * 12, "disease": ["flu"] * 24, "cost": [1] * 11 + [90] + [5] * 12}
    )
    found = check_magnitudes(records, schema(), ["sex"], "cost", OutputRules())
    assert [(one.rule, one.population) for one in found.problems] == [("dominance", "sex f")]
    close = pl.DataFrame({"sex": ["f"] * 12, "disease": ["flu"] * 12, "cost": [100.0, 99.0] + [0.5] * 10})
    rules = [one.rule for one in check_magnitudes(close, schema(), ["sex"], "cost", OutputRules()).problems]
    assert rules == ["p%"]
