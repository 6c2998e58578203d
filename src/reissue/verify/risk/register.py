"""Published groups against a register of the population: k-map and delta-presence.

k-map (Sweeney 2002): at least k people of the register fit every published group. delta-presence (Nergiz, Atzori,
Clifton 2007): how likely a person of the register is in the release at all, between the smallest and the largest
such share; someone who fits no group is not in it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue._arrays import Ints
from reissue.data.table import to_polars
from reissue.errors import DataError
from reissue.files.dialect import FOUND, Dialect
from reissue.published import PublishedRelease
from reissue.words import plural

__all__ = ["RegisterRisk", "match_register"]


@dataclass(frozen=True)
class RegisterRisk:
    """What a register of the population says of a release."""

    people: int
    """How many people it holds."""
    k_map: int
    """People who fit the group that fewest fit."""
    presence: tuple[float, float] | None
    """The smallest and the largest share of people who are in the release, over the register's people.

    None where somebody fits several groups: then the shares of groups do not say it.
    """


def match_register(release: PublishedRelease, population: Any, dialect: Dialect = FOUND) -> tuple[RegisterRisk, Ints]:
    """The register's numbers, and how many of its people fit each group."""
    from reissue.people.candidates import by_register

    frame, _ = to_polars(population, release.schema, dialect=dialect)
    seen = by_register(release, frame, presence=False)
    fitting = np.bincount(seen.group, minlength=release.groups)
    records = release.sizes - release.counterfeits
    short = int((fitting < records).sum())
    if short:
        raise DataError(
            f"The register does not hold everyone in the release: in {plural(short, 'group')} there are more records "
            "than people who fit. Give a table of the whole population, with quasi-identifiers as in the original."
        )
    alone = np.bincount(seen.row).max(initial=0) <= 1
    shares = records / np.maximum(fitting, 1)
    lowest = 0.0 if len(seen.ids) < frame.height else float(shares.min())
    presence = (lowest, float(shares.max())) if alone else None
    return RegisterRisk(frame.height, int(fitting.min()), presence), np.asarray(fitting, np.int64)
