"""The paper's running example: the hospital's microdata at T1, T2 and T3 (tables Ia, IIa, and table VI's people)."""

import polars as pl

from reissue.schema import Schema

__all__ = ["SCHEMA", "T1", "T2", "T3"]

SCHEMA = Schema.of_columns(quasi=["age", "zip"], sensitive=["disease"], identifier="owner")
T1 = pl.DataFrame(
    {
        "owner": ["Alice", "Bob", "Chris", "Dan", "Ellen", "Frank"],
        "age": [35, 49, 42, 49, 43, 41],
        "zip": [53000, 55000, 65000, 55000, 62000, 67000],
        "disease": ["cancer", "flu", "cancer", "flu", "measles", "cancer"],
    }
)
T2 = pl.DataFrame(
    {
        "owner": ["Alice", "Chris", "Ellen", "Greg", "Harry", "Ian", "Jane"],
        "age": [35, 42, 49, 45, 42, 45, 42],
        "zip": [53000, 65000, 55000, 60000, 65000, 60000, 65000],
        "disease": ["cancer", "cancer", "measles", "flu", "cancer", "measles", "cancer"],
    }
)
T3 = T2.filter(~pl.col("owner").is_in(["Ellen", "Harry"]))
