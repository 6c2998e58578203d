"""A growing table larger than memory: the next release by counts is the one that memory makes, and is checked again."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Hierarchy
from reissue.errors import InternalError
from reissue.papers.correspondence import method
from reissue.papers.correspondence.histories import read_history
from reissue.publishing.folder import anonymize_folder
from tests.effort import examples
from tests.publishing.test_larger import rows_of, written

TREE = Hierarchy("tree", tree={"food": ["cook", "baker"], "health": ["nurse", "doctor"]})
PLAN = ri.Schema.of_columns(
    quasi=["age", "job"],
    sensitive=["ill"],
    keep=["note"],
    taxonomies={"age": Hierarchy("ranges", ranges=(2, 4, 8)), "job": TREE},
)


def growing(seed: int, releases: int = 3) -> list[pl.DataFrame]:
    """A table that only grows; rows lie in another order each time."""
    rng = np.random.default_rng(seed)
    rows = 60 * releases
    table = pl.DataFrame(
        {
            "age": rng.integers(0, 16, rows),
            "job": rng.choice(["cook", "baker", "nurse", "doctor"], rows),
            "ill": rng.choice(["x", "y", "z"], rows),
            "note": np.arange(rows) % 7,
        }
    )
    return [table[: 60 * number].sample(fraction=1, shuffle=True, seed=number) for number in range(1, releases + 1)]


@examples(15)
@given(st.integers(0, 10**6), st.sampled_from(["k=3", "k=4 & l=2"]))
def test_every_release_has_the_rows_that_memory_publishes(seed: int, require: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        whole: list[Any] = []
        folders: list[Any] = []
        for number, table in enumerate(growing(seed)):
            out = Path(place) / str(number)
            asked: dict[str, Any] = {"method": "correspondence", "seed": 3}
            made = anonymize_folder(table.lazy(), PLAN, require, out, fits=40, after=folders, **asked)
            right = ri.anonymize(table, PLAN, require, after=whole, **asked)
            assert rows_of(written(out)) == rows_of(right.frame)
            assert made.loss == pytest.approx(ri.measure(right).loss)
            whole.append(right.frame)
            folders.append(out)
        one = ri.attack(folders, PLAN, only="correspondence", engine="stream")["correspondence"]
        two = ri.attack(whole, PLAN, only="correspondence")["correspondence"]
        assert (one.status, one.people, one.worst) == (two.status, two.people, two.worst)


def test_what_speaks_against_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = growing(1, 2)
    asked: dict[str, Any] = {"method": "correspondence", "seed": 3}
    anonymize_folder(first.lazy(), PLAN, "k=3", tmp_path / "1", **asked)
    with pytest.raises(ri.InputError, match="needs the whole table in memory"):
        anonymize_folder(second.lazy(), PLAN, "k=3", tmp_path / "no", suppress=0.1, after=[tmp_path / "1"], **asked)
    with pytest.raises(ri.InputError, match="only grow"):
        anonymize_folder(second[70:].lazy(), PLAN, "k=3", tmp_path / "no", after=[tmp_path / "1"], **asked)
    # Were the search wrong, such as one that forgets the first release, what was written would show it.
    monkeypatch.setattr(method, "read_history", lambda table, _: read_history(table, ()))
    with pytest.raises(InternalError, match="Nothing was published"):
        anonymize_folder(second.lazy(), PLAN, "k=3", tmp_path / "no", after=[tmp_path / "1"], **asked)
    assert [one.name for one in tmp_path.iterdir()] == ["1"]
