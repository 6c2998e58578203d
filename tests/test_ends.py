"""End points of published ranges: what ranges are to each other by what they say, they are in codes too."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, attack
from reissue.errors import CannotRunError, TaxonomyError
from reissue.proposing import guess
from reissue.schema import Schema
from reissue.taxonomy import Coding, Span, coding_of, last, parse_column, prepare, span_of

LINE = range(-3, 14)
"""Every whole number that the texts below speak of, and some on both sides."""


def read(texts: list[str], hierarchy: Hierarchy | None = None) -> tuple[Coding, list[set[int]]]:
    """The leaves that each text holds, in a coding made of the texts alone."""
    column = pl.Series("x", texts, dtype=pl.String)
    coding = coding_of([column], hierarchy or Hierarchy())
    found = parse_column(column, coding)
    return coding, [set(range(lo, hi + 1)) for lo, hi in zip(found.lo.tolist(), found.hi.tolist(), strict=True)]


def holds(span: Span, number: float) -> bool:
    return span.low <= number <= last(span)


number = st.integers(0, 10)
texts = st.one_of(
    number.map(str),
    number.map("{}.0".format),
    st.tuples(number, number).map(lambda ends: f"[{min(ends)}, {max(ends)}]"),
    number.map("<={}".format),
    number.map(">={}".format),
    number.map("{}+".format),
)
words = st.lists(st.sampled_from(["unknown", "other", "", "n/a", "inf"]), max_size=3)


@given(st.lists(texts, min_size=1, max_size=5))
def test_the_root_is_more_than_all_ranges_together_unless_they_hold_everything(ranges: list[str]) -> None:
    *found, root = read([*ranges, "*"])[1]
    spans = [span for span in map(span_of, ranges) if span is not None]
    everything = all(any(holds(span, number) for span in spans) for number in LINE)
    assert (root == set().union(*found)) == everything


@given(st.lists(texts, min_size=2, max_size=5), st.booleans(), words)
def test_ranges_overlap_and_nest_in_codes_as_by_what_they_say(
    ranges: list[str], rooted: bool, beside: list[str]
) -> None:
    found = read([*ranges, *["*"] * rooted, *beside])[1]
    said = [{number for number in LINE if holds(span, number)} for span in map(span_of, ranges) if span is not None]
    for one, meant in zip(found, said, strict=False):
        for other, too in zip(found, said, strict=False):
            assert bool(one & other) == bool(meant & too)
            assert (one <= other) == (meant <= too)


@pytest.mark.parametrize(
    "ranges",
    [
        ["9999-12-31", "2024-03"],
        ["9999-12", "2024-03-05"],
        ["9999", "9999-Q4", "9999-12-30"],
        ["0001-01-01", "9999-12-31", "2024-03"],
        ["[0001-01-01, 2024-01-01]", ">=2024-01-03"],
        ["[2024-01-01, inf)", "2023"],
        ["1e308", "0.5"],
        ["1.7976931348623157e308", "-1.7976931348623157e308", "0.5"],
        ["100000000000000000", "0.5"],
        ["9223372036854775807", "-9223372036854775807"],
        ["1" + "0" * 400, "5"],
        ["1" * 5000, "5"],
        ["1e400", "5"],
        ["20.5-30", ">=40", "<=19"],
    ],
)
def test_the_root_has_room_beside_the_largest_and_the_last(ranges: list[str]) -> None:
    coding, (*found, root) = read([*ranges, "*"])
    assert root > set().union(*found)
    assert all(found)
    if coding.leaves.dtype == pl.Date:
        assert coding.leaves.dt.year().is_between(1, 9999).all()


@pytest.mark.parametrize("ranges", [["[0001-01-01, 9999-12-31]"], ["<=5", ">=6"], ["<5.5", ">=5.5"]])
def test_where_ranges_hold_everything_the_root_says_the_same(ranges: list[str]) -> None:
    *found, root = read([*ranges, "*"])[1]
    assert root == set().union(*found)


@given(st.lists(texts, min_size=1, max_size=4), words)
def test_a_word_beside_ranges_is_a_value_of_its_own(ranges: list[str], beside: list[str]) -> None:
    *found, root = read([*ranges, *beside, "*"])[1]
    for place, word in enumerate(beside, start=len(ranges)):
        others = [one for at, one in enumerate(found) if at < len(ranges) or beside[at - len(ranges)] != word]
        assert not found[place] & set().union(*others)
        assert found[place] < root


def test_codes_with_digits_that_are_no_ranges_stay_names() -> None:
    """`3-14` beside `12-4` is no range: what it seems to hold is another code."""
    assert [len(one) for one in read(["3-14", "12-4", "5", "A-1"])[1]] == [1, 1, 1, 1]


SCHEMA = Schema.of_columns(quasi=["age"], sensitive=["ill"])


def releases(wide: str, narrow: str, beside: str) -> list[pl.DataFrame]:
    """Whoever is in the narrow one, and so in the wide one, has the flu."""
    tables = [[(wide, "flu"), (wide, "gout")], [(narrow, "flu"), (narrow, "burn")]]
    rows = [[*own, (beside, "cold"), (beside, "angina")] for own in tables]
    return [pl.DataFrame(own, schema=["age", "ill"], orient="row") for own in rows]


@pytest.mark.parametrize("guessed", [False, True])
@pytest.mark.parametrize(
    ("wide", "narrow", "word"),
    [
        ("20-29", "25", "unknown"),
        ("20-29", "25", "not known"),
        ("20-29", "25", "70+"),
        ("[20, 29]", "25", "unknown"),
        ("2024", "2024-03-05", "unknown"),
        (">=2024-03", "2024-03-05", "unknown"),
        ("[2024-03, 2024-05]", "[2024-04, 2024-05]", "unknown"),
        ("[2024-03, 2024-05]", "[2024-04, 2024-05]", "[2023-01, 2023-12]"),
    ],
)
def test_a_word_in_a_column_of_ranges_hides_nobody(wide: str, narrow: str, word: str, guessed: bool) -> None:
    """One such text made names of all ranges, none of which held another: the attack said withstood."""
    frames = releases(wide, narrow, word)
    schema = guess(frames).schema if guessed else SCHEMA
    assert attack(frames, schema, only="composition")["composition"].worst == 1


STRANGE = ["12-4", "2024-02-30", "under 18", "[29, 20]", "53***", "1 000", "2024-03-05", "{[30, 39], 45}"]
RANGES = ["[20, 29]", "(19, 30)", "[20, 30[", ">=20", "<30", "20+", "20 to 29", "20..29"]


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("wide", RANGES)
def test_texts_with_digits_that_nobody_can_read_beside_ranges_are_refused(wide: str, strange: str) -> None:
    """They made names of all ranges, too, and nobody can tell whom they hold: the attack is not run."""
    with pytest.raises(CannotRunError, match="'x'") as refused:
        read([wide, "25", strange])
    said = str(refused.value)
    assert "[taxonomy.x]" in said
    assert not any(text in said for text in ("25", strange))
    assert refused.value.needs == ("taxonomy",)


@pytest.mark.parametrize("guessed", [False, True])
@pytest.mark.parametrize("name", ["composition", "correspondence"])
@pytest.mark.parametrize("strange", ["12-4", "2024-02-30", "under 18"])
def test_no_attack_says_withstood_of_a_column_that_cannot_be_read(name: str, strange: str, guessed: bool) -> None:
    frames = releases("[20, 29]", "25", strange)
    found = attack(frames, guess(frames).schema if guessed else SCHEMA, only=name)
    assert found[name].needs == ("taxonomy",)
    assert "'age'" in str(found[name].reason)
    assert found.verdict == "incomplete"


@pytest.mark.parametrize("kind", ["flat", "tree"])
def test_who_names_the_taxonomy_is_not_asked_again(kind: str) -> None:
    hierarchy = Hierarchy(kind, tree={"young": ["under 18"]}, unlisted="root") if kind == "tree" else Hierarchy(kind)
    found = read(["[20, 29]", "25", "under 18"], hierarchy)[1]
    assert [len(one) for one in found] == [1, 1, 1]


@pytest.mark.parametrize("codes", [["A12", "20-29", "25"], ["20-29", "12-4"], ["[5, 5]", "A5"], ["<A1", "A1+", "7"]])
def test_columns_of_codes_are_read_as_before(codes: list[str]) -> None:
    assert [len(one) for one in read(codes)[1]] == [1] * len(codes)
    frames = [pl.DataFrame({"age": codes * 2, "ill": [*"xyzxyz"][: 2 * len(codes)]})] * 2
    assert guess(frames).schema.hierarchy("age").kind == "flat"


def test_no_range_ends_in_a_word() -> None:
    """Whoever only the root holds has a number that no range holds, or a word that stands there alone."""
    first = pl.DataFrame({"age": ["*", "*", "20-29", "20-29"], "ill": ["flu", "gout", "flu", "burn"]})
    second = pl.DataFrame({"age": ["*", "*", "20-29", "20-29", "other"], "ill": ["flu", "cold", "flu", "burn", "flu"]})
    found = attack([first, second], SCHEMA, only="composition")["composition"]
    assert found.worst == 1
    assert ", other]" not in str(found.details["place"])


@pytest.mark.parametrize("day", [-719_528, 2_932_897, -800_000])
def test_days_outside_the_calendar_are_refused(day: int) -> None:
    column = pl.Series("day", [0, day], dtype=pl.Int32).cast(pl.Date)
    with pytest.raises(TaxonomyError, match="outside the years 1 to 9999"):
        Coding.build(Hierarchy("dates"), prepare(column, Hierarchy("dates")))


def test_every_node_of_the_first_and_the_last_days_can_be_read_without_its_taxonomy() -> None:
    column = pl.Series("day", [-719_162, -719_000, 2_932_896, 0], dtype=pl.Int32).cast(pl.Date)
    taxonomy = Coding.build(Hierarchy("dates"), prepare(column, Hierarchy("dates"))).taxonomy
    names = {name for level in taxonomy.levels[:-1] for name in level.names if name is not None}
    assert all(span_of(name, dates=True) is not None for name in names)
