"""propose: the schema that a table seems to have, for those who work in Python."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reissue._notebook import card
from reissue.cleaning import Defect
from reissue.errors import InputError, nearest_column
from reissue.files.dialect import FOUND, Dialect
from reissue.proposing.clean import clean, clean_toml
from reissue.proposing.from_table import Guess, as_toml, describe, read_proposed
from reissue.proposing.from_table import propose as guess_columns
from reissue.proposing.policy_questions import policy_for
from reissue.proposing.relations import frequent_values, without_copies
from reissue.schema import Role, Schema
from reissue.words import plural

__all__ = ["SchemaProposal", "propose"]


@dataclass(frozen=True, repr=False)
class SchemaProposal:
    """A schema that was guessed from a table, with the reason for each column's role.

    `propose` returns one. `schema` is ready for use, `text` is the same as a file to be corrected.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> proposal = ri.propose(patients, sensitive=["disease"])
    >>> proposal.schema.identifier
    'patient'
    """

    schema: Schema
    guesses: tuple[Guess, ...]
    text: str
    """The schema file, with reasons as comments, and a policy for the harder case."""
    defects: tuple[Defect, ...] = ()
    """What is wrong with the table; the schema's `[clean]` section repairs what is recommended."""

    def __repr__(self) -> str:
        """The roles in one sentence, and how many defects were found."""
        wrong = f" {plural(len(self.defects), 'defect')} found; see `defects`." if self.defects else ""
        return f"Proposal, to be corrected: {self.schema!r}{wrong}"

    def _repr_html_(self) -> str:
        rows = [[one.column, str(one.role), describe(one.hierarchy), one.why] for one in self.guesses]
        return card(repr(self), ["column", "role", "generalized by", "why"], rows)


def propose(data: Any, *, sensitive: Sequence[str] = (), dialect: Dialect = FOUND) -> SchemaProposal:
    """Guess the schema of a table: which columns identify people, which are quasi-identifiers, which are sensitive.

    Parameters
    ----------
    data
        A dataframe or the path of a file.
    sensitive
        Columns that nobody should learn about a person.
    dialect
        How the cells of a text file are written; what is not given is detected.

    Returns
    -------
    SchemaProposal
        The schema, its text, and the reason for each role. Check it before you use it.

    Raises
    ------
    InputError
        If the table cannot be read, or has no column that could be published.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> ri.propose(patients, sensitive=["disease"]).schema.sensitive
    ('disease',)
    """
    found = clean(data, dialect=dialect)
    recipe = found.recipe
    frame = read_proposed(found.repaired_frame(recipe), dialect=dialect)
    for name in sensitive:
        if name not in frame.columns:
            raise InputError(f"There is no column '{name}' to be sensitive." + nearest_column(name, frame.columns))
    guesses = (
        tuple(_with_named(guess, sensitive) for guess in guess_columns(frame)) if sensitive else guess_columns(frame)
    )
    guesses = without_copies(frame, guesses)
    guesses = guesses if any(guess.several for guess in guesses) else frequent_values([frame], guesses)
    text = as_toml(guesses, "Proposed by reissue.propose.", clean_toml(recipe, found.defects))
    policy = policy_for(guesses, {})
    text += f"\n{policy}" if policy else ""
    return SchemaProposal(Schema.loads(text), guesses, text, found.defects)


def _with_named(guess: Guess, sensitive: Sequence[str]) -> Guess:
    """The guesses with the named columns, and no others, as sensitive."""
    if guess.column in sensitive:
        return Guess(guess.column, Role.SENSITIVE, "named as sensitive")
    if guess.role == Role.SENSITIVE:
        return replace(guess, role=Role.DROP, why=f"{guess.why}; not named as sensitive", confirm=False)
    return guess
