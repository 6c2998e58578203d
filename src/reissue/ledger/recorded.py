"""The releases among a ledger's entries: which were withdrawn, and which of their private files are still needed."""

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
    "microdata",
    "needed_files",
    "releases_of",
    "replaced_files",
    "sent_of",
    "versions_of",
]

KINDS = frozenset({"release", "table"})
"""The kinds of entries that are releases: of microdata, or of tables of counts."""
_EARLIER_NAMES = {"standing": "roster"}
"""Names of files in older ledgers; entries are chained, so they keep these names."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ReleaseRecord:
    """The contents of a release's entry."""

    adopted: bool
    """Whether it was published before the ledger existed."""
    method: str
    requirement: str
    promises: Mapping[str, float]
    """Further promises of the method: `e`; of differentially private counts the `epsilon` that they spend."""
    rows: int
    groups: int | None
    suppressed: int | None
    counterfeits: int | None
    tables: tuple[str, ...]
    """The names of the published tables, the main one first."""
    files: Mapping[str, str]
    """The names in the store of its files, by purpose."""
    csv: Mapping[str, str]
    """The SHA-256 of each table's CSV."""
    recipients: tuple[str, ...]
    """Its recipients; empty means that it is public."""
    date: str | None
    """The date of its snapshot, if given."""
    time: str
    findings: Mapping[str, Any]
    """The findings of the attacks, in the public JSON format of the time."""
    kinds: Mapping[str, str]
    """The types of the columns; empty for an adopted release."""
    request: str
    """The fingerprint of the table and the request."""
    reissue: str = ""
    """The version of Reissue that wrote it."""
    carried: str | None = None
    """The fingerprint of the schema, policy and version under which the attacks' states were made."""
    identifiers: str | None = None
    """The form of the identifiers in the table."""
    warnings: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    """What was repaired when the table was read."""
    loss: float | None = None
    """The information loss; None if it was not measured."""
    table: str | None = None
    """The fingerprint of the table; None if an earlier version recorded it."""
    contributed: Mapping[str, int] = field(default_factory=dict)
    """The number of records of each provider; empty if the schema names no provider."""

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "ReleaseRecord":
        """Read the content of an entry, which has been checked."""
        known: dict[str, Any] = {one.name: said[one.name] for one in fields(cls) if one.name in said}
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        return cls(**{**known, **lists})

    @property
    def e(self) -> int | None:
        """The e of e-equivalence, where the method promises one."""
        return int(self.promises["e"]) if "e" in self.promises else None

    def as_json(self) -> dict[str, Any]:
        """The content of an entry; read by `of`."""
        own = (
            {"carried", "identifiers", "warnings", "repairs", "loss", "table", "contributed"} if self.adopted else set()
        )
        return {name: value for name, value in vars(self).items() if name not in own}

    @property
    def verdict(self) -> str | None:
        """The joint verdict of the attacks; None if there were none."""
        return None if self.findings["verdict"] is None else str(self.findings["verdict"])


@dataclass(frozen=True, eq=False)
class Recorded:
    """A release in the ledger."""

    number: int
    """The number of the release, from 1, in the order published."""
    entry: LedgerEntry = field(repr=False)
    record: ReleaseRecord = field(repr=False)
    withdrawn: str | None = None
    """Why it was never sent, if it was withdrawn."""
    without: tuple[int, ...] = ()
    """The numbers of earlier releases that have been withdrawn."""

    @property
    def counts(self) -> bool:
        """Whether tables of counts were published, and not people's records."""
        return self.entry.kind == "table"

    def __repr__(self) -> str:
        """What was published when, in a sentence."""
        gone = ", withdrawn" if self.withdrawn is not None else ""
        return f"Release {self.number}, recorded {self.record.time}: {plural(self.record.rows, 'row')}{gone}."

    @property
    def files(self) -> Mapping[str, str]:
        """The names in the store of its files, by purpose: "table.release", "roster", "memory", "state.joint", ..."""
        return {_EARLIER_NAMES.get(what, what): name for what, name in self.record.files.items()}

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the published tables, the main one first."""
        return self.record.tables

    @property
    def findings(self) -> Findings:
        """What attacks found before it was published."""
        said = self.record.findings["findings"]
        return Findings(tuple(Finding(**{**one, "releases": tuple(one["releases"])}) for one in said))

    @property
    def outcome(self) -> str:
        """The verdict in a few words, with the number of attacks that were not run and so show nothing."""
        if self.withdrawn is not None:
            return "withdrawn"
        lacking = len(self.findings.of(Status.NOT_RUN)) if self.record.verdict else 0
        return f"{self.record.verdict or '-'}{f', {lacking} not run' if lacking else ''}"

    @property
    def colluding(self) -> Finding | None:
        """The finding about colluding providers; None if nobody looked."""
        return next((one for one in self.findings if one.attack == "coalition" and one.worst is not None), None)

    @property
    def told(self) -> tuple[str, ...]:
        """What each provider may be told about it, in sentences; empty if there are no providers."""
        from reissue.papers.coalition.views import may_be_told

        found, providers = self.colluding, len(self.record.contributed)
        withstood = found is not None and found.status == Status.WITHSTOOD
        m = int(found.limit or 0) if withstood and found is not None else 0
        return may_be_told(self.record.requirement, providers, m) if providers else ()

    @property
    def recipients(self) -> tuple[str, ...]:
        """Its recipients; empty means that it is public."""
        return self.record.recipients

    @property
    def date(self) -> str | None:
        """The date of its snapshot, if given."""
        return self.record.date


def releases_of(entries: Sequence[LedgerEntry]) -> tuple[Recorded, ...]:
    """Return the releases among some entries, including withdrawn ones, whose numbers stay in use."""
    found = [entry for entry in entries if entry.kind in KINDS]
    gone = {one.content["release"]: str(one.content["why"]) for one in entries if one.kind == "withdrawal"}
    return tuple(
        Recorded(number, entry, ReleaseRecord.of(entry.content), gone.get(number), _until(gone, number))
        for number, entry in enumerate(found, start=1)
    )


def accepted_words(entries: Sequence[LedgerEntry]) -> tuple[str, ...]:
    """Say that entries were lost, and how the holder explained it: no attack knows about releases in them."""
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
    """The releases that somebody may hold: all that were not withdrawn."""
    return tuple(one for one in releases if one.withdrawn is None)


def microdata(releases: Sequence[Recorded]) -> tuple[Recorded, ...]:
    """Those that are people's records."""
    return tuple(one for one in releases if not one.counts)


def versions_of(entries: Sequence[LedgerEntry]) -> list[tuple[int, int]]:
    """The schema versions of a series: the first release that each is for, and the number of entries before it."""
    found, number = [], 0
    for place, entry in enumerate(entries, start=1):
        number += entry.kind in KINDS
        if entry.kind in {"begin", "schema"}:
            found.append((number + 1, place))
    return found


def holders(releases: Sequence[Recorded]) -> dict[str, tuple[int, ...]]:
    """The numbers of the releases that each recipient may hold, including public ones; "" is everyone else."""
    sent = sent_of(releases)
    names = sorted({name for one in sent for name in one.recipients})
    return {
        name: tuple(one.number for one in sent if not one.recipients or name in one.recipients) for name in (*names, "")
    }


def replaced_files(entries: Sequence[LedgerEntry]) -> set[str]:
    """Private files that newer ones have replaced, and that may be gone.

    These are all memories but the last two (the last release is remade from the one before), and all states but the
    last.
    """
    releases = microdata(releases_of(entries))
    memories = _memories(releases[:-2])
    states = {name for one in releases[:-1] for what, name in one.files.items() if what.startswith("state.")}
    needed = set(releases[-1].files.values()) if releases else set()
    # In older ledgers the state of an attack may be the same file as the memory of a method.
    return (memories | states) - needed - _memories(releases[-2:])


def _memories(releases: Sequence[Recorded]) -> set[str]:
    """Files that the next release needs: what methods, randomized values and the form of identifiers carry on."""
    return {one.files[what] for one in releases for what in ("memory", "past", "forms", "values") if what in one.files}


def needed_files(entries: Sequence[LedgerEntry]) -> set[str]:
    """All files that entries name and still need; after withdrawals, also those of the last release that was sent."""
    named = {name for entry in entries for name in entry.files.values()}
    sent = microdata(sent_of(releases_of(entries)))
    useful = _memories(sent[-2:]) | {name for one in sent[-1:] for name in one.files.values()}
    return (named - replaced_files(entries)) | useful
