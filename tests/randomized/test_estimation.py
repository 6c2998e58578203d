"""`ri.estimate` and `reissue estimate`: what anybody computes from a release and its side table."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue._arrays import Floats, Ints
from reissue.cli._app import run
from reissue.errors import DataError, InputError
from reissue.files.tables import write_file
from reissue.randomized import CLASS, SideTable
from reissue.randomized.adversaries import normalized

VALUES = pl.DataFrame({"disease": ["flu", "cold", "heart, A", "heart B"]})
HEART = "disease[heart, A|heart B]"
PEOPLE, TIMES = 2_000, 150


class World:
    """People of three age groups and two sexes; the elderly have heart diseases. Classes are by age."""

    def __init__(self, truth: float = 0.6) -> None:
        rng = np.random.default_rng(5)
        self.age, self.male = rng.integers(20, 90, PEOPLE), rng.integers(0, 2, PEOPLE)
        odds = np.exp(np.outer(self.age / 30, [0.0, 0.0, 1.0, 1.2]) + np.outer(self.male, [0, 0, 0.4, 0]))
        self.value = (rng.random(PEOPLE)[:, None] > (odds / odds.sum(1, keepdims=True)).cumsum(1)).sum(1)
        self.classes = (self.age > 50).astype(np.int64)
        self.cost = 100 + 50 * (self.value > 1) + self.age + rng.normal(size=PEOPLE) * 20
        counts = np.stack([np.bincount(self.value[self.classes == one], minlength=4) for one in (0, 1)])
        share = normalized(counts.astype(np.float64))
        chance = truth * np.eye(4) + (1 - truth) * share[:, np.newaxis, :]
        self.side = SideTable(chance, share, VALUES)

    def frame(self, shown: Ints) -> pl.DataFrame:
        low = self.age // 10 * 10
        return VALUES[shown].with_columns(
            pl.Series("age", [f"[{one}, {one + 9}]" for one in low.tolist()]),
            pl.Series("sex", np.where(self.male == 1, "male", "female")),
            pl.Series("cost", self.cost),
            pl.Series(CLASS, self.classes + 1),
        )

    def released(self, seed: int) -> pl.DataFrame:
        return self.frame(self.drawn(seed, self.side.chance))

    def drawn(self, seed: int, chance: Floats) -> Ints:
        ends = chance[self.classes, self.value].cumsum(1)
        return np.asarray(np.minimum((np.random.default_rng(seed).random(PEOPLE)[:, None] > ends).sum(1), 3), np.int64)

    def true(self, **asked: Any) -> ri.Estimation:
        """The same from true values: with probabilities that never change anything."""
        exact = SideTable(np.tile(np.eye(4), (2, 1, 1)), self.side.share, VALUES)
        return ri.estimate(self.frame(self.value), exact, **asked)


ASKED: dict[str, Any] = {
    "counts": ["disease", "sex"],
    "crosses": [("sex", "disease"), ("disease", "sex")],
    "means": [f"{HEART} ~ sex", "cost ~ disease"],
    "models": [f"{HEART} ~ age + sex", f"cost ~ {HEART} + age"],
    "logistic": [f"{HEART} ~ age", f"sex[male] ~ {HEART} + cost"],
}


def numbers(found: ri.Estimation) -> Floats:
    return np.array([[line.value, line.low, line.high] for one in found.analyses for line in one.lines])


@pytest.mark.parametrize("truth", [0.6, 0.3])
def test_estimates_are_right_on_average_and_intervals_cover(truth: float) -> None:
    world = World(truth)
    true = numbers(world.true(**ASKED))[:, 0]
    every = [ri.estimate(world.released(seed), world.side, these_people=True, **ASKED) for seed in range(TIMES)]
    found = np.stack([numbers(one) for one in every])
    spread = found[:, :, 0].std(0)
    assert (np.abs(found[:, :, 0].mean(0) - true) < 4 * spread / np.sqrt(TIMES) + 0.15 * spread + 1e-6).all()
    inside = ((found[:, :, 1] <= true + 1e-6) & (true - 1e-6 <= found[:, :, 2])).mean(0)
    random = spread > 1e-6
    assert (inside[~random] == 1).all()  # what was not randomized is exact
    assert inside[random].min() > 0.95 - 4 * np.sqrt(0.05 * 0.95 / TIMES)
    assert inside[random].mean() == pytest.approx(0.95, abs=0.02)


def test_values_as_published_are_attenuated() -> None:
    world, asked = World(), {"models": [f"cost ~ {HEART} + age"]}
    found = [ri.estimate(world.released(seed), world.side, **asked).analyses[0].lines[1] for seed in range(20)]  # type: ignore[arg-type]
    true = world.true(**asked).analyses[0].lines[1].value
    assert np.mean([one.published or 0.0 for one in found]) < 0.8 * true
    assert np.mean([one.value for one in found]) == pytest.approx(true, rel=0.1)


def test_where_values_cannot_be_told_apart_they_are_taken_together_and_that_is_said() -> None:
    world = World()
    chance = world.side.chance.copy()
    chance[:, 3] = chance[:, 2]  # two values are published alike
    side = SideTable(chance, world.side.share, VALUES)
    release = world.frame(world.drawn(1, chance))
    found = ri.estimate(release, side, means=[f"{HEART} ~ sex"])
    assert "taken together" in found.warnings[0]
    assert len(found.warnings) == 1
    true = world.true(means=[f"{HEART} ~ sex"]).analyses[0].lines
    for line, one in zip(found.analyses[0].lines, true, strict=True):
        assert line.low < one.value < line.high
    hopeless = ri.estimate(release, side)
    assert "should not be used" in hopeless.warnings[1]
    assert all(np.isinf(line.error) for line in hopeless.analyses[0].lines)


def test_weights_of_categories_are_the_exact_inverse_where_nothing_is_taken_together() -> None:
    side = World().side
    np.testing.assert_allclose(side.collapsed(np.eye(4)), side.unbiased, atol=1e-9)
    member = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    weights = side.collapsed(member)
    np.testing.assert_allclose(weights.sum(2), 1, atol=1e-9)
    given = np.einsum("cv,vk,cvy->cky", side.share, member, side.chance) / (side.share @ member)[:, :, None]
    np.testing.assert_allclose(given @ weights, np.tile(np.eye(2), (2, 1, 1)), atol=1e-9)


def test_rows_without_a_value_are_left_out_and_what_does_not_fit_is_refused() -> None:
    world = World()
    release = world.released(0)
    first = pl.int_range(pl.len()) < 3
    found = ri.estimate(
        release.with_columns(pl.when(first).then(None).otherwise(pl.col("disease")).alias("disease")), world.side
    )
    assert found.left_out == 3
    assert "3 rows" in found.warnings[0]
    with pytest.raises(DataError, match="lacks"):
        ri.estimate(release.with_columns(pl.lit("plague").alias("disease")), world.side)
    with pytest.raises(DataError, match="value_class"):
        ri.estimate(release.drop(CLASS), world.side)
    with pytest.raises(InputError, match="side table"):
        ri.estimate(release)
    wrong: tuple[dict[str, Any], ...] = (
        {"counts": ["job"]},
        {"counts": ["cost"]},
        {"models": ["disease ~ age"]},
        {"means": ["disease[plague] ~ sex"]},
        {"means": ["cost ~ sex + age"]},
    )
    for one in wrong:
        with pytest.raises(InputError) as problem:
            ri.estimate(release, world.side, **one)
        assert "plague" not in str(problem.value)


def test_several_columns_and_missing_values() -> None:
    values = pl.DataFrame({"test": ["positive", "positive", None], "stage": [1, 2, 1]})
    side = SideTable(np.eye(3)[np.newaxis], np.full((1, 3), 1 / 3), values)
    release = values[[0, 0, 1, 2]].with_columns(pl.lit(1).alias(CLASS), pl.Series("sex", ["f", "m", "m", "f"]))
    found = ri.estimate(release, side, counts=["test", "stage"], crosses=[("stage", "test")], models=["stage ~ sex"])
    counted = [{line.name: round(line.value) for line in one.lines} for one in found.analyses[:3]]
    assert counted == [{"positive": 3}, {"1": 3, "2": 1}, {"1 | positive": 2, "2 | positive": 1}]
    assert [line.value for line in found.analyses[3].lines] == pytest.approx([1, 0.5])


def test_the_command_line_shows_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    release, side = tmp_path / "release.csv", tmp_path / "side.csv"
    write_file(world.released(0), release)
    write_file(world.side.frame(), side)
    files = ["estimate", str(release), "--side", str(side)]
    asked = [*files, "--model", f"{HEART} ~ age + sex", "--cross", "sex,disease"]
    assert run(asked) == 0
    shown = capsys.readouterr().out
    assert "linear regression" in shown
    direct = ri.estimate(release, side, models=[f"{HEART} ~ age + sex"]).analyses[0].lines[1]
    assert f"{direct.value:.4g}" in shown
    assert run([*asked, "--json"]) == 0
    assert f'"value": {direct.value}' in capsys.readouterr().out
    assert run([*files, "--cross", "sex"]) == 2
    assert run([*files, "--count", "job"]) == 2
