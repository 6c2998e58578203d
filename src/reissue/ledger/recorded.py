"""The releases among a ledger's entries, which of them went out, and which of their private files are still needed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from reissue.attacks.findings import Finding, Findings, Status
from reissue.ledger.chain import LedgerEntry
from reissue.words import plural

__all__ = [
    "Recorded",
    "ReleaseRecord",
    "accepted_words",
    "holders",
    "needed_files",
    "releases_of",
    "replaced_files",
    "sent_of",
    "versions_of",
]

_EARLIER_NAMES = {"standing": "roster"}
"""What older ledgers call some of their files; entries are chained, so they keep their names for good."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ReleaseRecord:
    """What the entry of a release says."""

    adopted: bool
    """Whether it was published before there was a ledger."""
    method: str
    requirement: str
    promises: Mapping[str, int]
    """What the method promises beyond it: `e`."""
    rows: int
    groups: int | None
    suppressed: int | None
    counterfeits: int | None
    tables: tuple[str, ...]
    """The names of the published tables, the first one first."""
    files: Mapping[str, str]
    """What was kept, to its name in the store."""
    csv: Mapping[str, str]
    """Table to the SHA-256 of its CSV."""
    recipients: tuple[str, ...]
    """Who got it; nobody in particular means that it is public."""
    date: str | None
    """The day that its snapshot is of, if one was said."""
    time: str
    findings: Mapping[str, Any]
    """What attacks found, as the public JSON that was written then."""
    kinds: Mapping[str, str]
    """Column to what it holds; none of an adopted release."""
    request: str
    """Tells the table and the request from any other, to those who have the key."""
    reissue: str = ""
    """The version that wrote it."""
    carried: str | None = None
    """Tells by which schema, policy and version the attacks' states were made."""
    identifiers: str | None = None
    """The form that the table gave identifiers."""
    warnings: tuple[str, ...] = ()
    loss: float | None = None
    """The share of what the table said that the release does not; None where nobody measured it."""
    table: str | None = None
    """Tells the table from any other, to those who have the key; None where an earlier version recorded it."""
    contributed: Mapping[str, int] = field(default_factory=dict)
    """Provider to the records of the table that are theirs; nothing where the schema names no provider."""

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "ReleaseRecord":
        """From the JSON of an entry, which has been looked at."""
        known: dict[str, Any] = {one.name: said[one.name] for one in fields(cls) if one.name in said}
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        return cls(**{**known, **lists})

    def as_json(self) -> dict[str, Any]:
        """For an entry; `of` reads it."""
        own = {"carried", "identifiers", "warnings", "loss", "table", "contributed"} if self.adopted else set()
        return {name: value for name, value in vars(self).items() if name not in own}

    @property
    def verdict(self) -> str | None:
        """What attacks said together; None if there were none."""
        return None if self.findings["verdict"] is None else str(self.findings["verdict"])


@dataclass(frozen=True, eq=False)
class Recorded:
    """One release as the ledger has it."""

    number: int
    """1, 2, ... in the order published."""
    entry: LedgerEntry = field(repr=False)
    record: ReleaseRecord = field(repr=False)
    withdrawn: str | None = None
    """Why it was never sent, if it was withdrawn."""
    without: tuple[int, ...] = ()
    """The numbers of earlier releases that are withdrawn by now."""

    def __repr__(self) -> str:
        """What was published when, in a sentence."""
        gone = ", withdrawn" if self.withdrawn is not None else ""
        return f"Release {self.number}, recorded {self.record.time}: {plural(self.record.rows, 'row')}{gone}."

    @property
    def files(self) -> Mapping[str, str]:
        """What was kept, by what it is: "table.release", "roster", "memory", "past", "state.joint"."""
        return {_EARLIER_NAMES.get(what, what): name for what, name in self.record.files.items()}

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the published tables, the first one first."""
        return self.record.tables

    @property
    def findings(self) -> Findings:
        """What attacks found before it went out."""
        said = self.record.findings["findings"]
        return Findings(tuple(Finding(**{**one, "releases": tuple(one["releases"])}) for one in said))

    @property
    def outcome(self) -> str:
        """The verdict in a few words, with how many attacks were not run: these have shown nothing."""
        if self.withdrawn is not None:
            return "withdrawn"
        lacking = len(self.findings.of(Status.NOT_RUN)) if self.record.verdict else 0
        return f"{self.record.verdict or '-'}{f', {lacking} not run' if lacking else ''}"

    @property
    def colluding(self) -> Finding | None:
        """What was found about providers who collude; None where nobody looked."""
        return next((one for one in self.findings if one.attack == "coalition" and one.worst is not None), None)

    @property
    def told(self) -> tuple[str, ...]:
        """What every provider may be told of it, in sentences; nothing where there are none."""
        from reissue.papers.coalition.views import may_be_told

        found, providers = self.colluding, len(self.record.contributed)
        withstood = found is not None and found.status == Status.WITHSTOOD
        m = int(found.limit or 0) if withstood and found is not None else 0
        return may_be_told(self.record.requirement, providers, m) if providers else ()

    @property
    def recipients(self) -> tuple[str, ...]:
        """Who got it; nobody in particular means that it is public."""
        return self.record.recipients

    @property
    def date(self) -> str | None:
        """The day that its snapshot is of, if one was said."""
        return self.record.date


def releases_of(entries: Sequence[LedgerEntry]) -> tuple[Recorded, ...]:
    """The releases among some entries, withdrawn ones too: their numbers are used up."""
    found = [entry for entry in entries if entry.kind == "release"]
    gone = {one.content["release"]: str(one.content["why"]) for one in entries if one.kind == "withdrawal"}
    return tuple(
        Recorded(number, entry, ReleaseRecord.of(entry.content), gone.get(number), _until(gone, number))
        for number, entry in enumerate(found, start=1)
    )


def accepted_words(entries: Sequence[LedgerEntry]) -> tuple[str, ...]:
    """That entries were lost, and what the holder said of it: no attack knows of releases that went out with them."""
    accepted = [one.content for one in entries if one.kind == "acceptance" and not one.problem]
    return tuple(
        f"The ledger was gone on with from a backup that lacked {plural(one['lost'], 'entry', 'entries')} "
        f"({one['time'][:10]}): {one['why']}"
        for one in accepted
        if one["lost"]
    )


def _until(gone: Iterable[int], number: int) -> tuple[int, ...]:
    return tuple(sorted(one for one in gone if one < number))


def sent_of(releases: Sequence[Recorded]) -> tuple[Recorded, ...]:
    """The releases that somebody may hold: all but those that was never sent."""
    return tuple(one for one in releases if one.withdrawn is None)


def versions_of(entries: Sequence[LedgerEntry]) -> list[tuple[int, int]]:
    """The schemas and policies of a series: the first release that each is for, and how many entries it comes after."""
    found, number = [], 0
    for place, entry in enumerate(entries, start=1):
        number += entry.kind == "release"
        if entry.kind in {"begin", "schema"}:
            found.append((number + 1, place))
    return found


def holders(releases: Sequence[Recorded]) -> dict[str, tuple[int, ...]]:
    """Recipient to the numbers of the releases that they may hold, public ones too; "" is everyone else."""
    sent = sent_of(releases)
    names = sorted({name for one in sent for name in one.recipients})
    return {
        name: tuple(one.number for one in sent if not one.recipients or name in one.recipients) for name in (*names, "")
    }


def replaced_files(entries: Sequence[LedgerEntry]) -> set[str]:
    """Private files that newer ones have replaced: they may be gone.

    Memories but for the last two (the last release is remade from the one before), and all states but the last.
    """
    releases = releases_of(entries)
    memories = _memories(releases[:-2])
    states = {name for one in releases[:-1] for what, name in one.files.items() if what.startswith("state.")}
    needed = set(releases[-1].files.values()) if releases else set()
    # In older ledgers an attack's state may be the very file that is a method's memory.
    return (memories | states) - needed - _memories(releases[-2:])


def _memories(releases: Sequence[Recorded]) -> set[str]:
    """What the next release needs: a method's memory, or what it carries on of the past, and how identifiers were."""
    return {one.files[what] for one in releases for what in ("memory", "past", "forms") if what in one.files}


def needed_files(entries: Sequence[LedgerEntry]) -> set[str]:
    """All files that entries name and still need; where releases were withdrawn, also what the last sent one left."""
    named = {name for entry in entries for name in entry.files.values()}
    sent = sent_of(releases_of(entries))
    useful = _memories(sent[-2:]) | {name for one in sent[-1:] for name in one.files.values()}
    return (named - replaced_files(entries)) | useful
