"""A Prefect flow: this month's table goes out only if it exposes nobody, together with all earlier releases."""

from pathlib import Path
from typing import Any

from prefect import flow, task

import reissue as ri


@task
def publish(table: Path, ledger: Path, schema: Path, out: Path) -> dict[str, Any]:
    """The next release of a ledger; what it refuses is an error, and nothing was written."""
    release = ri.publish(table, ledger, schema)
    release.write(out, force=True)
    return {"rows": release.frame.shape[0], "left out": release.suppressed}


@task
def check(release: Path, schema: Path, requirement: str) -> None:
    """What was written meets the requirement, counted again from the file."""
    ri.check(release, schema, requirement).raise_if_not_met()


@flow
def monthly_release(table: Path, ledger: Path, schema: Path, out: Path, requirement: str = "k=5") -> dict[str, Any]:
    """Publish, then check; whoever sends the file comes after both."""
    counts = publish(table, ledger, schema, out)
    check(out, schema, requirement)
    return counts
