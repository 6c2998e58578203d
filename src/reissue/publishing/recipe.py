"""The recipe that every way of making a release follows: in memory, region by region, or on counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from reissue.errors import InputError, SchemaError
from reissue.methods import Algorithm, ByRegions, find
from reissue.methods.registry import Trait
from reissue.requirements import Requirement, parse
from reissue.schema import Schema

__all__ = ["BOXES", "DEFAULT_METHOD", "Recipe"]

DEFAULT_METHOD = "pool"
BOXES = ("nodes", "tight")


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a release is made: the method with its options, and what the release must meet."""

    method: str
    requirement: Requirement
    suppress: float
    """The share of rows that may be suppressed."""
    tight: bool
    """Whether numbers and dates are published as ranges from the smallest to the largest value of a group."""
    options: Mapping[str, Any]
    """All options of the method, with defaults filled in."""

    @classmethod
    def of(
        cls,
        method: str,
        requirement: Requirement | str,
        suppress: float = 0.0,
        boxes: str = BOXES[0],
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """The recipe from a user's arguments; InputError for a wrong one."""
        requirement = parse(requirement)
        settled = find(method).settle(options or {})
        if not 0 <= suppress < 1:
            raise InputError("`suppress` must be a share of the rows, at least 0 and below 1.")
        if boxes not in BOXES:
            raise InputError('`boxes` must be "nodes" or "tight".')
        return cls(method, requirement, suppress, boxes == "tight", settled)

    @property
    def algorithm(self) -> Algorithm:
        """The registered method."""
        return find(self.method)

    def why_all_rows(self, schema: Schema) -> str:
        """Why all rows must be seen at once, so that neither regions nor counts suffice; empty if these do."""
        chosen, requirement = self.algorithm, self.requirement
        if not chosen.in_parts:
            return chosen.whole_table or "it does not say how to do with less"
        if len(schema.sensitive) > 1:
            return "several sensitive columns are taken together"
        if any(part.across for part in requirement.parts()):
            return f"{requirement} is asked of the release as a whole"
        rule = chosen.by_regions or ByRegions()
        spare = self.suppress if Trait.SUPPRESSES in chosen.traits else 0.0
        return rule.refusal(self.options) or (
            "" if Trait.COUNTED_ROWS in chosen.traits else rule.one(requirement, spare)
        )

    def refuse_schema(self, schema: Schema) -> None:
        """Stop where the requirement looks at sensitive values, and the schema names no such column."""
        if self.requirement.sensitive and not schema.sensitive:
            raise SchemaError(
                f"The requirement {self.requirement} looks at sensitive values, but the schema names no such column."
            )

    def refuse_memory(self, memory: object | None) -> None:
        """Stop where a memory is given to a method that remembers nothing."""
        if memory is not None and not self.algorithm.stateful:
            raise InputError(f"The method '{self.method}' makes releases one at a time: it has no use for a memory.")
