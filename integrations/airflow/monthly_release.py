"""An Airflow DAG: this month's table goes out only if it exposes nobody, together with all earlier releases."""

from pathlib import Path
from typing import Any

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

import reissue as ri


@task
def publish(table: str, ledger: str, schema: str, out: str) -> dict[str, Any]:
    """The next release of a ledger; what it refuses fails at once, for trying again would not help."""
    try:
        release = ri.publish(Path(table), ledger, Path(schema))
    except (ri.InputError, ri.NotMetError) as problem:
        raise AirflowFailException(str(problem)) from None
    release.write(out, force=True)
    return {"out": out, "rows": release.frame.shape[0], "left out": release.suppressed}


@task
def check(published: dict[str, Any], schema: str, requirement: str) -> None:
    """What was written meets the requirement, counted again from the file."""
    if not ri.check(published["out"], Path(schema), requirement).met:
        raise AirflowFailException(f"The release does not meet {requirement}.")


@dag(schedule="@monthly", catchup=False, params={"table": "patients.csv", "requirement": "k=5"})
def monthly_release() -> None:
    """Publish, then check; whoever sends the file comes after `check`."""
    published = publish("{{ params.table }}", "hospital.ledger", "schema.toml", "release.csv")
    check(published, "schema.toml", "{{ params.requirement }}")


monthly = monthly_release()
