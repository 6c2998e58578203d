"""The next release of a ledger's series, in memory: made, attacked with all earlier ones, repaired, and recorded."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.attacks.findings import Findings
from reissue.cleaning import folded
from reissue.counting.hashing import RowDigest
from reissue.data.table import Table
from reissue.errors import InputError, NotMetError
from reissue.ledger.chain import LedgerEntry
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
from reissue.ledger.folders import keep_parts
from reissue.ledger.ledger import Ledger
from reissue.ledger.pack import ENDINGS, Keep, csv_bytes, pack_frame, pack_presences
from reissue.ledger.recorded import Recorded, ReleaseRecord, releases_of, sent_of
from reissue.ledger.store import Writer
from reissue.methods import find
from reissue.policy import Policy
from reissue.publishing.changes import Change, cheaper_changes, cost_order, safer_changes
from reissue.publishing.continues import Request, kinds_of
from reissue.publishing.gate import Attackable, GateResult
from reissue.publishing.longevity import longevity
from reissue.publishing.price import BUDGET, Price, PriceRequest, TriedChange, try_changes
from reissue.publishing.refusal import RefusedError, problems_of, refusal, short_series, too_costly
from reissue.publishing.repair import Attempt, make_and_repair
from reissue.publishing.turn import PublicationInMemory, Turn
from reissue.release.memory import Memory, pack_memory
from reissue.release.release import Release
from reissue.utility import measure
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.publishing.posterior import Judged
    from reissue.publishing.randomizing import Drawn

__all__ = ["Candidate", "publish_candidate"]

_DRAWS = 4
"""How often a random method is tried before a release is refused."""
_APART = 1_000
"""How far apart the seeds of two draws are."""
_NO_REQUEST = PriceRequest()


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate(Attempt):
    """A table in memory that is to become the next release."""

    turn: Turn
    part: int | None = None
    """How many rows a part has, at most, where the release is kept in parts."""
    drawn: "Drawn | None" = None
    """Where values are randomized: what was drawn for the table; `table` has published values then."""
    judged: "Judged | None" = None
    """What adversaries know of the true values then."""

    @classmethod
    def of(
        cls,
        ledger: Ledger,
        entries: Sequence[LedgerEntry],
        table: Table,
        order: Ints,
        identifiers: tuple[str, pl.DataFrame] | None,
        request: Request,
    ) -> "Candidate":
        """The candidate of a table, whose rows have an order that does not depend on how they came.

        `identifiers` are the form that the table gives them, and their relaxed forms.
        """
        sent = sent_of(releases_of(entries))
        asked, last = request.asked(ledger.schema_of(entries)), sent[-1].record.request if sent else ""
        rows, own = row_digest(ledger.key), table_digest(ledger.key)
        rows.add(table.frame)
        own.add(followed_columns(table.frame, table.schema))
        mark, table = _marked(ledger, asked, table, order, last, rows)
        form, forms = identifiers or (None, None)
        known = TableFingerprints(mark, table_fingerprint(ledger.key, own), rows, form, forms)
        return cls.at(Turn.of(ledger, entries, request, known, kinds_of(table.kinds, table.schema)), table)

    @classmethod
    def at(cls, turn: Turn, table: Table, part: int | None = None) -> "Candidate":
        """The candidate of a table whose turn is known, and whose rows are in that order."""
        return cls(schema=turn.schema, policy=turn.policy, table=table, turn=turn, part=part)

    def anonymize(self, progress: Callable[[float], None]) -> Release:
        """The release, or why there is none."""
        try:
            release = super().anonymize(progress)
            return release if self.drawn is None else self._with_side_table(release, self.drawn)
        except NotMetError as problem:
            message = str(problem)
        raise refusal(self.turn.number, [message], Findings(), self.policy, None)

    def _with_side_table(self, release: Release, drawn: "Drawn") -> Release:
        """With its side table. Some of the rows that values were drawn for may have been left out since."""
        from reissue.publishing.randomizing import with_side_table

        ids = self.table.ids
        assert ids is not None  # noqa: S101  # values are drawn for people
        order = np.argsort(drawn.people)
        return with_side_table(release, drawn, order[np.searchsorted(drawn.people, ids.to_numpy(), sorter=order)])

    def with_drawn_values(self) -> "Candidate":
        """With published values in place of true ones, where the policy asks for randomized values.

        Whoever is above a limit all the same is left out, as far as `suppress` allows.
        """
        last = self.turn.earlier[-1] if self.turn.earlier else None
        if not self.policy.draws and (last is None or "values" not in last.files):
            return self
        from reissue.publishing.drawing import drawn_for

        found = drawn_for(self.turn, self.table)
        if found is None:
            return self
        drawn, judged = found
        made = replace(self, table=drawn.table, drawn=drawn, judged=judged)
        out = made.mentioned(judged.exposed)
        if len(judged.exposed) != out.sum() or not 0 < out.sum() <= self.policy.suppress * self.rows:
            return made
        repairs = replace(self.repairs, left_out=int(out.sum()))
        left = drawn.table.some(np.flatnonzero(~out))
        return replace(made, table=left, repairs=repairs, judged=judged.without_exposed())

    def memory(self) -> Memory:
        """As the ledger keeps it."""
        return self.turn.ledger.memory(self.turn.earlier, self.schema, self.policy.method)

    def after(self) -> list[Any]:
        """As the ledger keeps them."""
        return [self.turn.ledger.tables(one) for one in self.turn.earlier]

    def seed(self) -> int:
        """The one that was asked for; else from the key, what was published before and the table."""
        turns, asked = self.repairs.turns, self.turn.request.seed
        if asked is not None:
            return asked + turns + _APART * self.draw
        return self.turn.seed((f"#{turns}" if turns else "") + (f"/{self.draw}" if self.draw else ""))

    def attack(self, release: Release, progress: Callable[[float], None]) -> GateResult:
        """What attacks find, with all earlier releases."""
        return self.turn.attack(Attackable.of(release, self.judged), progress)

    def changed(self, change: Change) -> "Candidate":
        """The same table by a changed schema and policy, before anything was done to it."""
        schema = change.on(self.schema)
        turn = replace(self.turn, schema=schema, policy=Policy.of(schema))
        same = not set(change.sections) - {"policy"}
        table = replace(self.table, schema=schema) if same else Table.read(self.table.frame, schema)
        return Candidate(schema=schema, policy=turn.policy, table=table, turn=turn)

    def tried(self, change: Change, progress: Callable[[float], None]) -> TriedChange:
        """What a change gives: the release is made with it, repaired and attacked."""
        other, release, found = make_and_repair(self.changed(change).with_drawn_values(), Candidate.attack, progress)
        price = other.price(release, found)
        problems = problems_of(release, found.findings, other.policy, found.uncompared)
        lost = {name: price.losses.get(name, 1.0) for name in self.schema.quasi}
        gone = len(lost) - len(price.losses)
        loss = (price.loss * len(price.losses) + gone) / len(lost)
        return TriedChange(change, round(loss, 6), lost, price.posterior, not problems)

    def price(self, release: Release, found: GateResult) -> Price:
        """What the release costs; what would be cheaper is not looked for."""
        used = measure(release, queries=0)
        made = Price(
            number=self.turn.number,
            rows=self.rows,
            suppressed=release.suppressed + self.repairs.left_out,
            counterfeits=release.counterfeits,
            loss=_with_left_out(used.loss, release, self.repairs.left_out),
            losses=used.losses,
            true=None if release.drawn is None else release.drawn.share_true,
            costliest=cost_order(self.table, used.losses)[0],
        )
        return made.with_findings(found.findings)

    def publication(self, release: Release, findings: Findings, *, recorded: bool) -> PublicationInMemory:
        """What is known of a release that this table became."""
        again = self.turn.again
        return PublicationInMemory(
            number=self.turn.number,
            rows=release.table.rows - release.suppressed,
            suppressed=release.suppressed,
            groups=release.groups,
            counterfeits=release.counterfeits,
            method=release.method,
            requirement=str(release.requirement),
            findings=findings,
            recorded=recorded,
            again=again is not None,
            warnings=self.warnings(release) if again is None else again.record.warnings,
            repairs=self.table.repairs,
            release=release,
        )

    def warnings(self, release: Release) -> tuple[str, ...]:
        """What whoever sends the release out should know."""
        found = [*self.turn.warnings, *_linking(self.table), *_misspelt(self.table, self.policy), *_twins(self.table)]
        repaired = self.repairs.sentences
        if self.drawn is not None:
            from reissue.publishing.drawing import warnings_of_drawn

            repaired = tuple(warnings_of_drawn(self.drawn, self.policy, self.repairs.left_out))
        unknown = self.turn.ledger.unknown if self.turn.earlier else ()  # of a new series nothing can be lost
        return (*release.warnings, *repaired, *found, *unknown)

    def record(self, made: PublicationInMemory, found: GateResult, keep: Keep) -> ReleaseRecord:
        """What the release's entry says, its files kept."""
        release, ids = made.release, made.release.table.ids
        files, csv = self._kept(release, keep)
        if ids is None:
            files |= self.turn.private_files(None, None, found, keep)
        else:
            people = ids.gather(np.flatnonzero(release.draft.groups >= 0))
            files |= self.turn.private_files(pack_presences(release), people, found, keep)
        if release.draft.memory is not None:  # without its key, which is derived from the ledger's own
            files["memory"] = keep(pack_memory(replace(release.draft.memory, key=b"")), ENDINGS["memory"])
        if self.drawn is not None:
            from reissue.publishing.drawing import files_of_drawn

            files |= files_of_drawn(self.drawn, keep)
        return self.turn.record(
            made,
            files,
            csv,
            contributed=self.table.contributed,
            loss=_loss(made, release, self.repairs.left_out),
            promises={} if release.draft.e is None else {"e": release.draft.e},
            rows=self.rows,
            suppressed=release.suppressed + self.repairs.left_out,
        )

    def _kept(self, release: Release, keep: Keep) -> tuple[dict[str, str], dict[str, str]]:
        """The tables kept, whole or in parts: their files, and the SHA-256 of the CSV of each."""
        if self.part is None:
            files = {f"table.{name}": keep(pack_frame(frame), ".parquet") for name, frame in release.tables.items()}
            return files, {name: _digest(frame) for name, frame in release.tables.items()}
        parts = {name: keep_parts(name, release.in_parts(name, self.part), keep) for name in release.tables}
        kept = {what: file for one in parts.values() for what, file in one.files.items()}
        return kept, {name: one.csv for name, one in parts.items()}

    def refuse_other(self, release: Release, again: Recorded) -> None:
        """Stop where the release that was published from this table before is not the one that was made now."""
        if any(_digest(frame) != again.record.csv.get(name) for name, frame in release.tables.items()):
            raise InputError(
                f"This table was published already, as release {again.number}, and this version of Reissue would make "
                f"another release of it. `reissue ledger export {again.number}` gives the published one."
            )


def publish_candidate(
    candidate: Candidate,
    writer: Writer | None,
    when_made: Callable[[Release], object] = lambda _: None,
    before_record: Callable[[PublicationInMemory], object] = lambda _: None,
    progress: Callable[[float], None] = lambda _: None,
    asked: PriceRequest = _NO_REQUEST,
) -> PublicationInMemory:
    """A candidate made, attacked, repaired, priced, and recorded by a writer, if there is one."""
    candidate.turn.check(candidate.table.ids)
    began = time.monotonic()
    _refuse_short(candidate)
    try:
        made, release, found = make_and_repair(candidate.with_drawn_values(), Candidate.attack, progress, draws=_DRAWS)
        when_made(release)
        again = candidate.turn.again
        if again is not None:
            made.refuse_other(release, again)
            published = made.publication(release, again.findings, recorded=True)
            before_record(published)
            return published
        made.turn.refuse(found, release, made.repairs.price)
    except RefusedError as refused:
        if refused.report.only_not_run:
            raise
        raise refused.helped_by(*_helping(candidate, asked, time.monotonic() - began), _begun(candidate)) from None
    price = _affordable(candidate, made.price(release, found), release, asked, time.monotonic() - began)
    published = replace(made.publication(release, found.findings, recorded=writer is not None), price=price)
    before_record(published)
    if writer is not None:
        written = lambda keep: made.record(published, found, keep)  # noqa: E731
        made.turn.append(writer, written, in_parts=made.part is not None)
    return published


def _refuse_short(candidate: Candidate) -> None:
    """Refuse to begin a series that will run out of counterfeits, where the policy says how many releases it has."""
    policy, table = candidate.policy, candidate.table
    if policy.releases is None or candidate.turn.number > 1 or policy.draws or not find(policy.method).stateful:
        return
    asked: dict[str, Any] = {"method": policy.method, "limit": policy.counterfeits, "turnover": policy.turnover}
    found = longevity(
        table.frame, candidate.schema, policy.require, releases=policy.releases, **asked, **policy.options
    )
    if found.lasts < policy.releases:
        raise short_series(candidate.turn.number, found.sentence, policy.releases)


def _affordable(candidate: Candidate, price: Price, release: Release, asked: PriceRequest, took: float) -> Price:
    """The price with what was tried to lower it; a release that loses more than it may is refused."""
    most = asked.most(candidate.policy)
    seconds = max(asked.budget, BUDGET) if price.loss > most else asked.budget
    tried, late = _tried(candidate, _cheaper(candidate, price.losses), seconds, took)
    price = replace(price, tried=tried, late=late)
    if price.loss > most:
        problem = too_costly(price.loss, most, price.costliest, price.losses[price.costliest])
        refused = refusal(candidate.turn.number, [problem], price.findings, candidate.policy, release)
        raise refused.helped_by([one for one in price.cheaper if one.loss <= most], [], _begun(candidate))
    return price


def _begun(candidate: Candidate) -> str:
    """The ledger of a series that has begun, whose schema is changed by recording it; else nothing."""
    return candidate.turn.ledger.name if candidate.turn.earlier else ""


def _helping(candidate: Candidate, asked: PriceRequest, took: float) -> tuple[list[TriedChange], list[Change]]:
    """Changes with which the release would be published, the cheapest first; and those that were not tried."""
    safer = safer_changes(candidate.policy)
    changes = list({one.text: one for one in (*safer, *_cheaper(candidate, {}))}.values())
    tried, _ = _tried(candidate, changes, asked.budget, took)
    fine = [one for one in tried if one.withstood and one.loss <= asked.most(candidate.policy)]
    looked_at = [one.change for one in tried]
    return sorted(fine, key=lambda one: one.loss), [one for one in safer if one not in looked_at]


def _tried(
    candidate: Candidate, changes: Sequence[Change], seconds: float, took: float
) -> tuple[tuple[TriedChange, ...], bool]:
    return try_changes(changes, candidate.tried, seconds, took) if seconds else ((), False)


def _cheaper(candidate: Candidate, losses: Mapping[str, float]) -> tuple[Change, ...]:
    """Nothing where the table came as codes, without the columns that they stand for."""
    table = candidate.table
    if any(name not in table.frame.columns for name in table.schema.quasi):
        return ()
    return cheaper_changes(table, candidate.policy, losses, first=not candidate.turn.earlier)


def _digest(frame: pl.DataFrame) -> str:
    """The SHA-256 of a table's CSV."""
    return hashlib.sha256(csv_bytes(frame)).hexdigest()


def _loss(made: PublicationInMemory, release: Release, left_out: int) -> float:
    """What is lost of the table, as the price says it."""
    if made.price is not None:
        return made.price.loss
    return _with_left_out(measure(release, queries=0).loss, release, left_out)


def _with_left_out(loss: float, release: Release, left_out: int) -> float:
    """The loss of a release, records suppressed to repair it counted as lost altogether."""
    records = release.table.rows + release.counterfeits
    return round((loss * records + left_out) / max(records + left_out, 1), 6)


def _marked(
    ledger: Ledger, asked: Sequence[Any], table: Table, order: Ints, last: str, rows: RowDigest
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


def _misspelt(table: Table, policy: Policy) -> list[str]:
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


def _twins(table: Table) -> list[str]:
    """That values differ only in case or blanks: they count as different ones, so that groups seem more diverse."""
    said = []
    for name, coding in zip(table.schema.sensitive, table.secrets, strict=True):
        twins = len(coding.leaves) - folded(coding.leaves).n_unique() if coding.leaves.dtype == pl.String else 0
        if twins:
            said.append(
                f"{plural(twins, 'value')} of '{name}' differ from others only in case or blanks. They count as values "
                "of their own, so that groups seem more diverse than they are: `reissue clean` shows them."
            )
    return said
