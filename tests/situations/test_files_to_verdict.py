"""Real situations from files to verdict: only the command line is used, and its answer is compared with the truth."""

import contextlib
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.cli._app import run
from reissue.schema import Role

QUASI = ["age", "zip", "sex"]
SCHEMA = synth.schema().with_roles({"job": Role.DROP, "hospital": Role.DROP})


def audit(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of `reissue attack`."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run(["attack", *words, "--json"])
    return code, json.loads(out.getvalue())


def finding(answer: dict[str, Any], attack: str) -> dict[str, Any]:
    return next(one for one in answer["findings"] if one["attack"] == attack)


def publish(folder: Path, name: str, people: pl.DataFrame, require: str, **how: Any) -> str:
    ri.anonymize(people, SCHEMA, require, seed=1, **how).write(str(folder / name))
    return name


def reads(text: str, value: str | int) -> bool:
    """Whether a published text includes a value: a range, a prefix, a star, or the value itself."""
    if text.startswith("["):
        low, high = text.strip("[]").split(", ")
        return int(low) <= int(value) <= int(high)
    return text in {"*", str(value)} or (text.endswith("*") and str(value).startswith(text.rstrip("*")))


def left_for(seen: Sequence[tuple[pl.DataFrame, dict[str, Any]]]) -> set[str]:
    """By enumeration: the values that releases leave for someone who looks so in each of them."""
    held = []
    for release, person in seen:
        mine = [row for row in release.rows(named=True) if all(reads(row[name], person[name]) for name in QUASI)]
        held.append({row["disease"] for row in mine})
    return set.intersection(*held)


def read(folder: Path, names: Sequence[str]) -> list[pl.DataFrame]:
    return [pl.read_csv(folder / name, infer_schema=False) for name in names]


@pytest.fixture(scope="module")
def months() -> list[pl.DataFrame]:
    """Three months of a ward: people come and go, and values stay while they are there."""
    found = list(synth.Population(seed=3, people=300).months(3))
    first = pl.concat(found).unique("patient", keep="first", maintain_order=True).select("patient", "disease")
    return [month.drop("disease").join(first, on="patient", how="left", maintain_order="left") for month in found]


def test_two_publishers(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """Two hospitals share patients; each of them published l = 3, and from the files alone the overlap tells."""
    month = months[0]
    halves = [month.gather_every(3), month.filter(pl.int_range(pl.len()) % 3 != 1)]
    names = [publish(tmp_path, f"h{place}.csv", half, "k=3 & l=2") for place, half in enumerate(halves, 1)]
    code, answer = audit(tmp_path, *names, "--quasi", ",".join(QUASI), "--sensitive", "disease")
    found = finding(answer, "composition")
    both = halves[0].join(halves[1], on="patient", how="semi").rows(named=True)
    releases = read(tmp_path, names)
    left = [left_for([(release, person) for release in releases]) for person in both]
    assert all(person["disease"] in values for person, values in zip(both, left, strict=True))
    sure = sum(len(values) == 1 for values in left)
    assert sure
    assert code == 1
    assert answer["verdict"] == found["status"] == "exposed"
    assert found["needs"] == ["people", "members"]
    assert found["people"] >= sure or not found["details"]["complete"]


def test_a_ward_census_with_comings_and_goings(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """With who was there in each month the joint attack runs by one command; it knows at least what groups say."""
    names = [publish(tmp_path, f"m{place}.csv", month, "k=4 & l=2") for place, month in enumerate(months, 1)]
    (tmp_path / "who").mkdir()
    for name, month in zip(names, months, strict=True):
        month.select("patient", *QUASI).write_csv(tmp_path / "who" / name)
    code, answer = audit(tmp_path, *names, "--members", "who", "--only", "joint", "--only", "composition")
    found = finding(answer, "joint")
    everyone = pl.concat(months)["patient"].n_unique()
    assert (code, found["status"], found["population"]) == (1, "exposed", everyone)
    assert found["details"]["knowledge"] == "register"
    assert finding(answer, "composition")["why"] == "does_not_apply"
    releases = read(tmp_path, names)
    people: dict[int, list[tuple[pl.DataFrame, dict[str, Any]]]] = defaultdict(list)
    for release, month in zip(releases, months, strict=True):
        for person in month.rows(named=True):
            people[person["patient"]].append((release, person))
    left = {patient: left_for(seen) for patient, seen in people.items()}
    assert all(seen[0][1]["disease"] in left[patient] for patient, seen in people.items())
    assert found["details"]["sure"] >= sum(len(values) == 1 for values in left.values()) > 0


def test_a_ward_where_values_change_and_nobody_said_so(tmp_path: Path) -> None:
    """Few enough changes to look like mistakes, and too many to be some: how values change is learned."""
    (tmp_path / "who").mkdir()
    names = []
    for place, month in enumerate(synth.Population(seed=4, people=600).months(3), 1):
        names.append(f"m{place}.csv")
        ri.anonymize(month, synth.schema(), "k=5 & l=3", seed=place).write(str(tmp_path / names[-1]))
        month.drop("disease", "hospital").write_csv(tmp_path / "who" / names[-1])
    code, answer = audit(tmp_path, *names, "--members", "who", "--only", "joint")
    found = finding(answer, "joint")
    assert (code in {0, 1}, found["details"]["updates"]) == (True, "releases")


def test_a_register_that_holds_people_who_are_in_no_release(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    names = [publish(tmp_path, f"m{place}.csv", month, "k=4 & l=2") for place, month in enumerate(months[:2], 1)]
    everyone = pl.concat(months).unique("patient", keep="first", maintain_order=True).select("patient", *QUASI)
    strangers = everyone.head(100).with_columns(pl.col("patient") + 1_000_000)
    pl.concat([everyone, strangers]).write_csv(tmp_path / "register.csv")
    code, answer = audit(tmp_path, *names, "--population", "register.csv", "--only", "joint")
    found = finding(answer, "joint")
    assert (code in {0, 1}, found["status"] in {"exposed", "withstood"}) == (True, True)
    assert found["population"] > pl.concat(months[:2])["patient"].n_unique()


def test_a_growing_register(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """Nobody leaves, and each release is cut anew: fewer records are left than each file promises."""
    so_far, names = pl.DataFrame(), []
    for place, month in enumerate(months, 1):
        so_far = pl.concat([so_far, month]).unique("patient", keep="first", maintain_order=True)
        names.append(publish(tmp_path, f"until{place}.csv", so_far, "k=5", method="topdown"))
    code, answer = audit(tmp_path, *names, "--quasi", ",".join(QUASI), "--sensitive", "disease")
    first = [set(month["patient"]) for month in months]
    people = so_far.with_columns(
        since=pl.col("patient").map_elements(
            lambda patient: next(place for place, there in enumerate(first) if patient in there), pl.Int64
        )
    ).rows(named=True)
    releases = read(tmp_path, names)
    left = [left_for([(release, person) for release in releases[person["since"] :]]) for person in people]
    assert all(person["disease"] in values for person, values in zip(people, left, strict=True))
    found = finding(answer, "composition")
    assert found["people"] >= sum(len(left[place]) == 1 for place, person in enumerate(people) if person["since"] < 2)
    assert finding(answer, "correspondence")["status"] != "not_run"
    assert code == (1 if answer["verdict"] == "exposed" else 0)
    assert [one["rows"] for one in answer["releases"]] == [len(set.union(*first[: place + 1])) for place in range(3)]
    assert min(one["smallest"] for one in answer["releases"]) >= 5


def patterns(waves: Sequence[pl.DataFrame]) -> Iterator[tuple[Any, ...]]:
    """Everyone's whole pattern, by enumeration."""
    seen: dict[str, list[Any]] = defaultdict(lambda: [None] * len(waves))
    for place, wave in enumerate(waves):
        for row in wave.rows(named=True):
            seen[row["pseudonym"]][place] = tuple(row[name] for name in QUASI)
    return (tuple(pattern) for pattern in seen.values())


def test_a_linked_panel(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """Every wave is 9-anonymous and keeps the pseudonym: most people have a pattern of their own in the end."""
    linked, names = SCHEMA.with_roles({"patient": Role.KEEP}), []
    for place, month in enumerate(months, 1):
        wave = ri.anonymize(month, linked, "k=9", seed=place).frame.rename({"patient": "pseudonym"})
        wave.sample(fraction=1, shuffle=True, seed=place).write_csv(tmp_path / f"wave{place}.csv")
        names.append(f"wave{place}.csv")
    code, answer = audit(tmp_path, *names, "--only", "trajectory")
    found = finding(answer, "trajectory")
    classes = Counter(patterns(read(tmp_path, names)))
    assert code == 1
    assert found["details"]["unique"] == sum(size == 1 for size in classes.values())
    assert found["people"] == found["details"]["below"] == sum(size for size in classes.values() if size < 5)
    assert found["details"]["expected"] == len(classes)
    assert found["population"] == sum(classes.values())
    assert found["details"]["growth"][0]["below"] == 0


# --- what does not fit -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, months: list[pl.DataFrame]) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for place, month in enumerate(months[:2], 1):
        publish(folder, f"m{place}.csv", month, "k=4 & l=2")
        for kind in ("spelled", "nameless", "fewer", "strangers"):
            (folder / kind).mkdir(exist_ok=True)
        who = month.select("patient", *QUASI)
        who.rename({"age": "Age", "zip": "zipcode"}).write_csv(folder / "spelled" / f"m{place}.csv")
        who.drop("patient").write_csv(folder / "nameless" / f"m{place}.csv")
        who.with_columns(pl.lit(200).alias("age"), pl.lit("x9999").alias("zip")).write_csv(
            folder / "strangers" / f"m{place}.csv"
        )
    months[0].select("patient", *QUASI).write_csv(folder / "fewer" / "m1.csv")
    months[0].select("patient", pl.col("age").alias("years"), "zip", "sex").write_csv(folder / "register.csv")
    twice = pl.read_csv(folder / "m1.csv", infer_schema=False).with_row_index("pseudonym")
    pl.concat([twice, twice.head(2)]).write_csv(folder / "twice.csv")
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--members", "spelled"],
            "lacks columns that the releases are compared by: 'age' (is it 'Age'?), 'zip' (is it 'zipcode'?)",
        ),
        (["--members", "nameless"], "--identifier COLUMN"),
        (["--members", "fewer"], "There are 2 releases and 1 table of members"),
        (["--members", "strangers"], "fits"),
        (
            ["--population", "register.csv"],
            "The table of people lacks a column that the releases are compared by: 'age'",
        ),
    ],
)
def test_tables_of_people_that_do_not_fit_are_said_once(files: Path, words: list[str], message: str) -> None:
    code, answer = audit(files, "m1.csv", "m2.csv", *words, "--report", "out.html")
    assert code == 2
    assert message in answer["error"]["message"]
    assert not (files / "out.html").exists()


def test_a_pseudonym_that_is_used_twice(files: Path) -> None:
    code, answer = audit(
        files, "twice.csv", "--identifier", "pseudonym", "--only", "trajectory", "--report", "out.html"
    )
    assert (code, "it repeats itself in 2 rows" in answer["error"]["message"]) == (2, True)
    assert not (files / "out.html").exists()
