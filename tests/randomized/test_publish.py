"""Randomized values as a steward publishes them: through a ledger, as a single release, and on the command line."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.findings import Status
from reissue.cli._app import run
from reissue.errors import DataError, InputError, SchemaError
from reissue.randomized import SideTable
from reissue.synth import Population, schema, updates

POLICY = '\n[updates]\nfile = "updates.csv"\n[policy]\nrequire = "k=5"\nvalues = "randomized"\n'
SETTINGS = "[policy.randomized]\nclass_size = 150\n"


def months(number: int, people: int = 300, seed: int = 1) -> Iterator[pl.DataFrame]:
    return Population(seed=seed, people=people).months(number)


def schema_file(folder: Path, policy: str = POLICY + SETTINGS) -> Path:
    updates().write_csv(folder / "updates.csv")
    (folder / "schema.toml").write_text(schema().dumps() + policy)
    return folder / "schema.toml"


def ledger_at(folder: Path, policy: str = POLICY + SETTINGS) -> ri.Ledger:
    return ri.Ledger.create(folder / "series.ledger", ri.Schema.load(schema_file(folder, policy)))


def test_a_series_is_published_within_the_limit_and_keeps_what_was_drawn(tmp_path: Path) -> None:
    with ledger_at(tmp_path) as ledger:
        shown: dict[str, str] = {}
        for number, table in enumerate(months(4), 1):
            made = ri.publish(table, ledger)
            finding = ledger.releases[-1].findings["posterior"]
            assert finding.status == Status.WITHSTOOD
            assert finding.worst is not None
            assert finding.worst <= 0.75
            assert finding.details["without"] < finding.details["average"] <= finding.worst
            assert finding.releases == tuple(range(1, number + 1))
            assert made.drawn is not None
            now = dict(zip(table["patient"].cast(pl.String), of_people(made, table), strict=True))
            same = [now[one] == shown[one] for one in now if one in shown]
            assert np.mean(same or [1]) > 0.8  # values that last are published again
            shown |= now
            assert (made.drawn.true != made.drawn.published).mean() > 0.1
            assert dict(made.tables["release"]["disease"].value_counts().iter_rows()) == dict(
                pl.Series(list(now.values())).value_counts().iter_rows()
            )
        assert not ledger.verify()


def of_people(made: ri.Release, table: pl.DataFrame) -> list[str]:
    """What was published of each row of the table, in its order."""
    assert made.drawn is not None
    named = made.table.frame["patient"]  # pseudonyms, in an order of their own
    assert named.len() == table.height
    values = made.drawn.values["disease"].gather(made.drawn.published)
    own = dict(zip(named, values, strict=True))
    order = made.table.frame["patient"]
    return [own[one] for one in order]


def test_the_same_table_again_gives_the_same_release(tmp_path: Path) -> None:
    with ledger_at(tmp_path) as ledger:
        first, second = months(2)
        ri.publish(first, ledger)
        made = ri.publish(second, ledger)
        assert ri.publish(second, ledger).frame.equals(made.frame)
        assert len(ledger.releases) == 2
        dry = ri.publish(second, ledger, dry_run=True, unchanged=True)
        assert dry.frame.equals(made.frame)


def test_a_withdrawn_release_is_made_again_as_it_was(tmp_path: Path) -> None:
    with ledger_at(tmp_path) as ledger:
        first, second, third = months(3)
        ri.publish(first, ledger)
        made = ri.publish(second, ledger)
        ledger.withdraw(2, "never sent")
        again = ri.publish(second, ledger, unchanged=True)
        assert again.drawn is not None
        assert made.drawn is not None
        np.testing.assert_array_equal(again.drawn.published, made.drawn.published)
        ledger.withdraw(1, "never sent")
        ri.publish(third, ledger)
        assert ledger.releases[-1].findings["posterior"].status == Status.WITHSTOOD
        assert not ledger.verify()


def test_the_side_table_is_exported_and_read_again(tmp_path: Path) -> None:
    with ledger_at(tmp_path) as ledger:
        made = ri.publish(next(months(1)), ledger)
        paths = ledger.export(1, tmp_path / "out.csv")
    assert [Path(path).name for path in paths] == ["out.csv", "out.side.csv"]
    side, release = SideTable.read(tmp_path / "out.side.csv"), pl.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(side.expected.sum(2), 1)
    assert release["value_class"].is_between(1, len(side.share)).all()
    assert release.columns == made.tables["release"].columns


def test_groups_and_classes_follow_from_what_is_published(tmp_path: Path) -> None:
    """Records with equal published quasi-identifiers are in one class."""
    with ledger_at(tmp_path) as ledger:
        frame = ri.publish(next(months(1)), ledger).tables["release"]
    quasi = ["age", "zip", "sex", "job"]
    assert frame.group_by(quasi).agg(pl.col("value_class").n_unique())["value_class"].max() == 1
    assert frame["value_class"].n_unique() > 1
    assert frame.group_by(quasi).len()["len"].min() >= 5  # type: ignore[operator]


def test_exact_releases_do_not_follow_randomized_ones(tmp_path: Path) -> None:
    first, second = months(2)
    with ledger_at(tmp_path) as ledger:
        ri.publish(first, ledger)
        ledger.amend(ri.Schema.load(schema_file(tmp_path, '\n[policy]\nrequire = "k=5"\n')))
        with pytest.raises(InputError, match="undo"):
            ri.publish(second, ledger)
        changed = POLICY + "limit = 0.5\n" + SETTINGS
        ledger.amend(ri.Schema.load(schema_file(tmp_path, changed)))
        with pytest.raises(InputError, match="not those that this series"):
            ri.publish(second, ledger)
        assert len(ledger.releases) == 1


def test_people_whom_exact_releases_exposed_are_counted_apart(tmp_path: Path) -> None:
    first, second = months(2)
    policy = '\n[policy]\nrequire = "k=2"\nlimit = 1\nattacks = ["correspondence"]\n'
    place = tmp_path / "exact.ledger"
    with ri.Ledger.create(place, ri.Schema.load(schema_file(tmp_path, policy))) as ledger:
        ri.publish(first, ledger)
        ledger.amend(ri.Schema.load(schema_file(tmp_path)))
        ri.publish(second, ledger)
        finding = ledger.releases[-1].findings["posterior"]
        assert finding.status == Status.WITHSTOOD
        assert finding.details["prior_above"] > 0
        assert finding.worst is not None
        assert finding.worst <= 0.75


def test_several_shares_of_changes_are_as_many_adversaries(tmp_path: Path) -> None:
    policy = '\n[policy]\nrequire = "k=5"\nvalues = "randomized"\n' + SETTINGS + "changes = [0.02, 0.4]\n"
    with ledger_at(tmp_path, policy) as ledger:
        for table in months(3):
            ri.publish(table, ledger)
            finding = ledger.releases[-1].findings["posterior"]
            assert finding.status == Status.WITHSTOOD
            assert len(finding.details["adversaries"]) == 4
            assert max(one["worst"] for one in finding.details["adversaries"]) <= 0.75


def test_missing_and_new_values(tmp_path: Path) -> None:
    """A missing value is a value; one that nobody named at the start is never published."""
    first, second = months(2)
    gone = pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise(pl.col("disease")).alias("disease")
    free = schema().dumps().partition("[taxonomy.disease]")[0]
    (tmp_path / "schema.toml").write_text(f'{free}[policy]\nrequire = "k=5"\nvalues = "randomized"\n{SETTINGS}')
    with ri.Ledger.create(tmp_path / "series.ledger", ri.Schema.load(tmp_path / "schema.toml")) as ledger:
        made = ri.publish(first.with_columns(gone), ledger)
        assert made.drawn is not None
        assert made.drawn.values["disease"].null_count() == 1
        assert made.tables["release"]["disease"].null_count() > 0
        strange = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("plague")).otherwise(pl.col("disease"))
        made = ri.publish(second.with_columns(strange.alias("disease")), ledger)
        assert "plague" not in made.tables["release"]["disease"]
        assert any("3 records have a value" in one for one in ledger.releases[-1].record.warnings)


def test_several_columns_are_taken_together(tmp_path: Path) -> None:
    table = next(months(1))
    stage = pl.col("disease").str.len_chars().mod(2).replace_strict({0: "early", 1: "late"}, return_dtype=pl.String)
    coarse = pl.col("disease").is_in(["flu", "asthma", "angina"]).replace_strict({True: "lung", False: "other"})
    table = table.with_columns(coarse.alias("disease"), stage.alias("stage"))
    text = (
        schema().dumps().partition("[taxonomy.disease]")[0].replace('"sensitive"', '"sensitive"\nstage = "sensitive"')
    )
    (tmp_path / "s.toml").write_text(f'{text}[policy]\nrequire = "k=5"\nvalues = "randomized"\nlimit = 0.9\n{SETTINGS}')
    with ri.Ledger.create(tmp_path / "series.ledger", ri.Schema.load(tmp_path / "s.toml")) as ledger:
        made = ri.publish(table, ledger)
        assert ledger.releases[0].findings["posterior"].worst <= 0.9  # type: ignore[operator]
    assert {"true_disease", "true_stage", "disease", "stage"} <= set(made.tables["side"].columns)


def test_amounts_and_methods_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    table = next(months(1))
    free = schema().dumps().partition("[taxonomy.disease]")[0]
    wages = table.with_columns((pl.int_range(pl.len()) * 7).alias("disease"))
    with pytest.raises(DataError, match="ranges"):
        ri.anonymize(wages, ri.Schema.loads(free), "k=5", values="randomized")
    with pytest.raises(InputError, match="pool"):
        ri.anonymize(table, schema(), "k=5", method="anatomy", values="randomized")
    with pytest.raises(InputError, match="pool"), ledger_at(tmp_path, POLICY + 'method = "cohorts"\n') as ledger:
        ri.publish(table, ledger)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("margin = 0.5", "factor from 1"),
        ("margn = 2", "Did you mean 'margin'"),
        ('against = ["everybody"]', "people alike"),
        ('against = ["departure rates"]', "departures"),
        ("departures = { flu = 2 }", "shares"),
        ("redraw = 1", "true or false"),
        ("class_size = 1", "2 or more"),
    ],
)
def test_mistakes_in_the_settings_are_explained(line: str, said: str) -> None:
    policy = '[policy]\nrequire = "k=5"\nvalues = "randomized"\n[policy.randomized]\n'
    with pytest.raises(SchemaError, match=said):
        ri.Policy.of(ri.Schema.loads(f"{schema().dumps()}{policy}{line}\n"))


def test_departure_rates_come_from_a_file_that_the_ledger_keeps(tmp_path: Path) -> None:
    (tmp_path / "leave.csv").write_text("disease,leaves\nflu,0.3\nburn,0.1\n")
    with ledger_at(tmp_path, POLICY + SETTINGS + 'departures = "leave.csv"\n') as ledger:
        (tmp_path / "leave.csv").unlink()
        for table in months(2):
            ri.publish(table, ledger)
        names = [one["name"] for one in ledger.releases[-1].findings["posterior"].details["adversaries"]]
    assert names == ["people alike", "departure rates"]


def test_an_average_above_what_is_allowed_is_refused(tmp_path: Path) -> None:
    with ledger_at(tmp_path, POLICY + "average = 0.3\n") as ledger:
        ri.publish(next(months(1)), ledger)
        found = ledger.releases[0].findings["posterior"]
        assert found.details["average"] <= 0.3


def test_a_single_release_and_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = next(months(1))
    one, two = (ri.anonymize(table, schema(), "k=5", values="randomized", seed=3) for _ in range(2))
    assert one.frame.equals(two.frame)
    assert "side" in one.tables
    table.write_csv(tmp_path / "data.csv")
    (tmp_path / "schema.toml").write_text(schema().dumps())
    asked = ["anonymize", str(tmp_path / "data.csv"), "--schema", str(tmp_path / "schema.toml"), "-r", "k=5"]
    asked += ["--values", "randomized", "--seed", "3", "--out", str(tmp_path / "out.csv")]
    assert run(asked) == 0
    assert SideTable.read(tmp_path / "out.side.csv").values.height > 10
    assert "not all of them are true" in " ".join("".join(capfd.readouterr()).split())
