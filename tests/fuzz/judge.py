"""A judge of published CSV files that shares nothing with the product: plain text, counters and the definitions.

It reads files by a parser of its own (an empty cell is missing, "" is an empty text), counts groups again, and looks
every published value up in the original.
"""

import gzip
import math
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

__all__ = ["FOLLOWING", "Asked", "Column", "as_filed", "judge", "judge_series", "read_csv"]

FOLLOWING = frozenset({"invariance", "equivalence", "distinct"})
"""Methods that promise that a value keeps its company as long as its person stays."""

Cell = str | None
Group = list[tuple[Cell, ...]]


@dataclass(frozen=True)
class Column:
    """A column of the original: what it is, its cells, and how its published values can be read, if they can."""

    name: str
    role: str
    cells: tuple[Cell, ...]
    kind: str = ""
    """number, date, prefix, tree or "" where published values are not looked up."""
    tree: Mapping[str, Sequence[str]] = field(default_factory=dict)
    taxonomy: str = ""


@dataclass(frozen=True)
class Asked:
    """One release that was asked for: of which table, where it goes, and what it must meet."""

    columns: tuple[Column, ...]
    path: str
    requirement: str
    method: str
    suppress: float = 0.0


def judge(asked: Asked, folder: Path) -> list[str]:
    """What is wrong with a release; nothing if it is as it should be."""
    files = _tables(asked, folder)
    release = files.get("release")
    if release is None:
        return ["no file was written"]
    head, *rows = release
    public = _public(asked)
    found = []
    extra = {_plain(name or "") for name in head} - {_plain(name) for name in public} - {"group"}
    if extra:
        found.append("columns that the schema does not publish")
    groups = _groups(asked, files)
    rows_out = sum(map(len, groups.values()))
    found += [f"{part} is not met" for part in asked.requirement.split(" & ") if not _met(part, groups, asked)]
    found += _counted(asked, files, groups, rows_out)
    if asked.method != "mask" and "counterfeits" not in files:
        found += _true(asked, head, rows, "sensitive" in files or _numbered(asked, head))
    return found


def judge_series(releases: Sequence[Asked], folder: Path) -> list[str]:
    """What releases give away together: everyone must keep two possible values, the own one among them.

    Who knows everybody's quasi-identifiers looks up the groups that somebody may stand in, and crosses out what any
    release rules out. For methods that promise to withstand that, of tables in which values never change.
    """
    possible: dict[Cell, set[tuple[Cell, ...]]] = {}
    for asked in releases:
        people = [column for column in asked.columns if column.role == "identifier"]
        if asked.method not in FOLLOWING or asked.suppress or not people or not _readable(asked):
            return []
        secret = [column for column in asked.columns if column.role == "sensitive"]
        for row, person in enumerate(people[0].cells):
            shown = _shown_to(asked, row, folder)
            possible[person] = possible.get(person, shown) & shown
            if tuple(column.cells[row] for column in secret) not in possible[person]:
                return ["somebody's own value is ruled out"]
    return ["somebody's value is known for sure"] if any(len(left) < 2 for left in possible.values()) else []


def _readable(asked: Asked) -> bool:
    return all(column.kind for column in asked.columns if column.role in {"quasi", "sensitive"})


def _shown_to(asked: Asked, row: int, folder: Path) -> set[tuple[Cell, ...]]:
    """The values of all groups in which somebody with the quasi-identifiers of a row may stand."""
    files = _tables(asked, folder)
    groups = _groups(asked, files)
    head, *rows = files["release"]
    quasi = [column for column in asked.columns if column.role == "quasi"]
    places = _place(head, [column.name for column in quasi])
    numbered = _numbered(asked, head)
    fits = {
        (each[0],) if numbered else tuple(each[at] for at in places)
        for each in rows
        if all(_holds(each[at], column.cells[row], column) for at, column in zip(places, quasi, strict=True))
    }
    return {value for group in fits for value in groups[group]}


def _numbered(asked: Asked, head: Sequence[Cell]) -> bool:
    """Whether the release numbers its groups."""
    return head[:1] == ["group"] and "group" not in _public(asked)


def _plain(name: str) -> str:
    """A column's name without the apostrophe that keeps a spreadsheet from running it."""
    return name.removeprefix("'").strip()


def _tables(asked: Asked, folder: Path) -> dict[str, list[list[Cell]]]:
    """The files of a release by name, head first."""
    path = folder / asked.path
    found = {}
    for name in ("release", "sensitive", "counterfeits"):
        own = path if name == "release" else path.with_name(path.name.replace(".csv", f".{name}.csv"))
        if own.exists():
            found[name] = _records(own.read_bytes())
    return found


def _records(content: bytes) -> list[list[Cell]]:
    """The records of a file in the dialect of its table: what divides the head most is the delimiter."""
    try:
        text = content.decode("utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252")
    marks = {mark: next(read_csv(text, mark), []) for mark in ",;\t"}
    return list(read_csv(text, max(marks, key=lambda mark: len(marks[mark]))))


def as_filed(columns: Sequence[Column], content: bytes) -> tuple[Column, ...]:
    """The columns with the cells that a file holds, which may have been cut; as they are where its head is another."""
    try:
        head, *rows = _records(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)
    except (OSError, EOFError, zlib.error, ValueError):
        return tuple(columns)
    if [name or "" for name in head] != [column.name for column in columns]:
        return tuple(columns)
    cells = zip(*([*row, *[None] * len(head)][: len(head)] for row in rows), strict=True) if rows else [()] * len(head)
    return tuple(replace(column, cells=tuple(own)) for column, own in zip(columns, cells, strict=True))


def read_csv(text: str, delimiter: str = ",") -> Iterator[list[Cell]]:
    """Records of a CSV text; None is an empty cell without quotes."""
    row: list[Cell] = []
    cell, quoted, inside = "", False, False
    place = 0
    while place < len(text):
        sign = text[place]
        if inside:
            if sign == '"' and text[place + 1 : place + 2] == '"':
                cell, place = cell + '"', place + 1
            elif sign == '"':
                inside = False
            else:
                cell += sign
        elif sign == '"' and not cell:
            inside = quoted = True
        elif sign == delimiter:
            row.append(cell if cell or quoted else None)
            cell, quoted = "", False
        elif sign == "\n":
            yield [*row, cell if cell or quoted else None]
            row, cell, quoted = [], "", False
        elif sign != "\r":
            cell += sign
        place += 1
    if row or cell or quoted:
        yield [*row, cell if cell or quoted else None]


def _place(head: Sequence[Cell], names: Sequence[str]) -> list[int]:
    plain = [_plain(name or "") for name in head]
    return [plain.index(_plain(name)) for name in names if _plain(name) in plain]


def _names(asked: Asked, role: str) -> list[str]:
    return [column.name for column in asked.columns if column.role == role]


def _public(asked: Asked) -> list[str]:
    return [column.name for column in asked.columns if column.role in {"quasi", "sensitive", "keep"}]


def _groups(asked: Asked, files: Mapping[str, list[list[Cell]]]) -> dict[tuple[Cell, ...], Group]:
    """The sensitive values of each group: by its number where there is one, else by its quasi-identifiers."""
    head, *rows = files["release"]
    groups: dict[tuple[Cell, ...], Group] = defaultdict(list)
    key = [0] if _numbered(asked, head) else _place(head, _names(asked, "quasi"))
    if "sensitive" in files:
        head, *counted = files["sensitive"]
        values = _place(head, _names(asked, "sensitive"))
        for row in counted:
            groups[row[0],] += [tuple(row[at] for at in values)] * int(row[-1] or 0)
        return groups
    values = _place(head, _names(asked, "sensitive"))
    for row in rows:
        groups[tuple(row[at] for at in key)].append(tuple(row[at] for at in values))
    return groups


# --- requirements, from their definitions ----------------------------------------------------------------------------


def _met(part: str, groups: Mapping[tuple[Cell, ...], Group], asked: Asked) -> bool:
    name, _, argument = part.partition("=")
    if name not in _RULES or ":" in argument:
        return True
    if not _names(asked, "sensitive") and name != "k":
        return True
    numbers = [Fraction(each) for each in argument.split(",")]
    return all(_RULES[name](group, numbers) for group in groups.values())


def _counts(group: Group) -> list[int]:
    return sorted(Counter(group).values(), reverse=True)


def _entropy(group: Group) -> float:
    return -sum(n / len(group) * math.log(n / len(group)) for n in _counts(group))


_RULES: Mapping[str, Callable[[Group, Sequence[Fraction]], bool]] = {
    "k": lambda group, a: len(group) >= a[0],
    "l": lambda group, a: len(set(group)) >= a[0],
    "simple-l": lambda group, a: _counts(group)[0] * a[0] <= len(group),
    "confidence": lambda group, a: _counts(group)[0] <= a[0] * len(group),
    "alpha-k": lambda group, a: _counts(group)[0] <= a[0] * len(group) and len(group) >= a[1],
    "entropy-l": lambda group, a: _entropy(group) >= math.log(a[0]) - 1e-9,
    "recursive": lambda group, a: _counts(group)[0] < a[0] * sum(_counts(group)[int(a[1]) - 1 :]),
    "m-unique": lambda group, a: _counts(group)[0] == 1 and len(group) >= a[0],
}


# --- what is there, and that it is true ------------------------------------------------------------------------------


def _counted(
    asked: Asked, files: Mapping[str, list[list[Cell]]], groups: Mapping[tuple[Cell, ...], Group], rows_out: int
) -> list[str]:
    """Rows in the release, less counterfeits, are the original's less those that may be left out."""
    original = len(asked.columns[0].cells)
    fakes = 0
    for *key, number in files.get("counterfeits", [[]])[1:]:
        fakes += int(number or 0)
        if len(groups.get(tuple(key), [])) < int(number or 0) <= 0:
            return ["counterfeits of a group that is not there"]
    if len(files["release"]) - 1 != rows_out:
        return ["the two tables do not add up"]
    least = original - math.floor(asked.suppress * original + 1e-9)
    if not least <= rows_out - fakes <= original:
        return [f"{rows_out} rows published with {fakes} counterfeits, of {original}"]
    return []


def _true(asked: Asked, head: Sequence[Cell], rows: Sequence[Sequence[Cell]], apart: bool) -> list[str]:
    """For every published combination there are as many originals that it may stand for."""
    shown = [c for c in asked.columns if c.role == "quasi" and c.kind]
    if not apart:
        shown += [c for c in asked.columns if c.role == "sensitive" and c.kind]
    places = _place(head, [column.name for column in shown])
    if len(places) != len(shown):
        return ["a column is missing"]
    for combination, number in Counter(tuple(row[at] for at in places) for row in rows).items():
        fit = set(range(len(asked.columns[0].cells)))
        for column, text in zip(shown, combination, strict=True):
            fit = {row for row in fit if _holds(text, column.cells[row], column)}
        if len(fit) < number:
            return [f"{number} published rows stand for {len(fit)} originals"]
    return []


def _holds(text: Cell, value: Cell, column: Column) -> bool:
    """Whether an original value is one of those that a published text stands for."""
    if text == "*" or value is None or text is None:
        return text == "*" or value is text
    if text in {value, f"'{value}"}:
        return True
    if column.kind == "tree":
        return value in column.tree.get(text, ())
    if column.kind == "prefix":
        return value.startswith(text.rstrip("*")) and len(text) == len(value)
    return _between(text, value, column.kind)


def _between(text: str, value: str, kind: str) -> bool:
    if kind == "date" and (quarter := re.fullmatch(r"(\d{4})-Q(\d)", text)):
        return value[:4] == quarter[1] and (int(value[5:7]) - 1) // 3 + 1 == int(quarter[2])
    if kind == "date" and re.fullmatch(r"\d{4}(-\d\d)?", text):
        return value.startswith(text)
    ends = re.fullmatch(r"\[(.+), (.+)([\])])", text)
    if not ends:
        return kind == "number" and Fraction(text) == Fraction(value)
    if kind == "date":
        return ends[1] <= value <= _last_day(ends[2])
    low, high, own = Fraction(ends[1]), Fraction(ends[2]), Fraction(value)
    return low <= own and (own < high if ends[3] == ")" else own <= high)


def _last_day(text: str) -> str:
    """A text behind all days of a month, quarter or year."""
    if quarter := re.fullmatch(r"(\d{4})-Q(\d)", text):
        text = f"{quarter[1]}-{3 * int(quarter[2]):02}"
    return f"{text}-99"
