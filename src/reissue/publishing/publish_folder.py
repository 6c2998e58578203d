"""publish_folder: the next release of a ledger, from a table larger than memory.

The table is read once, and copied into a private folder with pseudonyms instead of identifiers. From there the codes
of all rows come into memory, and the release is made, judged and repaired as from a table in memory; it goes into the
ledger in parts, all or nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import date as day
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.data.identifiers import identifier_kind, identifier_texts
from reissue.data.table import Table
from reissue.engines.base import InBatches
from reissue.engines.registry import choose
from reissue.errors import DataError, InputError, SchemaError
from reissue.files.staging import scratch_folder
from reissue.ledger.fingerprints import (
    FORM,
    PERSON,
    TableFingerprints,
    fingerprint_by_rows,
    followed_columns,
    identifier_order,
    row_digest,
    table_digest,
    table_fingerprint,
    written_forms,
)
from reissue.ledger.ledger import Ledger
from reissue.ledger.recorded import Recorded
from reissue.methods import find
from reissue.publishing.candidate import Candidate, publish_candidate
from reissue.publishing.coding import table_by_codes
from reissue.publishing.continues import Request, kinds_of
from reissue.publishing.folder import PART
from reissue.publishing.price import PriceRequest
from reissue.publishing.turn import Publication, Turn, day_of, first_schema, turn
from reissue.schema import Schema

__all__ = ["publish_folder"]


def publish_folder(
    data: Any,
    ledger: Ledger,
    *,
    engine: str = "stream",
    dry_run: bool = False,
    seed: int | None = None,
    recipients: Sequence[str] = (),
    date: day | str | None = None,
    newcomers: bool = False,
    unchanged: bool = False,
    lookalikes: bool = False,
    schema: Schema | None = None,
    fits: int | None = None,
    max_loss: float | None = None,
    before_record: Callable[[], object] = lambda: None,
    progress: Callable[[float], None] = lambda _: None,
) -> Publication:
    """Make the next release of a table larger than memory, attack it with all earlier ones, and record it in parts.

    Parameters
    ----------
    data
        What the engine opens: for "stream", Parquet, a file or a folder.
    ledger
        An open ledger.
    engine
        Who reads and counts.
    dry_run
        Whether to make and attack the release without recording it.
    seed
        The seed of all random choices; by default they follow from the ledger's key.
    recipients
        Who gets this release; everybody if nobody is named.
    date
        The day that the table shows.
    newcomers
        Whether it is right that hardly anybody of the last release returns.
    unchanged
        Whether it is right that a release was made of this very table before.
    lookalikes
        Whether newcomers whose identifiers are written almost like somebody else's really are other people.
    schema
        The schema, for a ledger whose schema is being changed.
    fits
        How many rows a part has, at most.
    max_loss
        The largest information loss with which it is published.
    before_record
        Called before a new release is recorded; if it raises, nothing is recorded.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    Publication
        What was recorded. `Ledger.export` writes its parts.

    Raises
    ------
    RefusedError
        If the release does not withstand the policy's attacks.
    InputError
        If the table does not fit the series. Nothing is recorded then.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population
    >>> patients = next(Population(seed=1, people=400).months(1))
    >>> patients.write_parquet("patients.parquet")
    >>> schema = ri.propose(patients, sensitive=["disease"]).schema
    >>> with ri.Ledger.create("large.ledger", schema) as ledger:
    ...     published = ri.publish_folder("patients.parquet", ledger)
    ...     len(ledger.releases)
    1
    """
    request = Request(tuple(sorted(set(recipients))), day_of(date), seed, newcomers, unchanged, lookalikes)
    first = first_schema(ledger, schema, dry_run=dry_run)
    with turn(ledger, first, dry_run=dry_run) as (entries, writer), scratch_folder() as scratch:
        schema = ledger.schema_of(entries)
        _refuse(schema)
        schema.refuse_repairs()
        source = choose(engine, data).open(data)
        if not isinstance(source, InBatches):
            raise InputError(f"A ledger is fed by engine memory, stream or spark; '{engine}' keeps its rows elsewhere.")
        copy = _PrivateCopy.of(source, schema, ledger, request, scratch / "named")
        own = Turn.of(ledger, entries, request, copy.known, copy.kinds)
        if own.again is not None:
            return _as_recorded(own.again)
        candidate = Candidate.at(own, copy.table(own), PART if fits is None else fits)
        progress(0.2)
        made = publish_candidate(
            candidate,
            writer,
            before_record=lambda _: before_record(),
            progress=lambda share: progress(0.2 + 0.8 * share),
            asked=PriceRequest(max_loss),
        )
    warnings = (*made.warnings, ledger.unwritten) if ledger.unwritten else made.warnings
    return Publication(**{one.name: getattr(made, one.name) for one in fields(Publication)} | {"warnings": warnings})


def _as_recorded(again: Recorded) -> Publication:
    """A release that the ledger has already."""
    record = again.record
    suppressed = record.suppressed or 0
    return Publication(
        number=again.number,
        rows=record.rows - suppressed,
        suppressed=suppressed,
        groups=record.groups or 0,
        counterfeits=record.counterfeits or 0,
        method=record.method,
        requirement=record.requirement,
        findings=again.findings,
        recorded=True,
        again=True,
        warnings=record.warnings,
    )


# --- what cannot be done ---------------------------------------------------------------------------------------------


def _refuse(schema: Schema) -> None:
    """Stop at what no table larger than memory is published by."""
    if schema.identifier is None or not schema.sensitive:
        raise SchemaError(
            "A ledger judges a table larger than memory by who is in which group: the schema must name an identifier "
            "and a sensitive column."
        )
    schema.refuse_several_rows("A ledger")


# --- the private copy ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _PrivateCopy:
    """The table in a folder of Parquet, with pseudonyms instead of identifiers; fingerprinted as it is read."""

    folder: Path
    known: TableFingerprints
    kinds: dict[str, str]
    order: Ints
    """The rows in an order that does not depend on how they came."""

    @classmethod
    def of(cls, source: InBatches, schema: Schema, ledger: Ledger, request: Request, folder: Path) -> "_PrivateCopy":
        """Read the table once, a batch at a time."""
        name, digest, own = schema.identifier or "", row_digest(ledger.key), table_digest(ledger.key)
        forms, texts = [], []
        columns = source.columns
        absent = [one for one in schema.used if one not in columns]
        if absent:
            raise SchemaError(f"The schema names columns that the data lacks: {', '.join(absent)}.")
        folder.mkdir()
        used = [one for one in columns if one in schema.used]
        for number, batch in enumerate(source.batches(used)):
            if batch[name].null_count():
                raise DataError(f"The identifier '{name}' is missing in {batch[name].null_count()} rows, or more.")
            forms.append(written_forms(ledger.key, batch[name]))
            named = batch.with_columns(forms[-1][PERSON].alias(name))
            digest.add(named)
            own.add(followed_columns(named, schema))
            texts.append(identifier_texts(batch[name]))
            named.write_parquet(folder / f"{number:05d}.parquet", compression="lz4")
        written = pl.concat([pl.DataFrame(schema={PERSON: pl.Int64, FORM: pl.Int64}), *forms])
        everyone = written[PERSON].to_numpy()
        if not len(everyone):
            raise DataError("The table has no rows.")
        if len(np.unique(everyone)) < len(everyone):
            raise DataError(f"The identifier '{name}' is not unique: one row per person is needed.")
        mark = fingerprint_by_rows(ledger.key, request.asked(schema), digest)
        kinds = kinds_of({one: columns[one] for one in schema.used}, schema)
        form = identifier_kind(pl.Series(dtype=columns[name]))
        known = TableFingerprints(mark, table_fingerprint(ledger.key, own), digest, form, written)
        return cls(folder, known, kinds, identifier_order(pl.concat(texts)))

    def table(self, turn: Turn) -> Table:
        """The codes of all rows; what a method remembers of the series has codes too."""
        source = choose("stream", self.folder).open(self.folder)
        assert isinstance(source, InBatches)  # noqa: S101  # it was asked for by name
        stateful = find(turn.policy.method).stateful
        memory = turn.ledger.memory(turn.earlier, turn.schema, turn.policy.method) if stateful else None
        return table_by_codes(source, turn.schema, memory).some(self.order)
