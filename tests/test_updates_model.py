"""The update model: where it comes from, closure, and what the schema may say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import synth
from reissue.errors import InputError, SchemaError
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates
from tests.effort import examples


def schema(section: str, folder: Path = Path()) -> Schema:
    text = """
    [columns]
    id = "identifier"
    q = "quasi"
    s = "sensitive"
    [taxonomy.s]
    tree = { Lung = ["flu", "pneumonia"], Stomach = ["gastritis", "ulcer"] }
    [updates]
    """
    return Schema.loads(text + section, folder=folder)


def candidates(model: UpdateModel, name: str) -> set[str | None]:
    return {model.names[place] for place in np.flatnonzero(model.can[model.names.index(name)])}


def test_from_a_file_without_probabilities(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("from,to\nflu,pneumonia\nflu,cancer\npneumonia,cancer\n")
    model = read_updates(schema('file = "u.csv"', tmp_path), ["burn", "pneumonia", "flu"])
    assert model.names == ("burn", "pneumonia", "flu", "cancer")
    assert candidates(model, "flu") == {"flu", "pneumonia", "cancer"}
    assert candidates(model, "pneumonia") == {"pneumonia", "cancer"}
    assert candidates(model, "burn") == {"burn"}
    assert model.chance[2, 1] == pytest.approx(1 / 3)
    assert model.stays
    assert not model.fixed


def test_what_is_left_of_a_probability_is_to_stay(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("from,to,probability\nflu,pneumonia,0.25\n")
    model = read_updates(schema('file = "u.csv"', tmp_path))
    assert model.chance.tolist() == [[0.75, 0.25], [0, 1]]


def test_open_models_are_named_by_position_or_closed(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("from,to\nflu,bronchitis\nbronchitis,pneumonia\n")
    with pytest.raises(SchemaError, match="value 1 can become value 2, and value 2 can become value 3") as refusal:
        read_updates(schema('file = "u.csv"', tmp_path))
    assert "flu" not in str(refusal.value)
    model = read_updates(schema('file = "u.csv"\nclose = true', tmp_path))
    assert candidates(model, "flu") == {"flu", "bronchitis", "pneumonia"}
    assert model.chance[0].tolist() == pytest.approx([1 / 3] * 3)


def test_closing_keeps_probabilities_apart(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("from,to,probability\na,b,0.1\nb,c,0.5\n")
    model = read_updates(schema('file = "u.csv"\nclose = true', tmp_path))
    assert model.gap() is None
    assert 0 < model.chance[0, 2] < model.chance[0, 1] < model.chance[0, 0]


def test_from_the_taxonomy() -> None:
    model = read_updates(schema("taxonomy = true"), ["ulcer", "flu"])
    assert candidates(model, "flu") == {"flu", "pneumonia"}
    assert candidates(model, "ulcer") == {"ulcer", "gastritis"}
    assert read_updates(schema("taxonomy = 2"), ["flu"]).can.all()


def test_never_lower() -> None:
    model = read_updates(schema('order = ["school", "bachelor", "master", "doctor"]'))
    assert candidates(model, "bachelor") == {"bachelor", "master", "doctor"}
    numbers = read_updates(schema("order = true"), ["10", "9", "100"])
    assert candidates(numbers, "10") == {"10", "100"}


def test_none_is_a_model_of_any_size() -> None:
    model = read_updates(schema("none = true"), [str(value) for value in range(100_000)])
    assert model.fixed
    assert model.kinds[-1] == 99_999


def test_learned_from_history(tmp_path: Path) -> None:
    pl.DataFrame({"id": [1, 2, 3, 4], "s": ["a", "a", "a", "b"]}).write_csv(tmp_path / "1.csv")
    pl.DataFrame({"id": [1, 2, 3, 4], "s": ["a", "a", "b", "c"]}).write_csv(tmp_path / "2.csv")
    model = read_updates(schema('history = ["1.csv", "2.csv"]\nsmoothing = 1', tmp_path))
    assert model.gap() is None
    assert model.chance[0].tolist() == pytest.approx([3 / 6, 2 / 6, 1 / 6])  # seen 2, 1, 0, and one each
    assert model.chance[2].tolist() == [0, 0, 1]


def test_the_synthetic_hospital_has_a_closed_model() -> None:
    pairs = synth.updates()
    model = UpdateModel.of_pairs(pairs["from"].to_list(), pairs["to"].to_list(), pairs["probability"].to_list())
    assert model.checked() is model
    assert model.stays
    assert candidates(model, "hypertension") == {"hypertension", "angina", "heart attack", "heart failure"}
    assert model.frame().height == pairs.height


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('fil = "u.csv"', "unknown key 'fil'"),
        ('file = "u.csv"\nnone = true', "exactly one of"),
        ("taxonomy = 9", "only"),
        ("taxonomy = 0", "a level of the tree"),
        ("order = []", "from low to high"),
        ("none = false", "none = true"),
        ('history = ["one.csv"]', "two files"),
        ("none = true\nclose = 3", "true or false"),
        ("none = true\nsmoothing = 3", "goes with `history`"),
    ],
)
def test_mistakes_in_the_schema(section: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read_updates(schema(section), ["flu"])


def test_probabilities_above_one(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("from,to,probability\na,b,0.7\na,c,0.6\n")
    with pytest.raises(SchemaError, match="sum to 1 at most"):
        read_updates(schema('file = "u.csv"', tmp_path))
    (tmp_path / "u.csv").write_text("from,to,probability\na,b,often\n")
    with pytest.raises(SchemaError, match=r"first lines: 2"):
        read_updates(schema('file = "u.csv"', tmp_path))


def test_a_model_must_be_a_matrix_of_probabilities() -> None:
    for chance in (np.ones((1, 2)), np.full((2, 2), 0.7), np.array([[2.0, -1], [0, 1]])):
        with pytest.raises(InputError):
            UpdateModel(("a", "b"), chance)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12), st.booleans())
def test_closing_gives_what_can_be_reached(pairs: list[tuple[int, int]], weighted: bool) -> None:
    before, after = ([str(pair[side]) for pair in pairs] for side in (0, 1))
    model = UpdateModel.of_pairs(before, after, [0.05] * len(pairs) if weighted else None)
    closed = model.closed()
    reach = model.can.copy()
    for middle in range(len(reach)):
        reach |= reach[:, [middle]] & reach[[middle]]
    assert (closed.can == reach).all()
    assert closed.gap() is None
    assert closed.chance.sum(axis=1) == pytest.approx(1)


def test_listed_chances_leave_a_rest_for_every_other_value() -> None:
    plan = replace(
        Schema.of_columns(quasi=["age"], sensitive=["ill"]),
        updates={"chances": {"flu": {"cough": 0.1}}, "rest": 0.02},
    )
    model = read_updates(plan, ["flu", "cough", "gout"])
    assert model.names == ("flu", "cough", "gout")
    assert np.allclose(model.chance, [[0.88, 0.11, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]])
    cases: list[dict[str, object]] = [
        {"chances": 3},
        {"chances": {"a": 1}},
        {"chances": {"a": {"b": 2}}},
        {"chances": {}, "rest": "x"},
    ]
    for wrong in cases:
        with pytest.raises(SchemaError, match=r"chances|rest"):
            read_updates(replace(plan, updates=wrong), ["a", "b"])
    with pytest.raises(SchemaError, match="sum to 1"):
        read_updates(replace(plan, updates={"chances": {"a": {"b": 0.7, "c": 0.7}}}), ["a", "b"])


# --- several sensitive columns ---------------------------------------------------------------------------------------

TWO = {"id": "identifier", "age": "quasi", "disease": "sensitive", "ward": "sensitive"}


def two(**updates: Any) -> Schema:
    return Schema.read({"columns": TWO, "updates": updates})


@examples(60)
@given(data=st.data())
def test_columns_change_independently(data: Any) -> None:
    """The chance of a combination is the product of its columns' chances, over the combinations that occur."""
    shares = st.integers(0, 4).map(lambda n: n / 10)
    chances = {a: {b: data.draw(shares) for b in "xyz" if b != a} for a in "xyz"}
    wards = {a: {b: data.draw(shares) for b in "pq" if b != a} for a in "pq"}
    pairs = [(a, b) for a in "xyz" for b in "pq"]
    occur = data.draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    schema = two(disease={"chances": chances, "close": True}, ward={"chances": wards, "close": True})
    model = read_updates(schema, [f"{a}\1{b}" for a, b in occur])
    alone = {
        column: read_updates(schema.of_sensitive(column), list(values))
        for column, values in (("disease", "xyz"), ("ward", "pq"))
    }

    def chance(column: str, before: str, after: str) -> float:
        known = alone[column]
        if known.fixed:
            return float(before == after)
        return float(known.chance[known.names.index(before), known.names.index(after)])

    steps = model.steps(1)
    for row, (a, b) in enumerate(occur):
        weights = [chance("disease", a, c) * chance("ward", b, d) for c, d in occur]
        assert steps[row].tolist() == pytest.approx([one / sum(weights) for one in weights])


def test_a_column_that_stays_and_one_that_changes() -> None:
    schema = two(disease={"order": ["mild", "severe"]}, ward={"none": True})
    model = read_updates(schema, ["mild\1a", "severe\1a", "severe\1b", "\0\1a"])
    assert model.can.astype(int).tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert not schema.values_stay
    assert two(none=True).values_stay
    assert two(disease={"none": True}, ward={"none": True}).values_stay
    assert read_updates(two(none=True), ["x\1y"]).fixed
    assert Schema.loads(schema.dumps()) == schema
    assert schema.of_sensitive("ward").updates == {"none": True}


@pytest.mark.parametrize(
    ("updates", "said"),
    [
        ({"order": ["a", "b"]}, "names several. Write a section for each"),
        ({"disease": {"none": True}}, r"\[updates.ward\]"),
        ({"disease": {"none": True}, "wards": {"none": True}}, "names a column that is not sensitive"),
        ({"disease": {"none": True}, "ward": {"file": "no.csv", "order": True}}, "exactly one of"),
    ],
)
def test_what_says_too_little_of_several_columns(updates: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        read_updates(two(**updates), ["x\1y"])


def test_one_column_may_have_a_section_of_its_own() -> None:
    one = {key: role for key, role in TWO.items() if key != "ward"}
    schema = Schema.read({"columns": one, "updates": {"disease": {"order": ["mild", "severe"]}}})
    assert read_updates(schema, ["mild", "severe"]).can.tolist() == [[True, True], [False, True]]
