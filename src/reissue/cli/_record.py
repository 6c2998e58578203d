"""`--record`: where what check, attack and publish keep for the file goes."""

from pathlib import Path
from typing import Annotated

import typer

from reissue.data.outputs import Output
from reissue.errors import InputError

RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE.json",
        help="Write down for the file what was published, criteria, risk, tests and results; FILE.html beside it is "
        "the same as a page.",
    ),
]


def record_outputs(path: Path | None) -> list[Output]:
    """The two files of a record."""
    if path is None:
        return []
    if path.suffix.lower() != ".json":
        raise InputError("The file of --record must end in .json; the page goes beside it.")
    return [Output("--record", path), Output("--record", path.with_suffix(".html"))]
