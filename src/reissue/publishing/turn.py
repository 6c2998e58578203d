"""One turn at a ledger: a candidate is made, attacked together with all earlier releases, repaired, and recorded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from reissue.attacks.findings import Findings
from reissue.errors import InputError
from reissue.publishing.candidate import Candidate, made
from reissue.release.release import Release
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.ledger import Ledger
    from reissue.ledger.chain import LedgerEntry
    from reissue.ledger.store import Writer

__all__ = ["Publication", "day_of", "first_schema", "publish_candidate", "turn"]


@dataclass(frozen=True, eq=False)
class Publication:
    """A release, and how it was made."""

    release: Release
    number: int
    """1, 2, ... in the order published."""
    findings: Findings
    recorded: bool
    """Whether it is in the ledger: not after a dry run."""
    again: bool = False
    """Whether it had been published before, from the same table."""
    warnings: tuple[str, ...] = ()
    """What whoever sends it out should know."""


def publish_candidate(
    candidate: Candidate,
    entries: "Sequence[LedgerEntry]",
    writer: "Writer | None",
    when_made: Callable[[Release], object] = lambda _: None,
    before_record: Callable[[Publication], object] = lambda _: None,
    progress: Callable[[float], None] = lambda _: None,
) -> Publication:
    """A candidate made, attacked, repaired, and recorded by a writer, if there is one."""
    from reissue.ledger.recorded import needed_files
    from reissue.ledger.store import PARTS
    from reissue.publishing.refusal import problems_of, refusal

    candidate.check()
    candidate, release, together = made(candidate, progress)
    when_made(release)
    if candidate.again is not None:
        known = candidate.again.record.warnings
        same = Publication(
            release, candidate.number, candidate.same(release), recorded=True, again=True, warnings=known
        )
        before_record(same)
        return same
    findings = together.findings
    problems = problems_of(release, findings, candidate.policy, together.uncompared)
    if problems:
        price = candidate.repairs.price
        raise refusal(candidate.number, problems, findings, candidate.policy, release, price)
    recorded = writer is not None
    published = Publication(
        release, candidate.number, findings, recorded=recorded, warnings=candidate.warnings(release)
    )
    before_record(published)
    if writer is not None:
        writer.remove_all_but(needed_files(entries))
        record = candidate.record(release, together, writer)
        if candidate.part is not None:
            writer.note(PARTS)
        writer.append("release", record.as_json())
    return published


def first_schema(ledger: "Ledger", schema: Schema | None, *, dry_run: bool) -> Schema | None:
    """The schema that is recorded with the first release; after that it must be the one that the ledger goes by."""
    first = None if ledger.releases or dry_run else schema
    if schema is not None and first is None and ledger.differs(schema):
        raise InputError(
            f"The schema is not what the ledger '{ledger.name}' goes by. Leave it out to go on as before, or record "
            "the change first: reissue ledger amend."
        )
    return first


@contextmanager
def turn(
    ledger: "Ledger", schema: Schema | None, *, dry_run: bool
) -> "Iterator[tuple[list[LedgerEntry], Writer | None]]":
    """The entries as they stand: as the only publisher, or as somebody who only looks."""
    _ = ledger.key
    if dry_run:
        yield ledger.entries(), None
        return
    with ledger.writing() as writer:
        if schema is not None:
            if any(entry.kind == "release" for entry in writer.entries):
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
