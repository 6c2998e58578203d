"""Ledger: the append-only record of a series, opened.

Entries are of three kinds: "begin" (the schema, the policy in it, and the check value of the key), "schema" (a changed
policy or taxonomy) and "release" (one release with its findings). Reading needs no key; publishing and adopting do.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from reissue.errors import DataError, InputError, SchemaError, TaxonomyError
from reissue.files.dialect import PLAIN, Dialect
from reissue.files.places import beside_folder, refuse_existing, second_path
from reissue.files.staging import Staging, remove_leftovers, scratch_folder
from reissue.files.tables import stage_tables
from reissue.ledger.chain import FORMAT, LedgerEntry, content_name, later_format, unusable
from reissue.ledger.folders import FolderInLedger
from reissue.ledger.head import (
    Head,
    SecondHeads,
    head_file,
    lost,
    mismatch,
    read_head,
    refuse_unwritable,
    tell_witness,
    write_head,
)
from reissue.ledger.key import Key, find_key
from reissue.ledger.marks import FORM, PERSON
from reissue.ledger.pack import (
    KEPT,
    original_ending,
    pack_schema,
    table_bytes,
    unpack_frame,
    unpack_people,
    unpack_presences,
)
from reissue.ledger.recorded import Recorded, accepted_words, releases_of, replaced_files, versions_of
from reissue.ledger.trust import Heads, Trust, judge
from reissue.policy import Policy
from reissue.release.memory import Memory, fingerprint, read_memory
from reissue.release.presences import Presences
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.taxonomy.codings import changed_labels
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.ledger.store import Store, Writer
    from reissue.published import PublishedRelease, Tables

__all__ = ["Ledger", "Recorded"]


class Ledger:
    """The append-only record of a series: schema, policy, releases, findings, and what the next release needs.

    Open one with `Ledger.open`; `publish` begins and continues one.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population
    >>> patients = next(Population(seed=1, people=400).months(1))
    >>> schema = ri.propose(patients, sensitive=["disease"]).schema
    >>> release = ri.publish(patients, "clinic.ledger", schema)
    >>> with ri.Ledger.open("clinic.ledger") as ledger:
    ...     [record.number for record in ledger.releases]
    [1]
    """

    def __init__(
        self,
        store: "Store",
        key_file: Path | None,
        head: Path | None = None,
        second: SecondHeads | None = None,
        check: str = "",
    ) -> None:
        """Use `Ledger.open` or `Ledger.create`; `check` is the value by which it knows its key."""
        self.store = store
        self._key_file = key_file
        self.head_file = head
        self._second = second
        self._check = check
        self._sealed: set[str] = set()
        self.unwritten = ""
        """What of the heads and the witness failed after the last entry, if anything did."""
        self._scratch = ExitStack()
        self._folder: Path | None = None
        """Where files of a database lie for those who read paths."""

    def __repr__(self) -> str:
        """How many releases it holds, in one sentence."""
        return f"Ledger {self.name} with {plural(len(self.releases), 'release')}."

    @classmethod
    def open(cls, place: str | Path, *, key: str | Path | None = None, head: str | Path | None = None) -> "Ledger":
        """Open a ledger: a folder, or `postgresql://...`.

        The key lies in `<folder>.key` unless said otherwise, and the head beside the key.
        """
        from reissue.ledger.store import NoLedgerError, Store, address_of

        key_file = _key_file(place, key)
        file = head_file(place, key_file) if head is None else Path(head)
        try:
            store, first = Store.begun(place)
        except NoLedgerError:
            before = read_head(file)
            if before is None:
                raise
            raise lost(_shown(place), before, file) from None
        check = str(first.said.get("check")) if isinstance(first.said, dict) else ""
        ledger = cls(store, key_file, file, SecondHeads.of(address_of(place)), check)
        if later_format(first.said):
            raise DataError(
                f"The ledger '{ledger.name}' was written by a later version of Reissue. Update Reissue first."
            )
        return ledger

    @classmethod
    def create(
        cls,
        place: str | Path,
        schema: Schema,
        *,
        key: str | Path | None = None,
        head: str | Path | None = None,
        second: bool = True,
    ) -> "Ledger":
        """Begin a ledger; the policy is in the schema. A key is made if there is none.

        Where there is a head, there was a ledger: it is not begun again. `second` says whether this machine keeps a
        second head of it.
        """
        from reissue.ledger.store import NoLedgerError, Store, address_of

        Policy.of(schema)
        pack_schema(schema, content_name)  # files that cannot be read are noticed before anything is there
        with suppress(NoLedgerError):
            cls.open(place, key=key, head=head).close()
            raise InputError(f"There is a ledger at '{_shown(place)}' already. Open it, or choose another place.")
        key_file = _key_file(place, key)
        file = head_file(place, key_file) if head is None else Path(head)
        seconds = SecondHeads.of(address_of(place)) if second else None
        _refuse_lost(place, key_file, seconds)
        if file is not None:
            refuse_unwritable(file)
        store = Store.open(place, make=True)
        secret = find_key(key_file, make=True)
        ledger = cls(store, key_file, file, seconds, secret.check)
        with store.writing(secret.seal) as writer:
            if writer.entries:
                raise InputError(f"There is a ledger at '{ledger.name}' already.")
            text, files = pack_schema(schema, writer.keep)
            content = {"format": FORMAT, "check": secret.check, "series": fingerprint(schema)}
            writer.append("begin", {**content, "schema": text, "files": files})
        ledger._committed(writer.entries, secret)
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the place."""
        self.store.close()
        self._scratch.close()
        self._folder = None

    @property
    def name(self) -> str:
        """Where it is, without user or password."""
        return self.store.name

    @cached_property
    def key(self) -> Key:
        """The secret key, recognized as this ledger's own."""
        self.entries()
        return self._own_key()

    def _own_key(self) -> Key:
        key = find_key(self._key_file)
        if key.check != self._check:
            raise InputError(
                f"This is not the key of the ledger '{self.name}': with another key nobody in it would be recognized. "
                "Nothing was recorded."
            )
        return key

    # --- whether it is whole -----------------------------------------------------------------------------------------

    def trust(self, noted: str | None = None) -> Trust:
        """Whether its entries are proven to be all that its holder wrote; `noted` is a hash that was noted elsewhere.

        Files are looked at when they are read, and all of them by `verify`.
        """
        given = self._given_key()
        heads = self._heads(given)
        return self._judged(self.store.found(), given, heads, noted)

    def _judged(
        self, entries: Sequence[LedgerEntry], given: Key | InputError, heads: Heads, noted: str | None = None
    ) -> Trust:
        key: Key | str
        if isinstance(given, InputError):
            key = f"{given} Without its key it is not known whether somebody else wrote the entries of the ledger."
        elif given.check != self._check:
            key = (
                "The key is not that of this ledger, so it is not known whether somebody else wrote its entries. Give "
                "the ledger's own key. If this is the one that the series was published with, another ledger was put "
                "in the place of yours."
            )
        else:
            key = given
        return judge(entries, key, heads, noted, self._sealed)

    def _given_key(self) -> Key | InputError:
        """The key that was given, this ledger's or not; or why there is none."""
        try:
            return find_key(self._key_file)
        except InputError as problem:
            return problem

    def _heads(self, given: Key | InputError) -> Heads:
        """What is known of the ledger apart from it, and of the one that the key belongs to."""
        checks = [self._check, *([given.check] if isinstance(given, Key) else [])]
        return Heads.read(self.head_file, self._second, dict.fromkeys(checks))

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """The only writer, of a ledger that is not broken; the new heads are written when all is committed."""
        if self.head_file is not None:
            refuse_unwritable(self.head_file)
        if self.second_file is not None:
            remove_leftovers(self.second_file.parent)  # what a killed writer left
        key = self.key
        with self.store.writing(key.seal) as writer:
            before = len(writer.entries)
            self._refuse_broken(self._judged(writer.entries, key, self._heads(key)))
            yield writer
        self._committed(writer.entries, key, new=len(writer.entries) > before)

    def _committed(self, entries: Sequence[LedgerEntry], key: Key, *, new: bool = True, over: bool = False) -> None:
        """Read back what was committed, then write the heads and tell the witness; what of it fails is `unwritten`.

        All is committed, and a ledger may be ahead of its heads: the next writer makes up for it.
        """
        if self.store.found()[: len(entries)] != list(entries):
            raise DataError(
                f"The ledger '{self.name}' does not read back as it was written: its disk or database is faulty. "
                "Nothing goes out. Restore the ledger from a backup on another disk."
            )
        last, failed = entries[-1], []
        head = Head.of(last, key)
        for file in filter(None, (self.head_file, self.second_file)):
            try:
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_head(file, head, key, over=over)
            except (InputError, OSError) as problem:
                reason = problem if isinstance(problem, InputError) else f"{problem.strerror or 'error'}."
                failed.append(f"All was recorded, but not the head of the ledger '{file}': {reason}")
        self.unwritten = " ".join([*failed, *(tell_witness(last.number, last.hash) if new else [])])

    @property
    def second_file(self) -> Path | None:
        """Where this machine keeps the second head of the ledger; None if it keeps none."""
        return None if self._second is None else self._second.own(self._check)

    def _refuse_broken(self, trust: Trust) -> None:
        if trust.changed:
            raise unusable(self.name, trust.changed[0])
        if trust.behind:
            raise DataError(f"The ledger '{self.name}' does not fit its head. {trust.behind[0]}")

    def accept(self, why: str) -> Trust:
        """Record that the ledger is gone on with as it is, though it does not fit its heads, or has none here.

        For a backup after which no release went out, and for a machine that never saw the ledger. It vouches for no
        entry: what was changed, or was not written with the key, is not accepted. Returns what was accepted.
        """
        why = _reason(why, "Say in a line of text why nothing is missing in the ledger.")
        key = self._own_key()
        with self.store.writing(key.seal) as writer:
            heads = self._heads(key)
            trust = self._judged(writer.entries, key, heads)
            self._refuse_broken(replace(trust, behind=()))
            given_up = [one for one in heads.found.values() if isinstance(one, Head) and one.is_sealed(key)]
            wrong = [one for one in given_up if mismatch(writer.entries, one, key, None)]
            lost = max((one.number for one in wrong), default=0) - len(writer.entries)
            content = {"heads": sorted({one.hash for one in wrong}), "lost": max(lost, 0), "why": why}
            writer.append("acceptance", {**content, "time": _now(), "files": {}})
        self._committed(writer.entries, key, over=True)
        return trust

    @property
    def unknown(self) -> tuple[str, ...]:
        """What whoever goes on with it should know: what is missing to prove it, and what was accepted before."""
        return (*self.trust().missing, *accepted_words(self.store.found()))

    # --- what it says ------------------------------------------------------------------------------------------------

    def entries(self) -> list[LedgerEntry]:
        """All entries, in order, of a ledger that is not broken."""
        given = self._given_key()
        heads = self._heads(given)
        entries = self.store.found()
        self._refuse_broken(self._judged(entries, given, heads))
        return entries

    @property
    def schema(self) -> Schema:
        """The schema that the next release follows, with the policy in it."""
        return self.schema_of(self.entries())

    def schema_of(self, entries: Sequence[LedgerEntry]) -> Schema:
        """The schema as it stands after some entries."""
        entry = next(entry for entry in reversed(entries) if entry.kind in {"begin", "schema"})
        return Schema.loads(entry.content["schema"], folder=self._folder_with(entry.files.values()))

    @property
    def policy(self) -> Policy:
        """What the holder wants."""
        return Policy.of(self.schema)

    @property
    def releases(self) -> tuple[Recorded, ...]:
        """All releases, in the order published."""
        return releases_of(self.entries())

    def release(self, number: int) -> Recorded:
        """One release."""
        return _numbered(self.releases, number)

    def tables(self, release: Recorded) -> dict[str, pl.DataFrame]:
        """The tables of a release, as they were published, in memory."""
        return {name: pl.concat(self.parts(release, name)) for name in release.tables}

    def parts(self, release: Recorded, table: str) -> Iterator[pl.DataFrame]:
        """A table of a release one part at a time, each checked; one that is not in parts is one part."""
        folder = FolderInLedger.of(release, table, self.store.read)
        whole = (unpack_frame(self.store.read(release.files[f"table.{table}"])) for _ in range(1))
        return whole if folder is None else folder.frames()

    def published(self, release: Recorded, schema: Schema) -> "PublishedRelease":
        """A release for attacks: what went out, and who stands where in it, if that is known."""
        from reissue.published import read_published

        return read_published(self._tables(release, self.tables(release), self.presences(release, schema)), schema)

    def followed(self, release: Recorded, schema: Schema, people: pl.Series | None = None) -> "PublishedRelease":
        """A release for attacks that only follow people: who is where, of all or of some people."""
        from reissue.published import read_published

        known = self.presences(release, schema, people)
        return read_published(self._tables(release, {} if known else self.tables(release), known), schema)

    @staticmethod
    def _tables(release: Recorded, frames: Mapping[str, pl.DataFrame], presences: Presences | None) -> "Tables":
        from reissue.published import Tables

        asked = parse(release.record.requirement) if presences is not None else None
        return Tables(frames, presences=presences, requirement=asked, e=release.record.promises.get("e"))

    def presences(self, release: Recorded, schema: Schema, people: pl.Series | None = None) -> Presences | None:
        """Who is in which group of a release, of all or of some people; None where that is not known."""
        if "roster" not in release.files or schema.identifier is None:
            return None
        return unpack_presences(self.store.read(release.files["roster"]), people)

    def memory(self, releases: Sequence[Recorded], schema: Schema, method: str) -> Memory:
        """What a method remembers after some releases; for a first one only the key of its own.

        If the last release was withdrawn, that is the memory of the one before, as if it had never been. Where an
        earlier one was withdrawn, later releases were made after it, and their memory with it is kept: it holds people
        to what they were promised in a release that nobody has, which binds the method more than need be, and never
        less. What is promised of a series (the same values for life, m or e of them possible) holds of a part of it,
        for whoever has fewer releases can rule out less. Probabilities are no such promise, and may be higher without a
        release than with it; they are for the attacks to judge, which start again from the releases that are out.
        """
        own = self.key.derive("memory")
        last = releases[-1] if releases else None
        if last is None or "memory" not in last.files:
            return Memory(fingerprint(schema), method, own)
        return replace(read_memory(self._kept("memory", last), "The memory of this ledger"), key=own)

    def forms(self, releases: Sequence[Recorded]) -> pl.DataFrame:
        """Everybody in some releases, to the relaxed form of the identifier; null where an earlier version recorded it.

        The last release that holds them holds those of all before it.
        """
        whole = [place for place, one in enumerate(releases) if "forms" in one.files]
        start = whole[-1] if whole else 0
        found = [unpack_frame(self._kept("forms", releases[place])) for place in whole[-1:]]
        for one in releases[start + len(found) :]:
            if "forms.adopted" in one.files:
                found.append(unpack_frame(self.store.read(one.files["forms.adopted"])))
            elif "roster" in one.files:
                people = unpack_people(self.store.read(one.files["roster"])).alias(PERSON)
                found.append(people.to_frame().with_columns(pl.lit(None, pl.Int64).alias(FORM)))
        nobody = pl.DataFrame(schema={PERSON: pl.Int64, FORM: pl.Int64})
        return (
            pl.concat([nobody, *found])
            .sort(PERSON, FORM, nulls_last=True)
            .unique(PERSON, keep="first", maintain_order=True)
        )

    def _kept(self, what: str, last: Recorded) -> bytes:
        """A file after a release; if only those of later ones, withdrawn since, are still kept, the first of those."""
        from reissue.ledger.store import MissingFileError

        for one in self.releases[last.number :]:
            try:
                return self.store.read(last.files[what])
            except MissingFileError:
                last = one if what in one.files else last
        return self.store.read(last.files[what])

    # --- what is done with it ----------------------------------------------------------------------------------------

    def export(self, number: int, path: str | Path, *, force: bool = False) -> list[str]:
        """Write a release again, as CSV or Parquet byte for byte; a second table goes beside the first.

        One that is kept in parts goes to a folder where the path has no ending.
        """
        with Staging() as staging:
            places = self.stage(number, path, staging, force=force)
            staging.place()
        return places

    def stage(
        self, number: int, path: str | Path, staging: Staging, *, force: bool = False, dialect: Dialect = PLAIN
    ) -> list[str]:
        """The same beside their places, to be placed with other files. Returns their paths."""
        release = self._handed_out(number)
        in_folder = "." not in Path(path).name
        further = release.tables[1:]
        beside = [str(beside_folder(Path(path), one)) if in_folder else second_path(path, one) for one in further]
        places = [str(path), *beside]
        for name, place in zip(release.tables, places, strict=True):
            parts = in_folder and FolderInLedger.of(release, name, self.store.read)
            if not parts or not parts.is_at(Path(place)):
                refuse_existing(place, force=force, table=not parts)
        for name, place in zip(release.tables, places, strict=True):
            folder = FolderInLedger.of(release, name, self.store.read)
            how = {"in_folder": in_folder, "force": force}
            if folder is not None and dialect == PLAIN and folder.stage(Path(place), staging, **how):
                continue
            if folder is None and dialect == PLAIN and place.lower().endswith((*KEPT, *original_ending(release, name))):
                staging.add_bytes(Path(place), table_bytes(release, name, place, self.store.read), replaces=force)
            else:
                frame = pl.concat(self.parts(release, name))
                stage_tables(staging, [(frame, place)], force=force, dialect=dialect)
        return places

    def is_exported(self, number: int, folder: Path) -> bool:
        """Whether a folder is what `export` would write there."""
        release = self.release(number)
        parts = FolderInLedger.of(release, release.tables[0], self.store.read)
        return parts is not None and parts.is_at(folder)

    def contents(self, number: int, name: str) -> list[bytes]:
        """What `export` would write to files of a name, nothing written; empty where they are not kept as they go out.

        Those are releases in parts, and formats that libraries write anew.
        """
        release = self._handed_out(number)
        parts = any(FolderInLedger.of(release, table, self.store.read) is not None for table in release.tables)
        if parts or not name.lower().endswith(KEPT):
            return []
        return [table_bytes(release, table, name, self.store.read) for table in release.tables]

    def _handed_out(self, number: int) -> Recorded:
        """A release that still is."""
        release = self.release(number)
        if release.withdrawn is not None:
            raise InputError(
                f"Release {number} was withdrawn: later ones are made as if nobody had it. It is not handed out any "
                "more."
            )
        return release

    def amend(self, schema: Schema) -> bool:
        """Record a changed policy or taxonomy for the releases to come; False if nothing has changed."""
        with self.writing() as writer:
            return self.amend_by(writer, schema)

    def amend_by(self, writer: "Writer", schema: Schema) -> bool:
        """The same, to be committed together with what else a writer adds."""
        Policy.of(schema)
        if fingerprint(schema) != writer.entries[0].content["series"]:
            raise SchemaError(
                "The identifier, quasi-identifiers and sensitive columns of a series stay what they are: people "
                "could not be followed otherwise. Begin a new ledger for other columns."
            )
        self._refuse_other_meaning(schema, writer.entries)
        text, files = pack_schema(schema, writer.keep)
        last = next(entry for entry in reversed(writer.entries) if entry.kind in {"begin", "schema"})
        if last.content["schema"] == text:
            return False
        writer.append("schema", {"schema": text, "files": files})
        return True

    def _refuse_other_meaning(self, schema: Schema, entries: Sequence[LedgerEntry]) -> None:
        """Refuse a taxonomy by which attacks would read earlier releases otherwise than they were written."""
        versions = [place for since, place in versions_of(entries) if since <= len(releases_of(entries))]
        for then in (self.schema_of(entries[:place]) for place in versions):
            for column, now in schema.hierarchies.items():
                before = then.hierarchies.get(column)
                changed = [] if before is None else changed_labels(before, now)
                if changed:
                    raise TaxonomyError(
                        f"In the taxonomy of '{column}' {plural(len(changed), 'label')} would stand for other values "
                        "than in releases that are out: attacks would misread these. Give every group that changes a "
                        "new label, or begin a new ledger."
                    )

    def withdraw(self, number: int, why: str) -> None:
        """Record that a release was never sent, and why: the releases to come are made and attacked without it.

        Its number is used up. It cannot be taken back: a release that somebody has must never be withdrawn.
        """
        why = _reason(why, "Say in a line of text why the release was never sent.")
        with self.writing() as writer:
            release = _numbered(releases_of(writer.entries), number)
            if release.withdrawn is not None:
                raise InputError(f"Release {number} was withdrawn already.")
            writer.append("withdrawal", {"release": number, "why": why, "time": _now(), "files": {}})

    def differs(self, schema: Schema) -> bool:
        """Whether a schema, with its files and policy, is another one than the ledger's."""
        text, _ = pack_schema(schema, content_name)
        return self.schema.dumps() != Schema.loads(text, self.schema.folder).dumps()

    def verify(self, head: str | None = None) -> list[str]:
        """What speaks against the ledger, and what is missing to prove it, in words; nothing if it is proven.

        `head` is the hash of an entry that was noted elsewhere: it must still be there. `examine` tells the one from
        the other.
        """
        trust = self.examine(head)
        return [*trust.problems, *trust.missing]

    def examine(self, head: str | None = None) -> Trust:
        """Whether its entries are proven to be all that its holder wrote, and its files what they were."""
        trust, changed = self.trust(head), []
        usable = [entry for entry in self.store.found() if not entry.problem]
        replaced = replaced_files(usable)
        for entry in usable:
            for what, name in entry.files.items():
                problem = self._problem(name, gone_is_fine=name in replaced)
                if problem:
                    changed.append(f"Entry {entry.number}: the file of {what} {problem}.")
        return replace(trust, changed=(*trust.changed, *changed))

    def _problem(self, name: str, *, gone_is_fine: bool) -> str:
        from reissue.ledger.store import MissingFileError

        try:
            self.store.read(name)
        except MissingFileError:
            return "" if gone_is_fine else "is missing"
        except DataError:
            return "was changed"
        return ""

    def _folder_with(self, names: Any) -> Path:
        """A folder that holds files of the ledger, each checked, for those who read paths."""
        if self.store.folder is not None:
            for name in names:
                self.store.read(name)
            return self.store.folder
        if self._folder is None:
            self._folder = self._scratch.enter_context(scratch_folder())
        for name in names:
            if not (self._folder / name).exists():
                (self._folder / name).write_bytes(self.store.read(name))
        return self._folder


def _numbered(releases: Sequence[Recorded], number: int) -> Recorded:
    if not 1 <= number <= len(releases):
        count = f"releases 1 to {len(releases)}" if releases else "no release yet"
        raise InputError(f"There is no release {number}: the ledger has {count}.")
    return releases[number - 1]


def _refuse_lost(place: str | Path, key_file: Path | None, second: SecondHeads | None) -> None:
    """Begin no ledger where this machine knows of one with the same key."""
    try:
        known = find_key(key_file)
    except InputError:
        return
    file = None if second is None else second.own(known.check)
    before = read_head(file)
    if before is not None and before.is_sealed(known):
        raise lost(_shown(place), before, file)


def _reason(why: str, otherwise: str) -> str:
    if not why.strip() or not why.isprintable():
        raise InputError(otherwise)
    return why.strip()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _shown(place: str | Path) -> str:
    from reissue.ledger.store import is_url

    return "PostgreSQL" if is_url(place) else str(place)


def _key_file(place: str | Path, key: str | Path | None) -> Path | None:
    from reissue.ledger.store import is_url

    if not is_url(place) and not Path(place).name:
        raise InputError("A ledger is a folder with a name of its own, such as hospital.ledger.")
    if key is not None:
        return Path(key)
    return None if is_url(place) else Path(place).with_name(f"{Path(place).name}.key")
