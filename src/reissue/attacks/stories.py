"""Worst cases that attacks tell: steps in plain sentences, and a picture of plain JSON that the report draws.

A case shows values only as they were published, stays small, and holds neither an identifier nor a quasi-identifier
that was not published. `docs/reference/attacks.md` says what each kind of picture holds. A ledger keeps cases as they
were written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypeAlias, TypedDict

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.cells import Domain
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series
from reissue.release.release import Release
from reissue.words import percent

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
    "Link",
    "Matrix",
    "PathColumn",
    "PathEdge",
    "PathNode",
    "Paths",
    "Picture",
    "Shown",
    "TargetGroup",
    "box_text",
    "case",
    "group_text",
    "histogram",
    "in_words",
    "row_texts",
    "set_text",
    "short",
    "shown",
    "story_of",
    "value_text",
]

_LONG = 60
_NAMED = 3
_COLUMNS = 12
_SLACK = 1e-9
_MISSING = "(missing)"

# --- pictures ---------------------------------------------------------------------------------------------------------

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


# --- cases -----------------------------------------------------------------------------------------------------------


def case(steps: Iterable[str], picture: Picture) -> Case:
    """A case."""
    return {"steps": list(steps), "picture": picture}


def histogram(values: Floats, people: Ints, limit: float, unit: str) -> IntervalCounts:
    """How many people have which share; a share on an edge belongs to the lower bin, as one at the limit is allowed."""
    edges = [place / 20 for place in range(21)]
    inside = np.clip(values - _SLACK, 0.0, 1.0)
    counts = np.histogram(inside, edges, weights=people)[0].astype(np.int64)
    return {
        "kind": "histogram",
        "edges": edges,
        "counts": counts.tolist(),
        "limit": limit,
        "unit": unit,
        "of": "people",
    }


def group_text(series: Series, knowledge: Knowledge, release: int, group: int) -> Shown:
    """What was published of the quasi-identifiers of a group; both are numbered as `membership` does."""
    published = series.releases[release]
    if knowledge.members is None and published.presences is not None:
        return {} if published.source is None else box_text(published.source, group)
    # A group whose records look different was not generalized.
    return shown(published.box(group))


def box_text(source: Release, group: int) -> Shown:
    """The same of a group of our own release, numbered as in its draft."""
    taxonomies = source.table.taxonomies
    if not source.draft.form.boxes or not taxonomies:
        return {}
    lo, hi = source.boxes.lo[:, [group]], source.boxes.hi[:, [group]]
    texts = [taxonomy.text(lo[place], hi[place])[0] for place, taxonomy in enumerate(taxonomies)]
    return shown(dict(zip(source.schema.quasi, texts, strict=True)))


# --- words -----------------------------------------------------------------------------------------------------------


def shown(texts: Mapping[str, str | None]) -> Shown:
    """Published quasi-identifiers, so many and so long as there is room for."""
    return {name: short(texts[name]) for name in list(texts)[:_COLUMNS]}


def short(text: str | None) -> str | None:
    """A published text, cut where it is too long to be shown."""
    return text if text is None or len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def value_text(name: str | None) -> str:
    """A sensitive value as published; several columns are taken together."""
    parts = [_MISSING if part == "\0" else part for part in (name or "\0").split("\1")]
    return short(", ".join(parts)) or ""


def row_texts(values: pl.DataFrame) -> list[str]:
    """Sensitive values, one a row, in the same way."""
    marked = values.select(pl.all().cast(pl.String).fill_null("\0"))
    return [value_text("\1".join(row)) for row in marked.rows()]


def set_text(domain: Domain, codes: Ints) -> str:
    """Sensitive values, given as codes: one, or one of several."""
    if domain.taxonomy is None:
        return "one value" if len(codes) == 1 else "one of some values"
    names = sorted(value_text(domain.taxonomy.names[code]) for code in codes.tolist())
    more = "" if len(names) <= _NAMED else f" and {len(names) - _NAMED} others"
    return names[0] if len(names) == 1 else f"one of {', '.join(names[:_NAMED])}{more}"


def in_words(shown: Shown) -> str:
    """Published quasi-identifiers: age 20-29, zip 13*."""
    return ", ".join(f"{name} {_MISSING if text is None else text}" for name, text in shown.items())


# --- how somebody is linked to a value --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Link:
    """How somebody is linked to a value: the facts of a story."""

    knows: str
    """What the adversary knows, in a sentence."""
    release: int
    value: str
    evidence: str
    """What the release shows by itself: `2 of 8 records show it`."""
    alone: float
    """The probability by the release itself."""
    reasons: tuple[str, ...]
    """What changes it, in sentences."""
    together: float
    """The probability in the end; 1 if it is certain."""
    limit: float
    who: str = "this person"


def story_of(link: Link, picture: Picture, more: Sequence[str] = ()) -> Case:
    """Return the case of a link: what is known, what a release says by itself, what changes that, and the result."""
    here, alone, limit = f"release {link.release}", percent(link.alone), percent(link.limit)
    so = f"So {link.who} had {link.value} in {here} with a probability of {percent(link.together)}"
    if link.together >= 1:
        so = f"So it is certain that {link.who} had {link.value} in {here}"
    return case(
        [
            link.knows,
            f"By itself, {here} links {link.who} to {link.value} with a probability of {alone}: {link.evidence}.",
            *link.reasons,
            f"{so}; the limit is {limit}.",
            *more,
        ],
        picture,
    )
