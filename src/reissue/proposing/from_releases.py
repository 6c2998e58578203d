"""Guess a schema from published files, for people who have nothing but the files; and an overview of such files.

Published values are ranges, prefixes, sets and stars: a column that has such values was generalized by somebody, so it
is a quasi-identifier. The sensitive column is recognized by its name, else it is the last column that was left as it
is. Every assumption is stated in a sentence; where no reasonable guess is possible, an error says what to write.

O(columns x rows), and a little for each different text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from reissue.contingency.reading import COLUMN
from reissue.data.frames import first_rows
from reissue.errors import DataError, InputError, SchemaError, nearest_column
from reissue.files.dialect import FOUND, Dialect
from reissue.files.tables import nested
from reissue.proposing.column_names import DIRECT, PERSON, PROVIDER, QUASI, SENSITIVE
from reissue.proposing.published_columns import PublishedColumn
from reissue.published import Tables, order_hint, read_tables, refuse_counts, releases_among
from reissue.randomized.side import CLASS, TRUE
from reissue.release.averages import STATISTICS
from reissue.release.release import SIDE, Release
from reissue.schema import Role, Schema
from reissue.words import visible

__all__ = ["ColumnHints", "FileSummary", "GuessedSchema", "Overview", "given_or_guessed", "guess", "look"]

_WRITE = "Write a schema (`reissue init` proposes one) and give it with --schema."


@dataclass(frozen=True)
class GuessedSchema:
    """A schema that was guessed, and the assumptions behind it."""

    schema: Schema
    assumed: tuple[str, ...] = ()
    """The assumptions, in whole sentences."""
    tables: tuple[Tables, ...] = field(default=(), compare=False, repr=False)
    """The tables that were read on the way, so that they need not be read again; empty for our own releases."""

    def as_toml(self) -> str:
        """The schema as TOML, with the assumptions as comments."""
        return "".join(f"# {visible(sentence)}\n" for sentence in self.assumed) + f"\n{self.schema.dumps()}"


@dataclass(frozen=True)
class ColumnHints:
    """What the user says about columns; the rest is guessed."""

    sensitive: str | None = None
    quasi: tuple[str, ...] = ()
    identifier: str | None = None
    provider: str | None = None

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each column."""
        named = [*dict.fromkeys(self.quasi), *filter(None, (self.sensitive, self.identifier, self.provider))]
        if len(set(named)) < len(named):
            raise InputError("A column can have one role only: --quasi, --sensitive, --identifier or --providers.")
        single = {self.sensitive: Role.SENSITIVE, self.identifier: Role.IDENTIFIER, self.provider: Role.PROVIDER}
        return dict.fromkeys(self.quasi, Role.QUASI) | {name: role for name, role in single.items() if name}


def given_or_guessed(path: Path | None, hints: ColumnHints, releases: Sequence[Any], **more: Any) -> GuessedSchema:
    """Read the schema from a file, or guess it from the releases with the arguments `more`."""
    if path is None:
        return guess(releases, hints, **more)
    if hints.roles:
        raise InputError("Give --schema, or --quasi, --sensitive and --identifier without one, not both.")
    return GuessedSchema(Schema.load(path))


def guess(
    releases: Sequence[Any],
    hints: ColumnHints | None = None,
    *,
    members: Sequence[Any] | None = None,
    population: Any = None,
    dialect: Dialect = FOUND,
) -> GuessedSchema:
    """Guess the schema of published tables: paths, dataframes or releases. Our own releases have one.

    `members` are tables of the people in each release, which show the identifier if published tables lack it. A column
    of names can only be compared with them, or with a table of the whole `population`, if it has their values.
    """
    if isinstance(releases, str | Path | Mapping) or not isinstance(releases, Sequence):
        raise InputError("The releases must be a list of paths, dataframes or releases, in the order published.")
    own = [release.schema for release in releases if isinstance(release, Release)]
    if own:
        return GuessedSchema(own[-1], ("The schema is the one that the releases were made by.",))
    roles = (hints or ColumnHints()).roles
    given = [_Tables.read(one, f"table {number} of people", dialect) for number, one in enumerate(members or (), 1)]
    crowd = [] if population is None else [_Tables.read(population, "the table of people", dialect)]
    every = [_Tables.read(release, f"release {number}", dialect) for number, release in enumerate(releases, start=1)]
    if not every:
        raise InputError("Give at least one published table.")
    tables = [one for one in every if not one.tables.counts]
    if not tables:
        return _of_counts(every, roles)
    for table in tables:
        refuse_counts(table.tables, None, table.name, tuple(roles))
    elsewhere = _identifier(given, tables, roles)
    columns = _columns(tables, {name: role for name, role in roles.items() if name != elsewhere})
    choices = _comparable(_choose(columns, roles, _beside(tables)), [*given, *crowd])
    means = {f"{one.column.name}_{name}" for one in choices if one.role == Role.QUASI for name in STATISTICS}
    averages = [one.column.name for one in choices if one.column.name in means - set(roles)]
    choices = [one for one in choices if one.column.name not in averages]
    kept = {choice.column.name: choice.role for choice in choices if choice.role != Role.DROP}
    for role, what in ((Role.SENSITIVE, "--sensitive COLUMN"), (Role.QUASI, "--quasi A,B")):
        if role not in kept.values():
            raise SchemaError(f"No column of these files looks {_LOOKS[role]}. Name it with {what}. Or: {_WRITE}")
    hierarchies = {one.column.name: one.column.hierarchy for one in choices if one.role == Role.QUASI}
    assumed = [*_sentences(choices), *_differences(tables)]
    assumed += [f"The column '{visible(name)}' is taken for averages of groups, and left out." for name in averages]
    assumed += [_STRANGE.format(visible(name)) for name in _not_in_register(choices, [*given, *crowd])]
    if tables[0].tables.numbered:
        assumed.insert(1, "The column 'group' is taken to number the groups, inside which values are in no order.")
    if all(one.tables.slotted for one in tables):
        assumed.insert(2, "The column 'slot' is taken to number rows that are followed from release to release.")
    if elsewhere is not None and Role.IDENTIFIER not in kept.values():
        kept[elsewhere] = Role.IDENTIFIER
        assumed.insert(1, f"'{elsewhere}' is taken to be the identifier in the tables of people.")
    return GuessedSchema(Schema(kept, hierarchies), tuple(assumed), tuple(one.tables for one in every))


_NAMED = "its name says so"
_HEADER = "it is the header of a cross table"
_LOOKS = {Role.SENSITIVE: "sensitive", Role.QUASI: "like something that others know about a person"}


# --- the tables ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Tables:
    """A release as published, with its name."""

    name: str
    tables: Tables

    @classmethod
    def read(cls, data: Any, name: str, dialect: Dialect) -> "_Tables":
        if isinstance(data, str | Path) and Path(data).is_dir():
            raise SchemaError(f"'{data}' is a folder with a file for each provider: that needs a schema. {_WRITE}")
        tables = read_tables(data, dialect=dialect)
        name = name if tables.path is None else f"'{tables.path}'"
        _filled(tables.main, name)
        return cls(name, tables)

    @cached_property
    def columns(self) -> dict[str, pl.Series]:
        """All columns as text, except group numbers, group sizes, and columns of lists and the like."""
        found = self.tables.public
        return {name: series.cast(pl.String) for name, series in found.items() if not nested(series.dtype)}


def _filled(frame: pl.DataFrame, name: str) -> None:
    if not frame.height:
        raise DataError(f"{name[0].upper()}{name[1:]} has no rows: nothing was published there.")


def _columns(tables: Sequence[_Tables], given_roles: Mapping[str, Role]) -> list[PublishedColumn]:
    """The columns that any table has; named ones must be among them."""
    found = [table.columns for table in tables]
    every = dict.fromkeys(name for columns in found for name in columns)
    for name in given_roles:
        if name not in every:
            nobody = f"{tables[0].name} has no" if len(tables) == 1 else "None of these files has a"
            raise SchemaError(f"{nobody} column '{name}'." + nearest_column(name, list(every)))
    first = tables[0].tables
    numbered, apart = first.numbered, set(first.values.columns) if first.apart else set()
    return [
        PublishedColumn(name, tuple(columns[name] for columns in found if name in columns), numbered, name in apart)
        for name in every
    ]


def _identifier(people: Sequence[_Tables], tables: Sequence[_Tables], given_roles: Mapping[str, Role]) -> str | None:
    """The identifier: a column of the tables of people that published tables lack."""
    published = {name for table in tables for name in table.tables.main.columns}
    common = [name for name in (people[0].columns if people else {}) if all(name in one.columns for one in people)]
    named = [name for name, role in given_roles.items() if role == Role.IDENTIFIER]
    if named:
        return named[0] if named[0] in common and named[0] not in published else None
    own = [
        PublishedColumn(name, tuple(one.columns[name] for one in people)) for name in common if name not in published
    ]
    unique = [column for column in own if column.unique]
    spoken = [column for column in unique if column.words & DIRECT or column.words & PERSON]
    return next((column.name for column in [*spoken, *unique]), None)


def _differences(tables: Sequence[_Tables]) -> list[str]:
    """The columns that not all files have, and how the files are compared then."""
    every = dict.fromkeys(name for table in tables for name in table.columns)
    lacking = {table.name: [name for name in every if name not in table.columns] for table in tables}
    said = [f"{name} lacks {', '.join(map(repr, columns))}" for name, columns in lacking.items() if columns]
    if not said:
        return []
    text = "; ".join(said)
    return [
        (
            f"The files have different columns: {text}. They are compared by what they share, and each is judged by "
            "itself with all that it shows."
        )
    ]


def _of_counts(tables: Sequence[_Tables], roles: Mapping[str, Role]) -> GuessedSchema:
    """The schema of tables of counts: what they classify people by, of which one may be sensitive."""
    counts = [one for table in tables for one in table.tables.counts]
    parts: dict[str, list[pl.Series]] = {}
    for one in counts:
        for name in one.dimensions:
            parts.setdefault(name, []).append(one.categories[name])
    columns = [PublishedColumn(name, tuple(found)) for name, found in parts.items()]
    named = [one.name for one in columns if one.words & SENSITIVE]
    found = {one.name: Role.QUASI for one in columns} | dict.fromkeys(
        named[-1:] or [COLUMN] * (COLUMN in parts), Role.SENSITIVE
    )
    kept = {**found, **{name: role for name, role in roles.items() if name in found}}
    hierarchies = {one.name: one.hierarchy for one in columns if kept[one.name] == Role.QUASI}
    sensitive = [name for name, role in kept.items() if role == Role.SENSITIVE]
    said = [
        "These releases are tables of counts: each row counts people, and is nobody's record.",
        *(f"'{name}' is taken to be sensitive: {_NAMED if name in named else _HEADER}." for name in sensitive),
        *dict.fromkeys(sentence for one in counts for sentence in one.assumed),
        _ORDER,
    ]
    return GuessedSchema(Schema(kept, hierarchies), tuple(said), tuple(one.tables for one in tables))


# --- the roles -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Choice:
    column: PublishedColumn
    role: Role
    why: str = ""
    """A phrase; empty if the user said so."""


def _beside(tables: Sequence[_Tables]) -> dict[str, tuple[Role, str]]:
    """What side tables of randomized values tell of columns, and how it is said."""
    named = {name for one in tables for name in one.tables.frames.get(SIDE, pl.DataFrame()).columns}
    values = [name.removeprefix(TRUE) for name in sorted(named) if name.startswith(TRUE)]
    if not values:
        return {}
    said = (Role.SENSITIVE, "the side table says how its values were randomized")
    return {CLASS: (Role.DROP, "it numbers the classes of the side table"), **dict.fromkeys(values, said)}


def _choose(
    columns: Sequence[PublishedColumn], given_roles: Mapping[str, Role], beside: Mapping[str, tuple[Role, str]]
) -> list[_Choice]:
    """A role for each column: as given, else as side tables tell, else by name and values."""
    taken = set(given_roles.values())
    made: dict[str, _Choice] = {}
    for column in columns:
        if column.name in given_roles:
            choice: _Choice | None = _Choice(column, given_roles[column.name])
        elif column.name in beside and beside[column.name][0] not in given_roles.values():
            choice = _Choice(column, *beside[column.name])
        else:
            choice = _set_aside(column, taken)
        if choice is not None:
            made[column.name] = choice
            taken.add(choice.role)
    rest = [column for column in columns if column.name not in made]
    if Role.SENSITIVE not in taken:
        made |= {choice.column.name: choice for choice in _sensitive(rest)}
    known = Role.QUASI in given_roles.values()
    made |= {column.name: _quasi(column, given_roles=known) for column in rest if column.name not in made}
    return [made[column.name] for column in columns]


def _set_aside(column: PublishedColumn, taken: set[Role]) -> _Choice | None:
    """Columns that can be neither sensitive nor quasi-identifiers."""
    if not column.texts:
        return _Choice(column, Role.DROP, "it is empty")
    if not column.name:
        return _Choice(column, Role.DROP, "it has no name")
    if column.counting and (column.long or column.words <= PERSON):
        return _Choice(column, Role.DROP, "it numbers the rows")
    if column.words & DIRECT or (column.words and column.words <= PERSON):
        if column.unique and Role.IDENTIFIER not in taken:
            return _Choice(column, Role.IDENTIFIER, "rows of one person can be followed by it, a pseudonym or a name")
        return _Choice(column, Role.DROP, "it names people, and not one for each row")
    named = any(column.words & words for words in (SENSITIVE, *QUASI.values()))
    return None if named or column.general or column.apart else _not_about_people(column, taken)


def _not_about_people(column: PublishedColumn, taken: set[Role]) -> _Choice | None:
    if column.words & PROVIDER and not column.nearly_unique and Role.PROVIDER not in taken:
        return _Choice(column, Role.PROVIDER, "these files say who contributed a record, so they are private copies")
    if column.prose or (column.nearly_unique and not column.numeric and not column.dated):
        return _Choice(column, Role.DROP, "nearly every row has its own text")
    return None


def _sensitive(columns: Sequence[PublishedColumn]) -> list[_Choice]:
    """The table of sensitive values; else the last column with such a name; else the last column left as it was."""
    apart = [column for column in columns if column.apart]
    if apart:
        return [_Choice(column, Role.SENSITIVE, "it was published apart from the others") for column in apart]
    known = [column for column in columns if any(column.words & words for words in QUASI.values())]
    named = [column for column in columns if column.words & SENSITIVE and column not in known]
    if named:
        others = [_Choice(column, Role.DROP, "it looks sensitive too, and one is enough") for column in named[:-1]]
        return [*others, _Choice(named[-1], Role.SENSITIVE, "its name says so")]
    exact = [column for column in columns if column not in known and not column.general]
    return [_Choice(exact[-1], Role.SENSITIVE, "it is the last column that was left as it is")] if exact else []


def _quasi(column: PublishedColumn, *, given_roles: bool) -> _Choice:
    """What others may know about a person."""
    if given_roles:
        return _Choice(column, Role.DROP, "it was not named")
    if len(column.texts) == 1 and not column.general:
        return _Choice(column, Role.DROP, "it is the same in every row")
    why = next((why for why, words in QUASI.items() if column.words & words), None)
    if why is not None or column.general or column.numbered or column.dated:
        return _Choice(column, Role.QUASI, f"it {why}" if why else "it was generalized")
    if column.few:
        return _Choice(column, Role.QUASI, "it has few values")
    return _Choice(column, Role.DROP, "it has many exact values, which nobody is taken to know")


def _comparable(choices: Sequence[_Choice], people: Sequence[_Tables]) -> list[_Choice]:
    """The quasi-identifiers without those whose names nobody in the tables of people has."""
    found = [table.columns for table in people]

    def strange(column: PublishedColumn) -> bool:
        known = [set(one[column.name].drop_nulls()) for one in found if column.name in one]
        return bool(column.names) and any(not column.members <= values for values in known)

    why = "it shows names that nobody in the tables of people has, and only a schema tells whom they include"
    return [
        _Choice(one.column, Role.DROP, why) if one.role == Role.QUASI and strange(one.column) else one
        for one in choices
    ]


def _not_in_register(choices: Sequence[_Choice], people: Sequence[_Tables]) -> list[str]:
    """Quasi-identifiers of codes with texts that are nobody's in the tables of people, and no first digits."""
    found = [table.columns for table in people]
    codes = [one.column for one in choices if one.role == Role.QUASI and one.column.hierarchy.kind == "prefix"]
    shown = [(column, {text for text in column.members if not text.endswith("*")}) for column in codes]
    return [
        column.name
        for column, texts in shown
        if any(not texts <= set(one[column.name].drop_nulls()) for one in found if column.name in one)
    ]


# --- in words --------------------------------------------------------------------------------------------------------


_TAKEN = {
    Role.SENSITIVE: "'{}' is taken to be sensitive: {}.",
    Role.IDENTIFIER: "'{}' is taken to be the identifier: {}.",
    Role.PROVIDER: "'{}' is taken to name the provider: {}.",
    Role.DROP: "'{}' is dropped: {}.",
}
_STRANGE = (
    "'{}' shows texts that nobody in the tables of people has. They are taken for values of other people. If one "
    "stands for several values (others, a region), say so in a schema: else people are missed who have it."
)
_STAY = "Sensitive values are taken to stay the same while a person is in the releases. If not, a schema says how."
_ORDER = "The releases are taken to be published in the order given."


def _sentences(choices: Sequence[_Choice]) -> list[str]:
    """The assumptions in sentences."""
    quasi = [choice.column for choice in choices if choice.role == Role.QUASI]
    sentences = [f"Others are taken to know {_list(quasi)} of a person (quasi-identifiers)."]
    for role, sentence in _TAKEN.items():
        sentences += [sentence.format(one.column.name, one.why) for one in choices if one.role == role and one.why]
    named = [column for column in quasi if column.hierarchy.kind == "flat" and len(column.members) > 2]
    if named:
        sentences.append(
            f"The values of {_list(named)} are taken as names that do not include each other, but for *. If some do (a "
            "region and its towns), say so in a schema."
        )
    return [*sentences, _STAY, _ORDER]


def _list(columns: Sequence[PublishedColumn]) -> str:
    quoted = [f"'{column.name}'" for column in columns]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


@dataclass(frozen=True)
class FileSummary:
    """A release as it was read."""

    name: str
    rows: int
    columns: tuple[str, ...]
    first: Mapping[str, Any]
    """The first rows, as `first_rows` has them."""


@dataclass(frozen=True)
class Overview:
    """The files, the guessed roles, and what could not be guessed."""

    files: tuple[FileSummary, ...]
    columns: Mapping[str, Role]
    """All columns of all files with their roles; `drop` for unused ones."""
    assumed: tuple[str, ...] = ()
    """The assumptions, in whole sentences."""
    problem: str = ""
    """Why the roles could not be guessed, if so."""

    def as_dict(self) -> dict[str, Any]:
        """As plain texts and numbers."""
        return {**asdict(self), "columns": {name: str(role) for name, role in self.columns.items()}}


def look(releases: Sequence[Path], *, dialect: Dialect = FOUND) -> Overview:
    """Read files and guess the roles of their columns; where that fails, everything is still there to be named."""
    paths = releases_among(releases)
    tables = [read_tables(path, dialect=dialect) for path in paths]
    files = tuple(
        FileSummary(path.name, table.main.height, tuple(table.public), first_rows(table.main))
        for path, table in zip(paths, tables, strict=True)
    )
    names = list(dict.fromkeys(name for file in files for name in file.columns))
    nothing = dict.fromkeys(names, Role.DROP)
    hint = [sentence for sentence in [order_hint(paths)] if sentence]
    try:
        guessed = guess(tables, dialect=dialect)
    except (SchemaError, DataError) as problem:
        _refuse_empty(tables)
        return Overview(files, nothing, tuple(hint), str(problem))
    roles = {name: guessed.schema.columns.get(name, Role.DROP) for name in names}
    return Overview(files, nothing | roles, (*guessed.assumed, *hint))


def _refuse_empty(tables: Sequence[Tables]) -> None:
    for number, one in enumerate(tables, start=1):
        if not one.main.height:
            raise DataError(f"File {number} has no rows: nothing was published there.")
