"""`reissue attack` for people who have nothing but files: no schema, tables of people, wrong input, small screens."""

from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.schema import Schema
from tests.cli.conftest import Reissue, files

MONTHS = [month.drop("job") for month in synth.Population(seed=3, people=400).months(2)]
SCHEMA = Schema.of_columns(
    identifier="patient",
    quasi=["age", "zip", "sex"],
    sensitive=["disease"],
    taxonomies={name: synth.schema().hierarchy(name) for name in ("age", "zip")},
)
ATTACK = ("attack", "jan.csv", "feb.csv")


@pytest.fixture
def published(tmp_path: Path) -> None:
    """Two months, anonymized one by one; and who was there."""
    (tmp_path / "who").mkdir()
    for name, month in zip(("jan", "feb"), MONTHS, strict=True):
        ri.anonymize(month, SCHEMA, "k=5 & l=2", seed=1).write(str(tmp_path / f"{name}.csv"))
        place = "1" if name == "jan" else "2"
        month.select("patient", *SCHEMA.quasi).write_csv(tmp_path / "who" / f"{place}.csv")
    (tmp_path / "true.toml").write_text(SCHEMA.dumps())


@pytest.mark.usefixtures("published")
def test_without_a_schema_it_says_what_it_assumes(reissue: Reissue, tmp_path: Path) -> None:
    before = files(tmp_path)
    outcome = reissue(*ATTACK)
    told = " ".join(outcome.err.split())
    assert "Nobody said it, so this is assumed:" in told
    assert "Others are taken to know 'age', 'zip' and 'sex' of a person" in told
    assert "'disease' is taken to be sensitive" in told
    assert files(tmp_path) == before
    answer = reissue(*ATTACK, "--json")
    assert not answer.err
    assert all(f"- {sentence}" in told for sentence in answer.json["assumed"])
    assert "assumed" not in reissue(*ATTACK, "--schema", "true.toml", "--json").json


@pytest.mark.usefixtures("published")
def test_the_guess_can_be_saved_corrected_and_given(reissue: Reissue, tmp_path: Path) -> None:
    first = reissue(*ATTACK, "--save-schema", "guessed.toml", "--json")
    text = (tmp_path / "guessed.toml").read_text()
    assert text.startswith("# Others are taken to know")
    assert Schema.load(tmp_path / "guessed.toml").quasi == ("age", "zip", "sex")
    again = reissue(*ATTACK, "--schema", "guessed.toml", "--json")
    assert again.json["findings"] == first.json["findings"]
    refused = reissue(*ATTACK, "--save-schema", "guessed.toml")
    assert refused.code == 2
    assert "--force" in refused.err
    assert reissue(*ATTACK, "--save-schema", "guessed.toml", "--force").code == first.code
    assert reissue(*ATTACK, "--schema", "true.toml", "--save-schema", "x.toml").code == 2
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.usefixtures("published")
def test_columns_can_be_named_instead(reissue: Reissue) -> None:
    outcome = reissue(*ATTACK, "--quasi", "age, zip", "--sensitive", "disease", "--json")
    assert "'sex' is dropped: it was not named." in outcome.json["assumed"]
    assert reissue(*ATTACK, "--sensitive", "illness").code == 2
    both = reissue(*ATTACK, "--schema", "true.toml", "--sensitive", "disease")
    assert both.code == 2
    assert "not both" in both.err


@pytest.mark.usefixtures("published")
def test_who_was_there_is_given_as_a_folder_of_tables(reissue: Reissue) -> None:
    long = reissue(*ATTACK, "--schema", "true.toml", "--knowledge", "members=who", "--json")
    short = reissue(*ATTACK, "--schema", "true.toml", "--members", "who", "--json")
    assert long.json == short.json
    guessed = reissue(*ATTACK, "--members", "who", "--json").json
    assert "'patient' is taken to be the identifier in the tables of people." in guessed["assumed"]
    numbers = [{one["attack"]: one["people"] for one in answer["findings"]} for answer in (guessed, short.json)]
    assert numbers[0] == numbers[1]
    twice = reissue(*ATTACK, "--members", "who", "--knowledge", "members=who")
    assert twice.code == 2
    assert "given twice" in twice.err


@pytest.mark.usefixtures("published")
def test_everyone_is_given_as_a_table(reissue: Reissue, tmp_path: Path) -> None:
    MONTHS[0].write_csv(tmp_path / "everyone.csv")
    one = ("attack", "jan.csv", "--schema", "true.toml", "--only", "definetti", "--json")
    long, short = reissue(*one, "--knowledge", "population=everyone.csv"), reissue(*one, "--population", "everyone.csv")
    assert short.json == long.json
    assert short.json["findings"][0]["status"] != "not_run"


@pytest.mark.usefixtures("published")
def test_every_attack_that_was_not_run_says_what_it_needs(reissue: Reissue) -> None:
    from reissue.outcome.findings import INPUTS

    outcome = reissue(*ATTACK, "--schema", "true.toml")
    answer = reissue(*ATTACK, "--schema", "true.toml", "--json").json
    for finding in answer["findings"]:
        if finding["why"] == "needs_input":
            options = " or ".join(INPUTS[need].option for need in finding["needs"])
            assert f"{finding['attack']} ({options})" in outcome.out
        elif finding["why"] == "does_not_apply":
            assert finding["attack"] in outcome.out.partition("Not about releases like these: ")[2]


@pytest.mark.usefixtures("published")
def test_one_file_says_which_attacks_need_two(reissue: Reissue) -> None:
    outcome = reissue("attack", "jan.csv")
    needing = "composition, correspondence and equivalence"
    assert f"There is one release only: {needing} could only be run on two or more." in outcome.out


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("width", [40, 80])
def test_it_fits_the_terminal(reissue: Reissue, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich takes this for a terminal
    monkeypatch.setenv("NO_COLOR", "1")
    outcome = reissue(*ATTACK, "--schema", "true.toml", "--members", "who", "--limit", "updates=0.5")
    assert outcome.code == 1
    plain = [line.rstrip() for line in _bare(outcome.out).splitlines()]
    assert max(map(len, plain)) <= width
    text = " ".join(" ".join(plain).split())
    assert "updates EXPOSED: The values of" in text
    assert "at worst. It must be at most 50%." in text
    assert ("people exposed" in text) == (width == 80)


def _bare(text: str) -> str:
    """Without the codes for bold and colour."""
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.usefixtures("published")
def test_second_tables_are_no_releases(reissue: Reissue, tmp_path: Path) -> None:
    release = ri.anonymize(MONTHS[0], SCHEMA, "l=2", method="anatomy", seed=1)
    release.write(str(tmp_path / "apart.csv"))
    assert (tmp_path / "apart.sensitive.csv").is_file()
    both, one = (
        reissue("attack", *names, "--json").json for names in (["apart.csv", "apart.sensitive.csv"], ["apart.csv"])
    )
    assert both == one
    assert [finding["releases"] for finding in one["findings"]] == [[1]] * len(one["findings"])


@pytest.mark.usefixtures("published")
def test_names_in_another_order_are_hinted_at(reissue: Reissue) -> None:
    assert "another order" not in reissue(*ATTACK).err
    backwards = reissue("attack", "feb.csv", "jan.csv", "--schema", "true.toml")
    assert "The files' names tell another order" in " ".join(backwards.err.split())
    assert reissue("attack", "feb.csv", "jan.csv", "--schema", "true.toml", "--json").json["assumed"]


@pytest.mark.usefixtures("published")
def test_wrong_input_is_told_plainly(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    pl.read_csv(tmp_path / "jan.csv").clear().write_csv(tmp_path / "header.csv")
    (tmp_path / "folder").mkdir()
    for wrong, message in {
        "mar.csv": "There is no file 'mar.csv'",
        "empty.csv": "'empty.csv' is empty",
        "header.csv": "'header.csv' has no rows",
        "folder": "that needs a schema",
    }.items():
        outcome = reissue("attack", "jan.csv", wrong)
        assert outcome.code == 2
        assert message in " ".join(outcome.err.split()), wrong


def test_the_bar_names_the_attack_under_way() -> None:
    from reissue.cli._render import _step

    names = [f"attack {number}" for number in range(7)]
    for number, name in enumerate(names):
        assert _step("Attacking", names, number / 7) == f"Attacking: {name}"
        assert _step("Attacking", names, (number + 0.9) / 7) == f"Attacking: {name}"
    assert _step("Attacking", names, 1.0) == "Attacking: attack 6"
    assert _step("Attacking", (), 0.5) == "Attacking"
