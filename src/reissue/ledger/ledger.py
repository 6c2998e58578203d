"""Ledger: the append-only record of a series.

The main kinds of entries are "begin" (the schema with its policy, and the check value of the key), "schema" (a changed
policy or taxonomy) and "release" (a release with its findings). Reading needs no key; publishing and adopting do.
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
from reissue.files.staging import Staging, remove_leftovers, scratch_folder
from reissue.ledger.chain import FORMAT, LedgerEntry, content_name, later_format, unusable
from reissue.ledger.exporting import exported_bytes, is_exported, stage_release, table_parts
from reissue.ledger.fingerprints import FORM, PERSON
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
from reissue.ledger.pack import pack_schema, unpack_frame, unpack_people, unpack_presences
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
        """Use `Ledger.open` or `Ledger.create`; `check` is the value by which the ledger recognizes its key."""
        self.store = store
        self._key_file = key_file
        self.head_file = head
        self._second = second
        self._check = check
        self._sealed: set[str] = set()
        self.unwritten = ""
        """Why a head or the witness failed after the last entry; empty if none did."""
        self._scratch = ExitStack()
        self._folder: Path | None = None
        """A folder with files from a database, for functions that read paths."""

    def __repr__(self) -> str:
        """The number of releases, in one sentence."""
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
        pack_schema(schema, content_name)  # unreadable files are noticed before anything is created
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
        """Close the store."""
        self.store.close()
        self._scratch.close()
        self._folder = None

    @property
    def name(self) -> str:
        """The place of the ledger, without user or password."""
        return self.store.name

    @cached_property
    def key(self) -> Key:
        """The secret key, checked to be this ledger's."""
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
        """Check whether the entries are proven to be exactly those that the holder wrote.

        `noted` is a hash that was noted elsewhere. Files are checked when they are read, and all of them by `verify`.
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
        """The given key, this ledger's or not; or the error that says why there is none."""
        try:
            return find_key(self._key_file)
        except InputError as problem:
            return problem

    def _heads(self, given: Key | InputError) -> Heads:
        """The heads of the ledger, and of the one that the given key belongs to."""
        checks = [self._check, *([given.check] if isinstance(given, Key) else [])]
        return Heads.read(self.head_file, self._second, dict.fromkeys(checks))

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """Open the only writer of an intact ledger; the heads are updated when everything is committed."""
        if self.head_file is not None:
            refuse_unwritable(self.head_file)
        if self.second_file is not None:
            remove_leftovers(self.second_file.parent)  # leftovers of a killed writer
        key = self.key
        with self.store.writing(key.seal) as writer:
            before = len(writer.entries)
            self._refuse_broken(self._judged(writer.entries, key, self._heads(key)))
            yield writer
        self._committed(writer.entries, key, new=len(writer.entries) > before)

    def _committed(self, entries: Sequence[LedgerEntry], key: Key, *, new: bool = True, over: bool = False) -> None:
        """Read back what was committed, write the heads and tell the witness; failures go to `unwritten`.

        By then everything is committed, and a ledger may be ahead of its heads: the next writer catches up.
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
        """The second head of the ledger on this machine; None if there is none."""
        return None if self._second is None else self._second.own(self._check)

    def _refuse_broken(self, trust: Trust) -> None:
        if trust.changed:
            raise unusable(self.name, trust.changed[0])
        if trust.behind:
            raise DataError(f"The ledger '{self.name}' does not fit its head. {trust.behind[0]}")

    def accept(self, why: str) -> Trust:
        """Record that the ledger is continued as it is, though it does not match its heads, or has none here.

        For a backup after which no release went out, and for a machine that never saw the ledger. It vouches for no
        entry: entries that were changed, or not written with the key, are not accepted. Returns what was accepted.
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
        """Caveats for whoever continues the ledger: what is missing to prove it, and what was accepted before."""
        return (*self.trust().missing, *accepted_words(self.store.found()))

    # --- what it says ------------------------------------------------------------------------------------------------

    def entries(self) -> list[LedgerEntry]:
        """All entries of an intact ledger, in order."""
        given = self._given_key()
        heads = self._heads(given)
        entries = self.store.found()
        self._refuse_broken(self._judged(entries, given, heads))
        return entries

    @property
    def schema(self) -> Schema:
        """The schema of the next release, with its policy."""
        return self.schema_of(self.entries())

    def schema_of(self, entries: Sequence[LedgerEntry]) -> Schema:
        """The schema that is in force after some entries."""
        entry = next(entry for entry in reversed(entries) if entry.kind in {"begin", "schema"})
        return Schema.loads(entry.content["schema"], folder=self._folder_with(entry.files.values()))

    @property
    def policy(self) -> Policy:
        """The policy of the next release."""
        return Policy.of(self.schema)

    @property
    def releases(self) -> tuple[Recorded, ...]:
        """All releases, in the order published."""
        return releases_of(self.entries())

    def release(self, number: int) -> Recorded:
        """One release by its number."""
        return _numbered(self.releases, number)

    def tables(self, release: Recorded) -> dict[str, pl.DataFrame]:
        """The tables of a release as published, in memory."""
        return {name: pl.concat(self.parts(release, name)) for name in release.tables}

    def parts(self, release: Recorded, table: str) -> Iterator[pl.DataFrame]:
        """Yield a table of a release part by part, each checked; a table not stored in parts is a single part."""
        return table_parts(release, table, self.store.read)

    def published(self, release: Recorded, schema: Schema) -> "PublishedRelease":
        """A release for attacks: what was published, and who is in which group, if that is known."""
        from reissue.published import read_published

        if release.counts:
            from reissue.ledger.counts import counted_release

            return counted_release(self.tables(release), self.store.read(release.files["counts"]), schema)
        return read_published(self._tables(release, self.tables(release), self.presences(release, schema)), schema)

    def followed(self, release: Recorded, schema: Schema, people: pl.Series | None = None) -> "PublishedRelease":
        """A release for attacks that only follow people: who is in which group, for all or some people."""
        from reissue.published import read_published

        known = self.presences(release, schema, people)
        return read_published(self._tables(release, {} if known else self.tables(release), known), schema)

    @staticmethod
    def _tables(release: Recorded, frames: Mapping[str, pl.DataFrame], presences: Presences | None) -> "Tables":
        from reissue.published import Tables

        asked = parse(release.record.requirement) if presences is not None else None
        return Tables(frames, presences=presences, requirement=asked, e=release.record.e)

    def presences(self, release: Recorded, schema: Schema, people: pl.Series | None = None) -> Presences | None:
        """Who is in which group of a release, for all or some people; None if that is unknown."""
        if "roster" not in release.files or schema.identifier is None:
            return None
        return unpack_presences(self.store.read(release.files["roster"]), people)

    def memory(self, releases: Sequence[Recorded], schema: Schema, method: str) -> Memory:
        """The memory of a method after some releases; for the first release it has only the method's key.

        If the last release was withdrawn, it is the memory of the one before. If an earlier one was withdrawn, later
        releases were made after it, and their memory is kept: it holds people to promises of a release that nobody has,
        which restricts the method more than necessary, but never less. What is promised of a series (the same values
        for life, m or e of them possible) holds for any part of it, since someone with fewer releases can rule out
        less. Probabilities are not such a promise, and may be higher without a release than with it; the attacks judge
        them, starting again from the releases that are out.
        """
        own = self.key.derive("memory")
        last = releases[-1] if releases else None
        if last is None or "memory" not in last.files:
            return Memory(fingerprint(schema), method, own)
        return replace(read_memory(self.kept("memory", last), "The memory of this ledger"), key=own)

    def forms(self, releases: Sequence[Recorded]) -> pl.DataFrame:
        """The relaxed identifier form of everybody in some releases; null where an earlier version recorded them.

        The last release that stores forms has those of all before it.
        """
        whole = [place for place, one in enumerate(releases) if "forms" in one.files]
        start = whole[-1] if whole else 0
        found = [unpack_frame(self.kept("forms", releases[place])) for place in whole[-1:]]
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

    def kept(self, what: str, last: Recorded) -> bytes:
        """A file as of a release; if only those of later, withdrawn releases are left, the first of them."""
        from reissue.ledger.store import MissingFileError

        for one in self.releases[last.number :]:
            try:
                return self.store.read(last.files[what])
            except MissingFileError:
                last = one if what in one.files else last
        return self.store.read(last.files[what])

    # --- what is done with it ----------------------------------------------------------------------------------------

    def export(self, number: int, path: str | Path, *, force: bool = False) -> list[str]:
        """Write a release again, as CSV or Parquet byte for byte, with further tables beside the first.

        A release that is stored in parts goes to a folder if the path has no ending.
        """
        with Staging() as staging:
            places = self.stage(number, path, staging, force=force)
            staging.place()
        return places

    def stage(
        self, number: int, path: str | Path, staging: Staging, *, force: bool = False, dialect: Dialect = PLAIN
    ) -> list[str]:
        """Stage the files of a release, to be placed with others; return their paths."""
        return stage_release(self._handed_out(number), path, staging, self.store.read, force=force, dialect=dialect)

    def is_exported(self, number: int, path: str | Path, dialect: Dialect = PLAIN) -> bool:
        """Whether a folder or file already holds exactly what `stage` would write there."""
        return is_exported(self.release(number), Path(path), self.store.read, dialect)

    def contents(self, number: int, name: str) -> list[bytes]:
        """What `export` would write to files of this name; empty if the bytes are not stored.

        Not stored are those of releases in parts, and of formats that libraries write differently each time.
        """
        return exported_bytes(self._handed_out(number), name, self.store.read)

    def _handed_out(self, number: int) -> Recorded:
        """A release that was not withdrawn."""
        release = self.release(number)
        if release.withdrawn is not None:
            raise InputError(
                f"Release {number} was withdrawn: later ones are made as if nobody had it. It is not handed out any "
                "more."
            )
        return release

    def amend(self, schema: Schema) -> bool:
        """Record a changed policy or taxonomy for future releases; return False if nothing has changed."""
        with self.writing() as writer:
            return self.amend_by(writer, schema)

    def amend_by(self, writer: "Writer", schema: Schema) -> bool:
        """The same, committed together with whatever else the writer adds."""
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
        """Refuse a taxonomy with which attacks would misread earlier releases."""
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
        """Record that a release was never sent, and why: future releases are made and attacked without it.

        Its number stays in use. It cannot be undone: a release that somebody has must never be withdrawn.
        """
        why = _reason(why, "Say in a line of text why the release was never sent.")
        with self.writing() as writer:
            release = _numbered(releases_of(writer.entries), number)
            if release.withdrawn is not None:
                raise InputError(f"Release {number} was withdrawn already.")
            writer.append("withdrawal", {"release": number, "why": why, "time": _now(), "files": {}})

    def differs(self, schema: Schema) -> bool:
        """Whether a schema, with its files and policy, differs from the ledger's."""
        text, _ = pack_schema(schema, content_name)
        return self.schema.dumps() != Schema.loads(text, self.schema.folder).dumps()

    def verify(self, head: str | None = None) -> list[str]:
        """Return what is wrong with the ledger and what is missing to prove it, in words; nothing if it is proven.

        `head` is the hash of an entry that was noted elsewhere, and must still be there. `examine` separates the two.
        """
        trust = self.examine(head)
        return [*trust.problems, *trust.missing]

    def examine(self, head: str | None = None) -> Trust:
        """Check that the entries are exactly those that the holder wrote, and that the files are unchanged."""
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
        """A folder with checked files of the ledger, for functions that read paths."""
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
    """Refuse to begin a ledger if this machine knows one with the same key."""
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
