"""What is asked of a release larger than memory, and what is refused before work starts, each with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue.algorithms import find, registered
from reissue.algorithms.partition.by_regions import region_rows
from reissue.algorithms.partition.frontier import refuse_top_down
from reissue.counting.cells import Counts, Domain
from reissue.data.draws import draw_key
from reissue.engines.base import PersonDraw
from reissue.errors import InputError, SchemaError
from reissue.requirements import Requirement, parse
from reissue.schema import Schema

__all__ = ["FITS", "Asked"]

FITS = 500_000, 2_000_000
"""Rows of a region, at most, if it can be split: of a small table and of a large one. A method may say otherwise."""
_REGIONS = 50
"""About this many regions there are before they become larger: every row is looked at for each."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A method and what it is asked for; travels to whoever makes a region."""

    method: str
    requirement: Requirement
    suppress: float
    tight: bool
    options: Mapping[str, Any]
    person: str | None
    """The column that says who a row is, if any: people's numbers are drawn by it where the method needs them."""

    @classmethod
    def of(
        cls,
        method: str,
        requirement: Requirement | str,
        suppress: float,
        boxes: str,
        options: Mapping[str, Any],
        schema: Schema,
    ) -> "Asked":
        """Checked against a schema: what cannot be done is refused."""
        requirement = parse(requirement) if isinstance(requirement, str) else requirement
        chosen = find(method)
        settled = chosen.settle(options)
        if chosen.by_regions is None and not chosen.by_cells:
            able = ", ".join(name for name, one in registered().items() if one.by_regions is not None or one.by_cells)
            raise InputError(
                f"The method '{method}' needs the whole table in memory. Larger than memory there is: {able}."
            )
        why = "" if chosen.by_regions is None else chosen.by_regions(settled)
        if why:
            raise InputError(f"The method '{method}' needs the whole table in memory with these options: {why}.")
        if not 0 <= suppress < 1:
            raise InputError("`suppress` must be a share of the rows, at least 0 and below 1.")
        if boxes not in {"nodes", "tight"}:
            raise InputError('`boxes` must be "nodes" or "tight".')
        _refuse_schema(requirement, schema)
        spare = suppress if chosen.suppresses else 0.0
        return cls(method, requirement, spare, boxes == "tight", settled, schema.identifier)

    @property
    def by_cells(self) -> bool:
        """Whether the method decides on cuts, from counts."""
        return find(self.method).by_cells

    def most(self, fits: int | None, rows: int) -> int:
        """How many rows a region of a table may have: the method's option says it where it has one."""
        least, most = FITS
        if "region" not in self.options:
            return min(max(rows // _REGIONS, least), most) if fits is None else fits
        if fits is not None:
            raise InputError(f"Regions are part of the method '{self.method}': its option 'region' says how large.")
        return region_rows(self.options)

    def drawn(self, seed: Any) -> PersonDraw | None:
        """By what people's numbers are drawn; None where there is no such column, or no need."""
        if self.person is None or not find(self.method).draws:
            return None
        return PersonDraw(self.person, draw_key(np.random.default_rng(seed)))

    def refuse_impossible(self, domain: Domain) -> None:
        """Stop where the table as a whole does not meet what is asked."""
        values = np.arange(domain.size, dtype=np.int32)
        whole = Counts(np.zeros(domain.size, np.int32), values, domain, 1, domain.totals)
        self.requirement.fits(domain)
        for part in self.requirement.parts():
            part.refuse_impossible(whole, suppressing=False)
        refuse_top_down(self.requirement, whole)

    def refuse_regions(self, regions: int) -> None:
        """Stop where regions would not be judged as the whole table is."""
        if regions > 1 and self.suppress and self.requirement.relative and not self.by_cells:
            raise InputError(
                f"{self.requirement} compares with the rows that are published, which changes with every row that is "
                "left out: with --suppress it needs the whole table in memory."
            )


def _refuse_schema(requirement: Requirement, schema: Schema) -> None:
    if not schema.quasi:
        raise SchemaError("The schema names no quasi-identifier: there is nothing to generalize.")
    if schema.several_rows or len(schema.sensitive) > 1:
        raise InputError("Several rows per person and several sensitive columns need the whole table in memory.")
    if any(part.across for part in requirement.parts()):
        raise InputError(f"{requirement} is asked of the release as a whole, which needs it in memory.")
    if requirement.sensitive and not schema.sensitive:
        raise SchemaError(
            f"The requirement {requirement} looks at sensitive values, but the schema names no such column."
        )
