"""A release in parts is judged as it would be as a whole, however its rows are spread over the parts."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.data.table import code_column
from reissue.engines.stream import open_stream
from reissue.requirements import parse
from reissue.verify import meets, meets_by_parts
from tests.effort import examples

PLAN = ri.Schema.of_columns(quasi=["a", "b"], sensitive=["s"])
ASKED = ["k=2", "k=3", "l=2", "k=2 & t=0.4", "confidence=0.6", "beta=1", "delta-disclosure=1", "m-unique=2"]


@examples(150)
@given(st.integers(0, 10**6), st.sampled_from(ASKED), st.integers(2, 4), st.booleans())
def test_parts_are_judged_as_the_whole(seed: int, asked: str, number: int, apart: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(4, 40))
    table = pl.DataFrame(
        {
            "a": rng.choice(["x", "y"], rows),
            "b": pl.Series(["1-3", "4", None], dtype=pl.String).gather(rng.integers(0, 3, rows)),
            "s": rng.choice(["u", "v", "w"], rows),
        }
    )
    # By their quasi-identifiers no group is in two parts; at random nearly all are.
    of = table.select("a", "b").hash_rows().to_numpy() % number if apart else rng.integers(0, number, rows)
    parts = [open_stream(table.filter(pl.Series(of == one)).lazy()) for one in np.unique(of)]
    requirement, secrets = parse(asked), [code_column(table["s"], PLAN)]
    whole = meets(table, PLAN, requirement, secrets)
    assert meets_by_parts(open_stream(table.lazy()), parts, PLAN, requirement, secrets) == whole
