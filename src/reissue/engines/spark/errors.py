"""What went wrong in Spark, in our own words: its messages quote values, and end in logs."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from reissue import errors
from reissue.errors import DataError, InputError, ReissueError

__all__ = ["WorkerError", "explained", "quiet", "told"]

_MARK = "reissue refused"
"""Begins the message of an error of ours."""
_OURS = re.compile(rf"{_MARK} (\w+): ([^\n]*)")
_LACKING = re.compile(r"ModuleNotFoundError: No module named '(reissue|polars|numpy|pyarrow)")


class WorkerError(RuntimeError):
    """Something failed on a worker; told without values."""


@contextmanager
def told() -> Iterator[None]:
    """On a worker: whatever is raised, raised anew without values."""
    try:
        yield
    except ReissueError as problem:
        raise WorkerError(f"{_MARK} {type(problem).__name__}: {problem}") from None
    except Exception as problem:  # noqa: BLE001  # a library's words may quote the data
        raise WorkerError(f"A pass over the rows failed: {type(problem).__name__}.") from None


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn whatever Spark raises into an error of ours that says what was being done."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with quiet():
            yield
    except (PySparkException, Py4JError) as problem:
        raise _error(str(problem), doing) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Without Spark's warning about versions of pandas, which is not used."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not yet fully support pandas.*")
        yield


def _error(said: str, doing: str) -> ReissueError:
    ours, lacking = _OURS.search(said), _LACKING.search(said)
    if ours:
        kind = getattr(errors, ours[1], InputError)
        return kind(ours[2]) if isinstance(kind, type) and issubclass(kind, ReissueError) else InputError(ours[2])
    if lacking:
        return InputError(
            f"Spark's workers lack the package '{lacking[1]}'. Install reissue for the Python of every worker, in the "
            "version of the driver."
        )
    if "PYTHON_VERSION_MISMATCH" in said:
        return InputError("Spark's workers have another version of Python than the driver. Set PYSPARK_PYTHON.")
    return DataError(
        f"Spark could not finish {doing}. Its own log says why; nothing is quoted here, since it may contain values."
    )
