"""publish_folder: the next release of a ledger, from a table larger than memory.

The table is read once, and copied into a private folder with pseudonyms instead of identifiers. The release is made of
that, region by region, and judged by who is in which group of it: attacks that follow people need nothing else, and a
few numbers per person fit where the table does not. A policy that asks for more than can be judged so is followed by
the codes of all rows, made and judged as in memory. It goes into the ledger in parts, all or nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from datetime import date as day
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from reissue._arrays import Ints
from reissue.attacks import Accepts
from reissue.attacks import find as find_attack
from reissue.attacks.findings import Findings
from reissue.engines.base import InBatches
from reissue.engines.registry import choose
from reissue.errors import InputError, SchemaError
from reissue.files.staging import scratch_folder
from reissue.ledger.chain import canonical
from reissue.ledger.folders import StoredParts, keep_parts
from reissue.ledger.pack import ENDINGS, Keep, pack_frame, unpack_people, unpack_presences
from reissue.ledger.recorded import Recorded, ReleaseRecord, needed_files, releases_of, sent_of
from reissue.ledger.store import PARTS
from reissue.methods import find
from reissue.methods.registry import Trait
from reissue.policy import Policy
from reissue.published import Tables, read_published
from reissue.publishing.by_regions import ReleaseFolder, fill_folder
from reissue.publishing.candidate import Candidate, Request, as_json
from reissue.publishing.coding import table_by_codes
from reissue.publishing.continues import forms_after, refuse_what_does_not_follow
from reissue.publishing.folder import PART
from reissue.publishing.gate import Attackable, GateResult, gate_attacks, run_gate, state_mark
from reissue.publishing.larger.private_copy import PrivateCopy
from reissue.publishing.larger.who_is_where import who_is_where
from reissue.publishing.recipe import Recipe
from reissue.publishing.refusal import problems_of, refusal, warnings_of
from reissue.publishing.turn import day_of, first_schema, publish_candidate, turn
from reissue.release.release import Form
from reissue.release.states import pack_state
from reissue.schema import Role, Schema

if TYPE_CHECKING:
    from reissue.ledger import Ledger
    from reissue.ledger.chain import LedgerEntry
    from reissue.ledger.store import Writer

__all__ = ["PublishedFolder", "publish_folder"]


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
    date: day | str | None = None,
    newcomers: bool = False,
    unchanged: bool = False,
    lookalikes: bool = False,
    schema: Schema | None = None,
    fits: int | None = None,
    before_record: Callable[[], object] = lambda: None,
    progress: Callable[[float], None] = lambda _: None,
) -> PublishedFolder:
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
    before_record
        Called before a new release is recorded; if it raises, nothing is recorded.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    PublishedFolder
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
        policy = Policy.of(schema)
        _refuse(schema)
        source = choose(engine, data).open(data)
        if not isinstance(source, InBatches):
            raise InputError(f"A ledger is fed by engine memory, stream or spark; '{engine}' keeps its rows elsewhere.")
        codes = not in_regions(policy, schema)
        copy = PrivateCopy.of(source, schema, ledger, request, scratch / "named", ordered=codes)
        turn_of = _Turn(ledger, schema, policy, entries, request, copy, before_record)
        made = turn_of.run(scratch / "release", fits, writer, progress)
    return replace(made, warnings=(*made.warnings, ledger.unwritten)) if ledger.unwritten else made


@dataclass(frozen=True, eq=False)
class _Turn:
    """One release that is to be added to a ledger."""

    ledger: "Ledger"
    schema: Schema
    policy: Policy
    entries: "Sequence[LedgerEntry]"
    request: Request
    copy: PrivateCopy
    before_record: Callable[[], object]

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
        if last is not None and last.record.request == self.copy.known.mark:
            return self._shown(last.number, last.record, last.findings, recorded=True, again=True)
        if self.copy.order is not None:
            return self._by_codes(self.copy.order, fits, writer, progress)
        known, people = self.copy.known, pl.Series(self.copy.people)
        asked = (known, self.request, self.copy.kinds, people)
        refuse_what_does_not_follow(self.ledger, self.entries, self.earlier, *asked, again=False)
        made = self._made(place, fits, lambda share: progress(0.1 + 0.5 * share))
        parts = sorted(made.folder.iterdir())
        who = who_is_where(parts, self.schema.identifier or "", self.schema.quasi, self.schema.sensitive)
        roster = who.pack()
        together = self._attacked(made, roster, lambda share: progress(0.6 + 0.3 * share))
        problems = problems_of(None, together.findings, self.policy, together.uncompared)
        if problems:
            raise refusal(self.number, problems, together.findings, self.policy, None)
        self.before_record()
        keep = (lambda _, ending: ending) if writer is None else writer.keep
        if writer is not None:
            writer.remove_all_but(needed_files(self.entries))
        kept = keep_parts("release", (_public(part, self.schema) for part in parts), keep)
        record = self._record(made, who.groups, kept, self._private(roster, together, keep), together)
        if writer is not None:
            writer.note(PARTS)
            writer.append("release", record.as_json())
        return self._shown(self.number, record, together.findings, recorded=writer is not None, again=False)

    def _by_codes(
        self, order: Ints, fits: int | None, writer: "Writer | None", progress: Callable[[float], None]
    ) -> PublishedFolder:
        """The next release as it is made in memory, of a table that is there as codes."""
        source = choose("stream", self.copy.folder).open(self.copy.folder)
        assert isinstance(source, InBatches)  # noqa: S101  # it was asked for by name
        stateful = find(self.policy.method).stateful
        memory = self.ledger.memory(self.earlier, self.schema, self.policy.method) if stateful else None
        table = table_by_codes(source, self.schema, memory).some(order)
        progress(0.2)
        candidate = Candidate.marked(self.ledger, self.entries, table, self.copy.known, self.request)
        candidate = replace(candidate, part=PART if fits is None else fits)
        before, share_of = lambda _: self.before_record(), lambda share: progress(0.2 + 0.8 * share)
        made = publish_candidate(candidate, self.entries, writer, before_record=before, progress=share_of)
        return PublishedFolder(
            made.number,
            made.release.table.rows - made.release.suppressed,
            made.release.groups,
            made.release.method,
            str(made.release.requirement),
            made.findings,
            made.recorded,
            warnings=made.warnings,
        )

    def _made(self, place: Path, fits: int | None, progress: Callable[[float], None]) -> ReleaseFolder:
        """The release, with pseudonyms beside its rows."""
        before = canonical({"csv": [one.record.csv for one in self.earlier[-1:]], "number": len(self.earlier)})
        derived = self.ledger.key.derive("seed", f"{before}{self.copy.known.mark}".encode())
        seed = int.from_bytes(derived[:16], "little") if self.request.seed is None else self.request.seed
        shown = self.schema.with_roles({self.schema.identifier or "": Role.KEEP})
        recipe = Recipe.of(self.policy.method, self.policy.require)
        place.mkdir()
        known: dict[str, Any] = {"seed": seed, "fits": fits, "person": self.schema.identifier, "progress": progress}
        return fill_folder(self.copy.folder, shown, recipe, place, "stream", **known)

    def _attacked(self, made: ReleaseFolder, roster: bytes, progress: Callable[[float], None]) -> GateResult:
        """What attacks find, that read the candidate as they read what a ledger kept of earlier releases."""
        require = self.policy.require
        candidate = Attackable(
            self.schema,
            Form.GENERALIZED,
            made.rows,
            require,
            lambda: read_published(Tables({}, presences=unpack_presences(roster), requirement=require), self.schema),
        )
        asked = self.request.recipients
        return run_gate(self.ledger, self.earlier, candidate, self.policy, asked, self.number, progress)

    def _private(self, roster: bytes, together: GateResult, keep: Keep) -> dict[str, str]:
        """What later releases need of this one, kept."""
        states = {f"state.{name}": keep(pack_state(one), ENDINGS["state"]) for name, one in together.states.items()}
        forms = self.copy.known.forms
        if forms is not None:
            after = forms_after(self.ledger, self.earlier, forms, unpack_people(roster))
            states["forms"] = keep(pack_frame(after), ENDINGS["forms"])
        return {"roster": keep(roster, ENDINGS["roster"]), **states}

    def _record(
        self, made: ReleaseFolder, groups: int, kept: StoredParts, private: Mapping[str, str], together: GateResult
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
            identifiers=self.copy.known.identifiers,
            kinds=self.copy.kinds,
            method=made.method,
            promises={},
            recipients=self.request.recipients,
            reissue=__version__,
            request=self.copy.known.mark,
            requirement=str(made.requirement),
            rows=made.rows,
            suppressed=0,
            table=self.copy.known.table,
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
    return (
        not (
            "after" in chosen.options
            or Trait.CHANGES_VALUES in chosen.traits
            or (rule is not None and rule.by_provider)
        )
        and not more
        and not Recipe.of(policy.method, policy.require).why_all_rows(schema)
        and all(Accepts.ROSTERS in find_attack(name).accepts for name in gate_attacks(policy, schema))
    )
