"""Plug-ins: the example package, installed by pip, is found by its entry points; broken ones stop nobody else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import reissue
from tests.contracts.plugin import install, package

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"
TABLE = "age,sex,disease\n" + "".join(f"{20 + n},{'mf'[n % 2]},{('flu', 'flu', 'cold')[n % 3]}\n" for n in range(18))
SCHEMA = '[columns]\nage = "quasi"\nsex = "quasi"\ndisease = "sensitive"\n'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages: the example, and some that are broken."""
    folder = tmp_path_factory.mktemp("plugins")
    target = folder / "site"
    broken = {
        "no-import": ("reissue.attacks", "lacking", "import a_library_that_is_not_there\n"),
        "half-way": ("reissue.attacks", "half-way", _ATTACK.format(name="half-way") + "\nraise ValueError('later')\n"),
        "nothing": ("reissue.algorithms", "nothing", ""),
        "joint-again": ("reissue.attacks", "joint", _ATTACK.format(name="joint")),
        "twice-a": ("reissue.requirements", "twice", ""),
        "twice-b": ("reissue.requirements", "twice", ""),
    }
    made = [package(folder / name, name, *its) for name, its in broken.items()]
    install([EXAMPLE, *made], target)
    return target


_ATTACK = """
from reissue.attacks import attack
from reissue.attacks.findings import Finding, Status

@attack("{name}", "Mine.")
def mine(series, knowledge):
    return Finding("{name}", Status.WITHSTOOD, "Fine.", series.numbers)
"""


def run(site: Path, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    source = str(Path(reissue.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(site)])}
    return subprocess.run(  # noqa: S603
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment, cwd=folder
    )


def command(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(site, "-c", "from reissue.cli import main; main()", *arguments, folder=folder)


def test_the_example_keeps_every_contract(site: Path) -> None:
    code = (
        "from reissue.testing import check_algorithm, check_attack, check_engine, check_requirement\n"
        "import polars as pl, reissue as ri\n"
        "check_attack('homogeneity')\n"
        "table = pl.DataFrame({'age': [1, 1, 2, 2, 2], 'disease': ['a', 'b', 'c', 'c', 'c']})\n"
        "plan = ri.Schema.of_columns(quasi=['age'], sensitive=['disease'])\n"
        "print(ri.attack([table], plan, only='homogeneity')['homogeneity'].people)\n"
        "check_algorithm('sorted', requirements=['k=2', 'l=2', 'odd-one=2'])\n"
        "check_requirement('odd-one')\n"
        "check_engine('pieces', lambda one: [one[:1], one[1:]])\n"
    )
    done = run(site, "-W", "ignore", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "3"


def test_the_example_works_from_the_command_line(site: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "s.toml").write_text(SCHEMA)
    made = (
        "anonymize",
        "t.csv",
        "-s",
        "s.toml",
        "-r",
        "k=3 & odd-one=2",
        "--method",
        "sorted",
        "-o",
        "o.csv",
        "--json",
    )
    done = command(site, tmp_path, *made)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["requirement"] == "k=3 & odd-one=2"
    checked = command(site, tmp_path, "check", "o.csv", "-s", "s.toml", "-r", "odd-one=2")
    assert checked.returncode == 0, checked.stderr
    pieces = command(site, tmp_path, "check", "o.csv", "o.csv", "-s", "s.toml", "-r", "k=6", "--engine", "pieces")
    assert pieces.returncode == 0, pieces.stderr
    assert "36 rows in" in pieces.stdout
    attacked = command(site, tmp_path, "attack", "o.csv", "-s", "s.toml", "--only", "homogeneity", "--json")
    assert attacked.returncode in {0, 1}, attacked.stderr
    assert json.loads(attacked.stdout)["findings"][0]["attack"] == "homogeneity"


def test_lists_have_plug_ins_and_warn_of_broken_ones(site: Path, tmp_path: Path) -> None:
    attacks = command(site, tmp_path, "attacks", "--json")
    assert attacks.returncode == 0
    names = {one["name"] for one in json.loads(attacks.stdout)["attacks"]}
    assert {"homogeneity", "joint"} <= names
    assert not {"lacking", "half-way"} & names
    said = " ".join(attacks.stderr.split())
    assert "'lacking' (of no-import) cannot be used: ModuleNotFoundError" in said
    assert "'half-way' (of half-way) cannot be used: ValueError: later" in said
    assert "'joint' (of joint-again) cannot be used: InputError: There is a built-in attack 'joint'" in said
    methods = command(site, tmp_path, "methods")
    assert "sorted" in methods.stdout
    assert "'nothing' (of nothing) cannot be used: it registers nothing of that name" in " ".join(
        methods.stderr.split()
    )
    listed = command(site, tmp_path, "requirements")
    assert "odd-one=2" in listed.stdout
    assert "several packages bring one of that name" in " ".join(listed.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("attack", "t.csv", "-s", "s.toml", "--only", "lacking"), "'lacking' (of no-import) cannot be used"),
        (("attack", "t.csv", "-s", "s.toml", "--only", "homogenity"), "homogeneity"),
        (("anonymize", "t.csv", "-s", "s.toml", "-r", "k=2", "--method", "nothing"), "registers nothing"),
        (("anonymize", "t.csv", "-s", "s.toml", "-r", "twice=2"), "several packages"),
    ],
)
def test_who_asks_for_a_broken_one_is_told(
    site: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "s.toml").write_text(SCHEMA)
    done = command(site, tmp_path, *arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_a_built_in_one_does_not_load_plug_ins(site: Path) -> None:
    code = (
        "import sys; from reissue import methods, attacks, requirements\n"
        "attacks.find('joint'); methods.find('pool'); requirements.parse('k=2')\n"
        "print([name for name in sys.modules if name.startswith('reissue_example')])"
    )
    assert run(site, "-c", code).stdout.strip() == "[]"
