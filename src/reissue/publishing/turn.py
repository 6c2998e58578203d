"""A turn at a ledger: it is opened or begun, and its publisher is told where the next release stands in the series.

A ledger that is begun for one piece of work is taken back with its key if the work fails, so that bad input leaves
nothing behind, not even an empty ledger. A ledger in which a release was recorded stays.
"""

import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Self

import polars as pl

from reissue._version import __version__
from reissue.attacks.findings import Findings
from reissue.data.outputs import ledger_inputs
from reissue.errors import InputError, InternalError
from reissue.files.places import LEDGER_FILE
from reissue.files.staging import scratch_folder
from reissue.ledger.chain import LedgerEntry, canonical
from reissue.ledger.fingerprints import TableFingerprints
from reissue.ledger.ledger import Ledger
from reissue.ledger.pack import ENDINGS, Keep, pack_frame
from reissue.ledger.recorded import KINDS, Recorded, ReleaseRecord, microdata, needed_files, releases_of, sent_of
from reissue.ledger.store import PARTS, NoLedgerError, Store, Writer, is_url
from reissue.policy import Policy
from reissue.publishing.continues import Request, forms_after, refuse_what_does_not_follow, unseen_forms
from reissue.publishing.gate import Attackable, GateResult, run_gate, state_mark
from reissue.publishing.price import Price
from reissue.publishing.refusal import problems_of, refusal, warnings_of
from reissue.release.release import Release
from reissue.release.states import pack_state
from reissue.schema import Schema

__all__ = ["Publication", "PublicationInMemory", "Turn", "as_json", "day_of", "first_schema", "ledger_at", "turn"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Publication:
    """What is known of a release that was published, or would have been."""

    number: int
    """1, 2, ... in the order published."""
    rows: int
    """Rows of people that were published."""
    suppressed: int
    """Rows that the method left out."""
    groups: int
    counterfeits: int
    method: str
    requirement: str
    findings: Findings
    recorded: bool
    """Whether it is in the ledger: not after a dry run."""
    again: bool = False
    """Whether it had been published before, from the same table."""
    warnings: tuple[str, ...] = ()
    """What whoever sends it out should know."""
    repairs: tuple[str, ...] = ()
    """What was repaired when the table was read, as the schema's `[clean]` section says."""
    price: Price | None = None
    """What it costs; None where that was not measured."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PublicationInMemory(Publication):
    """The same with the release, which is in memory."""

    release: Release


@dataclass(frozen=True, eq=False)
class Turn:
    """Where the next release stands in the series of a ledger."""

    ledger: Ledger
    entries: Sequence[LedgerEntry]
    request: Request
    known: TableFingerprints
    """What tells the table from any other."""
    kinds: Mapping[str, str]
    """What each column of the table holds, as roughly as a series must keep it."""
    schema: Schema
    policy: Policy
    again: Recorded | None
    """The last release, if it was made from the same table and request."""
    earlier: tuple[Recorded, ...]
    """The releases of microdata before that were not withdrawn."""
    judged: tuple[Recorded, ...]
    """The same with tables of counts."""
    number: int
    """That the release will have, or has."""
    withdrawn: tuple[int, ...]
    """Numbers of earlier releases that were withdrawn: they were never sent."""

    @classmethod
    def of(
        cls,
        ledger: Ledger,
        entries: Sequence[LedgerEntry],
        request: Request,
        known: TableFingerprints,
        kinds: Mapping[str, str],
    ) -> Self:
        """The turn of a table."""
        schema, releases = ledger.schema_of(entries), releases_of(entries)
        sent = sent_of(releases)
        again = sent[-1] if sent and sent[-1].record.request == known.mark else None
        before = sent if again is None else sent[:-1]
        number = len(releases) + 1 if again is None else again.number
        withdrawn = tuple(one.number for one in releases if one.withdrawn is not None and one.number < number)
        policy, rows = Policy.of(schema), microdata(before)
        return cls(ledger, entries, request, known, kinds, schema, policy, again, rows, before, number, withdrawn)

    @property
    def warnings(self) -> list[str]:
        """What the policy leaves open, and what could not be compared."""
        found = warnings_of(self.policy, [one.number for one in self.earlier], self.withdrawn)
        return [*found, *unseen_forms(self.ledger, self.earlier, self.known)]

    def check(self, people: pl.Series | None) -> None:
        """Refuse a table that does not continue the series; `people` are the pseudonyms in it."""
        asked = (self.known, self.request, self.kinds, people)
        refuse_what_does_not_follow(self.ledger, self.entries, self.earlier, *asked, again=self.again is not None)

    def seed(self, attempt: str = "") -> int:
        """The seed of an attempt: from the key, what was published before, and the table."""
        before = canonical({"csv": [one.record.csv for one in self.earlier[-1:]], "number": len(self.earlier)})
        derived = self.ledger.key.derive("seed", f"{before}{self.known.mark}{attempt}".encode())
        return int.from_bytes(derived[:16], "little")

    def attack(self, release: Attackable, progress: Callable[[float], None]) -> GateResult:
        """What attacks find in a release, with all earlier ones."""
        asked = self.request.recipients
        return run_gate(self.ledger, self.judged, release, self.policy, asked, self.number, progress)

    def refuse(self, found: GateResult, release: Release | None = None, price: str = "") -> None:
        """Refuse a release that does not withstand; `price` is what kept it from being repaired."""
        problems = problems_of(release, found.findings, self.policy, found.uncompared)
        if problems:
            raise refusal(self.number, problems, found.findings, self.policy, release, price)

    def private_files(
        self, presences: bytes | None, people: pl.Series | None, found: GateResult, keep: Keep
    ) -> dict[str, str]:
        """What later releases need of this one, kept: who is where, how identifiers are written, what attacks left."""
        files = {f"state.{name}": keep(pack_state(one), ENDINGS["state"]) for name, one in found.states.items()}
        if presences is None or people is None:
            return files
        files["roster"] = keep(presences, ENDINGS["roster"])
        if self.known.forms is not None:
            after = forms_after(self.ledger, self.earlier, self.known.forms, people)
            files["forms"] = keep(pack_frame(after), ENDINGS["forms"])
        return files

    def record(self, made: Publication, files: Mapping[str, str], csv: Mapping[str, str], **more: Any) -> ReleaseRecord:
        """What the release's entry says; `csv` is the SHA-256 of the CSV of each table."""
        said = {
            "adopted": False,
            "carried": state_mark(self.schema.dumps(), self.withdrawn),
            "counterfeits": made.counterfeits,
            "csv": csv,
            "date": self.request.dated,
            "files": files,
            "findings": as_json(made.findings.as_dict()),
            "groups": made.groups,
            "identifiers": self.known.identifiers,
            "kinds": self.kinds,
            "method": made.method,
            "promises": {},
            "recipients": self.request.recipients,
            "repairs": made.repairs,
            "reissue": __version__,
            "request": self.known.mark,
            "requirement": made.requirement,
            "rows": made.rows + made.suppressed,
            "suppressed": made.suppressed,
            "table": self.known.table,
            "tables": tuple(csv),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "warnings": made.warnings,
        }
        return ReleaseRecord(**{**said, **more})

    def append(self, writer: Writer, written: Callable[[Keep], ReleaseRecord], *, in_parts: bool) -> ReleaseRecord:
        """Record a release, all or nothing: its files are kept first, and its entry comes last."""
        writer.remove_all_but(needed_files(self.entries))
        record = written(writer.keep)
        if in_parts:
            writer.note(PARTS)
        writer.append("release", record.as_json())
        return record


def as_json(value: Any) -> Any:
    """What JSON knows: NumPy's numbers become Python's, numbers that are no numbers become null."""
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [as_json(item) for item in value]
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def first_schema(ledger: Ledger, schema: Schema | None, *, dry_run: bool) -> Schema | None:
    """The schema that is recorded with the first release; after that it must be the one that the ledger goes by."""
    first = None if ledger.releases or dry_run else schema
    if schema is not None and first is None and ledger.differs(schema):
        raise InputError(
            f"The schema is not what the ledger '{ledger.name}' goes by. Leave it out to go on as before, or record "
            "the change first: reissue ledger amend."
        )
    return first


@contextmanager
def turn(ledger: Ledger, schema: Schema | None, *, dry_run: bool) -> Iterator[tuple[list[LedgerEntry], Writer | None]]:
    """The entries as they stand: as the only publisher, or as somebody who only looks."""
    _ = ledger.key
    if dry_run:
        yield ledger.entries(), None
        return
    with ledger.writing() as writer:
        if schema is not None:
            if any(entry.kind in KINDS for entry in writer.entries):
                raise InputError("Somebody else has published with this ledger in the meantime. Try again.")
            ledger.amend_by(writer, schema)
        yield list(writer.entries), writer


def day_of(dated: date | str | None) -> str | None:
    """The day that a table shows, as it is recorded."""
    if dated is None:
        return None
    try:
        return (date.fromisoformat(dated) if isinstance(dated, str) else dated).isoformat()[:10]
    except ValueError:
        raise InputError("The date of a table must be written as 2026-03-31.") from None


# --- a ledger that is begun for one piece of work --------------------------------------------------------------------


@contextmanager
def _begun(
    place: str | Path,
    schema: Schema,
    *,
    key: str | Path | None = None,
    head: Path | None = None,
    second: bool = True,
) -> Iterator[Ledger]:
    """A new ledger, open; if what is done with it fails before a release is recorded, it was never there."""
    paths = [one.path for one in ledger_inputs(str(place), None if key is None else Path(key))]
    new = [path for path in paths if not os.path.lexists(path)]
    ours = not is_url(place) and not (Path(place) / LEDGER_FILE).exists()
    try:
        with Ledger.create(place, schema, key=key, head=head, second=second) as ledger:
            ours = True
            new += [] if ledger.second_file is None else [ledger.second_file]
            yield ledger
    except BaseException:
        if ours:
            _take_back(place, new)
        raise


@contextmanager
def ledger_at(
    place: str | Path, schema: Schema | None = None, *, key: str | Path | None = None, dry_run: bool = False
) -> Iterator[Ledger]:
    """The ledger at a place, open; where there is none, one that begins with the schema, if that is given.

    For a dry run it begins in a folder that goes away.
    """
    try:
        ledger = Ledger.open(place, key=key)
    except NoLedgerError:
        if schema is None:
            raise
    else:
        with ledger:
            yield ledger
        return
    if not dry_run:
        with _begun(place, schema, key=key) as ledger:
            yield ledger
        return
    with (
        scratch_folder() as scratch,
        _begun(scratch / "dry", schema, head=scratch / "dry.head", second=False) as ledger,
    ):
        yield ledger


def _take_back(place: str | Path, new: list[Path]) -> None:
    """Remove the ledger as its only writer, so that nobody else has recorded anything in it."""
    removed = False
    with suppress(InputError, OSError), closing(Store.open(place)) as store, store.writing(_nothing_to_seal) as writer:
        if releases_of(writer.entries):
            return
        # First the head: without a ledger it would say that one was lost.
        _remove(path for path in new if path.suffix == ".head")
        if store.folder is None:
            store.drop(writer.connection)
        else:
            for path in Path(place).glob(f"{LEDGER_FILE}*"):
                path.unlink(missing_ok=True)
            shutil.rmtree(store.folder, ignore_errors=True)
        removed = True
    if removed:  # a ledger that somebody else writes to just now keeps its key
        _remove(new)


def _nothing_to_seal(_: bytes) -> str:
    raise InternalError("Nothing is added to a ledger that is taken back.")


def _remove(paths: Iterable[Path]) -> None:
    """Remove files, and folders unless somebody else's files are in them."""
    for path in paths:
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()
