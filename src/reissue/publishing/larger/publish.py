"""publish_folder: the next release of a ledger, from a table larger than memory.

The table is read once, and copied into a private folder with pseudonyms instead of identifiers. The release is made of
that, region by region, and judged by who is in which group of it: attacks that follow people need nothing else, and a
few numbers per person fit where the table does not. It goes into the ledger in parts, all or nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue.algorithms import find
from reissue.attacks import find as find_attack
from reissue.attacks.findings import Findings
from reissue.data.identifiers import identifier_kind
from reissue.engines.registry import choose
from reissue.errors import DataError, InputError, SchemaError
from reissue.files.staging import scratch_folder
from reissue.ledger.chain import canonical
from reissue.ledger.folders import KeptParts, keep_parts
from reissue.ledger.marks import mark_by_rows, row_digest
from reissue.ledger.pack import ENDINGS, Keep, unpack_roster
from reissue.ledger.recorded import Recorded, ReleaseRecord, needed_files, releases_of, sent_of
from reissue.ledger.store import PARTS
from reissue.policy import Policy
from reissue.published import Tables, read_published
from reissue.publishing.candidate import Request, as_json, kinds_of, refuse_other_form, refuse_other_people
from reissue.publishing.gate import Attackable, GateResult, gate_attacks, run_gate, state_mark
from reissue.publishing.larger.anonymize import ReleaseFolder, write_release
from reissue.publishing.larger.asked import Asked
from reissue.publishing.larger.who_is_where import who_is_where
from reissue.publishing.publish import day_of, first_schema, turn
from reissue.publishing.refusal import problems_of, refusal, warnings_of
from reissue.release.release import Form
from reissue.release.states import pack_state
from reissue.schema import Role, Schema

if TYPE_CHECKING:
    from reissue.ledger import Ledger
    from reissue.ledger.chain import LedgerEntry
    from reissue.ledger.store import Writer

__all__ = ["PublishedFolder", "publish_folder"]

_BATCH = 250_000


@dataclass(frozen=True)
class PublishedFolder:
    """A release that a ledger has in parts; `ledger.export` writes it to a folder."""

    number: int
    rows: int
    groups: int
    method: str
    requirement: str
    findings: Findings
    recorded: bool
    """Whether it is in the ledger: not after a dry run."""
    again: bool = False
    """Whether it had been published before, from the same table."""
    warnings: tuple[str, ...] = ()


def publish_folder(
    data: Any,
    ledger: "Ledger",
    *,
    engine: str = "stream",
    dry_run: bool = False,
    seed: int | None = None,
    recipients: Sequence[str] = (),
    dated: date | str | None = None,
    newcomers: bool = False,
    schema: Schema | None = None,
    fits: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> PublishedFolder:
    """Make the next release of a table larger than memory, attack it with all earlier ones, and record it in parts.

    `data` is Parquet, a file or a folder. What the policy asks for must be possible without the table in memory; what
    is not is refused, with its reason, before anything is read. `fits` says how many rows are grouped at a time.
    """
    request = Request(tuple(sorted(set(recipients))), day_of(dated), seed, newcomers)
    first = first_schema(ledger, schema, dry_run=dry_run)
    with turn(ledger, first, dry_run=dry_run) as (entries, writer), scratch_folder() as scratch:
        schema = ledger.schema_of(entries)
        policy = Policy.of(schema)
        _refuse(schema, policy)
        rows = getattr(choose(engine, data).open(data), "rows", None)
        if not isinstance(rows, pl.LazyFrame):
            raise InputError(f"A ledger is fed by engine memory or stream; '{engine}' keeps its rows elsewhere.")
        copy = _Copy.of(rows, schema, ledger, request, scratch / "named")
        turn_of = _Turn(ledger, schema, policy, entries, request, copy)
        return turn_of.run(scratch / "release", fits, writer, progress)


@dataclass(frozen=True)
class _Copy:
    """A private copy of the table, with pseudonyms instead of identifiers."""

    folder: Path
    mark: str
    kinds: dict[str, str]
    identifiers: str
    people: Any
    """Row to its pseudonym."""

    @classmethod
    def of(cls, rows: pl.LazyFrame, schema: Schema, ledger: "Ledger", request: Request, folder: Path) -> "_Copy":
        """Read the table once, a batch at a time."""
        name, digest, people = schema.identifier or "", row_digest(ledger.key), []
        columns = rows.collect_schema()
        absent = [one for one in schema.used if one not in columns]
        if absent:
            raise SchemaError(f"The schema names columns that the data lacks: {', '.join(absent)}.")
        folder.mkdir()
        used = rows.select([one for one in columns if one in schema.used])
        for number, batch in enumerate(_batches(used)):
            if batch[name].null_count():
                raise DataError(f"The identifier '{name}' is missing in {batch[name].null_count()} rows, or more.")
            named = batch.with_columns(ledger.key.pseudonyms(batch[name]))
            digest.add(named)
            people.append(named[name].to_numpy())
            named.write_parquet(folder / f"{number:05d}.parquet", compression="lz4")
        everyone = np.concatenate([np.empty(0, np.int64), *people])
        if not len(everyone):
            raise DataError("The table has no rows.")
        if len(np.unique(everyone)) < len(everyone):
            raise DataError(f"The identifier '{name}' is not unique: one row per person is needed.")
        mark = mark_by_rows(ledger.key, request.asked(schema), digest)
        kinds = kinds_of({one: columns[one] for one in schema.used}, schema)
        return cls(folder, mark, kinds, identifier_kind(pl.Series(dtype=columns[name])), everyone)


def _batches(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    try:
        yield from rows.collect_batches(chunk_size=_BATCH)
    except pl.exceptions.PolarsError:
        raise DataError("The table cannot be read to its end: a file is damaged, or the files differ.") from None


@dataclass(frozen=True, eq=False)
class _Turn:
    """One release that is to be added to a ledger."""

    ledger: "Ledger"
    schema: Schema
    policy: Policy
    entries: "Sequence[LedgerEntry]"
    request: Request
    copy: _Copy

    @property
    def releases(self) -> tuple[Recorded, ...]:
        return releases_of(self.entries)

    @property
    def earlier(self) -> tuple[Recorded, ...]:
        return sent_of(self.releases)

    @property
    def number(self) -> int:
        return len(self.releases) + 1

    @property
    def withdrawn(self) -> tuple[int, ...]:
        return tuple(one.number for one in self.releases if one.withdrawn is not None)

    def run(
        self, place: Path, fits: int | None, writer: "Writer | None", progress: Callable[[float], None]
    ) -> PublishedFolder:
        """The release that is there already, or the next one."""
        last = self.earlier[-1] if self.earlier else None
        if last is not None and last.record.request == self.copy.mark:
            return self._shown(last.number, last.record, last.findings, recorded=True, again=True)
        refuse_other_form(self.earlier, self.copy.kinds, self.request.dated)
        if not self.request.newcomers:
            refuse_other_people(self.ledger, self.earlier, self.copy.people, self.copy.identifiers)
        made = self._made(place, fits, lambda share: progress(0.1 + 0.5 * share))
        parts = sorted(made.folder.iterdir())
        who = who_is_where(parts, self.schema.identifier or "", self.schema.quasi, self.schema.sensitive)
        roster = who.pack()
        together = self._attacked(made, roster, lambda share: progress(0.6 + 0.3 * share))
        problems = problems_of(None, together.findings, self.policy, together.uncompared)
        if problems:
            raise refusal(self.number, problems, together.findings, self.policy, None)
        keep = (lambda _, ending: ending) if writer is None else writer.keep
        if writer is not None:
            writer.remove_all_but(needed_files(self.entries))
        kept = keep_parts("release", (_public(part, self.schema) for part in parts), keep)
        record = self._record(made, who.groups, kept, self._private(roster, together, keep), together)
        if writer is not None:
            writer.note(PARTS)
            writer.append("release", record.as_json())
        return self._shown(self.number, record, together.findings, recorded=writer is not None, again=False)

    def _made(self, place: Path, fits: int | None, progress: Callable[[float], None]) -> ReleaseFolder:
        """The release, with pseudonyms beside its rows."""
        before = canonical({"csv": [one.record.csv for one in self.earlier[-1:]], "number": len(self.earlier)})
        derived = self.ledger.key.derive("seed", f"{before}{self.copy.mark}".encode())
        seed = int.from_bytes(derived[:16], "little") if self.request.seed is None else self.request.seed
        shown = self.schema.with_roles({self.schema.identifier or "": Role.KEEP})
        asked = Asked.of(self.policy.method, self.policy.require, 0.0, "nodes", {}, shown)
        asked = replace(asked, person=self.schema.identifier)
        return write_release(self.copy.folder, shown, asked, place, "stream", seed, fits, progress)

    def _attacked(self, made: ReleaseFolder, roster: bytes, progress: Callable[[float], None]) -> GateResult:
        """What attacks find, that read the candidate as they read what a ledger kept of earlier releases."""
        require = self.policy.require
        candidate = Attackable(
            self.schema,
            Form.GENERALIZED,
            made.rows,
            require,
            lambda: read_published(Tables({}, kept=unpack_roster(roster, require)), self.schema),
        )
        asked = self.request.recipients
        return run_gate(self.ledger, self.earlier, candidate, self.policy, asked, self.number, progress)

    def _private(self, roster: bytes, together: GateResult, keep: Keep) -> dict[str, str]:
        """What later releases need of this one, kept."""
        states = {f"state.{name}": keep(pack_state(one), ENDINGS["state"]) for name, one in together.states.items()}
        return {"roster": keep(roster, ENDINGS["roster"]), **states}

    def _record(
        self, made: ReleaseFolder, groups: int, kept: KeptParts, private: Mapping[str, str], together: GateResult
    ) -> ReleaseRecord:
        """What the release's entry says."""
        from reissue._version import __version__

        return ReleaseRecord(
            adopted=False,
            carried=state_mark(self.schema.dumps(), self.withdrawn),
            counterfeits=0,
            csv={"release": kept.csv},
            date=self.request.dated,
            files={**kept.files, **private},
            findings=as_json(together.findings.as_dict()),
            groups=groups,
            identifiers=self.copy.identifiers,
            kinds=self.copy.kinds,
            method=made.method,
            promises={},
            recipients=self.request.recipients,
            reissue=__version__,
            request=self.copy.mark,
            requirement=str(made.requirement),
            rows=made.rows,
            suppressed=0,
            tables=("release",),
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            warnings=tuple(warnings_of(self.policy, [one.number for one in self.earlier], self.withdrawn)),
        )

    def _shown(
        self, number: int, record: ReleaseRecord, findings: Findings, *, recorded: bool, again: bool
    ) -> PublishedFolder:
        return PublishedFolder(
            number,
            record.rows,
            record.groups or 0,
            record.method,
            record.requirement,
            findings,
            recorded,
            again,
            (*record.warnings, *self.ledger.unknown),
        )


def _public(part: Path, schema: Schema) -> pl.DataFrame:
    """What goes out of a private part."""
    return pl.read_parquet(part).drop(schema.identifier or "")


# --- what cannot be done ---------------------------------------------------------------------------------------------


def _refuse(schema: Schema, policy: Policy) -> None:
    """Stop at what needs the table in memory."""
    if schema.identifier is None or len(schema.sensitive) != 1:
        raise SchemaError(
            "A ledger judges a table larger than memory by who is in which group: the schema must name an identifier "
            "and one sensitive column."
        )
    chosen = find(policy.method)
    if chosen.accepts_history or (chosen.by_regions is None and not chosen.by_cells):
        raise InputError(
            f"The method '{policy.method}' needs the whole table in memory for a ledger: publish with engine memory."
        )
    rule = chosen.by_regions
    if rule is not None and rule.by_provider:
        raise InputError(
            f"What the method '{policy.method}' promises is judged by the attack 'coalition', which needs the "
            "published columns in memory: publish with engine memory."
        )
    if chosen.changes_values:
        raise InputError(
            f"The method '{policy.method}' publishes values that nobody has, and a ledger judges a table larger than "
            "memory by what it published: publish with engine memory."
        )
    asked = gate_attacks(policy, schema)
    unable = [name for name in asked if not find_attack(name).follows]
    if unable:
        able = [name for name in asked if name not in unable]
        raise InputError(
            f"The policy asks for attacks that need the published columns in memory: {', '.join(unable)}. Attacks that "
            f"follow people run on larger tables: {', '.join(able) or 'joint'}. Name them under `attacks` in the "
            "policy, or publish with engine memory."
        )
    needs = {
        "suppress": policy.suppress,
        "options": policy.options,
        'boxes = "tight"': policy.boxes != "nodes",
        'prior = "learned"': policy.prior != "common",
    }
    named = [name for name, given in needs.items() if given]
    if named:
        raise InputError(f"The policy's {', '.join(named)} need the table in memory: publish with engine memory.")
