"""How a release is published: what everybody who writes or reads one has to know about its form.

A form is one declaration. Code that depends on the form asks for one of its properties and never names a member, so a
form that combines them anew is understood wherever releases are checked, attacked, measured or stored.
"""

from dataclasses import dataclass
from enum import Enum

__all__ = ["DEFAULT_FORM", "Form"]

_NUMBERED = ", as the column 'group' numbers them; the worst group decides."


@dataclass(frozen=True)
class _Traits:
    """The properties of a form."""

    label: str
    """As it is called in files and reports."""
    boxes: bool
    """Whether all rows of a group look the same; else each row keeps quasi-identifiers of its own."""
    numbered: bool
    """Whether a column `group` tells groups apart; else rows with the same quasi-identifiers are a group."""
    seats: bool = False
    """Whether a column `slot` numbers the rows, and keeps its numbers from release to release."""
    apart: bool = False
    """Whether sensitive values stand in a second table, counted by group."""
    counted_as: str = _NUMBERED
    """How a check says that it found the groups."""
    values_are: str = "published as it is, in the rows"
    """What the evidence says of the sensitive column."""


class Form(Enum):
    """How a release is published.

    Examples
    --------
    >>> from reissue.published import Form
    >>> Form.PERMUTED.boxes, Form.PERMUTED.numbered
    (False, True)
    """

    GENERALIZED = _Traits("generalized", boxes=True, numbered=False, counted_as="; the worst group decides.")
    """One table; rows with the same quasi-identifiers are a group."""
    NUMBERED = _Traits(
        "numbered", boxes=True, numbered=True, values_are="published as it is, in the rows of numbered groups"
    )
    """The same with numbered groups, because two of them may look the same and must not be taken for one."""
    PANEL = _Traits(
        "panel",
        boxes=True,
        numbered=True,
        seats=True,
        values_are="published as it is, in the rows of numbered groups, each with a seat that lasts",
    )
    """The same with the seat of each row, whose number lasts: what the seat shows in one release and the next."""
    PERMUTED = _Traits(
        "permuted",
        boxes=False,
        numbered=True,
        counted_as=f"{_NUMBERED} Rows of a group show quasi-identifiers of their own: this holds only if the sensitive "
        "values were put into random order inside each group.",
        values_are="published as it is, put into random order inside groups",
    )
    """One table with numbered groups whose rows do not all look the same; values are permuted in a group."""
    TWO_TABLES = _Traits(
        "two tables",
        boxes=False,
        numbered=True,
        apart=True,
        counted_as=", as the column 'group' of both tables numbers them; the worst group decides.",
        values_are="published as it is, in a table of its own, by group",
    )
    """Quasi-identifiers in one table, the values of each group counted in another, joined by the group's number."""

    @classmethod
    def called(cls, label: str) -> "Form":
        """The form that is called so."""
        return next(form for form in cls if form.label == label)

    @property
    def label(self) -> str:
        """As it is called in files and reports."""
        return self.value.label

    @property
    def boxes(self) -> bool:
        """Whether all rows of a group look the same; else each row keeps quasi-identifiers of its own."""
        return self.value.boxes

    @property
    def numbered(self) -> bool:
        """Whether a column `group` tells groups apart; else rows with the same quasi-identifiers are a group."""
        return self.value.numbered

    @property
    def seats(self) -> bool:
        """Whether a column `slot` numbers the rows, and keeps its numbers from release to release."""
        return self.value.seats

    @property
    def counted_as(self) -> str:
        """How a check says that it found the groups."""
        return self.value.counted_as

    @property
    def values_are(self) -> str:
        """What the evidence says of the sensitive column."""
        return self.value.values_are

    @property
    def apart(self) -> bool:
        """Whether sensitive values stand in a second table, counted by group."""
        return self.value.apart


DEFAULT_FORM = Form.GENERALIZED
"""The form of a release that names none: of drafts, of tables to check, and of files that show no groups."""
