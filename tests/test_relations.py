"""Columns that say the same as others, columns empty in a wave, values that are too frequent."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import InputError
from reissue.policy import Policy
from reissue.proposing import Guess, empty_somewhere, frequent_values, propose, without_copies
from reissue.publishing.plan import begin_series
from reissue.schema import Role


def people(rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    height, visits = rng.lognormal(3, 0.5, rows), rng.integers(0, 9, rows)
    return pl.DataFrame(
        {
            "id": range(rows),
            "age": rng.integers(18, 80, rows),
            "height": height,
            "lheight": np.log(height),
            "region": rng.choice(["n", "s", "e", "w"], rows),
            "visits": visits,
            "diagnosis": [f"v{min(number, 3)}" for number in visits],
        }
    ).with_columns(district=pl.col("region").replace({"n": "north", "s": "south", "e": "east", "w": "west"}))


def roles(guesses: tuple[Guess, ...]) -> dict[str, tuple[Role, str]]:
    return {guess.column: (guess.role, guess.why) for guess in guesses}


def test_copies_logarithms_and_what_tells_a_sensitive_column_are_dropped() -> None:
    found = roles(without_copies(people(), propose(people())))
    assert found["lheight"] == (Role.DROP, "it says the same as 'height': a copy of it, or computed from it")
    assert found["district"][0] == Role.DROP
    assert "'region'" in found["district"][1]
    assert found["visits"] == (Role.DROP, "it tells 'diagnosis', which is sensitive")
    for name in ("age", "height", "region"):
        assert found[name][0] == Role.QUASI
    assert found["diagnosis"][0] == Role.SENSITIVE


def test_unrelated_columns_stay() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.integers(0, 2, 500) for name in "abcdef"})
    assert all(guess.role == Role.QUASI for guess in without_copies(frame, propose(frame)))


def test_a_column_that_is_empty_in_one_wave_is_dropped() -> None:
    first, second = people(), people().with_columns(height=pl.lit(None, pl.Float64)).drop("region")
    found = roles(empty_somewhere([first, second], propose(first)))
    assert found["height"] == (Role.DROP, "it is empty in wave 2")
    assert found["region"] == (Role.DROP, "wave 2 does not have it")
    assert found["age"][0] == Role.QUASI


def test_skew_is_told() -> None:
    frame = people().with_columns(diagnosis=pl.Series(["flu"] * 240 + ["gout"] * 60))
    guesses = frequent_values([frame], propose(frame))
    assert "the most frequent has 80%: it is proposed as harmless" in roles(guesses)["diagnosis"][1]
    even = frame.with_columns(diagnosis=pl.Series(["flu", "gout", "HIV"] * 100))
    assert "simple-l=3 at most" in roles(frequent_values([even], propose(even)))["diagnosis"][1]


@pytest.mark.parametrize("share", [100, 180, 290])
def test_a_value_that_most_people_have_is_proposed_as_harmless_and_the_others_are_protected(share: int) -> None:
    rare = ["gout", "HIV"] * ((300 - share) // 2)
    proposed = ri.propose(people().with_columns(diagnosis=pl.Series(["flu"] * share + rare).shuffle(seed=1)))
    policy = Policy.of(proposed.schema)
    assert policy.limit == 0.75
    harmless = policy.protection.harmless_in("diagnosis", ["flu", "gout", "HIV", None])
    assert harmless.tolist() == [share > 150, False, False, True]
    assert ("Most people have the value" in proposed.text) == (share > 150)


def test_a_beginning_without_a_sensitive_column_says_what_is_missing(tmp_path: Path) -> None:
    frame = people().select("id", "age", "region")
    for name in ("one.csv", "two.csv"):
        frame.write_csv(tmp_path / name)
    made = begin_series([tmp_path / "one.csv", tmp_path / "two.csv"], title="A schema")
    assert made.plan is None
    assert "--sensitive" in made.advice[0]
    assert "[policy]" not in made.text
    with pytest.raises(InputError, match="no column 'regoin'"):
        begin_series([tmp_path / "one.csv"], title="A schema", sensitive=["regoin"])
    single = begin_series([tmp_path / "one.csv"], title="A schema")
    assert "reissue plan" in single.advice[0]
