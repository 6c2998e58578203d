"""The house: which room may use which, read from the import statements (lazy ones and those for types count)."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median

import pytest

import reissue
from reissue import requirements

HOUSE = Path(reissue.__file__).parent
ORDER = (
    "errors _version _arrays _plugins _renamed language words _notebook",
    "files",
    "taxonomy",
    "schema",
    "cleaning",
    "counting",
    "contingency",
    "updates",
    "protection randomization",
    "data",
    "engines",
    "requirements",
    "release",
    "published",
    "solver randomized",
    "people",
    "methods",
    "attacks",
    "verify",
    "papers",
    "utility",
    "policy",
    "proposing",
    "ledger",
    "publishing",
    "outcome",
    "report",
    "synth",
    "demo",
    "installation",
    "testing",
    "web",
    "cli",
    "__main__",
)
"""Each line may use those before it; modules of one line, and rooms inside, may use each other."""
RANK = {room: number for number, line in enumerate(ORDER) for room in line.split()}
REGISTRY = "reissue.methods.registry"
"""The one way from attacks to algorithms: what a method is known to do, found by its name."""
ROOM, STEP = re.compile(r"`(\w+/?)`"), re.compile(r"`([\w/]+\.py):(\w+)`")
"""A room and a function as CONTRIBUTING writes them."""
LONGEST, USUAL = 40, 8
"""Lines of one function, and of half of all functions, at most."""


def modules() -> dict[str, Path]:
    named = {}
    for path in HOUSE.rglob("*.py"):
        parts = path.relative_to(HOUSE.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def imported(name: str, known: dict[str, Path]) -> set[str]:
    """The modules of ours that one imports, anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(known[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {one if one in known else str(node.module) for one in whole}
    return {one for one in found if one in known and one != name}


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imported(name, known) for name in known if name != "reissue"}


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else name


def test_every_room_is_in_the_order(graph: dict[str, set[str]]) -> None:
    assert {room(name) for name in graph} == set(RANK)


def test_rooms_use_only_those_before_them(graph: dict[str, set[str]]) -> None:
    wrong = [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if room(other) not in RANK or RANK[room(other)] > RANK[room(name)]
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_methods_and_attacks_do_not_import_each_other(graph: dict[str, set[str]]) -> None:
    pair = {"methods", "attacks"}
    both = {(name, other) for name, others in graph.items() for other in others if {room(name), room(other)} == pair}
    assert {other for _, other in both} == {REGISTRY}


def test_no_cycle(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        pytest.fail(" -> ".join(cycle.args[1]))


def test_requirements_mean_the_same_everywhere(graph: dict[str, set[str]]) -> None:
    """What a requirement asks is asked of its own methods: nobody outside its room goes by its class."""
    kinds = {kind.__name__ for kind in requirements.registered().values()}
    known, wrong = modules(), []
    for name in (name for name in graph if room(name) != "requirements"):
        for node in ast.walk(ast.parse(known[name].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                named = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
                wrong += [f"{name}:{node.lineno}"] if named & kinds else []
    assert not wrong, "\n".join(wrong)


def test_functions_are_short() -> None:
    """Lines of a function's body, without its signature and docstring: doors have many options."""
    lengths = {}
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                first = body[0].lineno if body else node.end_lineno
                lengths[f"{name}.{node.name}:{node.lineno}"] = (node.end_lineno or 0) - (first or 0) + 1
    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST}
    assert median(lengths.values()) <= USUAL


def test_a_class_name_means_one_thing() -> None:
    """Classes that begin with an underscore are their module's own."""
    places: dict[str, list[str]] = {}
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_every_module_says_what_it_is_for() -> None:
    for name, path in modules().items():
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert text, name
        assert len(text.splitlines()[0]) >= 20, name


def test_contributing_draws_the_house_as_it_is() -> None:
    text = (HOUSE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = [name.strip("/") for line in text.splitlines() if line.startswith("| `") for name in ROOM.findall(line)]
    places = [RANK[name] for name in drawn]
    assert places == sorted(places)
    assert {name for line in ORDER for name in line.split() if not name.startswith("_")} <= set(drawn)
    walked = STEP.findall(text)
    assert len(walked) > 20
    for file, name in walked:
        tree = ast.parse((HOUSE / file).read_text(encoding="utf-8"))
        named = {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)}
        assert name in named, f"{file}:{name}"
