"""Hostile inputs: tables, schemas, policies, names, files and command lines, each from one seed.

Most cases are sound but for one or two hostile things, so that they get far; some are broken throughout. Identifiers
and values that a message must not show hold a marker that nothing else holds.
"""

import gzip
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from tests.fuzz.case import Case, Command
from tests.fuzz.judge import Asked, Cell, Column, as_filed
from tests.fuzz.words import NAMES, ODD_REQUIREMENTS, PERSON, REQUIREMENTS, TREE, TREE_TOML, VALUE

__all__ = ["PERSON", "VALUE", "Case", "Command", "make"]


def make(seed: int) -> Case:
    """The case of a seed."""
    rng = random.Random(seed)  # noqa: S311
    kinds: Sequence[tuple[Callable[[random.Random], Case], int]] = (
        (_single, 8),
        (_series, 4),
        (_published, 5),
        (_broken, 4),
        (_looked_at, 3),
        (_typed, 3),
        (_known, 2),
    )
    kind = rng.choices([each for each, _ in kinds], [weight for _, weight in kinds])[0]
    return replace(kind(rng), seed=seed)


# --- cells -----------------------------------------------------------------------------------------------------------


def _number(rng: random.Random) -> Cell:
    return str(rng.randint(18, 60))


def _date(rng: random.Random) -> Cell:
    return f"{rng.randint(1990, 1994)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _tame(kind: str, rng: random.Random) -> tuple[Callable[[], Cell], str, str]:
    """Cells, kind and taxonomy of a column whose published values can be looked up."""
    towns = [town for below in TREE.values() for town in below]
    return {
        "number": (lambda: _number(rng), "number", rng.choice(["", "ranges = [5, 10, 20]", "ranges = []"])),
        "few": (lambda: str(rng.randint(1, 3)), "number", rng.choice(["", "flat = true"])),
        "float": (lambda: str(rng.randint(1, 40) / 4), "number", ""),
        "date": (lambda: _date(rng), "date", rng.choice(["", "dates = true", 'dates = ["year"]'])),
        "zip": (lambda: f"0{rng.randint(100, 140)}", "prefix", "prefix = [3, 2]"),
        "town": (lambda: rng.choice(towns), "tree", TREE_TOML),
        "sex": (lambda: rng.choice("fm"), "tree", "flat = true"),
    }[kind]


TAME = ("number", "few", "float", "date", "zip", "town", "sex")
_WORDS = [f"{VALUE}{word}" for word in ("flu", "gout", "angina", "ulcer", "asthma", "burn")]

HOSTILE: Mapping[str, Sequence[Cell]] = {
    "nothing": (None,),
    "blank": (None, "", " ", "\t"),
    "same": (f"{VALUE}same",),
    "huge": ("1", "9007199254740993", "18446744073709551615", "-9223372036854775809", "1" + "0" * 40),
    "big": ("9223372036854775807", "-9223372036854775808", "0"),
    "float": ("nan", "NaN", "inf", "-inf", "1e308", "5e-324", "-0.0", "0", "1e-300", "1.0"),
    "day": ("0001-01-01", "9999-12-31", "2024-02-29", "1654-01-01", "1970-01-01"),
    "time": ("2024-01-01T00:00:00", "2024-01-01 23:59:59", "2024-06-01T12:00:00Z", "2024-01-01T00:00:00.123456789"),
    "bad day": ("2024-02-30", "2024-13-01", "0000-00-00", "2024-01-01", "24-1-1"),
    "mixed": ("1", "2.5", f"{VALUE}three", "2024-01-01", "true", None, "0x10", "1_000", "１２"),
    "formula": ("=1+1", "+1", "-", "@x", "'=x", "\u200b=1", "\t=1", "-1", "'"),
    "control": ("\x00", f"{VALUE}\nb", '"', '""', "a,b", "\x1b[31mx", "\r", "a;b", "\x07", f"{VALUE}\r\nx"),
    "letters": ("é", "e\u0301", "\u202eabc", "🏥", "ß", "SS", "ı", "İ", "\u200b", "\ufeff", "ﬀ", "\u0000a"),
    "notation": ("*", "{a, b}", "[1, 2]", "1-5", "53*", "<20", "[20, 30)", "2024-Q1", ">=60", "20..34", "***"),
    "long": ("x" * 5000, "y" * 5000, f"{VALUE}{'z' * 3000}"),
    "bool": ("true", "false", "True", "yes"),
    "zeros": ("007", "07", "7", "7.0", "7e0"),
    "words": tuple(_WORDS),
}


def _hostile(kind: str, rng: random.Random) -> Callable[[], Cell]:
    if kind == "distinct":
        return lambda: f"{VALUE}{rng.randrange(10**9)}"
    return lambda: rng.choice(HOSTILE[kind])


def _column(name: str, role: str, rows: int, rng: random.Random, hostile: bool) -> Column:
    if hostile:
        draw = _hostile(rng.choice([*HOSTILE, "distinct"]), rng)
        return Column(name, role, tuple(draw() for _ in range(rows)), taxonomy=_odd_taxonomy(role, rng))
    if role == "sensitive":
        words = _WORDS[: rng.choice([2, 3, 4, 6, 6])]
        dealt = [words[row % len(words)] for row in range(rows)]
        rng.shuffle(dealt)
        return Column(name, role, tuple(dealt), "tree", taxonomy="")
    draw, kind, taxonomy = _tame(rng.choice(TAME), rng)
    cells = tuple(None if rng.random() < 0.02 else draw() for _ in range(rows))
    taxonomy = taxonomy if role == "quasi" else ""
    return Column(name, role, cells, kind, TREE if taxonomy == TREE_TOML else {}, taxonomy)


def _odd_taxonomy(role: str, rng: random.Random) -> str:
    if rng.random() < 0.8 or (role not in {"quasi", "sensitive"} and rng.random() < 0.9):
        return ""
    return rng.choice(
        [
            *("auto = true", "flat = true", "ranges = [5, 10]", "ranges = []", "ranges = [0]", "ranges = [-5]"),
            *("ranges = [5, 7]", "ranges = [1e300]", "ranges = [0.1, 0.2]", "prefix = [3, 1]", "prefix = [0]"),
            *("prefix = [1, 3]", "prefix = []", "dates = true", 'dates = ["year", "month"]', "dates = []", TREE_TOML),
            *(
                'tree = { a = ["*"] }',
                "tree = {}",
                "tree = { a = [] }",
                'tree = { a = ["a"] }',
                "tree = { a = { b = 3 } }",
            ),
            *('file = "h.csv"', 'file = "absent.csv"', 'file = "."', "auto = true\nflat = true", 'unlisted = "root"'),
            *('tree = { a = ["1", "2"] }\nunlisted = "root"', 'tree = { a = ["1"] }\nordered = true', "colour = 3"),
            "tree = " + "{ a = " * 80 + '["x"]' + " }" * 80,
        ]
    )


# --- tables and schemas ----------------------------------------------------------------------------------------------


def _columns(
    rng: random.Random, rows: int, hostile: float, *, provider: bool = False, people: float = 0.9
) -> tuple[Column, ...]:
    """A table: an identifier, some quasi-identifiers, sensitive values and a column to keep."""
    numbers = rng.sample(range(10_000, 99_999), max(rows, 1))[:rows]
    found = [Column("id", "identifier", tuple(f"{PERSON}{number}" for number in numbers))]
    roles = ["quasi"] * rng.choice([1, 2, 2, 3]) + ["sensitive"] * rng.choice([1] * 12 + [2, 2, 0])
    roles += ["keep"] * rng.choice([0, 0, 1]) + ["drop"] * rng.choice([0, 0, 1])
    names = [f"{role[0]}{place}" for place, role in enumerate(roles)]
    if rng.random() < hostile:
        for place in range(len(names)):
            names[place] = rng.choice(NAMES) if rng.random() < 0.4 else names[place]
    found += [
        _column(name, role, rows, rng, rng.random() < hostile * 0.5) for name, role in zip(names, roles, strict=True)
    ]
    if provider:
        found.append(Column("ward", "provider", tuple(rng.choice("ABC") for _ in range(rows))))
    kept = [column for column in found if column.role != "identifier" or rng.random() < people]
    rng.shuffle(kept)
    return tuple(kept)


def _toml(text: str) -> str:
    return json.dumps(text)


def _schema(columns: Sequence[Column], policy: str = "") -> str:
    lines = ["[columns]", *(f"{_toml(c.name)} = {_toml(c.role)}" for c in columns if c.role)]
    for column in columns:
        if column.taxonomy:
            lines += [f"[taxonomy.{_toml(column.name)}]", column.taxonomy]
    return "\n".join([*lines, policy, ""])


def _csv(columns: Sequence[Column], delimiter: str = ",", newline: str = "\n") -> str:
    def cell(text: Cell) -> str:
        if text is None:
            return ""
        if text == "" or any(sign in text for sign in (delimiter, '"', "\n", "\r")) or text != text.strip():
            return '"' + text.replace('"', '""') + '"'
        return text

    rows = [[c.name for c in columns], *zip(*(c.cells for c in columns), strict=True)]
    return newline.join(delimiter.join(map(cell, row)) for row in rows) + newline


def _file(columns: Sequence[Column], rng: random.Random, hostile: float) -> tuple[str, bytes, list[str]]:
    """A table as a file: its name, its bytes, and options that reading it needs."""
    if rng.random() < 0.1 and len({c.name for c in columns}) == len(columns):
        buffer = io.BytesIO()
        pl.DataFrame({c.name: pl.Series(c.cells, dtype=pl.String) for c in columns}).write_parquet(buffer)
        return "data.parquet", buffer.getvalue(), []
    delimiter = rng.choice([*"," * 8, ";", "\t"])
    options = [] if delimiter == "," else ["--read", "delimiter=" + ("tab" if delimiter == "\t" else delimiter)]
    text = _csv(columns, delimiter, rng.choice(["\n", "\n", "\r\n"]))
    if rng.random() < hostile * 0.3:
        return "data.csv", _spoiled(text, rng), options
    if rng.random() < 0.1:
        return "data.csv.gz", gzip.compress(text.encode()), options
    return "data.csv", text.encode("utf-8-sig" if rng.random() < 0.1 else "utf-8"), options


def _spoiled(text: str, rng: random.Random) -> bytes:
    """A file that is not quite what it says."""
    raw = text.encode()
    ways: Sequence[Callable[[], bytes]] = [
        lambda: b"",
        lambda: raw[: rng.randint(0, len(raw))],
        lambda: text.encode("utf-16"),
        lambda: text.encode("latin-1", "replace"),
        lambda: gzip.compress(raw),
        lambda: gzip.compress(raw)[: rng.randint(1, 60)],
        lambda: rng.randbytes(200),
        lambda: b"PAR1" + rng.randbytes(50),
        lambda: raw.splitlines(keepends=True)[0] if raw else b"",
        lambda: raw + b"one,cell,too,many,here,and,more,and,more\n",
        lambda: raw.rstrip(b"\n"),
        lambda: raw.replace(b"\n", b"\r"),
        lambda: b"\xef\xbb\xbf\xef\xbb\xbf" + raw,
        lambda: raw + b'"never closed\n',
        lambda: raw.replace(b"1", b"\x00", 1),
        lambda: b"\n\n" + raw,
        lambda: b"\n".join([raw.split(b"\n")[0]] * 2),
    ]
    return rng.choice(ways)()


# --- commands --------------------------------------------------------------------------------------------------------

METHODS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("pool", ()),
    ("mondrian", ()),
    ("mondrian", ("--option", "strict=false")),
    ("topdown", ()),
    ("topdown", ("--option", "score=loss")),
    ("incognito", ()),
    ("incognito", ("--option", "loss=discernibility")),
    ("anatomy", ()),
    ("correspondence", ()),
    ("mask", ("--m", "2", "--k", "2")),
    ("mask", ("--m", "2", "--k", "2", "--option", "tables=2")),
    ("mask", ("--m", "2", "--k", "2", "--option", "under=topdown")),
    ("providers", ("--m", "1")),
)
_REQUIRED = {"equivalence": "simple-l=2"}
FOLLOWING: Sequence[tuple[str, tuple[str, ...]]] = (
    ("invariance", ()),
    ("invariance", ("form=permuted",)),
    ("invariance", ("form=two tables",)),
    ("equivalence", ("e=2",)),
    ("equivalence", ("e=2", "form=two tables")),
    ("distinct", ()),
    ("distinct", ("form=permuted",)),
    ("distinct", ("risk=0.6",)),
    ("distinct", ("star=true", "form=two tables")),
)


def _answers(out: str, data: str, requirement: str, rng: random.Random) -> list[Command]:
    """What is asked about a release: check, utility and attacks."""
    both = [out, out.replace(".csv", ".sensitive.csv")] if rng.random() < 0.3 else [out]
    knows = rng.choice(
        [[], [], ["--population", data], ["--knowledge", "algorithm=pool", "--knowledge", "requirement=k=2"]]
    )
    schema = rng.choice([["--schema", "s.toml"], ["--schema", "s.toml"], []])
    asked = [
        ["check", *both, "--schema", "s.toml", *rng.choice([[], ["--require", requirement]])],
        ["measure", data, *both, "--schema", "s.toml", "--queries", "5"],
        ["attack", *both, *schema, *knows, *rng.choice([[], ["--report", "r.html"]])],
    ]
    chosen = rng.sample(asked, rng.choice([1, 2]))
    return [Command((*one, *rng.choice([(), ("--json",)]))) for one in chosen]


def _rows(rng: random.Random) -> int:
    return rng.choice([0, 1, 2, 5, 8, 12, 12, 20, 20, 20, 30, 30, 40, 60])


def _single(rng: random.Random) -> Case:
    """One table, one release, and what is asked about it."""
    hostile = rng.choice([0.0, 0.2, 0.2, 0.5, 1.0])
    method, options = rng.choice(METHODS)
    columns = _columns(rng, _rows(rng), hostile, provider=method == "providers" or rng.random() < 0.1)
    data, raw, reading = _file(columns, rng, hostile)
    requirement = rng.choice(ODD_REQUIREMENTS if rng.random() < 0.05 else REQUIREMENTS)
    suppress = rng.choice([0.0, 0.0, 0.1, 0.5])
    arguments = ["anonymize", data, "--schema", "s.toml", "--require", requirement, "--method", method, *options]
    arguments += [*reading, "--out", "out.csv", "--seed", str(rng.randrange(9)), "--suppress", str(suppress)]
    wanted = f"k=2 & {requirement}" if method == "mask" else requirement
    asked = Asked(as_filed(columns, raw), "out.csv", wanted, method, suppress=suppress)
    commands = [
        Command((*arguments, *rng.choice([(), ("--json",)])), asked),
        *_answers("out.csv", data, requirement, rng),
    ]
    return Case(0, {data: raw, "s.toml": _schema(columns).encode(), "h.csv": _odd_file(rng)}, tuple(commands))


def _odd_file(rng: random.Random) -> bytes:
    return rng.choice([b"1;a;*\n2;a;*\n", b"", b"1;a\n2;b;*\n", b"\x00\xff", b"1;1;1\n", b"*;*\n", b"1;a;*\n1;b;*\n"])


def _waves(rng: random.Random, growing: bool) -> list[tuple[Column, ...]]:
    """The same table at two or three times: people come, go and change."""
    hostile = rng.choice([0.0, 0.0, 0.3])
    whole = _columns(rng, rng.choice([6, 12, 20, 30]), hostile, people=0.98)
    rows = len(whole[0].cells)
    waves = []
    for wave in range(rng.choice([2, 2, 3])):
        if growing:
            kept = list(range(rows * (wave + 2) // 4))
        else:
            kept = sorted(rng.sample(range(rows), max(1, rows * 3 // 4)))
        waves.append(tuple(replace(c, cells=tuple(c.cells[row] for row in kept)) for c in whole))
    return waves


def _series(rng: random.Random) -> Case:
    """A method that follows people, from file to file with its memory; or correspondence after earlier releases."""
    growing = rng.random() < 0.3
    waves = _waves(rng, growing)
    method, options = ("correspondence", ()) if growing else rng.choice(FOLLOWING)
    more = [part for option in options for part in ("--option", option)]
    more += [] if growing or rng.random() < 0.4 else ["--option", "ineligible=counterfeits"]
    require = rng.choice(["k=2", "k=3", "l=2"]) if growing else _REQUIRED.get(method, "m-unique=2")
    suppress = rng.choice(["0", "0.2"]) if growing else "0"
    files: dict[str, bytes | None] = {"s.toml": _schema(waves[0]).encode()}
    commands = []
    for number, columns in enumerate(waves, start=1):
        files[f"t{number}.csv"] = _csv(columns).encode()
        arguments = ["anonymize", f"t{number}.csv", "--schema", "s.toml", "--method", method, *more]
        arguments += ["--require", require, "--out", f"r{number}.csv", "--seed", "1"]
        if growing:
            arguments += ["--suppress", suppress]
            arguments += [part for before in range(1, number) for part in ("--after", f"r{before}.csv")]
        else:
            arguments += ["--memory", "memory"]
        asked = Asked(columns, f"r{number}.csv", require, method, suppress=float(suppress))
        commands.append(Command(tuple(arguments), asked))
    attacked = ["attack", *(f"r{number}.csv" for number in range(1, len(waves) + 1)), "--schema", "s.toml"]
    commands.append(Command((*attacked, *rng.choice([(), ("--json",), ("--report", "r.html"), ("--exact",)]))))
    return Case(0, files, tuple(commands))


def _policy(rng: random.Random) -> tuple[str, str, str, float]:
    """A policy, with the requirement, the method and the share that may be left out."""
    kinds = [("pool", "k=2", ""), ("pool", "k=2 & l=2", ""), ("correspondence", "k=2", ""), ("anatomy", "l=2", "")]
    kinds += [("topdown", "k=3", ""), ("mask", "k=2 & simple-l=2", ""), ("mondrian", "k=2", "")]
    for method, options in FOLLOWING:
        pairs = [option.partition("=")[::2] for option in options]
        inline = ", ".join(f"{n} = {v if v in {'true', '2'} or '.' in v else _toml(v)}" for n, v in pairs)
        kinds += [(method, _REQUIRED.get(method, "m-unique=2"), f"options = {{ {inline} }}" if inline else "")]
    method, require, options_line = rng.choice(kinds)
    suppress = rng.choice([0.0, 0.2])
    lines = ["[policy]", f"require = {_toml(require)}", f"method = {_toml(method)}", options_line]
    lines += [f"suppress = {suppress}"] * (suppress > 0)
    lines += rng.choice([[], ['not_run = "allow"'], ['not_run = "allow"', "alone = true"], ['attacks = ["updates"]']])
    if rng.random() < 0.08:
        lines += [
            rng.choice(
                ['require = "k=2"', "suppress = 2", 'method = "none"', "attacks = 3", 'collude = "x"', "limit = nan"]
            )
        ]
    return "\n".join(line for line in lines if line), require, method, suppress


def _published(rng: random.Random) -> Case:
    """A series through a ledger, and what the ledger tells."""
    policy, require, method, suppress = _policy(rng)
    waves = _waves(rng, growing=method == "correspondence" or rng.random() < 0.3)
    files: dict[str, bytes | None] = {"s.toml": _schema(waves[0], policy).encode()}
    commands = []
    for number, columns in enumerate(waves, start=1):
        files[f"t{number}.csv"] = _csv(columns).encode()
        arguments = ["publish", f"t{number}.csv", "--ledger", "n.ledger", "--out", f"r{number}.csv"]
        arguments += ["--schema", "s.toml"] if number == 1 else []
        arguments += rng.choice([[], ["--json"], ["--report", f"p{number}.html"], ["--recipient", rng.choice(NAMES)]])
        asked = Asked(columns, f"r{number}.csv", require, method, suppress=suppress)
        commands.append(Command(tuple(arguments), asked))
    told = [
        ("ledger", "list", "n.ledger"),
        ("ledger", "show", "n.ledger", rng.choice(["1", "2", "9", "0", "-1", "x"])),
        ("ledger", "verify", "n.ledger"),
        (
            "ledger",
            "export",
            "n.ledger",
            "1",
            "--out",
            rng.choice(["e.csv", "e.parquet", "e.csv.gz", "t1.csv", ".", "no/e.csv"]),
        ),
        ("attack", "r1.csv", "r2.csv", "--schema", "s.toml"),
        ("publish", "t1.csv", "--ledger", "n.ledger", "--dry-run"),
    ]
    commands += [Command((*one, *rng.choice([(), ("--json",)]))) for one in rng.sample(told, 3)]
    return Case(0, files, tuple(commands))


TYPED: Mapping[str, tuple[Any, Sequence[Any]]] = {
    "small": (pl.Int8, [1, 2, -128, 127]),
    "large": (pl.UInt64, [0, 2**64 - 1, 2**63]),
    "wide": (pl.Int64, [-(2**63), 2**63 - 1, 0]),
    "real": (pl.Float32, [0.1, float("nan"), float("inf"), -0.0]),
    "double": (pl.Float64, [1e308, -1e308, 5e-324, 0.5]),
    "truth": (pl.Boolean, [True, False, None]),
    "day": (pl.Date, [date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(2024, 2, 29)]),
    "moment": (pl.Datetime("us"), [datetime(1, 1, 1), datetime(2024, 1, 1, 12), datetime(9999, 12, 31)]),  # noqa: DTZ001
    "zoned": (pl.Datetime("ms", "Europe/Berlin"), [datetime(2024, 3, 31, 1), datetime(2024, 10, 27, 1)]),  # noqa: DTZ001
    "clock": (pl.Time, [time(0), time(23, 59)]),
    "while": (pl.Duration("us"), [timedelta(days=1), timedelta(0)]),
    "money": (pl.Decimal(20, 2), [Decimal("1.10"), Decimal("99999999.99")]),
    "raw": (pl.Binary, [b"a", b"\x00"]),
    "list": (pl.List(pl.Int64), [[1], [1, 2], []]),
    "struct": (pl.Struct({"a": pl.Int64}), [{"a": 1}, {"a": 2}]),
    "choice": (pl.Categorical, ["a", "b"]),
    "fixed": (pl.Enum(["a", "b"]), ["a", "b"]),
    "null": (pl.Null, [None]),
    "text": (pl.String, [f"{VALUE}a", f"{VALUE}b", "", None]),
}


def _typed(rng: random.Random) -> Case:
    """A Parquet file with columns of any type, in any role."""
    rows = rng.choice([1, 4, 12, 12, 20])
    kinds = rng.sample(list(TYPED), 3)
    frame = pl.DataFrame(
        [
            pl.Series(f"c{place}", [rng.choice(TYPED[k][1]) for _ in range(rows)], dtype=TYPED[k][0])
            for place, k in enumerate(kinds)
        ]
    )
    number = pl.Series("id", range(rows), dtype=rng.choice([pl.Int64, pl.UInt64, pl.Float64, pl.String]))
    buffer = io.BytesIO()
    frame.insert_column(0, number).write_parquet(buffer)
    roles = ["identifier", *rng.sample(["quasi", "quasi", "sensitive", "keep"], 3)]
    roles[1:] = roles[1:] if "quasi" in roles else ["quasi", *roles[2:]]
    columns = [Column(name, role, (), taxonomy="") for name, role in zip(["id", "c0", "c1", "c2"], roles, strict=True)]
    schema = _schema(columns, '[policy]\nrequire = "k=2"\nnot_run = "allow"')
    data = "data.parquet"
    out = rng.choice(["out.parquet", "out.csv"])
    method = rng.choice(["pool", "topdown", "mondrian", "incognito", "anatomy", "correspondence"])
    require = "l=2" if method == "anatomy" else "k=2"
    commands = [
        ("init", data, "--out", "new.toml"),
        ("attack", data, data),
        ("check", data, "--schema", "s.toml"),
        ("measure", data, out, "--schema", "s.toml", "--queries", "4"),
        ("attack", out, out, "--schema", "s.toml", "--population", data),
        ("publish", data, "--ledger", "n.ledger", "--schema", "s.toml", "--out", "r1.csv"),
        ("ledger", "adopt", "a.ledger", data, "--schema", "s.toml"),
        ("check", data, data, "--series", "--schema", "s.toml"),
    ]
    first = ("anonymize", data, "--schema", "s.toml", "--require", require, "--method", method, "--out", out)
    return Case(
        0,
        {data: buffer.getvalue(), "s.toml": schema.encode()},
        tuple(map(_told, [first, *rng.sample(commands, 3)], [rng] * 4)),
    )


def _told(arguments: Sequence[str], rng: random.Random) -> Command:
    return Command((*arguments, *rng.choice([(), ("--json",)])))


def _known(rng: random.Random) -> Case:
    """Two releases by hand, and an adversary who knows much."""
    columns = _columns(rng, rng.choice([4, 12, 20]), rng.choice([0.0, 0.2]), provider=True, people=1.0)
    public = [c for c in columns if c.role in {"quasi", "sensitive"}]
    files: dict[str, bytes | None] = {
        "s.toml": _schema(columns).encode(),
        "members": None,
        "data.csv": _csv(columns).encode(),
    }
    for number in (1, 2):
        files[f"r{number}.csv"] = _csv(public).encode()
        files[f"private{number}.csv"] = _csv(columns).encode()
        files[f"members/m{number}.csv"] = _csv([c for c in columns if c.role in {"identifier", "quasi"}]).encode()
    schema = ("--schema", "s.toml")
    knows = ("--knowledge", f"algorithm={rng.choice(['pool', 'mask', 'none'])}", "--knowledge", "requirement=k=2")
    commands = [
        ("attack", "r1.csv", "r2.csv", *schema, "--members", "members"),
        ("attack", "r1.csv", *schema, "--population", "data.csv", "--exact"),
        ("attack", "private1.csv", "private2.csv", *schema, "--report", "r.html"),
        ("attack", "private1.csv", "private2.csv", *schema, "--m", "2", "--providers", "ward"),
        ("attack", "private1.csv", *schema, "--coalition", rng.choice(["A", "A,B", "A,B,C", "Z", ""])),
        ("attack", "r1.csv", *schema, "--population", "data.csv", *knows),
        ("attack", "r1.csv", "r2.csv", *schema, "--originals", "members", "--report", "r.html"),
        ("check", "private1.csv", "private2.csv", "--series", *schema),
        ("ledger", "adopt", "a.ledger", "r1.csv", "r2.csv", *schema),
        ("anonymize", "data.csv", *schema, "--method", "providers", "--m", "2", "--require", "k=2", "--out", "out.csv"),
    ]
    return Case(0, files, tuple(_told(one, rng) for one in rng.sample(commands, 3)), persons=())


def _broken(rng: random.Random) -> Case:
    """Schemas, files and command lines that are wrong somewhere."""
    columns = _columns(rng, _rows(rng), 0.3)
    text = _schema(columns, rng.choice(["", _policy(rng)[0]]))
    files: dict[str, bytes | None] = {"data.csv": _csv(columns).encode(), "s.toml": _wrong_schema(text, columns, rng)}
    files["other.csv"] = _spoiled(_csv(columns), rng)
    files["folder"] = None
    data = rng.choice(["data.csv", "other.csv", "folder", "absent.csv", "s.toml", "", "data.csv/x", "\x00", "."])
    wrong = rng.choice(["s.toml", "s.toml", "folder", "absent.toml", "data.csv"])
    out = rng.choice(["out.csv", "folder", "data.csv", "s.toml", "no/out.csv", "", "out.xyz", "out.parquet", "x" * 300])
    commands = [
        ("anonymize", data, "--schema", wrong, "--require", "k=2", "--out", out, *rng.choice([(), ("--force",)])),
        ("check", data, "--schema", wrong),
        ("measure", data, "data.csv", "--schema", wrong),
        ("attack", data, "data.csv", *rng.choice([(), ("--schema", wrong), ("--quasi", "q0,q1", "--sensitive", "s2")])),
        (
            "publish",
            data,
            "--ledger",
            rng.choice(["n.ledger", "folder", "data.csv", ""]),
            "--schema",
            wrong,
            "--out",
            out,
        ),
        ("ledger", rng.choice(["list", "verify"]), rng.choice(["folder", "absent", "data.csv", "", "postgresql://"])),
        ("init", data, "--out", rng.choice(["new.toml", "s.toml", "folder", "no/x.toml"])),
        ("attack", "data.csv", data, "--members", "folder", "--schema", wrong),
        (
            "attack",
            data,
            "--limit",
            rng.choice(["updates=x", "nothing=1", "updates", "updates=nan"]),
            "--schema",
            wrong,
        ),
        ("anonymize", data, "--schema", wrong, "--option", rng.choice(["a", "=", "e=", "strict=maybe", "m=x"])),
        ("anonymize", data, "--schema", wrong, "--suppress", rng.choice(["nan", "1", "-1", "x"]), "--require", "k=2"),
        ("ledger", "adopt", "a.ledger", data, "--schema", wrong),
        ("check", "data.csv", data, "--series", "--schema", wrong),
    ]
    chosen = rng.sample(commands, 3)
    return Case(0, files, tuple(Command((*one, *rng.choice([(), ("--json",)]))) for one in chosen))


def _wrong_schema(text: str, columns: Sequence[Column], rng: random.Random) -> bytes:
    first = columns[0].name
    return rng.choice(
        [
            text,
            text,
            "",
            "\x00",
            "[columns",
            text[: rng.randint(0, len(text))],
            text.replace('"quasi"', '"quazi"', 1),
            text.replace('"quasi"', '"sensitive"'),
            text.replace('"sensitive"', '"quasi"'),
            text.replace('"quasi"', '"identifier"'),
            text.replace('"quasi"', "3", 1),
            text.replace('"quasi"', '["quasi"]', 1),
            "columns = 3\n",
            "[columns]\n",
            '[columns]\nnothere = "quasi"\n',
            f"{text}\n[taxonomy.nothere]\nflat = true\n",
            f"{text}\n[taxonomy]\n{_toml(first)} = 3\n",
            f'{text}\n[updates]\nfile = "absent.csv"\n',
            f"{text}\n[updates]\nvalues = {{ a = 3 }}\n",
            f"{text}\n[policy]\n[policy.require]\nk = 2\n",
            f"x = {'[' * 3000}{']' * 3000}\n",
            f"{text}\n[nonsense]\na = 1\n",
            text.replace("\n", "\r"),
        ]
    ).encode()


def _looked_at(rng: random.Random) -> Case:
    """init on a hostile table, and then what it proposed."""
    columns = _columns(rng, _rows(rng), rng.choice([0.3, 1.0]))
    data, raw, reading = _file(columns, rng, 0.5)
    answers = [
        part
        for name in ("removed", "changes", "providers", "known")
        for part in ("--answer", f"{name}={rng.choice(['yes', 'no'])}")
    ]
    if rng.random() < 0.1:
        answers = ["--answer", rng.choice(["removed", "removed=maybe", "x=yes", "="])]
    commands = [
        ("init", data, "--out", "new.toml", *rng.choice([[], answers]), *reading),
        ("anonymize", data, "--schema", "new.toml", "--require", "k=2", "--out", "out.csv", *reading),
        ("publish", data, "--ledger", "n.ledger", "--schema", "new.toml", "--out", "r1.csv", *reading),
        ("attack", data, data, *reading),
        ("attack", data, "--save-schema", "saved.toml", *reading),
    ]
    chosen = [commands[0], *rng.sample(commands[1:], 2)]
    return Case(0, {data: raw}, tuple(Command((*one, *rng.choice([(), ("--json",)]))) for one in chosen), persons=())
