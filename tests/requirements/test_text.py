"""Requirements as text: reading, writing, refusing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.counting import Counts, Domain
from reissue.errors import InputError, RequirementError
from reissue.requirements import Confidence, Personalized, SimpleLDiversity, parse, registered
from reissue.requirements._values import read_sets, split, write_sets
from tests.effort import examples
from tests.requirements.strategies import Sample, requirements

SAMPLE = Sample(((0, "flu"), (0, "cold"), (1, "ulcer"), (1, "flu"), (1, "none")))
FLAT = ri.Schema.of_columns(quasi=["g"], sensitive=["s"])


@pytest.mark.parametrize("name", list(registered()))
@examples(50)
@given(data=st.data())
def test_text_reads_back(name: str, data: Any) -> None:
    requirement = parse(data.draw(requirements(name, "tree")))
    assert parse(str(requirement)) == requirement
    together = requirement & parse("k=7")
    assert parse(str(together)) == together


@given(st.lists(st.lists(st.text(max_size=5), min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=3))
def test_any_name_reads_back(sets: list[tuple[str, ...]]) -> None:
    assert read_sets(write_sets(tuple(sets))) == tuple(sets)
    requirement = Confidence(0.5, values=tuple(sets))
    assert parse(f"{requirement} & k=3") == requirement & parse("k=3")
    guarded = Personalized(0.5, tuple((names[0], names[-1]) for names in sets))
    assert parse(str(guarded)) == guarded


def test_names_may_be_given_in_any_collection() -> None:
    assert SimpleLDiversity(2, values=("flu", {"cold", "ulcer"})) == parse("simple-l=2:flu, {cold, ulcer}")  # type: ignore[arg-type]
    assert Confidence(0.5, values="flu") == parse("confidence=0.5:flu")  # type: ignore[arg-type]
    assert str(parse('confidence=.50 : "a & b" , c')) == 'confidence=0.5:"a & b", c'
    assert split('a & "b & c" & {d & e}', "&") == ["a", '"b & c"', "{d & e}"]


@pytest.mark.parametrize("name", list(registered()))
def test_every_requirement_shows_an_example_that_reads(name: str) -> None:
    kind = registered()[name]
    for text in kind.example.split(" or "):
        assert isinstance(parse(text), kind)
    with pytest.raises(RequirementError, match="needs a value"):
        parse(name)
    with pytest.raises(RequirementError, match="needs a value"):
        parse(f"{name}=")


@pytest.mark.parametrize(
    "text",
    [
        "k=0", "k=1.5", "k=x", "l=0", "entropy-l=0.5", "entropy-l=nan", "entropy-l=inf", "recursive=3", "recursive=3,1",
        "recursive=-1,2", "recursive=1,2,3", "simple-l=0", "simple-l=2:{}", "confidence=1.1", "confidence=-0.1",
        "confidence=0.5:a,,b", 'confidence=0.5:"a', "confidence=0.5:{a", "alpha-k=0.5", "alpha-k=0.5,0", "t=2",
        "t=0.2:far", "k-e=2", "k-e=2,-1", "c-k=0,1", "c-k=0.5,-1", "c-k=0.5,99", "c-k=1.5,1", "personalized=2",
        "personalized=0.5:a>b>c", "m-unique=0", "nonsense=3", "", "k=5 &",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(RequirementError):
        parse(text)


def test_a_wrong_name_gets_a_hint() -> None:
    with pytest.raises(RequirementError, match="Did you mean 'entropy-l'"):
        parse("entropyl=3")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("confidence=0.5:measles", "number 1"),
        ("confidence=0.5:flu, {cold, measles}", "number 2"),
        ("personalized=0.5:measles", "number 1"),
        ("personalized=0.5:flu>stomach", "above"),
        ("k-e=2,1", "numbers or dates"),
    ],
)
def test_values_that_do_not_fit_are_refused_without_naming_them(text: str, words: str) -> None:
    with pytest.raises(RequirementError, match=words) as refused:
        parse(text).refuse_impossible(SAMPLE.table.whole())
    assert "measles" not in str(refused.value)


@pytest.mark.parametrize("text", ["t=0.5:ordered", "t=0.5:hierarchical", "k-e=2,1"])
def test_flat_values_have_no_order_no_tree_and_no_numbers(text: str) -> None:
    with pytest.raises(RequirementError, match="one sensitive column"):
        ri.anonymize(SAMPLE.frame, FLAT, text)
    parse("k=1 & t=0.5").fits(ri.Table.read(SAMPLE.frame, FLAT).domain)


def test_several_sensitive_columns_have_no_names() -> None:
    domain = Domain(np.array([1, 2], np.int64))
    for text in ("confidence=0.5:flu", "t=0.5:ordered", "t=0.5:hierarchical", "k-e=2,1", "personalized=0.5:flu"):
        with pytest.raises(RequirementError, match="one sensitive column"):
            (parse("k=2") & parse(text)).fits(domain)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k=6", "5 rows"),
        ("l=5", "4 distinct"),
        ("entropy-l=4.5", "equally frequent"),
        ("recursive=0.5,4", "2 rows against 1"),
        ("simple-l=3", "0.4"),
        ("alpha-k=0.3,2", "0.4"),
        ("confidence=0.3:flu", "0.4"),
        ("personalized=0.3:lung", "0.6"),
        ("c-k=0.5,3", "3 implications"),
        ("m-unique=5", "there are 4"),
    ],
)
def test_the_impossible_is_refused_before_work_starts(text: str, words: str) -> None:
    with pytest.raises(RequirementError, match="No release of this table can meet") as refused:
        parse(text).refuse_impossible(SAMPLE.table.whole())
    assert words in str(refused.value)


def test_the_impossible_range_is_refused() -> None:
    numbers = Sample(((0, 1), (0, 5), (1, 5)))
    with pytest.raises(RequirementError, match="2 different numbers over a range of 4"):
        parse("k-e=2,5").refuse_impossible(numbers.table.whole())


def test_nobody_guards_anything() -> None:
    assert Personalized.of_records(0.5, ["flu", "flu", "ulcer"], ["infection", None, None]) == parse(
        "personalized=0.5:flu>infection"
    )
    with pytest.raises(InputError, match="Nobody"):
        Personalized.of_records(0.5, ["flu"], [None])


def test_a_million_groups_are_judged_at_once() -> None:
    groups = np.repeat(np.arange(100_000, dtype=np.int32), 2)
    codes = np.tile(np.array(SAMPLE.table.sensitive[:2]), 100_000)
    counts = Counts(groups, codes, SAMPLE.domain)
    for kind in registered().values():
        text = {"k-e": "k=2"}.get(kind.name, kind.example.split(" or ")[0])
        if "elementary" not in text:
            assert parse(text).holds(counts).shape == (100_000,)


def test_every_requirement_is_in_the_reference() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "requirements.md").read_text()
    for name, kind in registered().items():
        assert f"`{kind.example.split(' or ')[0]}`" in page, name
        section = page.partition(f"## {name}:")[2].partition("\n## ")[0]
        assert section, f"the reference has no section '## {name}: ...'"
        assert "onotone" in section
