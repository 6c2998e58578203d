"""Running a method again, as the holder did: to make a release from its original, or to see what it makes of others."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reissue.data.draws import draw_key, with_draws
from reissue.data.table import Table, to_polars
from reissue.errors import CannotRunError, InputError, NotMetError
from reissue.methods.registry import Job, Trait, find
from reissue.papers.mechanism.possible import frame_signature, signature
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease, read_published
from reissue.published.series import Series
from reissue.release.recode import boxes_of, tables_of
from reissue.release.release import Draft, Release
from reissue.requirements import Requirement, by_column
from reissue.schema import Options, Schema

__all__ = ["made_again", "runner"]

_DRAWS = 8
"""So many draws tell whether a release depends on them."""


def runner(release: Release, name: str, options: Options, rng: np.random.Generator) -> Callable[[Table], Draft | None]:
    """The method as it made a release, for any table: a draft, or None where it makes none.

    Raises
    ------
    CannotRunError
        If the method remembers earlier releases, or does not give this release of its own table.
    """
    method = find(name)
    if method.stateful:
        raise CannotRunError(f"'{name}' remembers earlier releases: it cannot be run again on one table alone.")
    settled = method.settle(options)
    random = Trait.RANDOM in method.traits

    def run(table: Table) -> Draft | None:
        seed = rng.integers(2**63) if random else 0
        asked = by_column(release.requirement, table.margins, table.domain)
        try:
            method.refuse_impossible(asked, table)
            return method.run(Job(table, asked, np.random.default_rng(seed), options=settled))
        except (InputError, NotMetError):
            return None

    if not random:
        same = run(release.table)
        if same is None or signature(release.table, same) != signature(release.table, release.draft):
            raise CannotRunError("the algorithm does not give this release of its own table: its options differ.")
    return run


def made_again(release: PublishedRelease, series: Series, knowledge: Knowledge, requirement: Requirement) -> Release:
    """The holder's release, made again from the original."""
    if knowledge.population is None or not isinstance(knowledge.algorithm, str):
        raise CannotRunError(
            "it runs the algorithm again, for which it needs its name and the original table.",
            needs=["algorithm", "people"],
        )
    data = knowledge.population
    if not isinstance(data, Table):
        data, _ = to_polars(data, series.schema)
        if set(series.schema.sensitive) - set(data.columns):
            raise CannotRunError(
                "it runs the algorithm again, for which the original's sensitive values are needed.", needs=["people"]
            )
    try:
        again = _made(data, series.schema, requirement, knowledge)
    except (InputError, NotMetError) as problem:
        raise CannotRunError(f"the algorithm makes no release of that table: {problem}") from None
    look = frame_signature(read_published(again, series.schema), identified=False)
    if look != frame_signature(release, identified=False):
        method = find(knowledge.algorithm)
        lots = range(_DRAWS if method.draws(method.settle(knowledge.options)) else 0)
        drawn_again = (_made(data, series.schema, requirement, knowledge, lot) for lot in lots)
        if any(frame_signature(read_published(one, series.schema), identified=False) != look for one in drawn_again):
            follow = "" if requirement.sensitive else " Its groups do not follow values."
            raise CannotRunError(
                "the algorithm draws by lot who of several people with equal quasi-identifiers is in which group: "
                f"without its seed it makes another release.{follow}"
            )
        raise CannotRunError("the algorithm makes another release of that table: the method or its options differ.")
    return again


def _made(data: Any, schema: Schema, requirement: Requirement, knowledge: Knowledge, lot: int | None = None) -> Release:
    """The release that a method makes of a table by itself, by a known seed; equal people as they stand, or by lot."""
    method = find(str(knowledge.algorithm))
    if method.stateful:
        raise CannotRunError("the algorithm follows people through a series; one table does not say what it made.")
    table = (data if isinstance(data, Table) else Table.read(data, schema, repair=False)).with_boxes(tight=False)
    asked = by_column(requirement, table.margins, table.domain)
    method.refuse_impossible(asked, table)
    rng, options = np.random.default_rng(0), method.settle(knowledge.options)
    if lot is not None:
        table = with_draws(table, draw_key(np.random.default_rng(lot)))
    draft = method.run(Job(table, asked, rng, options=options))
    boxes = boxes_of(table, draft)
    return Release(tables_of(table, draft, boxes, rng), table, draft, boxes, requirement, method.name)
