"""The schema file: what it says, what it must not say, and that nothing is lost on the way through TOML."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.errors import SchemaError, TaxonomyError
from reissue.schema import Role, Schema
from reissue.taxonomy import DATE_STEPS, KINDS
from reissue.taxonomy.notation import span_of
from tests.silence import refused

EXAMPLE = """
[columns]
patient  = "identifier"
hospital = "provider"
age      = "quasi"
zip      = "quasi"
country  = "quasi"
job      = "quasi"
born     = "quasi"
city     = "quasi"
disease  = "sensitive"
note     = "keep"
phone    = "drop"

[taxonomy.age]
ranges = [5, 10, 20]
[taxonomy.zip]
prefix = [3, 1]
[taxonomy.job]
file = "job.csv"
unlisted = "root"
delimiter = "|"
header = true
ordered = false
[taxonomy.country]
tree = { Europe = ["UK", "France"], Americas = { North = ["US", "Canada"], South = [] } }
[taxonomy.born]
dates = ["month", "year"]
[taxonomy.city]
flat = true
[taxonomy.disease]
auto = true

[updates]
file = "updates.csv"

[policy]
require = "k=5"
"""

# --- reading ---------------------------------------------------------------------------------------------------------


def test_the_example_of_the_design() -> None:
    schema = Schema.loads(EXAMPLE, Path("conf"))
    assert schema.identifier == "patient"
    assert schema.provider == "hospital"
    assert schema.quasi == ("age", "zip", "country", "job", "born", "city")
    assert schema.sensitive == ("disease",)
    assert schema.kept == ("note",)
    assert "phone" not in schema.used
    assert schema.hierarchy("age") == Hierarchy("ranges", ranges=(5.0, 10.0, 20.0))
    assert schema.hierarchy("zip") == Hierarchy("prefix", prefix=(3, 1))
    job = Hierarchy("file", file=Path("conf/job.csv"), unlisted="root", delimiter="|", header=True, ordered=False)
    assert schema.hierarchy("job") == job
    assert schema.hierarchy("country").tree["Americas"] == {"North": ["US", "Canada"], "South": []}
    assert schema.hierarchy("born") == Hierarchy("dates", dates=("month", "year"))
    assert schema.hierarchy("city") == Hierarchy("flat")
    assert schema.hierarchy("disease") == schema.hierarchy("nothing said") == Hierarchy()
    assert schema.updates == {"file": "updates.csv"}
    assert schema.policy == {"require": "k=5"}
    assert Schema.loads(schema.dumps(), Path("conf")) == schema


def test_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode())
    schema = Schema.load(path)
    assert schema.folder == tmp_path
    assert schema.hierarchy("job").file == tmp_path / "job.csv"


def test_an_absolute_path_stays(tmp_path: Path) -> None:
    text = f"[columns]\njob = 'quasi'\n[taxonomy.job]\nfile = '{tmp_path / 'job.csv'}'\n"
    schema = Schema.loads(text, Path("conf"))
    assert schema.hierarchy("job").file == tmp_path / "job.csv"
    assert Schema.loads(schema.dumps(), Path("conf")) == schema


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "[columns]"),
        ("columns = 5", "[columns]"),
        ("[columns]", "[columns]"),
        ("[columns\n", "TOML"),
        ("[columns]\na = 'quasi'\na = 'keep'", "TOML"),
        ("[colums]\na = 'quasi'", "Did you mean 'columns'?"),
        ("[columns]\na = 'qusi'", "Did you mean 'quasi'?"),
        ("[columns]\na = 5", "must be a text"),
        ("[columns]\na.b = 'quasi'", "must stand in quotes"),
        ("[columns]\na = 'identifier'\nb = 'identifier'", "At most one"),
        ("[columns]\na = 'provider'\nb = 'provider'", "At most one"),
        ("taxonomy = 5\n[columns]\na = 'quasi'", "[taxonomy]"),
        ("policy = 'k=5'\n[columns]\na = 'quasi'", "[policy]"),
        ("[columns]\na = 'quasi'\n[taxonomy]\na = 5", "must be a table"),
        ("[columns]\nage = 'quasi'\n[taxonomy.aeg]\nflat = true", "Did you mean 'age'?"),
        ("[columns]\na = 'quasi'\n[taxonomy.a]\n", "exactly one"),
        ("[columns]\na = 'quasi'\n[taxonomy.a]\nflat = true\nprefix = [1]", "exactly one"),
        ("[columns]\na = 'quasi'\n[taxonomy.a]\nrange = [5]", "Did you mean 'ranges'?"),
    ],
)
def test_a_schema_that_says_nothing_useful(text: str, expected: str) -> None:
    assert expected in refused(SchemaError, lambda: Schema.loads(text))


@pytest.mark.parametrize(
    "line",
    [
        "ranges = 5",
        "ranges = '510'",
        "ranges = [5, 'ten']",
        "ranges = [true]",
        "ranges = [10, 5]",
        "ranges = [inf]",
        "ranges = { a = 5 }",
        "prefix = 3",
        "prefix = [3.7]",
        "prefix = [1, 3]",
        "prefix = []",
        "dates = false",
        "dates = 'month'",
        "dates = [1]",
        "dates = ['year', 'month']",
        "file = 5",
        "file = ['a']",
        "tree = ['ab', 'cd']",
        "tree = {}",
        "tree = 'a'",
        "flat = false",
        "auto = false",
        "auto = 'yes'",
        "flat = true\nunlisted = 'root'",
        "flat = true\nordered = true",
        "file = 'x'\nheader = 'yes'",
        "file = 'x'\ndelimiter = 5",
        "file = 'x'\ndelimiter = ''",
        "file = 'x'\nunlisted = 'ignore'",
        "file = 'x'\nunlisted = ['root']",
        "file = 'x'\nordered = 1",
    ],
)
def test_a_taxonomy_that_is_written_wrongly(line: str) -> None:
    message = refused(SchemaError, lambda: Schema.loads(f"[columns]\nage = 'quasi'\n[taxonomy.age]\n{line}"))
    assert message.startswith("[taxonomy.age]")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "reissue init" in refused(SchemaError, lambda: Schema.load(tmp_path / "none.toml"))
    refused(SchemaError, lambda: Schema.load(tmp_path))
    (tmp_path / "latin.toml").write_bytes("[columns]\ncaf\xe9 = 'quasi'".encode("latin1"))
    refused(SchemaError, lambda: Schema.load(tmp_path / "latin.toml"), ["caf"])


# --- from Python -----------------------------------------------------------------------------------------------------


def test_from_lists_of_names() -> None:
    schema = Schema.of_columns(quasi=["a", "b"], sensitive=["s"], identifier="i", provider="p", keep=["k"])
    assert (schema.quasi, schema.sensitive, schema.identifier, schema.provider, schema.kept) == (
        ("a", "b"),
        ("s",),
        "i",
        "p",
        ("k",),
    )
    assert set(schema.used) == set("abipsk")


def test_a_column_has_one_role() -> None:
    refused(SchemaError, lambda: Schema.of_columns(quasi=["a", "a"]))
    refused(SchemaError, lambda: Schema.of_columns(quasi=["a"], sensitive=["a"]))
    refused(SchemaError, lambda: Schema.of_columns(quasi=["a"], identifier="a"))
    refused(SchemaError, lambda: Schema.of_columns(quasi="age"))
    refused(SchemaError, lambda: Schema.of_columns(quasi=["a"], taxonomies={"b": Hierarchy("flat")}))
    refused(SchemaError, lambda: Schema({"a": "quazi"}))  # type: ignore[dict-item]


def test_other_roles() -> None:
    schema = Schema.of_columns(quasi=["a", "b"], taxonomies={"a": Hierarchy("flat")})
    other = schema.with_roles({"a": "drop", "c": Role.SENSITIVE})
    assert other.quasi == ("b",)
    assert other.sensitive == ("c",)
    assert other.hierarchies == {}
    assert schema.quasi == ("a", "b")
    refused(SchemaError, lambda: schema.with_roles({"a": "qasi"}))


# --- and back --------------------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
LEAVES = st.lists(NAMES | st.integers(-9, 9) | st.booleans() | st.floats(-5, 5), max_size=3)
TREES: st.SearchStrategy[Any] = st.recursive(
    LEAVES | st.just({}),
    lambda below: (
        st.dictionaries(NAMES, below, min_size=1, max_size=3)
        | st.lists(NAMES | st.dictionaries(NAMES, below, max_size=2), max_size=3)
    ),
    max_leaves=6,
)
LISTED: dict[str, st.SearchStrategy[Any]] = {
    "unlisted": st.sampled_from(["error", "root"]),
    "ordered": st.sampled_from([None, True, False]),
}
HIERARCHIES = st.one_of(
    st.just(Hierarchy()),
    st.just(Hierarchy("flat")),
    st.builds(
        lambda start, factors: Hierarchy("ranges", ranges=tuple(start * factor for factor in factors)),
        st.sampled_from([1.0, 0.25, 5.0, 1e6]),
        st.sampled_from([(), (1,), (1, 2, 8)]),
    ),
    st.builds(
        lambda steps: Hierarchy("prefix", prefix=tuple(sorted(steps, reverse=True))),
        st.sets(st.integers(1, 9), min_size=1),
    ),
    st.builds(
        lambda steps: Hierarchy("dates", dates=tuple(step for step in DATE_STEPS if step in steps)),
        st.sets(st.sampled_from(DATE_STEPS)),
    ),
    st.builds(
        Hierarchy,
        st.just("file"),
        file=st.sampled_from(["h.csv", "../h.csv", "/data/a b/h.csv", "deep/er.csv"]).map(Path),
        delimiter=st.sampled_from([None, ";", "\t", '"']),
        header=st.booleans(),
        **LISTED,
    ),
    st.builds(Hierarchy, st.just("tree"), tree=st.dictionaries(NAMES, TREES, min_size=1, max_size=3), **LISTED),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    named = NAMES.filter(bool)
    columns = draw(st.dictionaries(named, st.sampled_from(["quasi", "sensitive", "keep", "drop"]), min_size=1))
    for role in ("identifier", "provider"):
        if draw(st.booleans()):
            columns.setdefault(draw(named), role)
    taxonomies = {
        name: draw(HIERARCHIES)
        for name, role in columns.items()
        if role in {"quasi", "sensitive"} and draw(st.booleans())
    }
    extra = st.dictionaries(NAMES, st.integers() | st.booleans() | NAMES | st.lists(NAMES, max_size=2), max_size=2)
    roles = {name: Role(role) for name, role in columns.items()}
    return Schema(roles, taxonomies, draw(extra), draw(extra))


@given(schemas())
def test_a_schema_comes_back_from_its_text(schema: Schema) -> None:
    again = Schema.loads(schema.dumps())
    assert again == schema
    assert list(again.columns) == list(schema.columns), "the order of columns is the order of quasi-identifiers"
    trees = [json.dumps(one.hierarchy(name).tree) for one in (again, schema) for name in schema.hierarchies]
    assert trees[: len(trees) // 2] == trees[len(trees) // 2 :], "so is the order of leaves"


@pytest.mark.parametrize("folder", ["conf", "a/b", "/abs"])
@pytest.mark.parametrize("file", ["job.csv", "deep/job.csv"])
def test_paths_come_back_from_any_folder(folder: str, file: str) -> None:
    schema = Schema.loads(f"[columns]\nj = 'quasi'\n[taxonomy.j]\nfile = '{file}'", Path(folder))
    assert schema.hierarchy("j").file == Path(folder) / file
    assert f'"{file}"' in schema.dumps()
    assert Schema.loads(schema.dumps(), Path(folder)) == schema


def test_errors_of_a_hierarchy_are_taxonomy_errors_in_python() -> None:
    refused(TaxonomyError, lambda: Hierarchy("prefix", prefix=(1, 3)))


# --- its reference ---------------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "schema.md").read_text(encoding="utf-8")


def test_the_reference_tells_every_role_kind_option_and_step() -> None:
    options = [field.name for field in dataclasses.fields(Hierarchy) if field.name not in {*KINDS, "kind"}]
    assert options == ["delimiter", "header", "unlisted", "ordered", "bottom", "top"]
    for name in (*Role, *KINDS, *options):
        assert f"\n| `{name}` | " in PAGE, f"{name} has no line of its own in a table"
    for name in (*DATE_STEPS, "updates", "policy"):
        assert name in PAGE


@pytest.mark.parametrize("block", re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
def test_the_references_examples_are_schemas(block: str) -> None:
    schema = Schema.loads(block)
    assert schema.quasi
    assert Schema.loads(schema.dumps()) == schema


def test_the_references_notations_are_read() -> None:
    published = PAGE.split("## What is published")[1].split("\n## ")[0]
    told = [text for text in re.findall(r"`([^`]+)`", published) if re.search(r"\d", text)]
    read = [text for text in told if span_of(text) or text.endswith("*")]
    names, refused = {"007", "+1"}, {"12-4", "under 18"}
    assert set(told) - set(read) == (names - set(read)) | refused
    assert len(read) >= 12
