"""Errors: what can go wrong, each kind a type; a user's mistake and our bug are different ones.

    ReissueError
    ├── InputError              the user's input: nothing was written, exit code 2
    │   ├── SchemaError         the schema file or its match with the data
    │   ├── TaxonomyError       a hierarchy, or a value that it lacks
    │   ├── DataError           the table itself
    │   └── RequirementError    a requirement that cannot be read, or that no table like this could meet
    ├── NotMetError             the work was done and the answer is no: exit code 1
    │   └── RiskError           an attack exposes somebody, or could not be run (`findings.raise_for_risk()`)
    ├── CannotRunError          an attack does not apply to these releases, or needs an input; becomes its finding
    ├── CannotCarryError        an attack must look at all releases at once
    ├── NotWrittenError         a release is recorded, but its files could not be written: exit code 4
    └── InternalError           our bug: please report it

A message says what was wrong, what is allowed and what to try. It names columns, row numbers and counts; it never
contains a cell value or an identifier, because messages end in logs.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum

__all__ = [
    "NO_MEMORY",
    "CannotCarryError",
    "CannotRunError",
    "DataError",
    "InputError",
    "InternalError",
    "NotMetError",
    "NotWrittenError",
    "ReadingNote",
    "ReissueError",
    "RequirementError",
    "RiskError",
    "SchemaError",
    "TaxonomyError",
    "Why",
    "nearest",
    "nearest_column",
]


NO_MEMORY = (
    "There is not enough memory for this. Close other programs, leave columns out, or take a table of fewer rows; "
    "`reissue anonymize --engine stream` reads Parquet larger than memory."
)
"""The message when Python runs out of memory, which is not a bug."""


class ReissueError(Exception):
    """Base class of everything that Reissue raises on purpose.

    Examples
    --------
    >>> import reissue as ri
    >>> issubclass(ri.InputError, ri.ReissueError)
    True
    """


class InputError(ReissueError):
    """The input cannot be used: a schema, a file, a dataframe or an option is wrong. Nothing was written.

    Examples
    --------
    >>> import reissue as ri
    >>> try:
    ...     ri.anonymize("patients.csv", {"age": "quasi"}, "k=two")
    ... except ri.InputError:
    ...     print("nothing was written")
    nothing was written
    """


class SchemaError(InputError):
    """The schema contradicts itself or the data."""


class TaxonomyError(InputError):
    """A hierarchy is malformed, or lacks a value of the data."""


class DataError(InputError):
    """A file or frame cannot be used."""


class RequirementError(InputError):
    """A requirement cannot be read, or no table like this one could meet it."""


class NotMetError(ReissueError):
    """The requirement is not met: there is nothing to publish.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=20).months(1))
    >>> ri.check(patients, schema(), "k=5").raise_if_not_met()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
        ...
    reissue.errors.NotMetError: ...
    """


class RiskError(NotMetError):
    """An attack exposes somebody, or did not run where it was asked for.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> months = Population(seed=1, people=200).months(2)
    >>> releases = [ri.anonymize(month, schema(), "k=5 & l=3", seed=1) for month in months]
    >>> try:
    ...     ri.attack(releases, schema(), only="joint").raise_for_risk()
    ... except ri.RiskError:
    ...     print("not safe to publish")
    not safe to publish
    """


class NotWrittenError(ReissueError):
    """A release is recorded in its ledger, but its files could not be written."""


class InternalError(ReissueError):
    """Reissue contradicts itself: a bug of ours, never the user's mistake."""


class ReadingNote(UserWarning):
    """Not an error: how a file was read where its holder may have meant something else, and what to do then."""

    def __init__(self, fact: str, advice: str = "") -> None:
        super().__init__(f"{fact} {advice}".rstrip())
        self.fact = fact


class Why(StrEnum):
    """Why an attack was not run."""

    DOES_NOT_APPLY = "does_not_apply"
    """The attack is not about releases of this kind."""
    NEEDS_INPUT = "needs_input"
    """It needs an input that was not given."""
    TOO_LARGE = "too_large"
    """It would take too long, or too much memory."""


class CannotRunError(ReissueError):
    """An attack cannot be run on these releases; the message, a whole sentence, becomes the reason in its finding.

    By default it does not apply; otherwise the inputs that it `needs` are named, or it is `too_large`.
    """

    def __init__(self, reason: str, *, needs: Sequence[str] = (), too_large: bool = False) -> None:
        super().__init__(reason)
        self.needs = tuple(needs)
        self.why = Why.TOO_LARGE if too_large else Why.NEEDS_INPUT if needs else Why.DOES_NOT_APPLY


class CannotCarryError(ReissueError):
    """The state that an attack carried on does not cover these releases; the attack needs all of them at once."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: a similar one, or all known names."""
    known = list(known)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f" Did you mean '{close[0]}'?"
    return f" Known: {', '.join(sorted(known))}." if known else ""


def nearest_column(name: str, columns: Sequence[str]) -> str:
    """The same for a column of the data. Column names are not listed: without a header they are values."""
    marks = [mark for mark in columns[0] if mark.isascii() and not mark.isalnum() and mark not in " _-.'"]
    marks = marks if len(columns) == 1 else []
    if marks:
        return f" The header is one single column: is the delimiter {marks[0]!r}? Try dialect=Dialect(delimiter='X')."
    close = get_close_matches(name, columns, n=1, cutoff=0.6)
    if close:
        return f" Did you mean '{close[0]}'?"
    many = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
    return f" The data has {many}; is its first line a header with their names?"
