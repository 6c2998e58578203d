"""The how-to `count-counterfeits-out`: its code and its example come out right, in every form."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from reissue import anonymize, synth
from reissue.release.release import Release

PAGE = (Path(__file__).parent.parent / "docs" / "how-to" / "count-counterfeits-out.md").read_text(encoding="utf-8")


def of_the_page(name: str) -> Callable[..., pl.DataFrame]:
    """A function that the page shows."""
    names: dict[str, Callable[..., pl.DataFrame]] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)  # noqa: S102  # the page's own code
    return names[name]


def months() -> list[pl.DataFrame]:
    """Three months in which everybody keeps the disease of the first one."""
    frames = list(synth.Population(seed=1, people=1_500).months(3))
    first = pl.concat(frames).unique("patient", keep="first", maintain_order=True).select("patient", "disease")
    return [frame.drop("disease").join(first, on="patient", maintain_order="left") for frame in frames]


def published(form: str, frames: list[pl.DataFrame]) -> Release:
    """The last month, by invariance."""
    release: Release | None = None
    for frame in frames:
        release = anonymize(
            frame,
            replace(synth.schema(), updates={}),
            "m-unique=3",
            method="invariance",
            seed=1,
            form=form,
            ineligible="counterfeits",
            memory=None if release is None else release.draft.memory,
        )
    assert release is not None
    return release


@pytest.mark.parametrize("form", ["generalized", "permuted"])
def test_weights_count_people_and_bounds_hold(form: str) -> None:
    frames = months()
    release = published(form, frames)
    table, fakes, true = release.tables["release"], release.tables["counterfeits"], frames[-1]
    rows = of_the_page("weighted")(table, fakes)
    assert rows["weight"].sum() == pytest.approx(true.height)
    real = pl.Series(release.draft.groups).value_counts()["count"].sort()
    assert rows.group_by("group").agg(pl.col("weight").sum())["weight"].sort().round(6).to_list() == real.to_list()
    found = of_the_page("bounds")(table, fakes, "disease").join(true.group_by("disease").len(), on="disease")
    assert found.height == true["disease"].n_unique()
    assert (found["least"] <= found["len"]).all()
    assert (found["len"] <= found["most"]).all()
    assert (found["least"] < found["most"]).any()


def test_groups_without_numbers() -> None:
    """Groups that are told apart by what they show, one quasi-identifier of which is missing."""
    table = pl.DataFrame({"age": ["20", "20", None, None, "30"], "s": list("abaab")})
    fakes = pl.DataFrame({"age": ["20", None], "counterfeits": [1, 1]})
    assert of_the_page("weighted")(table, fakes)["weight"].to_list() == [0.5, 0.5, 0.5, 0.5, 1]
    assert of_the_page("bounds")(table, fakes, "s").rows() == [("a", 1, 2), ("b", 1, 2)]


def test_the_page_tells_what_comes_out() -> None:
    frames = months()
    release = published("generalized", frames)
    table, fakes = release.tables["release"], release.tables["counterfeits"]
    rows = of_the_page("weighted")(table, fakes)
    hepatitis = of_the_page("bounds")(table, fakes, "disease").filter(disease="hepatitis").row(0)
    guessed = rows.filter(disease="hepatitis")["weight"].sum()
    told = re.sub(r"\s+", " ", PAGE)
    true = frames[-1].filter(disease="hepatitis").height
    assert f"has {table.height:,} rows, {release.counterfeits} of them counterfeits" in told
    assert f"add up to {rows['weight'].sum():,.0f}" in told
    assert (
        f"there are {table.filter(disease='hepatitis').height} rows; between {hepatitis[1]} and {hepatitis[2]} patients"
        in told
    )
    assert f"the weights say {guessed:.1f}: the truth is {true}" in told
