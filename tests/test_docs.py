"""The docs are tested: their commands run, their links lead somewhere, the reference is complete."""

import re
import runpy
from pathlib import Path

import pytest

import reissue
from reissue import synth
from reissue.cli._app import COMMANDS
from reissue.methods import registered
from tests.pages import ROOT, blocks, script, shell, words

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
HOW_TOS = [page for page in sorted((ROOT / "docs" / "how-to").glob("*.md")) if "```sh" in page.read_text()]
LONG = {"recipients", "several-hospitals", "adopt-earlier-releases", "people-come-and-go", "table-that-only-grows"}
LONG |= {
    "publish-every-month",
    "stop-a-pipeline",
    "values-change",
    "several-rows",
    "which-protection",
    "larger-than-memory",
}
"""Pages of many commands: `make test-all` runs them too."""
LONGEST_DECISION = 4_000
"""Characters of a decision: a page."""


def anchors(page: Path) -> set[str]:
    """What links can point to on a page: its headings, as Markdown writes them in addresses."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_the_readme_opens_with_the_two_commands() -> None:
    readme = ROOT / "README.md"
    first = blocks(readme, "sh")[0]
    assert readme.read_text().index(first) < 60
    targets = re.findall(r"^make (\S+)", first, re.MULTILINE)
    assert targets == ["demo", "test"]
    for target in targets:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_readmes_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "README.md", "python")
    assert len(code.strip().splitlines()) <= 12
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    assert (tmp_path / "from-python.csv").is_file()


def test_the_readmes_commands_run(tmp_path: Path) -> None:
    people = synth.Population(seed=1, people=500)
    next(people.months(1)).write_csv(tmp_path / "patients.csv")
    for name, month in zip(("jan", "feb", "mar"), people.months(3), strict=True):
        reissue.anonymize(month, synth.schema(), "k=5", seed=1).write(str(tmp_path / f"{name}.csv"))
    for number, wave in enumerate(people.months(2), 1):
        wave.write_csv(tmp_path / f"wave{number}.csv")
    for block in blocks(ROOT / "README.md", "sh")[1:]:
        shell(block, tmp_path)
    assert all((tmp_path / name).is_file() for name in ("release.csv", "out.html", "first.csv", "plan.html"))
    assert "disease" in (tmp_path / "release.csv").read_text().splitlines()[0]
    shell("python - <<'END'\n" + blocks(ROOT / "README.md", "python")[0] + "END\n", tmp_path)
    assert (tmp_path / "from-python.csv").is_file()


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page.stem in LONG else (), id=page.stem) for page in HOW_TOS]
)
def test_the_how_tos_commands_run_and_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    printed = words(shell(script(page), tmp_path))
    for line in "".join(blocks(page, "text")).splitlines():
        assert words(line) in printed, line


def test_the_command_line_reference_is_fresh_and_complete() -> None:
    page = str(runpy.run_path(str(ROOT / "docs" / "generate.py"))["page"]())
    assert (ROOT / "docs" / "reference" / "cli.md").read_text() == page, "run: python docs/generate.py"
    words = ROOT / "src" / "reissue" / "glossary.md"
    assert (ROOT / "docs" / "reference" / "glossary.md").read_text() == words.read_text(), (
        "run: python docs/generate.py"
    )
    attacks = str(runpy.run_path(str(ROOT / "docs" / "generate.py"))["attacks"]())
    assert (ROOT / "docs" / "reference" / "attacks.md").read_text() == attacks, "run: python docs/generate.py"
    for command in COMMANDS:
        assert f"## reissue {command}\n" in page
    for method, its in registered().items():
        assert f"\n### {method}" in page
        assert its.summary in page
        assert all(f"| `{option}` |" in page for option in its.options)


def test_every_public_name_is_in_the_python_reference() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    documented = {*re.findall(r"^::: [\w.]+\.(\w+)$", page, re.MULTILINE), *re.findall(r"`(\w+)`", page)}
    errors = {name for name in reissue.__all__ if name.endswith("Error")}
    assert "::: reissue.errors\n" in page
    assert set(reissue.__all__) - errors <= documented


def test_every_command_is_a_module_and_every_module_a_command() -> None:
    modules = {
        path.stem.replace("_", "-") for path in (ROOT / "src" / "reissue" / "cli" / "commands").rglob("[!_]*.py")
    }
    assert modules == set(COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, place in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not place or place in anchors(there), f"{target}#{place}"


def test_every_page_is_in_the_navigation_and_the_other_way_round() -> None:
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    there = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert {page for page in there if not re.match(r"decisions/\d", page)} <= listed <= there


def test_decisions_are_listed_short_and_cited_by_numbers_that_exist() -> None:
    generated = str(runpy.run_path(str(ROOT / "docs" / "generate.py"))["decisions"]())
    assert (ROOT / "docs" / "decisions" / "index.md").read_text() == generated, "run: python docs/generate.py"
    pages = {page.stem[:4]: page.read_text() for page in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}
    assert not {number for number, text in pages.items() if not re.match(rf"# {number}:? ", text)}
    assert not {number for number, text in pages.items() if len(text) > LONGEST_DECISION}
    sources = [path for folder in ("src", "tests", "benchmarks", "docs") for path in (ROOT / folder).rglob("*.py")]
    for path in [*sources, *PAGES]:
        cited = re.findall(r"\bdecisions? (\d{4}(?:(?:,| and|, and) \d{4})*)", path.read_text(), re.IGNORECASE)
        assert set(re.findall(r"\d{4}", " ".join(cited))) <= set(pages), path


def test_the_paths_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:src|docs|tests|examples)/[\w./-]+)`", text)
    assert len(paths) > 8
    assert not [path for path in paths if not (ROOT / path).exists()]
    for target in re.findall(r"^make (\S+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_modules_that_how_it_works_names_exist() -> None:
    text = (ROOT / "docs" / "concepts" / "how-it-works.md").read_text()
    named = re.findall(r"`((?:solver|attacks)/[\w/.]+)`", text)
    assert len(named) > 4
    assert not [name for name in named if not (ROOT / "src" / "reissue" / name).exists()]


def test_every_promise_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "concepts" / "promise.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= 8
    for path, function in named:
        assert re.search(rf"^def {function}\(", (ROOT / path).read_text(), re.MULTILINE), function
    promises = re.findall(r"^\| .* \|$", text.partition("## What is promised")[2].partition("##")[0], re.MULTILINE)[2:]
    assert promises
    assert all("`tests/" in promise for promise in promises)


def test_the_reference_shows_defaults_that_can_be_read() -> None:
    griffe = pytest.importorskip("griffe", reason="comes with the extra docs")
    extensions = griffe.load_extensions(str(ROOT / "docs" / "readable_defaults.py"))
    package = griffe.load("reissue", search_paths=[str(ROOT / "src")], extensions=extensions)
    shown = [
        str(parameter.default)
        for name in re.findall(
            r"^::: reissue\.(\S+)", (ROOT / "docs" / "reference" / "python.md").read_text(), re.MULTILINE
        )
        for parameter in getattr(package[name], "parameters", ())
    ]
    assert "Dialect()" in shown
    assert not [default for default in shown if "lambda" in default or re.fullmatch(r"[A-Z_]+(\[.*)?", default)]
