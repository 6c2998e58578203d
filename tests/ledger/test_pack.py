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

from reissue.errors import DataError, InputError, InternalError
from reissue.ledger import Ledger
from reissue.publishing.publish import publish, publish_next
from reissue.release.memory import read_memory
from reissue.release.states import pack_state, unpack_state
from tests.ledger.series import INVARIANCE, MONTHS, schema

KINDS = st.sampled_from([np.int64, np.int32, np.uint8, np.uint64, np.bool_, np.float64])
SOME = KINDS.flatmap(lambda kind: arrays(kind, array_shapes(min_dims=1, max_dims=2, min_side=0)))
REST = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(), lambda some: st.lists(some).map(tuple)
)


@dataclass(frozen=True)
class Anything:
    VERSION: ClassVar[int] = 1

    parts: tuple[Any, ...]


@given(st.lists(SOME | REST))
def test_states(parts: list[Any]) -> None:
    again = unpack_state(Anything, pack_state(Anything(tuple(parts))))
    assert again is not None
    for one, other in zip(parts, again.parts, strict=True):
        if isinstance(one, np.ndarray):
            assert other.dtype == one.dtype
            np.testing.assert_array_equal(other, one)
        else:
            assert other == one


def test_arrays_that_do_not_lie_in_a_row_bytes_and_tables() -> None:
    table, frame = np.arange(12).reshape(3, 4), pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    again = unpack_state(Anything, pack_state(Anything((table.T, table[:, ::2], b"\0\n", frame))))
    assert again is not None
    assert again.parts[0].tolist() == table.T.tolist()
    assert again.parts[1].tolist() == table[:, ::2].tolist()
    assert again.parts[2] == b"\0\n"
    assert again.parts[3].equals(frame)


def test_a_ledger_keeps_a_memory_without_its_key(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "a.ledger", schema(INVARIANCE)) as ledger:
        release = publish(MONTHS[0], ledger)
        memory, kept = release.draft.memory, ledger.store.read(ledger.release(1).files["memory"])
        again = ledger.memory(ledger.releases, ledger.schema, "invariance")
    assert memory is not None
    assert memory.values is not None
    assert again.values is not None
    assert again.values.equals(memory.values)
    assert vars(replace(again, values=None)) == vars(replace(memory, values=None))
    assert str(memory.key) not in repr(memory)
    assert memory.key not in kept
    with pytest.raises(InputError, match="kept by another version"):
        read_memory(kept.replace(b'"version": 2', b'"version": 1'), "The memory of this ledger")


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
    again = unpack_state(Whole, content)
    assert again is not None
    assert (again.other, again.told, again.parts[1].name) == (None, state.told, "x")
    for mine, its in zip(state.parts, again.parts, strict=True):
        assert mine.numbers.dtype == its.numbers.dtype
        assert np.array_equal(mine.numbers, its.numbers)
    assert unpack_state(Whole, content.replace(b'"version": 2', b'"version": 1')) is None
    assert unpack_state(Whole, content.replace(b'"Whole"', b'"Other"')) is None
    assert unpack_state(Whole, content.replace(b'"Part"', b'"Bits"')) is None
    with pytest.raises(InternalError, match="cannot be kept"):
        pack_state(replace(state, told=[1]))  # type: ignore[arg-type]
