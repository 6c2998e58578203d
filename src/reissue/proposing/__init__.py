"""Proposals: a schema for a table or for published files, and a policy for a series."""

from reissue.proposing.column_form import ColumnChoice, ColumnPicture, picture_of, schema_of
from reissue.proposing.from_releases import ColumnHints, GuessedSchema, Overview, given_or_guessed, guess, look
from reissue.proposing.from_table import Guess, as_toml, describe, propose, read_proposed
from reissue.proposing.policy_questions import (
    ASSUMED,
    QUESTIONS,
    Proposal,
    harmless_values,
    policy_for,
    propose_policy,
    read_answers,
)
from reissue.proposing.relations import empty_somewhere, frequent_values, without_copies

__all__ = [
    "ASSUMED",
    "QUESTIONS",
    "ColumnChoice",
    "ColumnHints",
    "ColumnPicture",
    "Guess",
    "GuessedSchema",
    "Overview",
    "Proposal",
    "as_toml",
    "describe",
    "empty_somewhere",
    "frequent_values",
    "given_or_guessed",
    "guess",
    "harmless_values",
    "look",
    "picture_of",
    "policy_for",
    "propose",
    "propose_policy",
    "read_answers",
    "read_proposed",
    "schema_of",
    "without_copies",
]
