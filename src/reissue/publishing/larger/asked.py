"""What is asked of a release larger than memory, and what is refused before work starts, each with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reissue.counting.cells import Counts, Domain
from reissue.data.draws import draw_key
from reissue.data.table import column_margins
from reissue.engines.base import PersonDraw
from reissue.engines.registry import open_where_it_lies
from reissue.errors import InputError, SchemaError
from reissue.methods import Algorithm, ByRegions, find
from reissue.methods.partition.by_regions import region_rows
from reissue.methods.partition.frontier import refuse_top_down
from reissue.published.counted import read_counted
from reissue.publishing.larger.coding import WholeCoding
from reissue.release.release import Release
from reissue.requirements import KAnonymity, Requirement, by_column, parse
from reissue.schema import Schema

__all__ = ["FITS", "Asked", "why_all_rows"]

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
        why = why_all_rows(chosen, requirement, settled, suppress, schema)
        if why:
            raise InputError(
                f"The method '{method}' needs the codes of all rows in memory: {why}. `anonymize` and "
                "`anonymize_folder` bring them there."
            )
        if not 0 <= suppress < 1:
            raise InputError("`suppress` must be a share of the rows, at least 0 and below 1.")
        if boxes not in {"nodes", "tight"}:
            raise InputError('`boxes` must be "nodes" or "tight".')
        _refuse_schema(requirement, schema)
        spare = suppress if chosen.suppresses else 0.0
        return cls(method, requirement, spare, boxes == "tight", settled, schema.identifier)

    def with_earlier(self, engine: str, schema: Schema) -> "Asked":
        """The same with earlier releases counted by an engine, where the method comes after some."""
        after = self.options.get("after") or ()
        if not isinstance(after, list | tuple) or not after:
            return self
        read = [
            one if isinstance(one, Release) else read_counted(open_where_it_lies(engine, one), schema) for one in after
        ]
        return replace(self, options={**self.options, "after": read})

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
        if self.person is None or not find(self.method).draws(self.options):
            return None
        return PersonDraw(self.person, draw_key(np.random.default_rng(seed)))

    @property
    def _rule(self) -> ByRegions:
        return find(self.method).by_regions or ByRegions()

    @property
    def by_provider(self) -> bool:
        """Whether it matters who gave a record."""
        return self._rule.by_provider

    @property
    def any_order(self) -> bool:
        """Whether it does not matter in which order the rows of a region come."""
        return self.by_cells or self._rule.any_order

    def region_rule(self, coding: WholeCoding) -> tuple[Requirement, Domain]:
        """What regions must meet, and by what they are counted; stops where the table as a whole does not meet it."""
        if self.by_cells:
            return KAnonymity(1), coding.domain
        who = coding.providers
        counted = coding.domain if who is None else Domain(who.counts.reshape(-1))
        values, providers = (coding.domain, 0) if who is None else (who.values, len(who.counts))
        margins = column_margins(coding.schema, coding.secrets, np.arange(values.size, dtype=np.int32)[np.newaxis])
        asked = by_column(self.requirement, margins, values)
        judged = self._rule.judged(asked, self.options, values, providers)
        codes = np.arange(counted.size, dtype=np.int32)
        whole = Counts(np.zeros(counted.size, np.int32), codes, counted, 1, counted.totals)
        asked.fits(coding.domain)
        for part in asked.parts() if who is None else ():
            if not (part.sensitive and find(self.method).changes_values):
                part.refuse_impossible(whole, suppressing=False)
        refuse_top_down(judged, whole)
        return judged, counted


def why_all_rows(
    chosen: Algorithm, requirement: Requirement, options: Mapping[str, Any], suppress: float, schema: Schema
) -> str:
    """Why a release cannot be made region by region, or from counts, so that all rows must be seen; empty if it can."""
    if not chosen.in_parts:
        return chosen.whole_table or "it does not say how to do with less"
    if len(schema.sensitive) > 1:
        return "several sensitive columns are taken together"
    if any(part.across for part in requirement.parts()):
        return f"{requirement} is asked of the release as a whole"
    rule = chosen.by_regions or ByRegions()
    spare = suppress if chosen.suppresses else 0.0
    return rule.refusal(options) or ("" if chosen.by_cells else rule.one(requirement, spare))


def _refuse_schema(requirement: Requirement, schema: Schema) -> None:
    if not schema.quasi:
        raise SchemaError("The schema names no quasi-identifier: there is nothing to generalize.")
    if schema.several_rows:
        raise InputError("Several rows per person need the whole table in memory: use engine memory.")
    if requirement.sensitive and not schema.sensitive:
        raise SchemaError(
            f"The requirement {requirement} looks at sensitive values, but the schema names no such column."
        )
