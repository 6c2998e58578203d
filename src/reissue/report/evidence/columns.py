"""What was done to each column, read from what was published."""

from dataclasses import dataclass

from reissue.errors import CannotRunError
from reissue.published import Form, PublishedRelease
from reissue.schema import Role
from reissue.taxonomy.notation import coding_of, parse_column

__all__ = ["ColumnRecord", "columns_of"]

_SENSITIVE = {
    Form.GENERALIZED: "published as it is, in the rows",
    Form.NUMBERED: "published as it is, in the rows of numbered groups",
    Form.PANEL: "published as it is, in the rows of numbered groups, each with a slot that lasts",
    Form.PERMUTED: "published as it is, put into random order inside groups",
    Form.TWO_TABLES: "published as it is, in a table of its own, by group",
}


@dataclass(frozen=True)
class ColumnRecord:
    """One column of the schema: its role, and what was done to it."""

    column: str
    role: str
    technique: str


def columns_of(release: PublishedRelease) -> tuple[ColumnRecord, ...]:
    """Every column of the schema in its order."""
    return tuple(ColumnRecord(name, str(role), _technique(release, name, role)) for name, role in _columns(release))


def _columns(release: PublishedRelease) -> list[tuple[str, Role]]:
    return list(release.schema.columns.items())


def _technique(release: PublishedRelease, name: str, role: Role) -> str:
    there = name in release.main.columns or name in release.values.columns
    if not there:
        return "left out"
    if role == Role.QUASI:
        return _generalized(release, name)
    if role == Role.SENSITIVE:
        source = release.source
        changed = source is not None and source.draft.sensitive is not None
        return "published with some values changed" if changed else _SENSITIVE[release.form]
    return "published as it is"


def _generalized(release: PublishedRelease, name: str) -> str:
    """How many records show a value that stands for several, and how many different values there are."""
    looks, hierarchy = release.looks, release.schema.hierarchy(name)
    texts = looks.texts[name]
    different = texts.n_unique()
    try:
        coding = coding_of([texts], hierarchy)
    except CannotRunError:
        return f"generalized by ranges, beside texts that cannot be read; {different:,} different values"
    read = parse_column(texts, coding, partial=True)
    wide = int(looks.rows[read.lo != read.hi].sum())
    share = wide / max(int(looks.rows.sum()), 1)
    if not wide:
        return f"published as it is; {different:,} different values"
    how = {"auto": "ranges or groups of values"}.get(hierarchy.kind, f"a taxonomy ({hierarchy.kind})")
    return f"generalized by {how} in {share:.1%} of the records; {different:,} different values"
