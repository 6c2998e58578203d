"""What published texts and requirements mean, from their definitions: nothing here shares arithmetic with methods."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from reissue.counting.cells import Counts, Domain
from reissue.data.table import Table
from reissue.requirements import Requirement, by_column
from reissue.taxonomy.codings import Hierarchy, read_hierarchy
from reissue.taxonomy.notation import span_of

__all__ = ["lies_under", "meets"]


def lies_under(value: Any, text: str | None, hierarchy: Hierarchy) -> bool:
    """Whether an original value is one of those that the published text stands for."""
    if value is None or text is None:
        return value is None and text in {None, "*"}
    if text in {"*", str(value)}:
        return True
    if hierarchy.kind == "prefix":
        return str(value).startswith(text.rstrip("*")) and len(str(value)) <= len(text)
    if hierarchy.kind in {"tree", "file"} and text in _above(hierarchy).get(str(value), []):
        return True
    span = span_of(text) if isinstance(value, int | float) else None
    return span is not None and span.low <= value and (value < span.high if span.open else value <= span.high)


def _above(hierarchy: Hierarchy) -> dict[str, tuple[str, ...]]:
    if hierarchy.kind == "file" and hierarchy.file:
        return {leaf: above for leaf, *above in read_hierarchy(hierarchy.file)}  # type: ignore[misc]
    return dict(_climb(hierarchy.tree, ()))


def _climb(tree: Mapping[str, Any] | Sequence[str], above: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    if not isinstance(tree, Mapping):
        return [(leaf, above) for leaf in tree]
    pairs = []
    for name, below in tree.items():
        pairs += _climb(below, (name, *above)) if below else [(name, above)]
    return pairs


# --- requirements, from their definitions ----------------------------------------------------------------------------

Judge = Callable[[Any, Sequence[int], Sequence[int]], bool]
"""A requirement, the group's sensitive codes and all published ones to a verdict."""


def meets(table: Table, group: Sequence[int], requirement: Requirement, everyone: Sequence[int]) -> bool:
    """Whether one group of rows meets a requirement in every sensitive column, where `everyone` is published."""
    codes, published = list(group), list(everyone)
    return all(
        _in_every_column(part, codes, published, table) if _has_twin(part) else _alone(part, codes, published, table)
        for part in requirement.parts()
    )


def _in_every_column(part: Requirement, group: Sequence[int], everyone: Sequence[int], table: Table) -> bool:
    """By the definition; a row whose value needs no protection has a value of its own, where any value counts."""
    met = True
    for margin in table.margins if part.sensitive and table.margins else (None,):
        of_row = table.sensitive if margin is None or margin.label is None else margin.label[table.sensitive]
        own = of_row.tolist()
        if margin is not None and part.any_value:
            own = [-1 - row if margin.harmless[code] else code for row, code in enumerate(own)]
        met &= _JUDGES[part.name](part, [own[row] for row in group], [own[row] for row in everyone])
    return met


def _has_twin(part: Requirement) -> bool:
    """Whether the definition is written out below: not for named values, nor for distances along an order or tree."""
    return part.name in _JUDGES and not getattr(part, "values", ()) and getattr(part, "distance", "equal") == "equal"


def _alone(part: Requirement, codes: list[int], published: list[int], table: Table) -> bool:
    """The requirement's own verdict on this single group, for those without a twin below."""
    totals = np.bincount(table.sensitive[published], minlength=table.domain.size)
    domain = Domain(totals, table.domain.taxonomy)
    counts = Counts(np.zeros(len(codes), np.int32), table.sensitive[codes], domain, 1)
    return bool(by_column(part, table.margins, domain).holds(counts)[0])


def _most(codes: Sequence[int]) -> list[int]:
    """Counts of the values, largest first."""
    return [number for _, number in Counter(codes).most_common()]


def _entropy(part: Any, codes: Sequence[int], _: Sequence[int]) -> bool:
    shares = [number / len(codes) for number in Counter(codes).values()]
    return -sum(share * math.log(share) for share in shares) >= math.log(part.l) - 1e-9


def _closeness(part: Any, codes: Sequence[int], published: Sequence[int]) -> bool:
    """Equal distance: half the sum of absolute differences, in exact fractions."""
    group, whole = Counter(codes), Counter(published)
    differences = [abs(Fraction(group[v], len(codes)) - Fraction(n, len(published))) for v, n in whole.items()]
    return bool(float(sum(differences) / 2) <= part.t + 1e-9)


_JUDGES: dict[str, Judge] = {
    "k": lambda part, codes, _: len(codes) >= part.k,
    "l": lambda part, codes, _: len(set(codes)) >= part.l,
    "entropy-l": _entropy,
    "recursive": lambda part, codes, _: _most(codes)[0] < part.c * sum(_most(codes)[part.l - 1 :]),
    "simple-l": lambda part, codes, _: _most(codes)[0] * part.l <= len(codes),
    "m-unique": lambda part, codes, _: len(set(codes)) == len(codes) >= part.m,
    "t": _closeness,
}
