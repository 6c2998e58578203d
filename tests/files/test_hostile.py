"""Files that somebody made to harm their reader, or damaged: each is an error about the file, and the next is read."""

import gzip
import os
import re
import signal
import subprocess
import sys
import threading
import zipfile
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from reissue import Dialect
from reissue.cli._app import run
from reissue.engines.registry import choose
from reissue.engines.stream import open_stream
from reissue.errors import DataError, InputError
from reissue.files import child
from reissue.files.limits import ENVIRONMENT, machine_memory, reading_allowance
from reissue.files.tables import detect_dialect, read_file, write_file
from tests.silence import refused

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
LIMIT = "150MB"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux holds a process to its limit")


def workbook(path: Path, cells: dict[str, str], quote: str = '"', padding: int = 0) -> Path:
    """A workbook of our own, with nothing in it but these cells."""
    rows = "".join(
        f"<row><c r={quote}{place}{quote} t={quote}inlineStr{quote}><is><t>{text}</t></is></c></row>"
        for place, text in cells.items()
    )
    members = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="S" sheetId="1" '
        'r:id="r"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{rows}{" " * padding}</sheetData>'
        "</worksheet>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in members.items():
            package.writestr(name, text)
    return path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file that can be read, and little memory for all others."""
    monkeypatch.setenv(ENVIRONMENT, LIMIT)
    path = tmp_path / "small.parquet"
    write_file(pl.DataFrame({"a": [1, 2]}), path)
    return path


def reads(path: Path) -> None:
    assert read_file(path)["a"].to_list() == [1, 2]


def test_a_workbook_whose_last_cell_is_far_away(small: Path, tmp_path: Path) -> None:
    path = workbook(tmp_path / "in.xlsx", {"A1": "zebra", "XFD1048576": "walrus"})
    assert path.stat().st_size < 2000
    for call in (lambda: detect_dialect(path), lambda: read_file(path)):
        said = refused(DataError, call, ["zebra", "walrus"])
        assert "1,048,576 rows and 16,384 columns" in said
        assert ENVIRONMENT in said
    reads(small)
    tall = workbook(tmp_path / "tall.xlsx", {"A1": "x", "B1": "y", "A9999": "1", "B9999": "2"})
    assert read_file(tall).rows() == [(1, 2)]


@linux
def test_a_workbook_that_hides_how_large_it_is(small: Path, tmp_path: Path) -> None:
    path = workbook(tmp_path / "in.xlsx", {"A1": "zebra", "XFD1048576": "walrus"}, quote="'")
    said = refused(DataError, lambda: read_file(path), ["zebra", "walrus"])
    assert "more than the 150 MB" in said
    reads(small)


def test_a_workbook_that_unpacks_to_more_than_may_be_taken(small: Path, tmp_path: Path) -> None:
    path = workbook(tmp_path / "in.xlsx", {"A1": "zebra"}, padding=2**28)
    assert "unpacks to 256 MB" in refused(DataError, lambda: read_file(path), ["zebra"])
    reads(small)


def test_parquet_of_many_equal_rows(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.parquet"
    part = pa.table({"a": pa.nulls(10**7, pa.int64()), "b": pa.nulls(10**7, pa.int64())})
    with pq.ParquetWriter(path, part.schema) as writer:
        for _ in range(4):
            writer.write_table(part)
    assert path.stat().st_size < 10**6
    assert "40,000,000 rows and 2 columns" in refused(DataError, lambda: read_file(path))
    reads(small)
    monkeypatch.setenv(ENVIRONMENT, "2GB")
    assert read_file(path, only=["a"]).shape == (40_000_000, 1)


@linux
def test_one_cell_that_unpacks_to_much(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    rows = pa.table({"a": ["x" * 2**28]})
    pq.write_table(rows, path, compression="zstd", use_dictionary=False, write_statistics=False)
    assert path.stat().st_size < 10**6
    assert "more than the 150 MB" in refused(DataError, lambda: read_file(path))
    reads(small)


@linux
def test_packed_text_that_unpacks_to_much(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 2**24)
    assert "more than the 150 MB" in refused(DataError, lambda: read_file(path))
    reads(small)


def test_a_file_of_a_statistics_package_that_says_it_is_large(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.zsav"
    frame = pl.DataFrame({f"v{number}": pl.zeros(2 * 10**5, eager=True) for number in range(100)})
    pyreadstat.write_sav(frame, str(path), compress=True)
    assert path.stat().st_size < 10**6
    assert "200,000 rows and 100 columns" in refused(DataError, lambda: read_file(path))
    reads(small)


def test_a_header_of_very_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(",".join(f"zebra{number}" for number in range(20_000)) + "\n")
    assert "20,000 columns" in refused(DataError, lambda: read_file(path), ["zebra"])


def test_a_reader_that_dies_is_replaced(small: Path) -> None:
    reads(small)
    reader = child._READERS.child
    assert reader is not None
    os.kill(reader.process.pid, signal.SIGSEGV)
    reader.process.wait(10)
    reads(small)
    assert child._READERS.child is not reader


def test_a_reader_that_dies_while_it_reads(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads(small)
    reader = child._READERS.child
    assert reader is not None
    os.kill(reader.process.pid, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (reader.process.pid, signal.SIGSEGV)).start()
    threading.Timer(0.3, os.kill, (reader.process.pid, signal.SIGCONT)).start()
    assert "Its reader crashed" in refused(DataError, lambda: read_file(small))
    reads(small)


def test_many_threads_read_at_once(small: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.parquet" for number in range(8)]
    for number, path in enumerate(paths):
        write_file(pl.DataFrame({"a": [number]}), path)
    found: dict[int, int] = {}

    def read(number: int) -> None:
        found[number] = read_file(paths[number])["a"].item()

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number for number in range(8)}


def python(*given: str, folder: Path, text: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603
        [sys.executable, *given], cwd=folder, input=text, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_script_from_standard_input_reads_too(small: Path, tmp_path: Path) -> None:
    text = "import reissue.files.tables as t, reissue.files.child as c\nprint(t.read_file('small.parquet').height)\n"
    done = python("-", folder=tmp_path, text=text + "print(c._READERS.child.process.pid)")
    rows, process = map(int, done.stdout.split())
    assert (done.returncode, rows, done.stderr) == (0, 2, "")
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_copy_of_a_process_has_a_reader_of_its_own(small: Path, tmp_path: Path) -> None:
    text = (
        "import os, reissue.files.tables as t\nassert t.read_file('small.parquet').height == 2\n"
        "copy = os.fork()\nassert t.read_file('small.parquet').height == 2\n"
        "assert not copy or os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0\n"
        "assert t.read_file('small.parquet').height == 2\n"
    )
    done = python("-", folder=tmp_path, text=text)
    assert (done.returncode, done.stderr) == (0, "")


def test_modules_beside_the_data_are_not_run(small: Path, tmp_path: Path) -> None:
    for name in ("polars", "json", "resource"):
        (tmp_path / f"{name}.py").write_text("open('harm', 'w').close()\n")
    text = "import sys; sys.path.remove('')\nimport reissue.files.tables as t\nt.read_file('small.parquet')\n"
    done = python("-", folder=tmp_path, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "harm").exists()


def test_without_a_python_to_start_it_says_so(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child._READERS.close()
    monkeypatch.setattr(sys, "executable", str(small.with_name("nowhere")))
    assert "no process could be started" in refused(InputError, lambda: read_file(small))


def test_how_much_memory_a_file_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert reading_allowance() == machine_memory() // 2
    for given, most in (("4GB", 2**32), ("500 mb", 500 * 2**20), ("25%", machine_memory() // 4), ("unlimited", 0)):
        monkeypatch.setenv(ENVIRONMENT, given)
        assert reading_allowance() == most
    for given in ("much", "0", "-1GB", "4GBB"):
        monkeypatch.setenv(ENVIRONMENT, given)
        assert "such as 4GB" in refused(InputError, reading_allowance)


def test_the_command_line_ends_as_for_any_bad_file(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workbook(tmp_path / "in.xlsx", {"A1": "zebra", "XFD1048576": "walrus"})
    assert run(["init", str(path), "--out", str(tmp_path / "schema.toml")]) == 2
    said = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert "16,384 columns" in said
    assert "zebra" not in said
    assert not (tmp_path / "schema.toml").exists()


def test_notes_of_the_reader_are_given_here(tmp_path: Path) -> None:
    path = workbook(tmp_path / "in.xlsx", {"A1": "a", "B1": "b", "A2": "1", "B2": "NA", "A3": "2", "B3": "7"})
    with pytest.warns(match="'NA' in 1 cell read as missing"):
        assert read_file(path, dialect=Dialect(header=1))["b"].to_list() == [None, 7]


def test_too_little_memory_for_the_work_itself_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("reissue.publishing.plan.begin_series", exhausted)
    (tmp_path / "in.csv").write_text("a,b\n1,2\n")
    assert run(["init", str(tmp_path / "in.csv"), "--out", str(tmp_path / "schema.toml")]) == 2
    assert "not enough memory" in capsys.readouterr().err


def test_parquet_whose_end_is_damaged_is_bad_input(tmp_path: Path) -> None:
    """Some damages make Polars panic, which is no Exception."""
    good = tmp_path / "good.parquet"
    write_file(pl.DataFrame({"a": range(100), "b": ["x", "y"] * 50}), good)
    content, path = good.read_bytes(), tmp_path / "in.parquet"
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    said = set()
    for place in range(start, len(content) - 8):
        path.write_bytes(content[:place] + b"\x05" + content[place + 1 :])
        for read in (read_file, partial(choose, "auto"), open_stream):
            try:
                read(path)
            except DataError as problem:
                said.add(str(problem).rpartition(": ")[2])
    assert "it is not a whole Parquet file." in said
    assert any("crashed" in one for one in said)
