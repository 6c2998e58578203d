"""personal_risks: what releases give away about each person. Private."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reissue.files.dialect import FOUND, Dialect
from reissue.papers.personal import PersonalRisks, personal_results
from reissue.people.knowledge import Knowledge
from reissue.proposing.from_releases import GuessedSchema, guess
from reissue.published.series import Series
from reissue.publishing.registers import check_registers
from reissue.schema import Schema

__all__ = ["personal_risks"]


def personal_risks(
    releases: Sequence[Any],
    schema: Schema | Mapping[str, Any] | str | Path | None = None,
    *,
    knowledge: Knowledge | None = None,
    limits: Mapping[str, float] | None = None,
    dialect: Dialect = FOUND,
) -> PersonalRisks:
    """Return what releases give away about each person: private results, for the holder alone.

    It has to be known who is in which group: our own releases, files that kept the identifier, or `knowledge.members`.
    True values, and so disclosure risks, are known of our own releases and of files that kept the identifier.

    Parameters
    ----------
    releases
        Paths, dataframes or Release objects, in the order in which they were published.
    schema
        The roles of the columns; guessed from the releases without it.
    knowledge
        What the adversary knows in addition to the releases.
    limits
        Limits of the attacks `updates` and `equivalence`, as for `attack`.
    dialect
        How the cells of text files are written; what is not given is detected.

    Returns
    -------
    PersonalRisks
        `frame` has a row for each person and release; `of(person)` is one person's case.

    Raises
    ------
    InputError
        If a release cannot be read, people have several records, or it is not known who is in which group.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> months = Population(seed=1, people=200).months(2)
    >>> releases = [ri.anonymize(month, schema(), "k=5 & l=3", seed=1) for month in months]
    >>> found = ri.personal_risks(releases, schema())
    >>> found.frame.columns[-6:]
    ['disclosure_risk', 'republication_risk', 'likeliest_value', 'likeliest', 'smallest_e', 'posterior']
    >>> found.of(found.people[0]).history.height
    2
    """
    known = knowledge or Knowledge()
    guessed = (
        guess(releases, members=known.members, population=known.population, dialect=dialect)
        if schema is None
        else GuessedSchema(Schema.read(schema))
    )
    series = Series.read(guessed.tables or releases, guessed.schema, limits=limits, dialect=dialect)
    return personal_results(series, check_registers(known, series))
