"""Uploads: names are never paths, and nobody else can read them."""

import io
import stat
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import InputError
from reissue.web.uploads import Desks, plain_name


@given(st.text(max_size=300))
def test_a_name_is_never_a_path(given_name: str) -> None:
    name = plain_name(given_name)
    assert name not in {"", ".", ".."}
    assert not name.startswith(".")
    assert PurePosixPath(name).name == name == PureWindowsPath(name).name
    assert name.isprintable()
    assert len(name) <= 100


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("jan.csv", "jan.csv"),
        ("../../etc/passwd", "passwd"),
        ("D:\\data\\März 2026.csv.gz", "März 2026.csv.gz"),
        ("a\0b;$(x).csv", "a_b__(x).csv"),
        ("..", "file"),
        ("dir/", "file"),
    ],
)
def test_what_is_kept_of_a_name(given_name: str, kept: str) -> None:
    assert plain_name(given_name) == kept


def test_files_are_their_owners_and_go_with_the_desk(tmp_path: Path) -> None:
    desks = Desks(tmp_path)
    desk = desks.new()
    paths = [desk.keep("published", "../a.csv", io.BytesIO(content)) for content in (b"1", b"2")]
    assert [path.name for path in paths] == ["a.csv", "a-2.csv"]
    assert [path.read_bytes() for path in paths] == [b"1", b"2"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (desk.folder, desk.folder / "published")} == {0o700}
    assert desks.find(desk.name) is desk
    desks.clear(desk)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="Begin again"):
        desks.find(desk.name)


def test_a_desk_that_fails_or_that_nobody_touches_is_cleared(tmp_path: Path) -> None:
    desks = Desks(tmp_path)
    with suppress(ValueError), desks.begun() as desk:
        desk.keep("published", "a.csv", io.BytesIO(b"1"))
        raise ValueError
    assert not list(tmp_path.iterdir())
    old = desks.new()
    old.touched -= 2 * 60 * 60
    new = desks.new()
    assert [path.name for path in tmp_path.iterdir()] == [new.folder.name]
