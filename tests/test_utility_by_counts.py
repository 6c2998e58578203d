"""What was lost, of tables that an engine counts: what memory says, and what needs every row is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.errors import NotMetError
from reissue.synth import Population, schema
from reissue.utility import compare
from tests.effort import examples


def rounded(found: Any) -> Any:
    return json.loads(json.dumps(found.as_dict()), parse_float=lambda text: round(float(text), 9))


@examples(25)
@given(
    st.integers(0, 10**6),
    st.sampled_from([("pool", "k=3"), ("mondrian", "k=2 & l=2"), ("topdown", "k=3"), ("mask", "k=4 & simple-l=2")]),
    st.sampled_from([0.0, 0.2]),
)
def test_counts_tell_what_rows_tell(seed: int, way: tuple[str, str], suppress: float) -> None:
    rng = np.random.default_rng(seed)
    rows = 60
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 30, rows),
            "place": [[None, "a", "b"][one] for one in rng.integers(0, 3, rows)],
            "ill": rng.choice(["x", "y", "z"], rows),
        }
    )
    plan = ri.Schema.of_columns(quasi=["age", "place"], sensitive=["ill"])
    try:
        shown = ri.anonymize(table, plan, way[1], method=way[0], suppress=suppress, seed=1).frame
    except (ri.InputError, NotMetError):
        return
    right = compare(table, shown, plan, k=3, queries=0)
    assert rounded(compare(table.lazy(), shown.lazy(), plan, k=3, queries=0, engine="stream")) == rounded(right)


@pytest.mark.parametrize("more", [{"queries": 5}, {"spread": True}, {"crosses": [("age", "zip")]}])
def test_from_parquet_and_what_needs_every_row(more: dict[str, Any], tmp_path: Path) -> None:
    table = next(Population(seed=6, people=300).months(1))
    table.write_parquet(tmp_path / "table.parquet")
    made = ri.anonymize_folder(tmp_path / "table.parquet", schema(), "k=5", tmp_path / "out", seed=1)
    asked: dict[str, Any] = {"queries": 0, "engine": "stream"}
    found = compare(tmp_path / "table.parquet", tmp_path / "out", schema(), **asked)
    assert found.loss == pytest.approx(made.loss)
    assert found.rows == 300
    with pytest.raises(ri.InputError, match="engine memory"):
        compare(tmp_path / "table.parquet", tmp_path / "out", schema(), **{**asked, **more})
