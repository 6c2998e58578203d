"""What attacks draw of a worst case: one type a kind of picture, made of plain JSON; the report draws them.

`docs/reference/attacks.md` says what each holds. A ledger keeps them as they were written.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "Bars",
    "Candidates",
    "Case",
    "CutHistory",
    "EquationGroup",
    "EquationRow",
    "Equations",
    "HistoryEdge",
    "HistoryNode",
    "IntervalCounts",
    "Matrix",
    "PathColumn",
    "PathEdge",
    "PathNode",
    "Paths",
    "Picture",
    "Shown",
    "TargetGroup",
]

Shown: TypeAlias = dict[str, str | None]
"""The quasi-identifiers of a group as published; empty where exact ones, or none, were published."""


class TargetGroup(TypedDict):
    """The target's group in one release, and what is left of it."""

    label: str
    size: int
    left: int
    published: Shown


class Candidates(TypedDict):
    """A bar for each release."""

    kind: Literal["candidates"]
    bars: Sequence[TargetGroup]
    limit: int
    unit: str


class PathNode(TypedDict):
    """A value of a person's group in one release."""

    value: str | None
    share: float
    posterior: float


class PathColumn(TypedDict):
    """A person's group in one release."""

    label: str
    published: Shown
    nodes: Sequence[PathNode]


PathEdge = TypedDict("PathEdge", {"column": int, "from": int, "to": int, "possible": bool})
"""From a node of a column to one of the next."""


class Paths(TypedDict):
    """What a person's values can have become."""

    kind: Literal["paths"]
    columns: Sequence[PathColumn]
    edges: Sequence[PathEdge]
    limit: float


class HistoryNode(TypedDict):
    """Some people who share a history, or who are in one release."""

    label: str
    people: int
    side: NotRequired[int]


HistoryEdge = TypedDict("HistoryEdge", {"from": int, "to": int, "weight": int, "cut": bool})
"""People of both nodes; `cut` if the attack subtracts them."""


class CutHistory(TypedDict):
    """Two sides of a cut."""

    kind: Literal["history"]
    nodes: Sequence[HistoryNode]
    edges: Sequence[HistoryEdge]
    limit: int


class Matrix(TypedDict):
    """A number for each row and column."""

    kind: Literal["matrix"]
    rows: Sequence[str | None]
    columns: Sequence[str | None]
    values: Sequence[Sequence[float | None]]
    unit: str
    limit: int


class IntervalCounts(TypedDict):
    """How many people lie in each interval."""

    kind: Literal["histogram"]
    edges: Sequence[float]
    counts: Sequence[int]
    limit: float
    unit: str
    of: str


class Bars(TypedDict):
    """Columns side by side, for each label one of each series."""

    kind: Literal["bars"]
    labels: Sequence[str]
    series: Mapping[str, Sequence[float | None]]
    unit: str
    limit: float | None
    across: NotRequired[str]
    sentence: NotRequired[str]


class EquationRow(TypedDict):
    """A value of a group: its records, who has them, and how likely this person has it."""

    value: str | None
    records: int
    people: Sequence[str]
    chance: float | None


class EquationGroup(TypedDict):
    """A group, or all that a person fits in a release: who is in it, and what it shows."""

    label: str
    published: Shown
    groups: int
    people: Sequence[str]
    others: int
    before: int
    new: int
    unknown: int
    rows: Sequence[EquationRow]


class Equations(TypedDict):
    """The groups that leave a person one value."""

    kind: Literal["equations"]
    groups: Sequence[EquationGroup]
    total: int
    limit: float


Picture: TypeAlias = Candidates | Paths | CutHistory | Matrix | IntervalCounts | Bars | Equations


class Case(TypedDict):
    """A worst case: plain sentences, and a picture."""

    steps: list[str]
    picture: Picture
