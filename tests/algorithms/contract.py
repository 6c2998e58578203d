"""What every algorithm must keep, whatever the table and the requirement: run it with `check_contract`.

Nothing here shares arithmetic with the algorithms: groups are read off the published text, and "lies under" is
decided from the hierarchy as the schema writes it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from reissue import anonymize
from reissue.counting.cells import Counts, Domain
from reissue.data.table import Table
from reissue.errors import InputError, RequirementError
from reissue.release.release import GROUP, Release
from reissue.requirements import Requirement, parse, registered
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Hierarchy, read_hierarchy
from reissue.taxonomy.notation import span_of

__all__ = ["SAMPLES", "check_contract", "lies_under", "meets", "samples"]

SAMPLES: Mapping[str, tuple[str, ...]] = {
    "k": ("k=2", "k=4"),
    "l": ("l=2", "k=3 & l=2"),
    "entropy-l": ("entropy-l=1.8",),
    "recursive": ("recursive=2,2",),
    "simple-l": ("simple-l=2",),
    "confidence": ("confidence=0.6",),
    "alpha-k": ("alpha-k=0.7,2",),
    "t": ("t=0.4", "t=0.3:ordered", "t=0.4:hierarchical", "k=2 & t=0.6"),
    "k-e": ("k-e=2,3",),
    "c-k": ("c-k=0.9,1",),
    "personalized": ("personalized=0.6",),
    "m-unique": ("m-unique=2",),
}
"""Requirements that small tables sometimes meet, by name; every registered one must be here."""

ROW = "row"
"""A column that is published as it is, so that a published row can be traced to its original."""


def samples() -> list[str]:
    """Requirements to run a method with: some of every registered kind."""
    return [text for name in registered() for text in SAMPLES.get(name, ())]


def check_contract(
    method: str,
    table_frame: pl.DataFrame,
    schema: Schema,
    requirement: Requirement | str,
    suppress: float = 0.0,
    **options: Any,
) -> Release | None:
    """Run a method and check everything that it promises; None if it refused with a reason that holds."""
    requirement = parse(requirement) if isinstance(requirement, str) else requirement
    frame = table_frame.with_columns(pl.Series(ROW, range(table_frame.height)))
    schema = schema.with_roles({ROW: Role.KEEP})
    before = frame.clone()
    try:
        release = anonymize(frame, schema, requirement, method=method, suppress=suppress, seed=7, **options)
    except InputError as refusal:
        _check_refusal(method, refusal, Table.read(frame, schema), requirement)
        return None
    assert frame.equals(before), "the input was changed"
    again = anonymize(frame, schema, requirement, method=method, suppress=suppress, seed=7, **options)
    assert all(release.tables[name].equals(again.tables[name]) for name in release.tables), "same seed, other output"
    _check_rows(release, frame, suppress)
    if release.draft.bucketized:
        _check_buckets(release, frame)
    else:
        _check_values(release, frame)
    for group in published_groups(release):
        assert meets(release.table, group, requirement, _published(release)), "a group does not meet the requirement"
    return release


def _check_refusal(method: str, refusal: InputError, table: Table, requirement: Requirement) -> None:
    """A generalizing method may refuse only if not even the whole table in one group meets the requirement.

    Or if the sensitive column is not of the kind that the requirement judges, which has its own tests.
    """
    try:
        requirement.fits(table.domain)
    except RequirementError:
        return
    everyone = list(range(table.rows))
    assert method == "anatomy" or not meets(table, everyone, requirement, everyone), f"refused for nothing: {refusal}"


def _published(release: Release) -> list[int]:
    return next(iter(release.tables.values()))[ROW].to_list()


def _check_rows(release: Release, frame: pl.DataFrame, suppress: float) -> None:
    rows = _published(release)
    assert len(set(rows)) == len(rows), "a row was published twice"
    assert frame.height - len(rows) == release.suppressed
    assert release.suppressed <= math.floor(suppress * frame.height + 1e-9), "more rows left out than allowed"
    public = [n for n in frame.columns if release.schema.columns.get(n) in {Role.QUASI, Role.SENSITIVE, Role.KEEP}]
    seen = [name for table in release.tables.values() for name in table.columns]
    assert set(seen) - {GROUP, "count"} == set(public), "other columns than the schema allows"


def _check_values(release: Release, frame: pl.DataFrame) -> None:
    """Every original value lies under its published value; what is not generalized is as it was."""
    (published,) = release.tables.values()
    originals = frame[published[ROW].to_list()]
    for name in release.schema.sensitive:
        assert published[name].equals(originals[name], null_equal=True)
    for name in release.schema.quasi:
        hierarchy = release.schema.hierarchy(name)
        for value, text in zip(originals[name], published[name], strict=True):
            assert lies_under(value, text, hierarchy), f"{value!r} is not under {text!r}"


def _check_buckets(release: Release, frame: pl.DataFrame) -> None:
    """The quasi-identifiers are exact, and the second table counts each bucket's sensitive values."""
    quasi, values = release.tables["quasi"], release.tables["sensitive"]
    originals = frame[quasi[ROW].to_list()]
    assert quasi.select(release.schema.quasi).equals(originals.select(release.schema.quasi), null_equal=True)
    counted: dict[int, Counter[Hashable]] = defaultdict(Counter)
    for bucket, *value, number in values.rows():
        counted[bucket][tuple(value)] += number
    expected: dict[int, Counter[Hashable]] = defaultdict(Counter)
    for bucket, *value in originals.select(release.schema.sensitive).insert_column(0, quasi[GROUP]).rows():
        expected[bucket][tuple(value)] += 1
    assert counted == expected


def published_groups(release: Release) -> list[list[int]]:
    """The rows that stand together, read off the published text."""
    table = next(iter(release.tables.values()))
    by = [GROUP] if release.draft.bucketized else list(release.schema.quasi)
    together: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row, key in zip(table[ROW].to_list(), table.select(by).rows(), strict=True):
        together[key].append(row)
    return list(together.values())


# --- lies under ------------------------------------------------------------------------------------------------------


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
    """Whether one group of rows meets a requirement, where `everyone` is published."""
    codes = table.sensitive[list(group)].tolist()
    published = table.sensitive[list(everyone)].tolist()
    return all(
        _JUDGES[part.name](part, codes, published) if _has_twin(part) else _alone(part, codes, published, table)
        for part in requirement.parts()
    )


def _has_twin(part: Requirement) -> bool:
    """Whether the definition is written out below: not for named values, nor for distances along an order or tree."""
    return part.name in _JUDGES and not getattr(part, "values", ()) and getattr(part, "distance", "equal") == "equal"


def _alone(part: Requirement, codes: Sequence[int], published: Sequence[int], table: Table) -> bool:
    """The requirement's own verdict on this single group, for those without a twin below."""
    totals = np.bincount(published, minlength=table.domain.size)
    counts = Counts(np.zeros(len(codes), np.int32), np.array(codes, np.int32), Domain(totals, table.domain.taxonomy), 1)
    return bool(part.holds(counts)[0])


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
