"""The engine `spark`: a Spark DataFrame, or Parquet that a session of ours reads; never a whole table on the driver."""

from pathlib import Path
from typing import Any

from reissue.data.frames import is_spark
from reissue.engines.registry import SPARK, engine
from reissue.engines.spark.frame import SparkSource
from reissue.errors import InputError
from reissue.files.extras import import_optional

__all__ = ["open_spark"]

_GIVEN = "The engine 'spark' takes a Spark DataFrame, or the path of Parquet. Convert other tables first."


@engine(SPARK, "Spark DataFrames, on one machine or on a cluster; rows stay where they are.", suits=is_spark)
def open_spark(data: Any) -> SparkSource:
    """A DataFrame, or a path."""
    if is_spark(data):
        if ".connect." in type(data).__module__:
            raise InputError(
                "This DataFrame belongs to Spark Connect, which has not been tried. Use a session of its own "
                "(SparkSession.builder without remote)."
            )
        return SparkSource(data)
    if isinstance(data, list | tuple) and len(data) == 1:
        data = data[0]
    if not isinstance(data, str | Path):
        raise InputError(_GIVEN)
    import_optional("pyspark", "spark", "The engine 'spark' runs on Spark")
    from reissue.engines.spark.errors import explained
    from reissue.engines.spark.session import spark_session

    session = spark_session()
    with explained("opening the table"):
        return SparkSource(session.read.parquet(str(data)))
