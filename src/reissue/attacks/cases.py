"""What the worst cases that attacks tell have in common: groups and values in words, only as they were published.

A case is `steps`, plain sentences, and a `picture`, a mapping whose `kind` says how it is drawn. It is made of plain
JSON types, stays small, and holds neither an identifier nor a quasi-identifier that was not published.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.attacks.pictures import Case, IntervalCounts, Picture, Shown
from reissue.counting.cells import Domain
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series
from reissue.release.release import Release

__all__ = [
    "box_text",
    "case",
    "group_text",
    "histogram",
    "in_words",
    "row_texts",
    "set_text",
    "short",
    "shown",
    "value_text",
]

_LONG = 60
_NAMED = 3
_COLUMNS = 12
_SLACK = 1e-9
_MISSING = "(missing)"


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
