"""A table that is to become the next release of a ledger's series: made, attacked, repaired where few are exposed."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.attacks.findings import Findings
from reissue.counting.hashing import RowDigest
from reissue.data.table import Table
from reissue.errors import InputError, NotMetError
from reissue.ledger.fingerprints import (
    TableFingerprints,
    fingerprint_by_csv,
    fingerprint_by_rows,
    followed_columns,
    is_former,
    row_digest,
    table_digest,
    table_fingerprint,
)
from reissue.publishing.continues import Request, forms_after, refuse_what_does_not_follow, unseen_forms
from reissue.publishing.repair.mending import Attempt, make_and_mend
from reissue.release.memory import Memory, pack_memory
from reissue.release.release import Release
from reissue.release.states import pack_state
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.ledger import Ledger, Recorded
    from reissue.ledger.chain import LedgerEntry
    from reissue.ledger.pack import Keep
    from reissue.ledger.recorded import ReleaseRecord
    from reissue.ledger.store import Writer
    from reissue.policy import Policy
    from reissue.publishing.gate import GateResult

__all__ = ["Candidate", "Request", "as_json", "kinds_of", "made"]

_DRAWS = 4
"""So often a random method is tried before a release is refused."""
_APART = 1_000
"""How far apart the seeds of two draws are."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate(Attempt):
    """A table that is to become the next release."""

    ledger: "Ledger"
    entries: "Sequence[LedgerEntry]"
    known: TableFingerprints
    """What tells the table from any other."""
    request: Request
    before: str
    """Tells what was published before: a series that is published again from the same tables is the same."""
    earlier: "tuple[Recorded, ...]"
    again: "Recorded | None"
    """The last release, if it was made from the same table and request."""
    number: int
    """That the release will have, or has."""
    withdrawn: tuple[int, ...]
    """Numbers of earlier releases that was never sent."""
    part: int | None = None
    """How many rows a part has, at most, where the release is kept in parts."""

    @classmethod
    def of(
        cls,
        ledger: "Ledger",
        entries: "Sequence[LedgerEntry]",
        table: Table,
        order: Ints,
        identifiers: tuple[str, pl.DataFrame] | None,
        request: Request,
    ) -> "Candidate":
        """What the ledger says about a table, whose rows have an order that does not depend on how they came.

        `identifiers` are the form that the table gives them, and their relaxed forms.
        """
        from reissue.ledger.recorded import releases_of, sent_of

        sent = sent_of(releases_of(entries))
        asked, last = request.asked(ledger.schema_of(entries)), sent[-1].record.request if sent else ""
        rows, own = row_digest(ledger.key), table_digest(ledger.key)
        rows.add(table.frame)
        own.add(followed_columns(table.frame, table.schema))
        mark, table = _marked(ledger, asked, table, order, last, rows)
        form, forms = identifiers or (None, None)
        return cls.marked(
            ledger,
            entries,
            table,
            TableFingerprints(mark, table_fingerprint(ledger.key, own), rows, form, forms),
            request,
        )

    @classmethod
    def marked(
        cls,
        ledger: "Ledger",
        entries: "Sequence[LedgerEntry]",
        table: Table,
        known: TableFingerprints,
        request: Request,
    ) -> "Candidate":
        """The same where it is known what tells the table from others, and its rows are in that order."""
        from reissue.ledger.chain import canonical
        from reissue.ledger.recorded import releases_of, sent_of
        from reissue.policy import Policy

        schema, releases = ledger.schema_of(entries), releases_of(entries)
        sent = sent_of(releases)
        again = sent[-1] if sent and sent[-1].record.request == known.mark else None
        earlier = sent if again is None else sent[:-1]
        number = len(releases) + 1 if again is None else again.number
        withdrawn = tuple(one.number for one in releases if one.withdrawn is not None and one.number < number)
        before = canonical({"csv": [one.record.csv for one in earlier[-1:]], "number": len(earlier)})
        return cls(
            ledger=ledger,
            schema=schema,
            policy=Policy.of(schema),
            table=table,
            entries=tuple(entries),
            known=known,
            request=request,
            before=before,
            earlier=earlier,
            again=again,
            number=number,
            withdrawn=withdrawn,
        )

    def warnings(self, release: Release) -> tuple[str, ...]:
        """What whoever sends the release out should know."""
        from reissue.publishing.refusal import warnings_of

        earlier = [one.number for one in self.earlier]
        found = warnings_of(self.policy, earlier, self.withdrawn)
        found += [*_linking(self.table), *_misspelt(self.table, self.policy)]
        found += unseen_forms(self.ledger, self.earlier, self.known)
        return (*release.warnings, *self.repairs.sentences, *found, *self.ledger.unknown)

    def check(self) -> None:
        """Refuse a table that does not continue the series."""
        kinds, ids = kinds_of(self.table.kinds, self.schema), self.table.ids
        refuse_what_does_not_follow(
            self.ledger, self.entries, self.earlier, self.known, self.request, kinds, ids, again=self.again is not None
        )

    def anonymize(self, progress: Callable[[float], None]) -> Release:
        """The release, or why there is none."""
        from reissue.publishing.refusal import refusal

        try:
            return super().anonymize(progress)
        except NotMetError as problem:
            message = str(problem)
        raise refusal(self.number, [message], Findings(), self.policy, None)

    def memory(self) -> Memory:
        """As the ledger keeps it."""
        return self.ledger.memory(self.earlier, self.schema, self.policy.method)

    def after(self) -> list[Any]:
        """As the ledger keeps them."""
        return [self.ledger.tables(one) for one in self.earlier]

    def seed(self) -> int:
        """The one that was asked for; else from the key, what was published before and the table."""
        turns = self.repairs.turns
        if self.request.seed is not None:
            return self.request.seed + turns + _APART * self.draw
        again = (f"#{turns}" if turns else "") + (f"/{self.draw}" if self.draw else "")
        derived = self.ledger.key.derive("seed", f"{self.before}{self.known.mark}{again}".encode())
        return int.from_bytes(derived[:16], "little")

    def attack(self, release: Release, progress: Callable[[float], None]) -> "GateResult":
        """What attacks find, with all earlier releases."""
        from reissue.publishing.gate import Attackable, run_gate

        asked = self.request.recipients
        candidate = Attackable.of(release)
        return run_gate(self.ledger, self.earlier, candidate, self.policy, asked, self.number, progress)

    def record(self, release: Release, together: "GateResult", writer: "Writer") -> "ReleaseRecord":
        """What the release's entry says, its files kept."""
        from reissue._version import __version__
        from reissue.ledger.pack import ENDINGS
        from reissue.ledger.recorded import ReleaseRecord
        from reissue.publishing.gate import state_mark

        files, csv = self._kept(release, writer.keep)
        files |= self._people(release, writer)
        if release.draft.memory is not None:  # without its key, which is derived from the ledger's own
            files["memory"] = writer.keep(pack_memory(replace(release.draft.memory, key=b"")), ENDINGS["memory"])
        for name, carried in together.states.items():
            files[f"state.{name}"] = writer.keep(pack_state(carried), ENDINGS["state"])
        return ReleaseRecord(
            adopted=False,
            carried=state_mark(release.schema.dumps(), self.withdrawn),
            contributed=self.table.contributed,
            counterfeits=release.counterfeits,
            csv=csv,
            date=self.request.dated,
            files=files,
            findings=as_json(together.findings.as_dict()),
            groups=release.groups,
            identifiers=self.known.identifiers,
            kinds=kinds_of(self.table.kinds, self.schema),
            loss=_loss(release, self.repairs.left_out),
            method=release.method,
            promises={} if release.draft.e is None else {"e": release.draft.e},
            recipients=self.request.recipients,
            reissue=__version__,
            request=self.known.mark,
            requirement=str(release.requirement),
            rows=self.rows,
            suppressed=release.suppressed + self.repairs.left_out,
            table=self.known.table,
            tables=tuple(release.tables),
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            warnings=self.warnings(release),
        )

    def _people(self, release: Release, writer: "Writer") -> dict[str, str]:
        """Who is where, and how the identifiers of everybody who is out are written."""
        from reissue.ledger.pack import ENDINGS, pack_frame, pack_presences

        ids, forms = release.table.ids, self.known.forms
        if ids is None:
            return {}
        files = {"roster": writer.keep(pack_presences(release), ENDINGS["roster"])}
        if forms is not None:
            people = ids.gather(np.flatnonzero(release.draft.groups >= 0))
            after = forms_after(self.ledger, self.earlier, forms, people)
            files["forms"] = writer.keep(pack_frame(after), ENDINGS["forms"])
        return files

    def _kept(self, release: Release, keep: "Keep") -> tuple[dict[str, str], dict[str, str]]:
        """The tables kept, whole or in parts: their files, and the SHA-256 of the CSV of each."""
        from reissue.ledger.folders import keep_parts
        from reissue.ledger.pack import csv_bytes, pack_frame

        if self.part is None:
            files = {f"table.{name}": keep(pack_frame(frame), ".parquet") for name, frame in release.tables.items()}
            return files, {name: hashlib.sha256(csv_bytes(frame)).hexdigest() for name, frame in release.tables.items()}
        parts = {name: keep_parts(name, release.in_parts(name, self.part), keep) for name in release.tables}
        kept = {what: file for one in parts.values() for what, file in one.files.items()}
        return kept, {name: one.csv for name, one in parts.items()}

    def same(self, release: Release) -> Findings:
        """The release that was published from this table before, made again."""
        from reissue.ledger.pack import csv_bytes

        again = self.again
        if again is None or any(
            hashlib.sha256(csv_bytes(frame)).hexdigest() != again.record.csv.get(name)
            for name, frame in release.tables.items()
        ):
            raise InputError(
                f"This table was published already, as release {self.number}, and this version of Reissue would make "
                f"another release of it. `reissue ledger export {self.number}` gives the published one."
            )
        return again.findings


def made(candidate: "Candidate", progress: Callable[[float], None]) -> "tuple[Candidate, Release, GateResult]":
    """A release, repaired where few are exposed, and what attacks find in it together with earlier ones."""
    return make_and_mend(candidate, Candidate.attack, progress, draws=_DRAWS)


def _loss(release: Release, left_out: int) -> float:
    """What is lost of the table, those suppressed to repair the release counted as lost altogether."""
    from reissue.utility import measure

    records = release.table.rows + release.counterfeits
    return round((measure(release).loss * records + left_out) / max(records + left_out, 1), 6)


def _marked(
    ledger: "Ledger", asked: Sequence[Any], table: Table, order: Ints, last: str, rows: RowDigest
) -> tuple[str, Table]:
    """The mark of a table, and its rows in the order that a release is made from; `last` is the last release's mark.

    Of a release that an earlier version made of this very table it is the mark and the order that it had then.
    """
    if last and is_former(last) and fingerprint_by_csv(ledger.key, asked, table) == last:
        return last, table
    return fingerprint_by_rows(ledger.key, asked, rows), table if (np.diff(order) == 1).all() else table.some(order)


def _linking(table: Table) -> list[str]:
    """That kept columns are as good as a pseudonym: most records have a value of their own in one of them."""
    own = [name for name in table.schema.kept if 2 * table.frame[name].is_unique().sum() > table.rows]
    if not own:
        return []
    names = ", ".join(f"'{name}'" for name in own)
    return [
        (
            f"Most records have a value of their own in {names}, which is kept as it is. If people have the same one "
            "in another release, their rows are linked by it, and the attacks of the gate do not see that. Drop it, or "
            f"look what it gives away: reissue attack, with '{own[0]}' as the identifier."
        )
    ]


def _misspelt(table: Table, policy: "Policy") -> list[str]:
    """That values are named as protected which the table does not have: nobody would notice a slip of the pen."""
    said = []
    values = table.decode(np.arange(table.joint.shape[1], dtype=np.int32)) if table.schema.sensitive else pl.DataFrame()
    for column in table.schema.sensitive:
        names = values[column].unique().cast(pl.String).to_list()
        absent, named = policy.protection.absent(column, names)
        if absent:
            said.append(
                f"The policy names {named:,} protected values of '{column}', of which {absent:,} do not occur in this "
                "table: check their spelling."
            )
    return said


def kinds_of(columns: Mapping[str, pl.DataType], schema: Schema) -> dict[str, str]:
    """What each column holds, as roughly as a series must keep it."""
    names = [name for name in columns if name not in {schema.identifier, schema.provider}]
    return {name: _kind(columns[name]) for name in names}


def _kind(kind: pl.DataType) -> str:
    if kind.is_numeric():
        return "numbers"
    if kind.is_temporal():
        return "times"
    return "yes or no" if kind == pl.Boolean else "text"


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
