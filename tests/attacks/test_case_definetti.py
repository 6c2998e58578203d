"""The worst case of a deFinetti attack: right guesses by release."""

import polars as pl
import pytest

from reissue import anonymize, synth
from reissue.attacks.findings import Status
from reissue.publishing.attack import attack
from reissue.schema import Role
from tests.attacks.cases import sound


def test_guesses_by_release() -> None:
    frames = list(synth.Population(seed=1, people=800).months(3))
    unnamed = synth.schema().with_roles({"patient": Role.DROP})  # whoever cannot be followed is looked at by release
    releases = [anonymize(frame, unnamed, "l=3", method="anatomy", seed=1) for frame in frames]
    found = attack(releases, unnamed, only="definetti")["definetti"]
    case = sound(found)
    picture = case["picture"]
    assert picture["labels"] == ["release 1", "release 2", "release 3"]
    each = found.details["releases"]
    assert picture["series"] == {
        "guessed right": [one["accuracy"] for one in each],
        "allowed by the groups alone": [one["baseline"] for one in each],
    }
    assert max(picture["series"]["guessed right"]) >= (found.worst or 0)
    best = picture["series"]["guessed right"].index(found.worst)
    assert case["steps"][0].startswith(f"The adversary holds release {best + 1} ")
    assert f"{100 * found.details['baseline']:.3g}% of {found.population:,} people" in case["steps"][1]
    assert f"{found.people:,} people more than" in case["steps"][3]
    assert found.limit == pytest.approx(found.details["baseline"] + 3 * found.details["error"])


def test_where_guessing_is_right_for_everybody_nothing_is_withstood() -> None:
    table = next(synth.Population(seed=1, people=60).months(1)).with_columns(disease=pl.lit("flu"))
    found = attack([anonymize(table, synth.schema(), "k=30", seed=1)], synth.schema(), only="definetti")["definetti"]
    assert (found.status, found.people) == (Status.NOT_RUN, 0)


def test_no_better_than_the_groups() -> None:
    frame = next(synth.Population(seed=1, people=60).months(1))
    release = anonymize(frame, synth.schema(), "k=30", seed=1)
    found = attack([release], synth.schema(), only="definetti", limits={"definetti": 0.99})["definetti"]
    more = round((found.details["accuracy"] - found.details["baseline"]) * found.population)
    assert ("no more people than" in sound(found)["steps"][3]) == (more <= 0)
