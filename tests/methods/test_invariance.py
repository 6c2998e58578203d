"""m-invariance: what every release of every stream must keep, and what is refused."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table, anonymize
from reissue.errors import DataError, InputError, RequirementError, SchemaError
from reissue.methods.invariance.buckets import Ineligible, Signatures, assign, drawable, fill
from reissue.methods.invariance.split import split
from reissue.release.memory import Memory, load_memory, pack_memory, save_memory
from reissue.release.release import GROUP, Release
from reissue.schema import Schema
from reissue.taxonomy import assemble
from reissue.testing.meanings import lies_under
from tests.effort import examples
from tests.methods.streams import SCHEMA, drafted, publish, published, stream


def check_release(release: Release, frame: pl.DataFrame, m: int, signatures: dict[int, frozenset[str]]) -> None:
    table, groups = release.tables["release"], release.draft.groups
    assert table.height == frame.height + release.counterfeits
    assert published(release) == drafted(release, frame, exact=False), "a record was lost or changed"
    for place, name in enumerate(("q", "r")):
        low, high = release.boxes.lo[place, groups], release.boxes.hi[place, groups]
        for value, text in zip(frame[name], release.table.taxonomies[place].text(low, high), strict=True):
            assert lies_under(value, text, Hierarchy())
    values: dict[int, list[str]] = defaultdict(list)
    fakes = release.draft.counterfeits
    added = [] if fakes is None else zip(fakes.groups.tolist(), release.table.decode(fakes.sensitive)["s"], strict=True)
    for group, value in [*zip(groups.tolist(), frame["s"], strict=True), *added]:
        values[group].append(value)
    assert all(len(set(each)) == len(each) >= m for each in values.values()), "not m-unique"
    for person, group in zip(frame["id"], groups.tolist(), strict=True):
        signature = frozenset(values[group])
        assert signatures.setdefault(person, signature) == signature, "another signature"


@given(st.integers(0, 10**6), st.integers(2, 3), st.booleans())
@examples(40)
def test_every_release_of_a_random_stream(seed: int, m: int, returns: bool) -> None:
    frames = stream(seed, releases=4, returns=returns)
    signatures: dict[int, frozenset[str]] = {}
    releases = publish(frames, "invariance", f"m-unique={m}")
    for release, frame in zip(releases, frames, strict=True):
        check_release(release, frame, m, signatures)
    again = publish(frames, "invariance", f"m-unique={m}")
    for one, other in zip(releases, again, strict=True):
        assert all(one.tables[name].equals(other.tables[name]) for name in one.tables)


counts = st.lists(st.integers(0, 6), min_size=2, max_size=5)


def eligible(rest: tuple[int, ...], m: int) -> bool:
    return m * max(rest) <= sum(rest)


@given(counts, st.data(), st.integers(2, 4))
@examples(200)
def test_drawable_draws_as_many_as_can_be(new: list[int], data: st.DataObject, m: int) -> None:
    wanted = data.draw(st.lists(st.integers(0, 6), min_size=len(new), max_size=len(new)))
    choices = product(*(range(min(n, w) + 1) for n, w in zip(new, wanted, strict=True)))
    fine = [sum(c) for c in choices if eligible(tuple(n - x for n, x in zip(new, c, strict=True)), m)]
    if not fine:
        with pytest.raises(Ineligible):
            drawable(np.array(new), np.array(wanted), m)
        return
    drawn = drawable(np.array(new), np.array(wanted), m)
    assert ((drawn >= 0) & (drawn <= wanted) & (drawn <= new)).all()
    assert eligible(tuple((np.array(new) - drawn).tolist()), m)
    assert drawn.sum() == max(fine)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=7), st.integers(2, 5), st.integers(0, 9))
@examples(200)
def test_assign_places_everybody(rest: list[int], m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = Signatures(np.unique(rng.random((3, len(rest))) < 0.6, axis=0))
    known = Signatures(known.member[known.sizes >= m])
    if not eligible(tuple(rest), m):
        return
    for stand in (None, rng.integers(0, 4, (len(known.member), 1)) * known.member):
        signatures, batches = assign(np.array(rest), known, m, stand)
        assert (signatures.sizes >= m).all()
        assert (batches @ signatures.member).tolist() == rest
        assert len({tuple(row) for row in signatures.member.tolist()}) == len(signatures.member)


def test_what_is_to_spare_beside_the_most_frequent_value_stands_in_one_bucket() -> None:
    # 30 records, 12 of value 0 and m = 2: six are to spare, three pairs without it.
    rest, none = np.array([12, 8, 6, 2, 2]), Signatures(np.zeros((0, 5), np.bool_))
    signatures, batches = assign(rest, none, 2, np.zeros((0, 5), np.int64))
    without = ~signatures.member[:, 0]
    assert signatures.member[without].tolist() == [[False, True, True, False, False]]
    assert batches[without].tolist() == [3]
    # Next time into the deepest bucket without it, though others are more frequent now.
    known = Signatures(np.array([[0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 0]], np.bool_))
    signatures, batches = assign(rest, known, 2, np.array([[2], [5], [9]]) * known.member)
    assert batches[:2].tolist() == [0, 2]
    assert batches[3:].sum() + batches[2] == 13


def totals(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of so many parts."""
    if parts == 1:
        yield (number,)
        return
    for first in range(number + 1):
        yield from ((first, *others) for others in totals(number - first, parts - 1))


@given(st.integers(0, 10**6), st.integers(2, 3), st.booleans())
@examples(40)
def test_no_release_could_do_with_fewer_counterfeits(seed: int, m: int, returns: bool) -> None:
    # Buckets keep their deepest value, the others are filled up; all else must be m-eligible, wherever it then goes.
    frames = stream(seed, releases=4, returns=returns)
    known: dict[int, frozenset[str]] = {}
    for release, frame in zip(publish(frames, "invariance", f"m-unique={m}"), frames, strict=True):
        value = dict(frame.select("id", "s").rows())
        have: dict[frozenset[str], Counter[str]] = defaultdict(Counter)
        for who in value.keys() & known.keys():
            have[known[who]][value[who]] += 1
        rest = Counter(value[who] for who in value.keys() - known.keys())
        for signature, number in have.items():
            rest.subtract({name: max(number.values()) - number[name] for name in signature})
        names = ["v0", "v1", "v2", "v3"]
        for fewer in range(release.counterfeits):
            for added in totals(fewer, len(names)):
                left = tuple(rest[name] + more for name, more in zip(names, added, strict=True))
                assert min(left) < 0 or not eligible(left, m)
        check_release(release, frame, m, known)


def test_fill_serves_in_order() -> None:
    wanted = np.array([[2, 0], [1, 3]])
    assert fill(wanted, np.array([2, 2])).tolist() == [[2, 0], [0, 2]]


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3))
@examples(50)
def test_split_makes_groups_of_one_record_of_each_value(seed: int, buckets: int, attributes: int) -> None:
    rng = np.random.default_rng(seed)
    bucket, value = [], []
    for number in range(buckets):
        chosen = rng.choice(6, rng.integers(1, 5), replace=False)
        for one in chosen.tolist() * int(rng.integers(1, 9)):
            bucket.append(2 * number)
            value.append(one)
    order = rng.permutation(len(bucket))
    frame = pl.DataFrame({f"a{n}": rng.integers(0, 7, len(bucket)) for n in range(attributes)})
    table = Table.read(frame, Schema.of_columns(quasi=frame.columns))
    of_bucket, of_value = np.array(bucket, np.int32)[order], np.array(value, np.int32)[order]
    groups = split(table.codes, of_bucket, of_value, table.taxonomies)
    assert sorted(set(groups.tolist())) == list(range(int(groups.max()) + 1))
    together = defaultdict(list)
    for group, pair in zip(groups.tolist(), zip(of_bucket.tolist(), of_value.tolist(), strict=True), strict=True):
        together[group].append(pair)
    for pairs in together.values():
        assert len({b for b, _ in pairs}) == 1
        mine = {v for b, v in zip(bucket, value, strict=True) if b == pairs[0][0]}
        assert sorted(v for _, v in pairs) == sorted(mine)


def test_split_keeps_neighbours_together() -> None:
    # Two values, four records each on a line: neighbours are grouped.
    codes = np.array([[0, 1, 10, 11, 0, 1, 10, 11]], np.int32)
    frame = pl.DataFrame({"a": list(range(12))})
    taxonomy = Table.read(frame, Schema.of_columns(quasi=["a"])).taxonomies
    groups = split(codes, np.zeros(8, np.int32), np.repeat([0, 1], 4).astype(np.int32), taxonomy)
    assert {tuple(sorted(codes[0, groups == g].tolist())) for g in range(4)} == {(0, 0), (1, 1), (10, 10), (11, 11)}


def test_split_keeps_to_the_children_of_a_tree() -> None:
    """Three regions of unequal size: halves would end inside one, and every group would be published as the root."""
    region = np.array([0] * 6 + [1] * 20 + [2] * 10)
    codes = np.tile(region * 4 + np.arange(36) % 4, 2)[np.newaxis].astype(np.int32)
    value = np.repeat([0, 1], 36).astype(np.int32)
    leaves = [f"{area}{town}" for area in "abc" for town in range(4)]
    tree = assemble(leaves, [(np.repeat([0, 1, 2], 4).astype(np.int32), list("abc"))], np.arange(12.0), missing=False)
    groups = split(codes, np.zeros(72, np.int32), value, [tree])
    areas = [set((codes[0, groups == group] // 4).tolist()) for group in range(36)]
    assert all(len(area) == 1 for area in areas)


# --- bad input -------------------------------------------------------------------------------------------------------

PEOPLE = pl.DataFrame({"id": [1, 2, 3, 4], "q": [1, 2, 3, 4], "r": list("xyxy"), "s": list("abab")})


def start() -> Release:
    return anonymize(PEOPLE, SCHEMA, "m-unique=2", method="invariance", seed=1)


def test_a_sensitive_value_that_changed_is_refused() -> None:
    changed = PEOPLE.with_columns(pl.Series("s", list("bbab")))
    with pytest.raises(DataError, match=r"1 people have another .* \(first rows: 1\).*docs/concepts") as raised:
        anonymize(changed, SCHEMA, "m-unique=2", method="invariance", memory=start().draft.memory)
    assert "'b'" not in str(raised.value)


def test_a_returning_record_with_another_value_is_refused() -> None:
    absent = anonymize(PEOPLE[:2], SCHEMA, "m-unique=2", method="invariance", memory=start().draft.memory)
    changed = PEOPLE.with_columns(pl.Series("s", list("abbb")))
    with pytest.raises(DataError, match="another sensitive value"):
        anonymize(changed, SCHEMA, "m-unique=2", method="invariance", memory=absent.draft.memory)


def test_an_identifier_twice_is_refused() -> None:
    with pytest.raises(DataError, match="not unique"):
        anonymize(PEOPLE.with_columns(id=1), SCHEMA, "m-unique=2", method="invariance")


def test_new_records_that_are_not_eligible_are_refused_or_made_so() -> None:
    lopsided = PEOPLE.with_columns(pl.Series("s", list("aaab")))
    with pytest.raises(DataError, match=r"not 2-eligible.* 3 of them .*in rows 1, 2, 3\), 1 more than the 2") as raised:
        anonymize(lopsided, SCHEMA, "m-unique=2", method="invariance")
    assert "'a'" not in str(raised.value)
    release = anonymize(lopsided, SCHEMA, "m-unique=2", method="invariance", ineligible="counterfeits")
    assert release.counterfeits == 2


def test_too_few_values_are_refused() -> None:
    alike = PEOPLE.with_columns(s=pl.lit("a"))
    with pytest.raises(DataError, match="every group needs 2"):
        anonymize(alike, SCHEMA, "m-unique=2", method="invariance", ineligible="counterfeits")


def test_another_series_memory_is_refused() -> None:
    other = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")
    with pytest.raises(InputError, match="another series"):
        anonymize(PEOPLE, other, "m-unique=2", method="invariance", memory=start().draft.memory)


def test_another_method_or_parameter_is_refused() -> None:
    memory = start().draft.memory
    with pytest.raises(InputError, match="left by the method 'invariance'"):
        anonymize(PEOPLE, SCHEMA, "simple-l=2", method="equivalence", memory=memory)
    with pytest.raises(InputError, match="begun with m = 2"):
        anonymize(PEOPLE, SCHEMA, "m-unique=3", method="invariance", memory=memory)
    with pytest.raises(InputError, match="no use for a memory"):
        anonymize(PEOPLE, SCHEMA, "k=2", method="mondrian", memory=memory)


@pytest.mark.parametrize("requirement", ["k=2", "m-unique=2 & k=2", "m-unique=1"])
def test_other_requirements_are_refused(requirement: str) -> None:
    with pytest.raises(RequirementError):
        anonymize(PEOPLE, SCHEMA, requirement, method="invariance")


def test_people_and_values_are_needed() -> None:
    with pytest.raises(SchemaError, match="identifier"):
        anonymize(PEOPLE, Schema.of_columns(quasi=["q"], sensitive=["s"]), "m-unique=2", method="invariance")
    with pytest.raises(SchemaError, match="sensitive"):
        anonymize(PEOPLE, Schema.of_columns(quasi=["q"], identifier="id"), "m-unique=2", method="invariance")


# --- memory ----------------------------------------------------------------------------------------------------------


def memory_of(release: Release) -> Memory:
    assert release.draft.memory is not None
    return release.draft.memory


def test_memory_files_continue_a_series(tmp_path: Path) -> None:
    frames = stream(11, releases=3, returns=True)
    straight = publish(frames, "equivalence", "simple-l=2", e=2)
    memory = None
    for frame, expected in zip(frames, straight, strict=True):
        options: dict[str, Any] = {"e": 2, "ineligible": "counterfeits", "k": 2}
        release = anonymize(frame, SCHEMA, "simple-l=2", method="equivalence", memory=memory, seed=5, **options)
        assert release.tables["release"].equals(expected.tables["release"])
        save_memory(memory_of(release), tmp_path / "memory", force=True)
        memory = load_memory(tmp_path / "memory")
    assert (tmp_path / "memory").stat().st_mode & 0o077 == 0


def test_damaged_memory_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    with pytest.raises(DataError, match="no memory file"):
        load_memory(path)
    save_memory(memory_of(start()), path)
    with pytest.raises(InputError, match="exists already"):
        save_memory(memory_of(start()), path)
    whole = path.read_bytes()
    for damage in (b"", b"nonsense", whole[: len(whole) // 2]):
        path.write_bytes(damage)
        with pytest.raises(DataError, match="not a memory file"):
            load_memory(path)


def test_memories_of_another_version_are_refused(tmp_path: Path) -> None:
    memory, path = memory_of(start()), tmp_path / "memory"
    for content in (b"PK\3\4 as it was at first", pack_memory(memory).replace(b'"version": 2', b'"version": 3')):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"kept by another version.*Continue the series with the version"):
            load_memory(path)
    older = replace(memory, state=memory.state.replace(b'"version": 1', b'"version": 0'))
    with pytest.raises(InputError, match="memory of this series was kept by another version"):
        anonymize(PEOPLE, SCHEMA, "m-unique=2", method="invariance", memory=older)


def test_values_that_vanish_and_come_back_keep_their_number() -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s", "t"], identifier="id")
    first = pl.DataFrame({"id": [1, 2, 3, 4], "q": [1, 2, 3, 4], "s": list("abcd"), "t": [1.5, None, 2.5, 2.5]})
    second = pl.DataFrame({"id": [1, 4, 5], "q": [9, 4, 1], "s": ["a", "d", "e"], "t": [1.5, 2.5, 7.0]})
    third = pl.concat([first, second.filter(pl.col("id") == 5)])
    memory: Memory | None = None
    signatures: dict[int, list[str]] = {}
    for frame in (first, second, third):
        release = anonymize(frame, schema, "m-unique=2", method="invariance", memory=memory, ineligible="counterfeits")
        memory = release.draft.memory
        table = release.tables["release"]
        for (_,), group in table.group_by(GROUP):
            assert group.select("s", "t").n_unique() == group.height >= 2
        for person, group in zip(frame["id"], release.draft.groups.tolist(), strict=True):
            mine = release.table.decode(release.table.sensitive[release.draft.groups == group]).rows()
            fakes = release.draft.counterfeits
            if fakes is not None:
                mine += release.table.decode(fakes.sensitive[fakes.groups == group]).rows()
            assert signatures.setdefault(person, sorted(map(str, mine))) == sorted(map(str, mine))
