"""An auditor with somebody else's files and no schema: each verdict is compared with enumeration by the definitions."""

import contextlib
import io
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import synth
from reissue.attacks import Knowledge, Series, find, run_attack
from reissue.attacks.findings import Status
from reissue.cli._app import run
from reissue.published import Tables, read_published
from reissue.publishing.refusal import RefusedError
from reissue.release.presences import presences_of
from reissue.schema import Schema
from tests.effort import examples

LIMIT = 0.75
ILL = ["flu", "cold", "HIV", "asthma", "angina"]
Row = tuple[str | None, ...]


def exposed(rows: Sequence[dict[str, Any]], quasi: Sequence[str], sensitive: Sequence[str], k: int = 0) -> int:
    """By the definitions, person by person: who is linked to a value by the group's share, or in too small a group."""
    groups: dict[Row, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in quasi)].append(row)
    found = 0
    for group in groups.values():
        shown = [Counter(row[name] for row in group if row[name] is not None) for name in sensitive]
        linked = any(many / len(group) > LIMIT + 1e-9 for column in shown for many in column.values())
        found += len(group) if linked or len(group) < k else 0
    return found


def command(folder: Path, *words: str) -> tuple[int, str, str]:
    """The exit code, the output and the messages of a command in a folder."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(words))
    return code, " ".join(out.getvalue().split()), " ".join(err.getvalue().split())


def audit(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of `reissue attack`."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run(["attack", *words, "--json"])
    return code, json.loads(out.getvalue())


def write(folder: Path, name: str, **columns: Sequence[object]) -> list[dict[str, Any]]:
    """A file of these columns; its rows as they are read back."""
    pl.DataFrame(columns, strict=False).write_csv(folder / name)
    return pl.read_csv(folder / name, infer_schema=False).rows(named=True)


def month(folder: Path, name: str, last: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Six groups of five people with five diseases; the last group may have others."""
    groups = list(product(["20-29", "30-39", "40-49"], ["13*", "14*"]))
    ill = [[*ILL[place % 5 :], *ILL[: place % 5]] for place in range(6)]
    ill = [*ill[:5], list(last)] if last else ill
    rows = [(*group, value) for group, values in zip(groups, ill, strict=True) for value in values]
    return write(folder, name, **dict(zip(("age", "zip", "disease"), zip(*rows, strict=True), strict=True)))


def test_eight_rows_that_are_all_hiv(tmp_path: Path) -> None:
    rows = write(tmp_path, "one.csv", age=["20-29"] * 8, zip=["13*"] * 8, disease=["HIV"] * 8)
    code, answer = audit(tmp_path, "one.csv")
    (found,) = (one for one in answer["findings"] if one["status"] == "exposed")
    assert (code, answer["verdict"], found["attack"]) == (1, "exposed", "disclosure")
    assert found["people"] == exposed(rows, ["age", "zip"], ["disease"]) == 8
    assert found["details"]["sure"] == 8
    assert "HIV" not in found["sentence"]
    assert "'disease'" in found["sentence"]
    assert "Exposed: 8 of 8 people are exposed by this release." in command(tmp_path, "attack", "one.csv")[1]
    assert command(tmp_path, "attack", "one.csv", "--report", "r.html")[0] == 1
    page = (tmp_path / "r.html").read_text()
    assert "8 of 8 people are exposed by this release." in page
    assert "in the whole release (prior)" in page


def test_three_files_of_which_one_has_a_group_at_eighty_percent(tmp_path: Path) -> None:
    rows = [month(tmp_path, "a.csv"), month(tmp_path, "b.csv", ["HIV"] * 4 + ["flu"]), month(tmp_path, "c.csv")]
    assert [exposed(one, ["age", "zip"], ["disease"]) for one in rows] == [0, 5, 0]
    code, answer = audit(tmp_path, "a.csv", "b.csv", "c.csv")
    found = next(one for one in answer["findings"] if one["attack"] == "disclosure")
    assert (code, answer["verdict"], found["people"], found["worst"]) == (1, "exposed", 5, 0.8)
    assert [one["people"] for one in found["details"]["by_release"]] == [0, 5, 0]
    assert found["details"]["columns"]["disease"]["prior"] == pytest.approx(9 / 30)
    assert (
        "5 of 30 people are exposed by one of these 3 releases by itself."
        in command(tmp_path, "attack", "a.csv", "b.csv", "c.csv")[1]
    )
    assert audit(tmp_path, "b.csv", "--limit", "disclosure=0.8")[0] == 0, "at the limit is allowed"


def test_one_harmless_file_has_a_verdict(tmp_path: Path) -> None:
    rows = month(tmp_path, "a.csv")
    code, answer = audit(tmp_path, "a.csv")
    assert exposed(rows, ["age", "zip"], ["disease"]) == 0
    assert (code, answer["verdict"]) == (0, "incomplete"), "what needs more than the file was not run"
    said = command(tmp_path, "attack", "a.csv")[1]
    assert (
        "Nobody is exposed by this release, as far as was tried: disclosure. 5 other attacks could not be run" in said
    )
    assert audit(tmp_path, "a.csv", "--only", "disclosure")[1]["verdict"] == "withstood"


def test_a_file_of_counts_is_refused(tmp_path: Path) -> None:
    cells = list(product(["20-29", "30-39", "40-49"], "FM", ILL))
    band, sex, disease = zip(*cells, strict=True)
    write(tmp_path, "counts.csv", band=band, sex=sex, disease=disease, count=[3 + 7 * n % 11 for n in range(30)])
    code, out, err = command(tmp_path, "check", "counts.csv")
    assert (code, out) == (2, "")
    assert "'counts.csv' looks like a table of counts, not of people: the column 'count'" in err
    assert "every row would be taken for one person" in err
    plan = Schema.of_columns(quasi=["band", "sex"], sensitive=["disease"])
    with pytest.raises(ri.InputError, match="looks like a table of counts"):
        ri.check(tmp_path / "counts.csv", plan)
    attacked = ri.attack([tmp_path / "counts.csv"], plan)
    assert str(attacked.verdict) == "incomplete", "one table that hides nothing: nothing was tested"
    people = plan.with_roles({"count": "drop"})
    assert ri.attack([tmp_path / "counts.csv"], people)["disclosure"].population == 30, "the schema says: people"
    (tmp_path / "people.toml").write_text(people.dumps())
    assert command(tmp_path, "check", "counts.csv", "--schema", "people.toml")[0] == 0


def test_four_rows_of_counts_are_refused_too(tmp_path: Path) -> None:
    band, sex = ["20-29", "20-29", "30-39", "30-39"], ["F", "M", "F", "M"]
    write(tmp_path, "counts.csv", band=band, sex=sex, disease=["flu", "HIV", "HIV", "flu"], count=[12, 9, 3, 7])
    code, _, err = command(tmp_path, "check", "counts.csv")
    assert (code, "looks like a table of counts" in err) == (2, True)
    detailed = {"age": [*range(20, 60)], "zip": [1000 + n % 9 for n in range(40)], "disease": [*"abcd"] * 10}
    write(tmp_path, "people.csv", **detailed, count=[n % 7 for n in range(40)])
    assert "table of counts" not in command(tmp_path, "attack", "people.csv")[2], "people may have a count of something"


def test_files_whose_columns_differ(tmp_path: Path) -> None:
    """Compared by what they share; each by itself with all that it shows."""
    ages = ["20-29", "30-39"] * 10
    sex = [["F", "M"][place // 2 % 2] for place in range(20)]
    ill = [ILL[place % 5] for place in range(20)]
    first = write(tmp_path, "one.csv", age=ages, sex=sex, disease=ill)
    second = write(tmp_path, "two.csv", age=ages, region=["N"] * 8 + ["S"] * 12, disease=["HIV"] * 8 + ill[:12])
    code, answer = audit(tmp_path, "one.csv", "two.csv")
    assert any("'one.csv' lacks 'region'; 'two.csv' lacks 'sex'" in sentence for sentence in answer["assumed"])
    found = {one["attack"]: one for one in answer["findings"]}
    expected = exposed(first, ["age", "sex"], ["disease"]), exposed(second, ["age", "region"], ["disease"])
    assert [one["people"] for one in found["disclosure"]["details"]["by_release"]] == [*expected]
    assert (code, expected[1]) == (1, 8), "by age alone nobody's share would be above the limit"
    assert found["composition"]["status"] != "not_run"
    code, _out, err = command(tmp_path, "attack", "one.csv", "two.csv", "--report", "r.html")
    assert "'two.csv' lacks 'sex'" in err
    assert "&#39;two.csv&#39; lacks &#39;sex&#39;" in (tmp_path / "r.html").read_text()


def test_a_release_that_lacks_the_sensitive_column(tmp_path: Path) -> None:
    month(tmp_path, "a.csv")
    pl.read_csv(tmp_path / "a.csv").drop("disease").write_csv(tmp_path / "b.csv")
    code, answer = audit(tmp_path, "a.csv", "b.csv")
    found = {one["attack"]: one for one in answer["findings"]}
    assert (code, answer["verdict"]) == (3, "incomplete"), "nothing could compare them"
    assert "Release 2 does not show 'disease'" in found["disclosure"]["sentence"]
    assert found["composition"]["status"] == "not_run"
    assert "sensitive columns in every release: release 2 lacks disease" in found["composition"]["reason"]
    said = command(tmp_path, "attack", "a.csv", "b.csv")[1]
    assert "Nothing compared the releases: what they give away together is not known." in said


def test_columns_that_some_release_lacks_are_ignored_and_named() -> None:
    rows = {"age": ["20-29", "30-39"] * 6, "disease": (ILL * 3)[:12]}
    one, two = pl.DataFrame(rows), pl.DataFrame({**rows, "sex": ["F", "M", "M"] * 4, "ward": ["a", "b"] * 6})
    plan = Schema.of_columns(quasi=["age", "sex"], sensitive=["disease", "ward"])
    found = ri.attack([one, two], plan, only="correspondence")["correspondence"]
    plain = ri.attack([one, one], Schema.of_columns(quasi=["age"], sensitive=["disease"]), only="correspondence")
    assert found.details["ignored"] == ["sex", "ward"]
    assert found.sentence.endswith(" Ignored, because some release lacks them: 'sex', 'ward'.")
    assert (found.status, found.worst) == (plain["correspondence"].status, plain["correspondence"].worst)


def test_missing_values_expose_nobody(tmp_path: Path) -> None:
    ages = ["20-29"] * 8 + ["30-39"] * 8
    rows = write(tmp_path, "m.csv", age=ages, sex=["F"] * 16, disease=[None] * 8 + ["HIV"] + [None] * 6 + ["flu"])
    code, answer = audit(tmp_path, "m.csv")
    assert exposed(rows, ["age", "sex"], ["disease"]) == 0
    assert (code, answer["releases"][0]["share"]) == (0, 1 / 8)
    assert not [one for one in answer["findings"] if one["status"] == "exposed"]


def test_check_without_a_schema_says_what_it_guessed(tmp_path: Path) -> None:
    month(tmp_path, "a.csv", ["HIV"] * 5)
    code, out, err = command(tmp_path, "check", "a.csv", "--require", "k=5 & l=2")
    assert code == 1
    assert "'disease' is taken to be sensitive: its name says so." in err
    assert "NOT MET l=2" in out
    code, out, err = command(tmp_path, "check", "a.csv", "--require", "k=5", "--quasi", "age", "--sensitive", "disease")
    assert (code, "k 10" in out) == (0, True)
    assert json.loads(command(tmp_path, "check", "a.csv", "--json")[1])["assumed"]


def test_two_columns_are_judged_each_by_itself() -> None:
    """No pair of values is common in a group, and one of the columns is the same for everyone in it."""
    frame = pl.DataFrame(
        {"age": ["20-29"] * 6 + ["30-39"] * 6, "hiv": ["yes"] * 6 + ["no", "yes"] * 3, "ward": [*"abcdef"] * 2}
    )
    plan = Schema.of_columns(quasi=["age"], sensitive=["hiv", "ward"])
    found = ri.attack([frame], plan, only="disclosure")["disclosure"]
    assert found.people == exposed(frame.rows(named=True), ["age"], ["hiv", "ward"]) == 6
    assert "'hiv'" in found.sentence
    assert "'ward'" not in found.sentence


@pytest.mark.parametrize(("require", "people"), [(None, 0), ("k=2", 1), ("k=3", 3), ("l=3", 0)])
def test_unique_records_are_counted_where_a_group_size_is_asked_for(require: str | None, people: int) -> None:
    frame = pl.DataFrame({"age": ["1", "2", "2", *"333"], "ill": [None, "flu", "gout", "flu", "gout", "HIV"]})
    plan = Schema.of_columns(quasi=["age"], sensitive=["ill"])
    policy = {} if require is None else {"require": require}
    found = ri.attack([frame], replace(plan, policy=policy), only="disclosure")["disclosure"]
    assert found.people == people
    assert ("1 person is unique" in found.sentence) == (require in {None, "l=3"})
    bare = ri.attack([frame], Schema.of_columns(quasi=["age"]), only="disclosure")["disclosure"]
    assert (bare.people, bare.limit, bare.worst) == (1, 2, 1), "without sensitive values who it is is all there is"


@examples(400)
@given(st.data())
def test_random_files_are_judged_as_enumeration_says(data: st.DataObject) -> None:
    """One to three sensitive columns, missing cells, skewed and binary values, one to three releases."""
    sensitive = ["s1", "s2", "s3"][: data.draw(st.integers(1, 3))]
    many = [data.draw(st.sampled_from([["a"], ["a", "b"], ["a"] * 8 + ["b", "c"], [*"abcdef"]])) for _ in sensitive]
    cell = [st.sampled_from([*values, None]) for values in many]
    row = st.tuples(st.sampled_from("xy"), st.sampled_from(["p", "q", None]), *cell)
    files = data.draw(st.lists(st.lists(row, min_size=1, max_size=14), min_size=1, max_size=3))
    names = ["q1", "q2", *sensitive]
    frames = [pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row") for rows in files]
    plan = Schema.of_columns(quasi=["q1", "q2"], sensitive=sensitive)
    expected = [exposed(frame.rows(named=True), ["q1", "q2"], sensitive) for frame in frames]
    findings = ri.attack(frames, plan)
    found = findings["disclosure"]
    assert [one["people"] for one in found.details["by_release"]] == expected
    assert found.people == max(expected)
    assert (found.status == Status.EXPOSED) == any(expected)
    assert findings.verdict != "withstood" if any(expected) else found.status == Status.WITHSTOOD
    assert not any(expected) or findings.verdict == "exposed"
    counted = ri.attack([frame.lazy() for frame in frames], plan, only="disclosure", engine="stream")["disclosure"]
    assert counted.people == found.people


def by_policy(rows: Sequence[Row], columns: int, policy: dict[str, Any]) -> int:
    """The same where values have limits of their own: columns are places of a row, the last one is all of them."""

    def limit(column: int, value: str | None) -> float:
        name = f"s{column}"
        if value is None:
            return LIMIT if policy["missing_is_sensitive"] else math.inf
        if value in policy["harmless_values"].get(name, []):
            return math.inf
        return float(policy["limit"].get(name, {}).get(value, policy["limit"]["default"]))

    def exposes(group: Sequence[Row], cell: Callable[[Row], Any], bound: Callable[[Any], float]) -> bool:
        prior, share = Counter(map(cell, rows)), Counter(map(cell, group))
        for value, many in share.items():
            odds = policy.get("gain", math.inf) * prior[value] / max(len(rows) - prior[value], 1e-9)
            most = min(bound(value), odds / (1 + odds)) if math.isfinite(odds) and bound(value) <= 1 else bound(value)
            if many / len(group) > most + 1e-9:
                return True
        return False

    def single(group: Sequence[Row], at: int) -> bool:
        return exposes(group, lambda row: row[at], lambda value: limit(at, value))

    groups: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row)
    cells = range(1, columns + 1)
    return sum(
        len(group)
        for group in groups.values()
        if any(single(group, at) for at in cells)
        or exposes(group, lambda row: row[1:], lambda values: min(map(limit, cells, values)))
    )


@examples(400)
@given(st.data())
def test_limits_of_values_gain_and_harmless_values(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 2))
    cell = st.sampled_from(["a", "a", "b", "c", None])
    rows = data.draw(st.lists(st.tuples(st.sampled_from("xyz"), *[cell] * columns), min_size=2, max_size=14))
    policy: dict[str, Any] = {
        "limit": {"default": LIMIT, "s1": {"a": data.draw(st.sampled_from([0.3, 0.5, 0.9]))}},
        "harmless_values": data.draw(st.sampled_from([{}, {"s1": ["b"]}, {"s1": ["a", "c"]}])),
        "missing_is_sensitive": data.draw(st.booleans()),
    }
    policy |= data.draw(st.sampled_from([{}, {"gain": 2}, {"gain": 6}]))
    names = [f"s{number}" for number in range(1, columns + 1)]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(["q", *names], pl.String), orient="row")
    plan = replace(Schema.of_columns(quasi=["q"], sensitive=names), policy=policy)
    found = ri.attack([frame], plan, only="disclosure")["disclosure"]
    assert found.people == by_policy(rows, columns, policy)


def test_a_limit_that_permits_everything_shows_nothing() -> None:
    frame = pl.DataFrame({"q": ["x", "x", "y"], "s": ["a", "a", "b"]})
    plan = replace(Schema.of_columns(quasi=["q"], sensitive=["s"]), policy={"limit": 1})
    found = ri.attack([frame], plan, only="disclosure")
    assert (found["disclosure"].status, found.verdict) == (Status.NOT_RUN, "incomplete")
    small = ri.attack([frame], replace(plan, policy={"limit": 1, "require": "k=2"}), only="disclosure")["disclosure"]
    assert (small.status, small.people, small.limit) == (Status.EXPOSED, 1, 2)
    harmless = replace(plan, policy={"harmless_values": ["a", "b"]})
    assert "No protected value is shown" in ri.attack([frame], harmless, only="disclosure")["disclosure"].sentence


def test_what_a_ledger_keeps_without_quasi_identifiers_says_the_same() -> None:
    month = next(synth.Population(seed=2, people=300).months(1))
    release = ri.anonymize(month, synth.schema(), "k=3", seed=1)
    kept = read_published(Tables({}, presences=presences_of(release), requirement=release.requirement), synth.schema())
    limits = {"disclosure": 0.5}
    shown = ri.attack([release.frame], synth.schema(), only="disclosure", limits=limits)["disclosure"]
    alone = run_attack(find("disclosure"), Series((kept,), synth.schema(), limits=limits), Knowledge())
    assert 0 < shown.people == alone.people
    assert (shown.sentence, shown.worst) == (alone.sentence, alone.worst)


@pytest.mark.parametrize("ill", ["HIV", "HIV flu"])
def test_a_table_without_identifiers_is_not_published_with_a_homogeneous_group(tmp_path: Path, ill: str) -> None:
    """No other attack of the policy looks at the release by itself."""
    values = (ill.split() * 6)[:6]
    frame = pl.DataFrame({"age": ["20"] * 6 + ["50"] * 6, "ill": [*values, *["flu", "gout", "acne"] * 2]})
    plan = Schema.of_columns(quasi=["age"], sensitive=["ill"])
    policy = {"require": "k=3", "attacks": ["correspondence"], "method": "correspondence"}
    with ri.Ledger.create(tmp_path / "x.ledger", replace(plan, policy=policy)) as ledger:
        if ill == "HIV":
            with pytest.raises(RefusedError, match="disclosure: Release 1 by itself links 6 of 12 people") as refused:
                ri.publish(frame, ledger)
            assert any("different values in every group" in line for line in refused.value.report.advice)
        else:
            ri.publish(frame, ledger)
            assert ledger.releases[0].findings["disclosure"].status == Status.WITHSTOOD
