"""Correspondence attacks (Fung, Wang, Fu and Pei, "Anonymity for continuous data publishing", EDBT 2008).

Records only arrive; release i publishes everything up to time i, each release with cuts of its own. Who holds several
releases can rule records out: a record of release 1 needs a partner in release 2 (F-attack, definition 3.1), a record
of release 2 that stands for somebody of release 1 needs one there (C-attack, definition 3.3), and one that must be
somebody of release 1 is nobody who arrived later (B-attack, definition 3.5). What remains for a target is `left`, one
line for any number of releases (see `chains`), exact for two, and for one attribute whose cuts differ;
otherwise `exact` makes it so (see `exact`). Somebody is exposed if `left` is below the k that the releases promise.

It reads published columns alone, so any tool's global recoding will do: in every release the published values of an
attribute are disjoint, and between releases one lies inside the other or apart.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from reissue.attacks.findings import Finding
from reissue.attacks.registry import Accepts, Heading, attack
from reissue.errors import CannotRunError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.papers.correspondence.cracks import cracks
from reissue.papers.correspondence.finding import NAME
from reissue.papers.correspondence.recodings import refuse_other_recodings
from reissue.papers.correspondence.state import add, explain, judge, readable, see
from reissue.papers.second_look import confirm_chains
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series
from reissue.schema import Schema

__all__ = ["crack_sizes"]


@attack(
    NAME,
    "Rules out records that have no partner in another release of a growing table.",
    fewest=2,
    accepts=Accepts.COUNTED_ROWS,
    confirm=confirm_chains,
    needs="at least two releases of a table that only grows, with quasi-identifiers and sensitive values in one table",
    story=(
        "Someone has collected several releases of a growing table and knows one person's quasi-identifiers. A "
        "record that has no match in another release cannot be that person's, so fewer and fewer records are left to "
        "hide among."
    ),
    prevention=(
        (
            "Make each release after the earlier ones with the method `correspondence`, or through a ledger with it: "
            "it leaves everyone enough records, whenever they arrived."
        ),
    ),
    command=(
        "reissue anonymize february.csv --schema schema.toml --method correspondence --after january.csv --require k=5 "
        "--out release.csv"
    ),
    heading=Heading.LINKABILITY,
)
def correspondence(series: Series, knowledge: Knowledge) -> Finding:
    """Find how many records are left for whoever is worst off."""
    state = None
    for seen in see(series, knowledge):
        state = add(state, seen)
    assert state is not None  # noqa: S101  # there is a release
    return explain(state, judge(state, series), series, knowledge)


def crack_sizes(releases: Sequence[Any], schema: Schema, *, dialect: Dialect = FOUND) -> pl.DataFrame:
    """How many records of which group two releases rule out for which target, by F-, C- and B-attack."""
    if len(releases) != 2:
        raise InputError("Crack sizes are about two releases; give exactly two.")
    series = Series.read(releases, schema, dialect=dialect)
    try:
        views = readable(series)
        refuse_other_recodings(views, series.numbers)
        return cracks(views, schema)
    except CannotRunError as obstacle:
        raise InputError(f"There are no crack sizes: {obstacle}") from None
