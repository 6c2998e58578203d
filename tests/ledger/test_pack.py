"""What a ledger keeps as bytes comes back as it was."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from reissue.errors import DataError, InternalError
from reissue.ledger import Ledger
from reissue.ledger.pack import pack_memory, pack_state, unpack_memory, unpack_state
from reissue.publishing.anonymize import anonymize
from reissue.publishing.publish import publish, publish_next
from reissue.release.memory import load_memory, save_memory
from tests.ledger.series import INVARIANCE, MONTHS, schema

KINDS = st.sampled_from([np.int64, np.int32, np.uint8, np.uint64, np.bool_, np.float64])
SOME = KINDS.flatmap(lambda kind: arrays(kind, array_shapes(min_dims=1, max_dims=2, min_side=0)))
REST = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(st.dictionaries(st.text(), SOME | REST))
def test_states(state: dict[str, Any]) -> None:
    again = unpack_state(pack_state(state))
    assert set(again) == set(state)
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            assert again[name].dtype == value.dtype
            np.testing.assert_array_equal(again[name], value)
        else:
            assert again[name] == value


def test_arrays_that_do_not_lie_in_a_row() -> None:
    table = np.arange(12).reshape(3, 4)
    again = unpack_state(pack_state({"turned": table.T, "part": table[:, ::2]}))
    assert again["turned"].tolist() == table.T.tolist()
    assert again["part"].tolist() == table[:, ::2].tolist()


def test_memories_and_those_that_were_kept_as_files(tmp_path: Path) -> None:
    release = anonymize(MONTHS[0], schema(INVARIANCE), "m-unique=2", method="invariance", seed=1)
    memory = release.draft.memory
    save_memory(memory, tmp_path / "memory")
    key = memory["key"]
    for content in (pack_memory(memory), (tmp_path / "memory").read_bytes()):
        again, expected = unpack_memory(content, key), load_memory(tmp_path / "memory")
        assert {name for name in again if name != "rows"} == {"series", "method", "key", "values", "state"}
        assert (again["series"], again["method"], again["key"]) == (memory["series"], memory["method"], key)
        assert isinstance(again["values"], pl.DataFrame)
        assert again["values"].equals(expected["values"])
        assert set(again["state"]) == set(expected["state"])
        for name, value in expected["state"].items():
            assert np.array_equal(again["state"][name], value), name
    assert key not in pack_memory(memory)


def test_a_damaged_memory_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "a.ledger"
    with Ledger.create(place, schema(INVARIANCE)) as ledger:
        publish(MONTHS[0], ledger)
        path = place / "files" / ledger.release(1).files["memory"]
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        with pytest.raises(DataError, match="damaged"):
            publish_next(MONTHS[1], ledger, dry_run=True)


@dataclass(frozen=True)
class Part:
    numbers: np.ndarray
    name: str | None = None


@dataclass(frozen=True)
class Whole:
    VERSION: ClassVar[int] = 2

    parts: tuple[Part, ...]
    other: Part | None
    told: dict[str, Any]


def test_typed_states_and_those_of_another_version() -> None:
    state = Whole((Part(np.arange(3)), Part(np.array([[0.5], [2.0]]), "x")), None, {"a": [1, {"b": None}]})
    content = pack_state(state)
    again = unpack_state(content, Whole)
    assert (again.other, again.told, again.parts[1].name) == (None, state.told, "x")
    for mine, its in zip(state.parts, again.parts, strict=True):
        assert mine.numbers.dtype == its.numbers.dtype
        assert np.array_equal(mine.numbers, its.numbers)
    assert unpack_state(content.replace(b'"version": 2', b'"version": 1'), Whole) is None
    assert unpack_state(content.replace(b'"Whole"', b'"Other"'), Whole) is None
    assert unpack_state(content.replace(b'"Part"', b'"Bits"'), Whole) is None
    assert unpack_state(pack_state({"old": np.arange(2)}), Whole) is None
    with pytest.raises(InternalError, match="cannot be kept"):
        pack_state(replace(state, told=[1]))  # type: ignore[arg-type]
