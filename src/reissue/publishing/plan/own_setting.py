"""One setting, tried on the waves, with its first release kept to be looked at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reissue.data.table import Table
from reissue.files.dialect import FOUND, Dialect
from reissue.publishing.plan.continuation import SIMULATED, Dynamics, continued
from reissue.publishing.plan.outcome import Outcome
from reissue.publishing.plan.rehearsal import Rehearsal, rehearse
from reissue.publishing.plan.settings import Limits, Setting
from reissue.publishing.plan.waves import read_waves
from reissue.release.release import Release
from reissue.schema import Schema

__all__ = ["TriedSetting", "try_setting"]


@dataclass(frozen=True, eq=False)
class TriedSetting:
    """What a setting costs and leaves exposed, and the first wave with its release; None where there is none."""

    outcome: Outcome
    table: Table
    release: Release | None


def try_setting(
    waves: Sequence[Any],
    schema: Schema | Mapping[str, Any] | str | Path,
    setting: Setting,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    newcomers: bool = False,
    dialect: Dialect = FOUND,
    progress: Callable[[float], None] = lambda _: None,
) -> TriedSetting:
    """Publish the waves by one setting as a plan would, mended where few are exposed; nothing is recorded."""
    schema = Schema.read(schema)
    limits = (limits or Limits()).protecting(schema.policy)
    given = read_waves(waves, schema, dialect=dialect, newcomers=newcomers)
    if len(given.tables) == 1:
        given = continued(given, SIMULATED, np.random.default_rng(seed), Dynamics())
    known = given.with_updates()
    rehearsal, first = Rehearsal.of(setting, known, limits), None
    for number, table in enumerate(known.tables):
        progress(number / len(known.tables))
        rehearsal = rehearse(rehearsal, [table], lambda: None)
        if number == 0 and rehearsal.earlier:
            first = rehearsal.earlier[0]
        if rehearsal.over:
            break
    return TriedSetting(rehearsal.outcome(known), known.tables[0], first)
