"""l-diversity (Machanavajjhala et al.) in its several kinds."""

from dataclasses import dataclass
from typing import ClassVar

from reissue._arrays import Bools
from reissue.cells import Counts
from reissue.requirements._base import Requirement, number, register

__all__ = ["LDiversity"]


@register
@dataclass(frozen=True)
class LDiversity(Requirement):
    """Distinct l-diversity: every group has at least l different sensitive values."""

    name: ClassVar[str] = "l"
    growing: ClassVar[bool] = True
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        number(type(self), str(self.l), int, 1)

    def holds(self, counts: Counts) -> Bools:
        """Groups of at least l distinct values."""
        return counts.distinct >= self.l

    @classmethod
    def parse(cls, argument: str) -> "LDiversity":
        """From `3`."""
        return cls(int(number(cls, argument, int, 1)))

    def why(self, whole: Counts) -> str:
        """How many values there are."""
        return f" (it has {int(whole.distinct[0])} distinct sensitive values)"

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"l={self.l}"
