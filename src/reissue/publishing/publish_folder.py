"""publish_folder: the next release of a ledger, from a table larger than memory.

The table is read once, and copied into a private folder with pseudonyms instead of identifiers. The release is made of
that region by region, and judged by who is in which group of it: attacks that follow people need nothing else, and a
few numbers per person fit where the table does not. A policy that asks for more than can be judged so is followed by
the codes of all rows, made and judged as in memory. The release goes into the ledger in parts, all or nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date as day
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.attacks import Accepts
from reissue.attacks import find as find_attack
from reissue.attacks.findings import Findings
from reissue.counting.keys import pack
from reissue.data.identifiers import identifier_kind, identifier_texts
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
from reissue.ledger.folders import keep_parts
from reissue.ledger.ledger import Ledger
from reissue.ledger.pack import Keep, pack_places, unpack_people, unpack_presences
from reissue.ledger.recorded import ReleaseRecord
from reissue.ledger.store import Writer
from reissue.methods import find
from reissue.methods.registry import Trait
from reissue.policy import Policy
from reissue.published import Tables, read_published
from reissue.publishing.by_regions import ReleaseFolder, fill_folder
from reissue.publishing.candidate import Candidate, publish_candidate
from reissue.publishing.coding import table_by_codes
from reissue.publishing.continues import Request, kinds_of
from reissue.publishing.folder import PART
from reissue.publishing.gate import Attackable, GateResult, gate_attacks
from reissue.publishing.price import PriceRequest
from reissue.publishing.recipe import Recipe
from reissue.publishing.turn import Publication, Turn, day_of, first_schema, turn
from reissue.release.form import Form
from reissue.schema import Role, Schema

__all__ = ["in_regions", "publish_folder", "who_is_where"]


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
        How many rows are grouped at a time, or are in a part.
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
        codes = max_loss is not None or not in_regions(Policy.of(schema), schema)
        copy = _PrivateCopy.of(source, schema, ledger, request, scratch / "named", ordered=codes)
        own = Turn.of(ledger, entries, request, copy.known, copy.kinds)
        candidate = _CandidateInParts(own, copy, before_record, PriceRequest(max_loss))
        made = candidate.run(scratch / "release", fits, writer, progress)
    return replace(made, warnings=(*made.warnings, ledger.unwritten)) if ledger.unwritten else made


@dataclass(frozen=True, eq=False)
class _CandidateInParts:
    """A table that is to become the next release, and never is in memory."""

    turn: Turn
    copy: "_PrivateCopy"
    before_record: Callable[[], object]
    price: PriceRequest

    def run(
        self, place: Path, fits: int | None, writer: Writer | None, progress: Callable[[float], None]
    ) -> Publication:
        """The release that is there already, or the next one."""
        again = self.turn.again
        if again is not None:
            return _as_recorded(again.number, again.record, again.findings)
        if self.copy.order is not None:
            return self._by_codes(self.copy.order, fits, writer, progress)
        turn, schema = self.turn, self.turn.schema
        turn.check(pl.Series(self.copy.people))
        made = self._made(place, fits, lambda share: progress(0.1 + 0.5 * share))
        parts = sorted(made.folder.iterdir())
        who = who_is_where(parts, schema.identifier or "", schema.quasi, schema.sensitive)
        packed = who.pack()
        found = turn.attack(self._attackable(made, packed), lambda share: progress(0.6 + 0.3 * share))
        turn.refuse(found)
        published = self._publication(made, who.groups, found.findings, recorded=writer is not None)
        self.before_record()
        if writer is not None:
            written = lambda keep: self._record(published, parts, packed, found, keep)  # noqa: E731
            turn.append(writer, written, in_parts=True)
        return published

    def _by_codes(
        self, order: Ints, fits: int | None, writer: Writer | None, progress: Callable[[float], None]
    ) -> Publication:
        """The next release as it is made in memory, of a table that is there as codes."""
        turn, source = self.turn, choose("stream", self.copy.folder).open(self.copy.folder)
        assert isinstance(source, InBatches)  # noqa: S101  # it was asked for by name
        stateful = find(turn.policy.method).stateful
        memory = turn.ledger.memory(turn.earlier, turn.schema, turn.policy.method) if stateful else None
        table = table_by_codes(source, turn.schema, memory).some(order)
        progress(0.2)
        candidate = Candidate.at(turn, table, PART if fits is None else fits)
        before, share_of = lambda _: self.before_record(), lambda share: progress(0.2 + 0.8 * share)
        made = publish_candidate(candidate, writer, before_record=before, progress=share_of, asked=self.price)
        return Publication(**{one.name: getattr(made, one.name) for one in fields(Publication)})

    def _made(self, place: Path, fits: int | None, progress: Callable[[float], None]) -> ReleaseFolder:
        """The release, with pseudonyms beside its rows."""
        turn, who = self.turn, self.turn.schema.identifier
        seed = turn.seed() if turn.request.seed is None else turn.request.seed
        recipe = Recipe.of(turn.policy.method, turn.policy.require)
        place.mkdir()
        known: dict[str, Any] = {"seed": seed, "fits": fits, "person": who, "progress": progress}
        shown = turn.schema.with_roles({who or "": Role.KEEP})
        return fill_folder(self.copy.folder, shown, recipe, place, "stream", **known)

    def _attackable(self, made: ReleaseFolder, packed: bytes) -> Attackable:
        """The candidate, read by attacks as they read what a ledger kept of earlier releases."""
        require, schema = self.turn.policy.require, self.turn.schema
        tables = Tables({}, presences=unpack_presences(packed), requirement=require)
        return Attackable(schema, Form.GENERALIZED, made.rows, require, lambda: read_published(tables, schema))

    def _publication(self, made: ReleaseFolder, groups: int, findings: Findings, *, recorded: bool) -> Publication:
        return Publication(
            number=self.turn.number,
            rows=made.rows,
            suppressed=0,
            groups=groups,
            counterfeits=0,
            method=made.method,
            requirement=str(made.requirement),
            findings=findings,
            recorded=recorded,
            warnings=(*self.turn.warnings, *self.turn.ledger.unknown),
        )

    def _record(
        self, made: Publication, parts: Sequence[Path], packed: bytes, found: GateResult, keep: Keep
    ) -> ReleaseRecord:
        """What the release's entry says, its files kept."""
        kept = keep_parts("release", (_public(part, self.turn.schema) for part in parts), keep)
        private = self.turn.private_files(packed, unpack_people(packed), found, keep)
        return self.turn.record(made, {**kept.files, **private}, {"release": kept.csv})


def _as_recorded(number: int, record: ReleaseRecord, findings: Findings) -> Publication:
    """A release that the ledger has already."""
    suppressed = record.suppressed or 0
    return Publication(
        number=number,
        rows=record.rows - suppressed,
        suppressed=suppressed,
        groups=record.groups or 0,
        counterfeits=record.counterfeits or 0,
        method=record.method,
        requirement=record.requirement,
        findings=findings,
        recorded=True,
        again=True,
        warnings=record.warnings,
    )


def _public(part: Path, schema: Schema) -> pl.DataFrame:
    """What goes out of a private part."""
    return pl.read_parquet(part).drop(schema.identifier or "")


# --- what cannot be done ---------------------------------------------------------------------------------------------


def _refuse(schema: Schema) -> None:
    """Stop at what no table larger than memory is published by."""
    if schema.identifier is None or not schema.sensitive:
        raise SchemaError(
            "A ledger judges a table larger than memory by who is in which group: the schema must name an identifier "
            "and a sensitive column."
        )
    schema.refuse_several_rows("A ledger")


def in_regions(policy: Policy, schema: Schema) -> bool:
    """Whether a release is made region by region and judged by who is in which group, of which the policy asks no more.

    A method that changes values or follows providers, one that comes after earlier releases, and attacks that look at
    published columns would not be judged rightly so; nor is anything mended.
    """
    chosen = find(policy.method)
    rule = chosen.by_regions
    more = policy.suppress or policy.options or policy.boxes != "nodes" or policy.prior == "learned"
    more = more or policy.max_loss is not None
    return (
        not (
            policy.draws
            or "after" in chosen.options
            or Trait.CHANGES_VALUES in chosen.traits
            or (rule is not None and rule.by_provider)
        )
        and not more
        and not Recipe.of(policy.method, policy.require).why_all_rows(schema)
        and all(Accepts.ROSTERS in find_attack(name).accepts for name in gate_attacks(policy, schema))
    )


# --- the private copy ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _PrivateCopy:
    """The table in a folder of Parquet, with pseudonyms instead of identifiers; fingerprinted as it is read."""

    folder: Path
    known: TableFingerprints
    kinds: dict[str, str]
    people: Ints
    """Row to its pseudonym."""
    order: Ints | None
    """The rows in an order that does not depend on how they came, if that was asked for."""

    @classmethod
    def of(
        cls, source: InBatches, schema: Schema, ledger: Ledger, request: Request, folder: Path, *, ordered: bool
    ) -> "_PrivateCopy":
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
            texts += [identifier_texts(batch[name])] if ordered else []
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
        return cls(folder, known, kinds, everyone, identifier_order(pl.concat(texts)) if ordered else None)


# --- who is in which group -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WhoIsWhere:
    """Rows of all parts: their people, groups and values."""

    person: pl.Series
    group: Ints
    values: pl.DataFrame
    groups: int

    def pack(self) -> bytes:
        """As a ledger keeps it: people and values by group, and nothing that links them within one."""
        nobody = pl.Series([None], dtype=pl.Int64).new_from_index(0, len(self.person))
        group = pl.Series(self.group)
        return pack_places(group, self.person, nobody, group, self.values)


def who_is_where(parts: Sequence[Path], identifier: str, quasi: Sequence[str], sensitive: Sequence[str]) -> WhoIsWhere:
    """Read private parts, one at a time; what is kept of each are its people, their values, and the different looks."""
    texts = pl.Categories.random()
    people, values, looks, places = [], [], [], []
    for part in parts:
        frame = pl.read_parquet(part, columns=[identifier, *quasi, *sensitive])
        # Column by column: texts are numbered as they come, and columns at once would come in any order.
        kind = pl.Categorical(texts)
        codes = [
            frame[name].cast(pl.String).cast(kind).to_physical().cast(pl.Int64).fill_null(-1) + 1 for name in quasi
        ]
        distinct, place = _distinct([column.to_numpy() for column in codes])
        people.append(frame[identifier])
        values.append(pl.DataFrame([frame[name].cast(pl.String).cast(kind) for name in sensitive]))
        looks.append(distinct)
        places.append(place)
    starts = np.cumsum([0, *(one.shape[1] for one in looks)])
    _, group = _distinct(list(np.concatenate(looks, axis=1)))
    rows = np.concatenate([group[place + start] for place, start in zip(places, starts[:-1], strict=True)])
    shown = pl.concat(values).with_columns(pl.all().cast(pl.String))
    return WhoIsWhere(pl.concat(people), rows.astype(np.int32), shown, int(group.max(initial=-1)) + 1)


def _distinct(columns: list[Ints]) -> tuple[Ints, Ints]:
    """Columns x the different combinations, and the combination of each row."""
    keys, _ = pack(columns, [int(column.max(initial=0)) + 1 for column in columns])
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return np.stack([column[first] for column in columns]), place
