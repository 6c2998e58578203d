"""One small cluster for all tests of Spark: two workers with a core each, on this machine."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MASTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session; `make test-spark` installs Spark and asks for it."""
    if not os.environ.get("REISSUE_TEST_SPARK"):
        pytest.skip("Spark is tested by  make test-spark,  which installs it")
    from reissue.engines.spark.session import running_session

    with running_session(MASTER, {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}) as session:
        yield session
    import pyspark

    shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)  # the workers' logs
