"""Published records counted by people, where a person may have several."""

import polars as pl

from reissue.data.identifiers import identifier_texts
from reissue.errors import DataError, InputError
from reissue.published import PublishedRelease
from reissue.verify.groups import CheckedGroups, number_column

__all__ = ["measures_of_people", "people_of"]


def people_of(release: PublishedRelease) -> pl.Series | None:
    """The person number of each row, if people have repeated records; else None."""
    schema = release.schema
    if not schema.several_rows:
        return None
    if release.source is not None and release.source.people is not None:
        return release.source.people
    if release.tables.apart or release.tables.counterfeits is not None:
        raise InputError(
            "Where people have several rows, only one table without counterfeits can be counted by people."
        )
    if schema.identifier is None or schema.identifier not in release.main.columns:
        raise DataError(
            f"The schema says that people have several rows, and this table lacks the column '{schema.identifier}', "
            "which says whose they are: rows that look alike may all be one person's, so people cannot be counted. "
            "Check the private copy of the release (`reissue anonymize --private FILE` writes it), or name a pseudonym "
            "that the table has as identifier."
        )
    ids = identifier_texts(release.main[schema.identifier])
    if ids.null_count():
        raise DataError(f"The identifier '{schema.identifier}' is missing in {ids.null_count():,} rows.")
    return number_column(ids)[0].alias("person")


def measures_of_people(groups: CheckedGroups, *, sensitive: bool) -> list[tuple[str, float, str]]:
    """Return the measures that are defined by people: each a requirement's name, its worst value, and a sentence."""
    k = _least(groups.size)
    found: list[tuple[str, float, str]] = [
        ("k", k, f"Every group has rows of at least {k:,} different people (k = {k:,}).")
    ]
    if k == 1:
        alone = int((groups.size == 1).sum())
        found = [("k", 1, f"{alone:,} groups have rows of one person only (k = 1).")]
    if not sensitive:
        return found
    share = float((groups.largest / groups.size).max())  # type: ignore[arg-type]
    words = f"In the worst group {share:.4g} of the people have the same sensitive value at least once."
    simple = f"No value is had by more than 1/{1 / share:.4g} of a group's people (simplified l-diversity)."
    alpha = f"(alpha,k)-anonymity by people holds for alpha = {share:.4g} and k = {k:,}."
    return [
        *found,
        _l(groups),
        ("simple-l", 1 / share, simple),
        ("confidence", share, words),
        ("alpha-k", share, alpha),
        _m_unique(groups),
    ]


def _l(groups: CheckedGroups) -> tuple[str, float, str]:
    known = int((groups.largest == groups.size).sum())
    if known:
        words = f"{known:,} groups have a sensitive value that all their people have: it is known (l = 1)."
        return "l", 1, words
    l = _least(groups.distinct)  # noqa: E741
    words = f"Every group has at least {l} different sensitive values, none of which all its people have (l = {l})."
    return "l", l, words


def _m_unique(groups: CheckedGroups) -> tuple[str, float, str]:
    shared = int((groups.largest > 1).sum())
    if shared:
        return (
            "m-unique",
            0,
            f"{shared:,} groups have a sensitive value that two people have, so they are not m-unique.",
        )
    m = _least(groups.size)
    return "m-unique", m, f"No two people of a group have a sensitive value in common; the table is {m}-unique."


def _least(values: pl.Series) -> int:
    return int(values.min())  # type: ignore[arg-type]
