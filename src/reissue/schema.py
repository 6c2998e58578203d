"""Schema: the role of each column and how its values generalize, read from and written to TOML."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit

from reissue.errors import SchemaError, TaxonomyError, nearest
from reissue.files.places import read_whole
from reissue.taxonomy.codings import KINDS, Hierarchy
from reissue.words import plural

__all__ = ["UNIDENTIFIED", "Options", "Role", "Schema", "Section", "section_toml", "toml_value"]

Section: TypeAlias = Mapping[str, Any]
"""A section of the schema file as parsed TOML, such as `[updates]` or `[policy]`, which a module of its own reads."""
Options: TypeAlias = Mapping[str, Any]
"""The options of a method by name, which its registration checks; plug-ins have their own too."""


_SYNONYMS = {"quasi-identifier": "quasi", "quasiidentifier": "quasi", "qi": "quasi", "id": "identifier"}
"""What others call the roles; a schema that is written has our names."""


class Role(StrEnum):
    """What a column is for.

    A column has one of the roles `identifier`, `provider`, `quasi`, `sensitive`, `keep` and `drop`. Columns without a
    role are dropped.

    Examples
    --------
    >>> import reissue as ri
    >>> ri.Schema({"age": ri.Role.QUASI, "disease": ri.Role.SENSITIVE}).quasi
    ('age',)
    """

    IDENTIFIER = "identifier"
    """Names the person; never published."""
    PROVIDER = "provider"
    """Names who contributed the record; never published."""
    QUASI = "quasi"
    """Known to others, so it can be linked: generalized."""
    SENSITIVE = "sensitive"
    """What nobody should learn about a person."""
    KEEP = "keep"
    """Published as it is."""
    DROP = "drop"
    """Left out, like a column that is not named."""


_SINGLE = (Role.IDENTIFIER, Role.PROVIDER)
_LARGEST = 2**24
"""Maximum bytes of a schema file."""
_DEEPEST = 100
"""Maximum nesting of tables and lists."""
_NESTED = f"The schema nests tables or lists more than {_DEEPEST} levels deep."
_SECTIONS = ("columns", "person", "clean", "taxonomy", "updates", "policy", "evidence")
_SEVERAL = "several_rows"
UNIDENTIFIED = (
    "counts people, and nothing tells whether several providers hold records of the same person: whoever holds one "
    "knows all of them. Name the column that identifies people, and give copies that kept it; or, if every row is "
    f"somebody else's, say so in the schema:  [person]  {_SEVERAL} = false."
)
"""Why m-privacy cannot be shown by counting rows."""


@dataclass(frozen=True, repr=False)
class Schema:
    """The roles of columns, their taxonomies, how sensitive values may change, and the holder's policy.

    Load one from a file with `Schema.load`, write the roles out with `Schema.of_columns`, or let `propose` guess it.

    Examples
    --------
    >>> import reissue as ri
    >>> schema = ri.Schema.of_columns(identifier="patient", quasi=["age", "zip"], sensitive=["disease"])
    >>> schema.quasi
    ('age', 'zip')
    >>> schema.identifier
    'patient'
    """

    columns: Mapping[str, Role]
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    updates: Section = field(default_factory=dict)
    policy: Section = field(default_factory=dict)
    folder: Path = Path()
    """The folder to which relative paths in `updates` and `policy` refer."""
    several_rows: bool | None = None
    """Whether a person may have several rows (visits, claims, tests); then people are counted instead of rows.

    None: unknown. Methods then take every row for a person. If several providers may each hold a record of the same
    person, only an identifier, or an explicit False, shows that nobody has two.
    """
    clean: Section = field(default_factory=dict)
    """How tables are repaired when they are read; see `cleaning`."""
    evidence: Section = field(default_factory=dict)
    """Who gets releases under which conditions, and who answers for them; see `outcome.dossier`."""

    def __post_init__(self) -> None:
        roles = {name: _role(name, role) for name, role in self.columns.items()}
        object.__setattr__(self, "columns", roles)
        if roles.get("", Role.DROP) != Role.DROP:
            raise SchemaError("A column without a name can have no role. Give it a name in the data's first line.")
        for single in _SINGLE:
            if len(self.of(single)) > 1:
                raise SchemaError(f"At most one column may be the {single}; got {', '.join(self.of(single))}.")
        if self.several_rows and self.identifier is None:
            raise SchemaError(
                "Where people have several rows, a column must say whose each row is: give one the role identifier."
            )
        for name in self.hierarchies:
            if name not in roles:
                raise SchemaError(
                    f"There is a taxonomy for '{name}', which is no column of the schema."
                    + nearest(name, [*self.quasi, *self.sensitive])
                )
        # Roles can be changed in one place: the taxonomy of a dropped column does no harm.
        used = {name: one for name, one in self.hierarchies.items() if roles[name] in {Role.QUASI, Role.SENSITIVE}}
        object.__setattr__(self, "hierarchies", used)

    @classmethod
    def of_columns(
        cls,
        *,
        quasi: Sequence[str],
        sensitive: Sequence[str] = (),
        identifier: str | None = None,
        provider: str | None = None,
        keep: Sequence[str] = (),
        taxonomies: Mapping[str, Hierarchy] | None = None,
        updates: Section | None = None,
        policy: Section | None = None,
        several_rows: bool | None = None,
    ) -> "Schema":
        """A schema from lists of column names, for those who write no TOML."""
        if any(isinstance(names, str) for names in (quasi, sensitive, keep)):
            raise SchemaError("`quasi`, `sensitive` and `keep` must be lists of column names, not one text.")
        roles = dict.fromkeys(quasi, Role.QUASI) | dict.fromkeys(sensitive, Role.SENSITIVE)
        roles |= dict.fromkeys(keep, Role.KEEP)
        roles |= {identifier: Role.IDENTIFIER} if identifier else {}
        roles |= {provider: Role.PROVIDER} if provider else {}
        if len(roles) < len(quasi) + len(sensitive) + len(keep) + bool(identifier) + bool(provider):
            raise SchemaError("A column can have one role only.")
        return cls(roles, dict(taxonomies or {}), updates or {}, policy or {}, several_rows=several_rows)

    def of(self, role: Role) -> tuple[str, ...]:
        """Return the columns with this role, in order."""
        return tuple(name for name, its in self.columns.items() if its == role)

    def __repr__(self) -> str:
        """The roles in one sentence."""
        named = [(role, self.of(role)) for role in Role]
        said = "; ".join(f"{role}: {', '.join(columns)}" for role, columns in named if columns)
        return f"Schema of {plural(len(self.columns), 'column')}: {said}."

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.of(Role.QUASI)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns; several are taken together."""
        return self.of(Role.SENSITIVE)

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are published as they are."""
        return self.of(Role.KEEP)

    @property
    def identifier(self) -> str | None:
        """The column that names the person, if there is one."""
        return next(iter(self.of(Role.IDENTIFIER)), None)

    @property
    def provider(self) -> str | None:
        """The column that names the provider, if there is one."""
        return next(iter(self.of(Role.PROVIDER)), None)

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that the data must have."""
        return tuple(name for name, role in self.columns.items() if role != Role.DROP)

    def refuse_several_rows(self, what: str) -> None:
        """Refuse repeated records, on behalf of something that needs one row per person."""
        if self.several_rows:
            raise SchemaError(
                f"{what} needs one row per person, and the schema says that people have several ([person] "
                f"{_SEVERAL} = true). Bring the table to one row per person, or release it by `reissue anonymize`."
            )

    def refuse_repairs(self) -> None:
        """Refuse to leave repairs out, on behalf of engines that never hold the whole table."""
        if self.clean:
            raise SchemaError(
                "The schema repairs tables ([clean]), which needs them in memory. Write a repaired copy with `reissue "
                "clean --recipe SCHEMA.toml --out COPY`, and remove the section."
            )

    def refuse_unidentified(self, what: str) -> None:
        """Refuse data in which rows of different providers may be the same person's."""
        if self.identifier is None and self.several_rows is not False:
            raise SchemaError(f"{what} {UNIDENTIFIED}")

    def hierarchy(self, column: str) -> Hierarchy:
        """Return how a column is generalized; automatic if the schema does not say."""
        return self.hierarchies.get(column, Hierarchy())

    @property
    def updates_by_column(self) -> Mapping[str, Section]:
        """The `[updates]` section of each sensitive column; empty if there is none.

        A single section stands for all columns only if it says that values never change, or if there is only one
        column.
        """
        section, columns = self.updates, self.sensitive
        own = (
            bool(section) and set(section) <= set(columns) and all(isinstance(one, Mapping) for one in section.values())
        )
        if own and (len(columns) > 1 or "chances" not in section):
            return dict(section)
        same = bool(section) and (len(columns) == 1 or set(section) == {"none"})
        return dict.fromkeys(columns, section) if same else {}

    @property
    def values_stay(self) -> bool:
        """Whether `[updates]` says that the values of all sensitive columns never change."""
        said = self.updates_by_column
        return bool(said) and set(said) == set(self.sensitive) and all(one.get("none") is True for one in said.values())

    def of_sensitive(self, column: str) -> "Schema":
        """Return the schema of one sensitive column, without the others."""
        others = [name for name in self.sensitive if name != column]
        said = self.updates_by_column.get(column, {})
        policy = {key: _of_column(value, others) for key, value in self.policy.items()}
        made = self.with_roles(dict.fromkeys(others, Role.DROP))
        return replace(made, updates=said, policy=policy)

    def with_roles(self, roles: Mapping[str, Role | str]) -> "Schema":
        """Return the schema with some roles changed."""
        columns = {**self.columns, **{name: _role(name, role) for name, role in roles.items()}}
        kept = {n: h for n, h in self.hierarchies.items() if columns.get(n) in {Role.QUASI, Role.SENSITIVE}}
        several = None if self.several_rows and Role.IDENTIFIER not in columns.values() else self.several_rows
        return replace(self, columns=columns, hierarchies=kept, several_rows=several)

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """Read a schema file."""
        path = Path(path)
        try:
            text = read_whole(path, _LARGEST).decode("utf-8-sig")
        except FileNotFoundError:
            raise SchemaError(f"The schema file '{path}' does not exist. `reissue init` writes one.") from None
        except (OSError, UnicodeDecodeError):
            raise SchemaError(
                f"The schema file '{path}' cannot be read: it must be a regular file of UTF-8 text, of at most 16 MB."
            ) from None
        return cls.loads(text, folder=path.parent)

    @classmethod
    def loads(cls, text: str, folder: Path = Path()) -> "Schema":
        """Read a schema from TOML text; relative paths in it start at `folder`."""
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise SchemaError(f"The schema is not valid TOML: {problem}") from None
        except RecursionError:
            raise SchemaError(_NESTED) from None
        return cls._of_sections(document, folder)

    @classmethod
    def clean_in(cls, path: Path) -> Section:
        """Return the section `[clean]` of a schema file, or of a file that has only this section."""
        try:
            document = tomllib.loads(read_whole(path, _LARGEST).decode("utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
            raise SchemaError(f"'{path}' cannot be read: it must be a file of TOML, such as a schema.") from None
        section = document.get("clean", {})
        if not isinstance(section, Mapping):
            raise SchemaError("[clean] must be a section of its own, not a single value.")
        return section

    @classmethod
    def _of_sections(cls, document: Mapping[str, Any], folder: Path) -> "Schema":
        _refuse_nesting(document)
        for section in document:
            if section not in _SECTIONS:
                raise SchemaError(f"The schema has an unknown section '{section}'." + nearest(section, _SECTIONS))
        if not isinstance(document.get("columns"), Mapping) or not document["columns"]:
            raise SchemaError('The schema needs a [columns] section with lines like  age = "quasi".')
        for section in set(document) - {"columns"}:
            if not isinstance(document[section], Mapping):
                raise SchemaError(f"[{section}] must be a section of its own, not a single value.")
        hierarchies = {
            name: _read_hierarchy(name, entry, folder) for name, entry in document.get("taxonomy", {}).items()
        }
        several = _read_person(document.get("person", {}))
        others = document.get("updates", {}), document.get("policy", {})
        beside = document.get("clean", {}), document.get("evidence", {})
        return cls(document["columns"], hierarchies, *others, folder, several, *beside)

    @classmethod
    def read(cls, given: "Schema | Mapping[str, Any] | str | Path") -> "Schema":
        """A schema as it is, from a dict, or from the file at a path.

        A dict has the roles of columns, and the other sections of a schema file beside them:
        `{"age": "quasi", "disease": "sensitive", "policy": {"require": "k=5"}}`. Roles may have a section of their own
        as in the file: `{"columns": {"age": "quasi"}, "taxonomy": {"age": {"flat": True}}}`.
        """
        if isinstance(given, Schema):
            return given
        if isinstance(given, str | Path):
            return cls.load(given)
        if not isinstance(given, Mapping):
            raise SchemaError("The schema must be a Schema, a dict of roles by column, or the path of a schema file.")
        if isinstance(given.get("columns"), Mapping):
            return cls._of_sections(given, Path())
        # A role is a text and a section a mapping: a column may be called `policy`.
        sections = {name: one for name, one in given.items() if name in _SECTIONS and isinstance(one, Mapping)}
        return cls._of_sections({"columns": {n: r for n, r in given.items() if n not in sections}, **sections}, Path())

    def dumps(self) -> str:
        """Return the schema as TOML text, which `loads` with the same folder reads."""
        document: dict[str, Any] = {"columns": {name: str(role) for name, role in self.columns.items()}}
        document |= {} if self.several_rows is None else {"person": {_SEVERAL: self.several_rows}}
        document |= {"clean": {name: _inline(value) for name, value in self.clean.items()}} if self.clean else {}
        if self.hierarchies:
            document["taxonomy"] = {name: _write_hierarchy(h, self.folder) for name, h in self.hierarchies.items()}
        document |= {"updates": dict(self.updates)} if self.updates else {}
        document |= {"policy": dict(self.policy)} if self.policy else {}
        document |= {"evidence": dict(self.evidence)} if self.evidence else {}
        return tomlkit.dumps(document)


def _of_column(value: Any, others: Sequence[str]) -> Any:
    """A key of the policy without what it says about other sensitive columns."""
    if isinstance(value, Mapping):
        return {key: one for key, one in value.items() if key not in others}
    return [one for one in value if one not in others] if isinstance(value, list | tuple) else value


def _refuse_nesting(document: Any) -> None:
    """Refuse deep nesting level by level: a recursive function would exceed Python's recursion limit."""
    level = [document]
    for _ in range(_DEEPEST):
        inner = [item.values() if isinstance(item, dict) else item for item in level]
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
    if level:
        raise SchemaError(_NESTED)


def _role(name: str, role: object) -> Role:
    if not isinstance(role, str):
        raise SchemaError(f"The role of column '{name}' must be a text. A name with a dot in it must stand in quotes.")
    written = "-".join(role.lower().replace("_", " ").split())
    try:
        return Role(_SYNONYMS.get(written, written))
    except ValueError:
        allowed = ", ".join(Role)
        raise SchemaError(f"The role of column '{name}' must be one of {allowed}." + nearest(written, Role)) from None


def _read_person(section: Section) -> bool | None:
    """Read `[person]`: whether a person may have several rows; None if it does not say."""
    for key in section:
        if key != _SEVERAL:
            raise SchemaError(f"[person] has an unknown key '{key}'." + nearest(key, [_SEVERAL]))
    several = section.get(_SEVERAL)
    if _SEVERAL in section and not isinstance(several, bool):
        raise SchemaError(f"[person]: `{_SEVERAL}` must be true or false.")
    return None if several is None else bool(several)


_OPTIONS = ("delimiter", "header", "unlisted", "ordered", "bottom", "top")


def _read_hierarchy(name: str, entry: Any, folder: Path) -> Hierarchy:
    """Read a `[taxonomy.x]` table."""
    if not isinstance(entry, dict):
        raise SchemaError(f"[taxonomy.{name}] must be a table such as  ranges = [5, 10].")
    for key in entry:
        if key not in KINDS + _OPTIONS:
            raise SchemaError(f"[taxonomy.{name}] has an unknown key '{key}'." + nearest(key, KINDS + _OPTIONS))
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        raise SchemaError(f"[taxonomy.{name}] must have exactly one of {', '.join(KINDS)}.")
    options = {key: entry[key] for key in _OPTIONS if key in entry}
    kind, value = kinds[0], entry[kinds[0]]
    try:
        return Hierarchy(kind, **_argument(kind, value, folder), **options)
    except (TypeError, ValueError, TaxonomyError) as problem:
        reason = str(problem) if isinstance(problem, TaxonomyError) else f"`{kind}` has a value of the wrong type."
        raise SchemaError(f"[taxonomy.{name}]: {reason}") from None


def _argument(kind: str, value: Any, folder: Path) -> dict[str, Any]:
    """The argument of a taxonomy's kind; TypeError if it has the wrong type."""
    if kind in {"auto", "flat"} or (kind == "dates" and isinstance(value, bool)):
        if value is not True:
            raise TypeError
        return {}
    if kind == "file":
        return {"file": folder / _of_type(str, value)}
    if kind == "tree":
        return {"tree": _of_type(dict, value)}
    steps = _of_type(list, value)
    if kind == "ranges":
        return {"ranges": tuple(float(_of_type(int | float, width)) for width in steps)}
    if kind == "prefix":
        return {"prefix": tuple(_of_type(int, count) for count in steps)}
    return {"dates": tuple(_of_type(str, step) for step in steps)}


def _of_type(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError
    return value


def _write_hierarchy(hierarchy: Hierarchy, folder: Path) -> dict[str, Any]:
    value: Any = {
        "ranges": [int(w) if float(w).is_integer() else w for w in hierarchy.ranges],
        "prefix": list(hierarchy.prefix),
        "dates": list(hierarchy.dates),
        "file": _relative(hierarchy.file, folder),
        "tree": _inline(hierarchy.tree),
    }.get(hierarchy.kind, True)
    default = Hierarchy()
    options = {key: getattr(hierarchy, key) for key in _OPTIONS if getattr(hierarchy, key) != getattr(default, key)}
    return {hierarchy.kind: value, **options}


def _relative(file: Path | None, folder: Path) -> str:
    """A path relative to the folder, as `loads` reads it."""
    if file is None:
        return ""
    return (file.relative_to(folder) if file.is_relative_to(folder) else file.absolute()).as_posix()


def section_toml(name: str, section: Section) -> str:
    """Return a section as TOML, each key in one line; empty if there is nothing in it."""
    lines = [f"{key} = {toml_value(value)}" for key, value in section.items()]
    return "\n".join([f"[{name}]", *lines]) + "\n" if lines else ""


def toml_value(value: Any) -> str:
    """Return a value as TOML in one line."""
    return str(tomlkit.item(_inline(value)).as_string())


def _inline(value: Any) -> Any:
    """A tree in one line; as tables of their own, its branches would change their order."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for name, below in value.items():
            table[name] = _inline(below)
        return table
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        for item in value:
            array.append(_inline(item))
        return array
    return value
