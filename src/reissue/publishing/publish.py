"""publish: the next release of a series, safe with all the earlier ones.

Identifiers end at the door: from the moment a table is read, people are pseudonyms under the ledger's key. Without a
seed the release follows from the key, the release before it and the table alone; so a publisher who was killed can
simply begin again, and whoever publishes the same table twice gets the same release, not a second one.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date as day
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from reissue._arrays import Ints
from reissue._renamed import renamed
from reissue.data.frames import SparkFrame, is_spark
from reissue.data.identifiers import identifier_kind
from reissue.data.table import Table
from reissue.engines.registry import SPARK
from reissue.errors import InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.ledger.chain import LedgerEntry
from reissue.ledger.fingerprints import row_order, written_forms
from reissue.ledger.ledger import Ledger
from reissue.publishing.candidate import Candidate, publish_candidate
from reissue.publishing.continues import Request
from reissue.publishing.price import BUDGET, Price, PriceRequest
from reissue.publishing.refusal import RefusedError
from reissue.publishing.turn import Publication, PublicationInMemory, day_of, first_schema, ledger_at, turn
from reissue.release.release import Release
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.papers.coalition.views import ProvidersOverSeries

__all__ = ["attack_by_providers", "preview", "publish", "publish_next", "tried_release"]

_ANY_PRICE = PriceRequest()


@overload
def publish(  # type: ignore[overload-overlap]  # a Spark DataFrame is an object, too
    data: SparkFrame,
    ledger: Ledger | str | Path,
    schema: Schema | Mapping[str, Any] | str | Path | None = ...,
    *,
    key: str | Path | None = ...,
    dry_run: bool = ...,
    seed: int | None = ...,
    recipients: Sequence[str] = ...,
    date: day | str | None = ...,
    newcomers: bool = ...,
    unchanged: bool = ...,
    lookalikes: bool = ...,
    dialect: Dialect = ...,
    max_loss: float | None = ...,
) -> Release | Publication: ...


@overload
def publish(
    data: object,
    ledger: Ledger | str | Path,
    schema: Schema | Mapping[str, Any] | str | Path | None = ...,
    *,
    key: str | Path | None = ...,
    dry_run: bool = ...,
    seed: int | None = ...,
    recipients: Sequence[str] = ...,
    date: day | str | None = ...,
    newcomers: bool = ...,
    unchanged: bool = ...,
    lookalikes: bool = ...,
    dialect: Dialect = ...,
    max_loss: float | None = ...,
) -> Release: ...


@renamed(dated="date")
def publish(
    data: object,
    ledger: Ledger | str | Path,
    schema: Schema | Mapping[str, Any] | str | Path | None = None,
    *,
    key: str | Path | None = None,
    dry_run: bool = False,
    seed: int | None = None,
    recipients: Sequence[str] = (),
    date: day | str | None = None,
    newcomers: bool = False,
    unchanged: bool = False,
    lookalikes: bool = False,
    dialect: Dialect = FOUND,
    max_loss: float | None = None,
) -> Release | Publication:
    """Make the next release of a ledger's series, attack it together with all earlier ones, and record it.

    Parameters
    ----------
    data
        A dataframe, a path or a Table.
    ledger
        An open ledger, or its place: a folder, or `postgresql://...`. If there is none yet it begins with the
        `schema`, and leaves nothing behind if the release is refused.
    schema
        The schema with its policy, for the first release of a series.
    key
        The file of the ledger's secret key, if it is not beside the ledger.
    dry_run
        Whether to make and attack the release without recording it.
    seed
        The seed of all random choices. By default they follow from the ledger's key, so that the same table gives the
        same release.
    recipients
        Who gets this release; everybody if nobody is named.
    date
        The day that the table shows. A table older than the last is refused.
    newcomers
        Whether it is right that hardly anybody of the last release returns.
    unchanged
        Whether it is right that a release was made of this very table before.
    lookalikes
        Whether newcomers whose identifiers are written almost like somebody else's really are other people.
    dialect
        How the cells of a text file are written; what is not given is detected.
    max_loss
        The largest information loss with which it is published, such as 0.5; see also `max_loss` of a policy.

    Returns
    -------
    Release
        The recorded release. Given a Spark DataFrame, a `Publication`: the ledger has the release in parts, and
        `Ledger.export` writes them.

    Raises
    ------
    RefusedError
        If the release does not withstand the policy's attacks, or loses too much. It says why and what would help.
    InputError
        If the table does not fit the series. Nothing is recorded then.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population
    >>> patients = next(Population(seed=1, people=400).months(1))
    >>> release = ri.publish(patients, "hospital.ledger", ri.propose(patients, sensitive=["disease"]).schema)
    >>> len(ri.Ledger.open("hospital.ledger").releases)
    1
    """
    schema = None if schema is None else Schema.read(schema)
    asked: dict[str, Any] = {"schema": schema, "dry_run": dry_run, "seed": seed, "recipients": recipients}
    asked |= {"date": date, "newcomers": newcomers, "unchanged": unchanged, "lookalikes": lookalikes}
    with ExitStack() as stack:
        if isinstance(ledger, str | Path):
            ledger = stack.enter_context(ledger_at(ledger, schema, key=key, dry_run=dry_run))
        if is_spark(data):
            from reissue.publishing.publish_folder import publish_folder

            return publish_folder(data, ledger, engine=SPARK, max_loss=max_loss, **asked)
        return publish_next(data, ledger, dialect=dialect, price=PriceRequest(max_loss), **asked).release


def preview(
    data: object,
    ledger: Ledger | str | Path,
    schema: Schema | Mapping[str, Any] | str | Path | None = None,
    *,
    budget: float = BUDGET,
    max_loss: float | None = None,
    key: str | Path | None = None,
    newcomers: bool = False,
    unchanged: bool = False,
    lookalikes: bool = False,
    dialect: Dialect = FOUND,
) -> Price:
    """Return what the next release would cost, and what would be cheaper; nothing is recorded.

    Parameters
    ----------
    data
        The table, as for `publish`.
    ledger
        The series, as for `publish`.
    schema
        The schema, as for `publish`.
    budget
        Seconds for trying changes that may cost less: each is made, repaired and attacked.
    max_loss
        The largest information loss that is allowed.
    key
        The key, as for `publish`.
    newcomers
        Consent to newcomers, as for `publish`.
    unchanged
        Consent to an unchanged table, as for `publish`.
    lookalikes
        Consent to records that look alike, as for `publish`.
    dialect
        How the cells of text files are written.

    Returns
    -------
    Price
        Loss by column, the highest posterior against its limit, and at most three changes that cost less.

    Raises
    ------
    RefusedError
        If the release would be refused. It says why and what would help.
    InputError
        If the table does not fit the series.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population
    >>> patients = next(Population(seed=1, people=400).months(1))
    >>> price = ri.preview(patients, "hospital.ledger", ri.propose(patients, sensitive=["disease"]).schema)
    >>> sorted(price.losses)
    ['age', 'job', 'sex', 'zip']
    """
    schema = None if schema is None else Schema.read(schema)
    asked: dict[str, Any] = {"newcomers": newcomers, "unchanged": unchanged, "lookalikes": lookalikes}
    with ExitStack() as stack:
        if isinstance(ledger, str | Path):
            ledger = stack.enter_context(ledger_at(ledger, schema, key=key, dry_run=True))
        asked |= {"schema": schema, "dialect": dialect, "price": PriceRequest(max_loss, budget)}
        made = publish_next(data, ledger, dry_run=True, **asked)
    if made.price is None:
        raise InputError(f"This table was published already, as release {made.number}: nothing is left to decide.")
    return made.price


def publish_next(
    data: Any,
    ledger: Ledger,
    *,
    dry_run: bool = False,
    seed: int | None = None,
    recipients: Sequence[str] = (),
    date: day | str | None = None,
    newcomers: bool = False,
    unchanged: bool = False,
    lookalikes: bool = False,
    dialect: Dialect = FOUND,
    schema: Schema | None = None,
    price: PriceRequest = _ANY_PRICE,
    when_made: Callable[[Release], object] = lambda _: None,
    before_record: Callable[[PublicationInMemory], object] = lambda _: None,
    progress: Callable[[float], None] = lambda _: None,
) -> PublicationInMemory:
    """The same, with the release's number and findings.

    `schema` is recorded with the first release; after that it must be the one that the ledger goes by. `when_made`
    gets the release whether it is refused or not; `before_record` what will be recorded: if it raises, nothing is.
    `price` says what it may lose, and for how long something cheaper is looked for.
    """
    request = Request(tuple(sorted(set(recipients))), day_of(date), seed, newcomers, unchanged, lookalikes)
    with turn(ledger, first_schema(ledger, schema, dry_run=dry_run), dry_run=dry_run) as (entries, writer):
        candidate = Candidate.of(ledger, entries, *_read(data, ledger, entries, dialect), request)
        published = publish_candidate(candidate, writer, when_made, before_record, progress, price)
    if published.again:
        return published
    return replace(published, warnings=(*published.warnings, ledger.unwritten)) if ledger.unwritten else published


def tried_release(data: Any, ledger: Ledger, *, dialect: Dialect = FOUND) -> tuple[Release, int]:
    """The next release as it would be made, also where it is refused, and its number; nothing is recorded."""
    seen: list[Release] = []
    try:
        asked: dict[str, Any] = {"dry_run": True, "unchanged": True, "dialect": dialect}
        number = publish_next(data, ledger, when_made=seen.append, **asked).number
    except RefusedError as refused:
        number = refused.report.release
        if not seen:
            raise
    return seen[-1], number


def attack_by_providers(
    ledger: Ledger,
    tables: Sequence[Any],
    coalition: Sequence[str] = (),
    *,
    dialect: Dialect = FOUND,
    progress: Callable[[float], None] = lambda _: None,
) -> "ProvidersOverSeries":
    """What coalitions of providers find in all releases of a ledger together, who know their own records in each.

    A ledger does not keep who contributed which record: `tables` are the original tables of its releases, in any order.
    One more is the next release's, which is made as it would be and not recorded. Without a `coalition` those are
    looked at that are few.
    """
    from reissue.ledger.originals import find_originals
    from reissue.papers.coalition.views import views_over_series
    from reissue.published import read_published
    from reissue.published.series import Series

    known, schema = find_originals(ledger, tables, dialect=dialect), ledger.schema
    releases, numbers = known.releases, known.numbers
    if known.next is not None:
        made, number = tried_release(known.next, ledger, dialect=dialect)
        releases, numbers = (*releases, read_published(made, schema)), (*numbers, number)
    limits = dict(ledger.policy.limits)
    series = Series(releases, schema, ledger.policy.exact, limits, numbers)
    return views_over_series(series, coalition, progress=progress)


def _read(
    data: Any, ledger: Ledger, entries: Sequence[LedgerEntry], dialect: Dialect
) -> tuple[Table, Ints, tuple[str, pl.DataFrame] | None]:
    """The table, with pseudonyms instead of identifiers; an order of its rows; and how identifiers were written."""
    schema = ledger.schema_of(entries)
    table = data if isinstance(data, Table) else Table.read(data, schema, dialect=dialect)
    table.schema.refuse_several_rows("A ledger")
    table = replace(table, schema=schema)
    order = row_order(table)
    if table.ids is None:
        return table, order, None
    named = replace(table, frame=table.frame.with_columns(ledger.key.pseudonyms(table.ids)))
    return named, order, (identifier_kind(table.ids), written_forms(ledger.key, table.ids))
