"""The update model that a plan writes: always one that a schema can read, and an error is never a verdict."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.cli._app import FINE, NOT_MET, UNTESTED, run
from reissue.counting import joined_texts
from reissue.publishing.plan import (
    Limits,
    Outcome,
    Plan,
    RehearsalEnd,
    Setting,
    plan,
    policy_toml,
    read_waves,
    with_policy,
)
from reissue.report import plan_html
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates
from tests.effort import examples

SCHEMA = Schema.loads('[columns]\nid = "identifier"\nage = "quasi"\nvalue = "sensitive"\n')
PLAIN = st.text(st.characters(exclude_characters="\0\1", codec="utf-8"), max_size=3)
"""Texts without the two characters that join values of several columns."""
VALUES = st.one_of(st.sampled_from(["flu", "ulcer", "a.b", 'q"', ""]), st.text(max_size=3), st.none())


def waves_of(told: Sequence[Mapping[int, str | None]]) -> list[pl.DataFrame]:
    return [
        pl.DataFrame(
            {"id": list(one), "age": [20 + person % 60 for person in one], "value": list(one.values())},
            schema={"id": pl.Int64, "age": pl.Int64, "value": pl.String},
        )
        for one in told
    ]


def written(section: Mapping[str, Any]) -> Schema:
    """The schema after a round through the text that a plan writes."""
    best = Outcome(Setting("pool", "k=2"), (), RehearsalEnd.WITHSTOOD)
    text = policy_toml(Plan(Limits(), (), 2, (best,), best, 0, updates=section))
    assert text is not None
    return Schema.loads(with_policy(SCHEMA.dumps(), text, force=False, updates=True))


@given(st.lists(st.dictionaries(st.integers(0, 12), VALUES, min_size=1, max_size=12), min_size=2, max_size=4))
@examples(300)
def test_every_model_that_a_plan_writes_is_read_again(told: list[dict[int, str | None]]) -> None:
    waves = read_waves(waves_of(told), SCHEMA, newcomers=True)
    names = waves.known_values.to_series().to_list()
    model = read_updates(written(waves.updates), names)
    assert set(model.names) == set(names)
    assert model.stays
    assert np.allclose(model.chance.sum(axis=1), 1)
    assert (model.chance[: len(names), : len(names)] >= 0).all()
    for before, after in np.argwhere(waves.steps > 0):
        assert model.can[before, after], "what was seen is possible"


@given(
    st.lists(st.dictionaries(st.integers(0, 9), VALUES, min_size=1, max_size=9), min_size=2, max_size=4),
    st.floats(1e-3, 5),
)
@examples(100)
def test_every_model_that_is_learned_is_read_again(told: list[dict[int, str | None]], smoothing: float) -> None:
    model = UpdateModel.learned(waves_of(told), "id", "value", smoothing)
    again = UpdateModel.of_pairs(*(model.frame()[name].to_list() for name in ("from", "to", "probability")))
    again = again.checked().aligned(model.names)
    assert again.stays
    assert np.allclose(again.chance if again.chance.size else np.eye(len(again.names)), model.chance)


TWO = Schema.loads('[columns]\nid = "identifier"\nage = "quasi"\nvalue = "sensitive"\n"my job" = "sensitive"\n')


@given(
    st.lists(
        st.dictionaries(st.integers(0, 9), st.tuples(PLAIN, PLAIN | st.none()), min_size=1, max_size=9),
        min_size=2,
        max_size=3,
    )
)
@examples(150)
def test_every_sensitive_column_that_changes_has_a_model(told: list[dict[int, tuple[str | None, str | None]]]) -> None:
    frames = [
        pl.DataFrame(
            {
                "id": list(one),
                "age": [20 + person % 60 for person in one],
                "value": [pair[0] for pair in one.values()],
                "my job": [pair[1] for pair in one.values()],
            },
            schema={"id": pl.Int64, "age": pl.Int64, "value": pl.String, "my job": pl.String},
        )
        for one in told
    ]
    waves = read_waves(frames, TWO, newcomers=True)
    if not waves.changing:
        assert not waves.with_updates().schema.updates
        return
    section = waves.updates
    best = Outcome(Setting("pool", "k=2"), (), RehearsalEnd.WITHSTOOD)
    text = policy_toml(Plan(Limits(), (), 2, (best,), best, 0, updates=section)) or ""
    schema = Schema.loads(with_policy(TWO.dumps(), text, force=False, updates=True))
    assert schema.updates_by_column == section
    for place, column in enumerate(TWO.sensitive):
        seen = {
            (one[person][place], other[person][place])
            for one, other in pairwise(told)
            for person in one.keys() & other.keys()
        }
        names = sorted({name for pair in seen for name in pair}, key=str)
        model = read_updates(schema.of_sensitive(column), names)
        assert model.fixed == all(before == after for before, after in seen)
        assert all(model.can[names.index(before), names.index(after)] for before, after in seen)
    joined = joined_texts(waves.known_values, TWO.sensitive).to_list()
    model = read_updates(schema, joined)
    for before, after in np.argwhere(waves.steps > 0):
        assert model.can[before, after], "what was seen of all columns together is possible"


def test_shares_stay_below_one_however_they_are_rounded() -> None:
    """A value of one person who changes; one that many leave and nobody keeps; and many small shares."""
    alone: list[dict[int, str | None]] = [
        {0: "kuru", **dict.fromkeys(range(1, 40), "flu")},
        dict.fromkeys(range(40), "flu"),
    ]
    everyone: list[dict[int, str | None]] = [dict.fromkeys(range(3000), "flu"), {n: f"v{n % 150}" for n in range(3000)}]
    lost: list[dict[int, str | None]] = [dict.fromkeys(range(50), "flu"), dict.fromkeys(range(50), None)]
    for told in (alone, everyone, lost):
        waves = read_waves(waves_of(told), SCHEMA)
        assert read_updates(written(waves.updates), waves.known_values.to_series().to_list()).stays
    assert read_waves(waves_of(alone), SCHEMA).updates == {"chances": {"kuru": {"flu": 0.499}}, "rest": 0.002}


def rare(folder: Path) -> list[str]:
    """Three waves in which one person has a value of her own, and changes."""
    rng = np.random.default_rng(5)
    age, value = rng.integers(1, 90, 120), rng.choice(["flu", "cold", "asthma", "ulcer"], 120).astype(object)
    paths = []
    for number in range(3):
        value[0] = "kuru" if number == 0 else "flu"
        paths.append(str(folder / f"w{number}.csv"))
        pl.DataFrame({"id": range(120), "age": age, "value": value.astype(str)}).write_csv(paths[-1])
    return paths


def test_one_person_who_changes_is_no_reason_to_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waves, schema = rare(tmp_path), tmp_path / "s.toml"
    schema.write_text(SCHEMA.dumps())
    asked = ["plan", *waves, "--schema", str(schema), "--setting", "pool k=20 & simple-l=3", "--json"]
    assert run(asked) in {FINE, NOT_MET}
    told = json.loads(capsys.readouterr().out)
    assert {one["verdict"] for one in told["outcomes"]} <= {"withstood", "exposed"}


def test_an_error_is_no_verdict_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where every setting fails by an error, nobody reads that nothing suffices."""
    waves, schema, page = rare(tmp_path), tmp_path / "s.toml", tmp_path / "p.html"
    schema.write_text(SCHEMA.dumps() + "\n[updates]\nchances = { flu = { cold = 0.9, ulcer = 0.9 } }\n")
    asked = ["plan", *waves, "--schema", str(schema), "--report", str(page), "--force"]
    assert run(asked) == UNTESTED
    shown = " ".join(capsys.readouterr().out.split())
    assert "No setting could be tried" in shown
    assert "must sum to 1" in shown
    for text in (shown, page.read_text()):
        assert "could not be tried" in text
        assert "nothing suffices" not in text.lower()
        assert "no setting is safe" not in text.lower()
        assert "impossible" not in text
    assert run([*asked, "--json"]) == UNTESTED
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["recommended"]) == ("could not be tried", None)
    assert {one["verdict"] for one in told["outcomes"]} == {"could not be tried"}
    assert Plan.of(told).verdict == "could not be tried"


def test_errors_are_told_beside_a_verdict() -> None:
    failed = [Outcome(Setting("pool", f"k={k}"), (), RehearsalEnd.NOT_TRIED, "It broke") for k in (2, 3)]
    refused = Outcome(Setting("pool", "k=9"), (), RehearsalEnd.IMPOSSIBLE, "No.")
    alone, both = (Plan(Limits(), (), 2, some, None, 0) for some in (tuple(failed), (*failed, refused)))
    assert (alone.verdict, both.verdict) == ("could not be tried", "nothing suffices")
    assert "2 settings could not be tried, so nothing is known of them. Why: It broke." in both.sentences
    assert repr(alone).startswith("Plan: No setting could be tried")
    assert repr(both).startswith("Plan: No setting that was tried")
    assert "could not be tried" in plan_html(alone)
    assert Plan(Limits(), (), 2, (), None, 0).verdict == "could not be tried"


def test_an_attack_that_cannot_follow_is_no_verdict(tmp_path: Path) -> None:
    """Values that are said to stay, and do not: the attack contradicts the schema, and nothing was tested."""
    frames = [pl.read_csv(path) for path in rare(tmp_path)]
    rng = np.random.default_rng(1)
    frames = [frame.with_columns(value=pl.Series(rng.permutation(frame["value"].to_numpy()))) for frame in frames] * 2
    made = plan(frames, replace(SCHEMA, updates={"none": True}), settings=[Setting("pool", "k=5 & l=2")], further=0)
    assert [one.verdict for one in made.outcomes] == [RehearsalEnd.NOT_TRIED]
    assert made.verdict == "could not be tried"
