"""Texts in German and French: nothing is missing, places agree, numbers look as there; English stays what it was."""

import ast
import json
import re
import string
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

import reissue as ri
from reissue import synth
from reissue.attacks import registered
from reissue.attacks.findings import Status
from reissue.cleaning.wording import ACTIONS, FACTS, UNREADABLE
from reissue.cli._app import language_of, run
from reissue.errors import Why
from reissue.language import LANGUAGES, counted, localized, preferred, read_catalogue, speaking, text
from reissue.outcome.findings import HEADINGS, INPUTS, view_of
from reissue.proposing.column_names import QUASI
from reissue.release.release import DRAWN
from reissue.report import report_html
from reissue.taxonomy.codings import DATE_STEPS
from reissue.web.pages import OTHER_TOOLS
from reissue.web.routes.forms import DELIMITERS
from reissue.words import listed, number, percent, plural

PACKAGE = Path(ri.__file__).parent
FOLDER = PACKAGE / "language"
OTHERS = LANGUAGES[1:]
TEMPLATES = Environment(autoescape=True)
NAMES = {"Reissue", "· Reissue", "CSV", "Excel", "Parquet", "CSV  Parquet"}
"""Words that are the same in every language."""


def constants(node: ast.expr | None, tree: ast.AST) -> Iterator[str]:
    """The texts that an expression may be: of a constant, of both ends of a choice, of the entries of a table."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from constants(node.body, tree)
        yield from constants(node.orelse, tree)
    elif isinstance(node, ast.Subscript | ast.Starred):
        yield from constants(node.value, tree)
    elif isinstance(node, ast.Name):
        yield from assigned(tree, node.id, tree)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from constants(value, tree)
    elif isinstance(node, ast.Tuple | ast.List):
        for item in node.elts:
            yield from constants(item, tree)


def assigned(function: ast.AST, name: str, tree: ast.AST) -> Iterator[str]:
    """The texts that a name stands for: in a function, else in its module."""
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            yield from constants(node.value, tree)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield from constants(node.value, tree)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=True)
                    yield from (
                        one
                        for own, value in pairs
                        if isinstance(own, ast.Name) and own.id == name
                        for one in constants(value, tree)
                    )
        if isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name) and node.target.id == name:
            yield from constants(node.iter, tree)


def _messages(function: ast.AST, given: ast.expr, tree: ast.AST) -> Iterator[str]:
    """The messages that an argument may be: those of a function's own name, else of its module's."""
    if isinstance(given, ast.Name):
        own = list(assigned(function, given.id, tree))
        yield from own or assigned(tree, given.id, tree)
    else:
        yield from constants(given, tree)


def in_template(source: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The messages of a template: alone, and as singular and plural."""
    tree = TEMPLATES.parse(source)
    texts = {one for call in calls(tree, "_") for one in _ends(call.args[0])}
    plurals = {(*_ends(call.args[1]), *_ends(call.args[2])) for call in calls(tree, "counted")}
    return texts, {(one, many) for one, many in plurals}


def calls(tree: nodes.Template, *names: str) -> list[nodes.Call]:
    """The calls of functions in a template."""
    found = tree.find_all(nodes.Call)
    return [one for one in found if isinstance(one.node, nodes.Name) and one.node.name in names]


def _ends(node: nodes.Node | None) -> Iterator[str]:
    if isinstance(node, nodes.Const):
        yield node.value
    elif isinstance(node, nodes.CondExpr):
        yield from _ends(node.expr1)
        yield from _ends(node.expr2)


class Outside(HTMLParser):
    """Collects the words of a template that are in no message."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.code += tag in {"code", "pre", "style"}
        self.words += [value for name, value in attrs if name in {"aria-label", "data-label", "title", "alt"} and value]

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag in {"code", "pre", "style"}

    def handle_data(self, data: str) -> None:
        self.words += [] if self.code else [data]


def outside(source: str) -> set[str]:
    """What a template shows that no catalogue can translate: its plain text, and constants that it shows."""
    parser = Outside()
    parser.feed(re.sub(r"{{.*?}}", "", re.sub(r"{%.*?%}|{#.*?#}", "", source, flags=re.DOTALL), flags=re.DOTALL))
    tree = TEMPLATES.parse(source)
    said = {id(part) for one in calls(tree, "_", "counted") for part in one.find_all(nodes.Const)}
    shown = [one for output in tree.find_all(nodes.Output) for one in output.find_all(nodes.Const)]
    phrases = [str(one.value) for one in shown if id(one) not in said and re.search(r"[a-z] [a-z]", str(one.value))]
    return {one.strip() for one in (*parser.words, *phrases) if re.search(r"[A-Za-z]{2}", one)} - NAMES


def used() -> tuple[set[str], set[tuple[str, str]]]:
    """The messages in the code and in templates: alone, and as singular and plural."""
    texts: set[str] = set()
    plurals: set[tuple[str, str]] = set()
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "from reissue.language import" not in source:
            continue
        tree = ast.parse(source)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for function in functions:
            for call in ast.walk(function):
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                    continue
                if call.func.id == "text":
                    (first,) = call.args
                    own = _messages(function, first, tree)
                    texts |= set(own)
                elif call.func.id == "counted":
                    found = [list(_messages(function, one, tree)) for one in call.args[1:3]]
                    plurals |= {(one, many) for one in found[0] for many in found[1]}
    for path in PACKAGE.rglob("*.html"):
        alone, counts = in_template(path.read_text(encoding="utf-8"))
        texts |= alone
        plurals |= counts
    texts |= {*DELIMITERS, *(words for words, _ in OTHER_TOOLS), *DATE_STEPS}
    texts |= {one for about in registered().values() for one in (about.summary, about.needs, *about.prevention)}
    texts |= (
        {about.story for about in registered().values()}
        | set(HEADINGS)
        | {str(one) for one in Status if one != Status.NOT_RUN}
    )
    texts |= {str(one).replace("_", " ") for one in Why} - {"needs input"}
    texts |= {one for its in INPUTS.values() for one in (its.short, its.words)}
    for path in (PACKAGE / "attacks").rglob("*.py"):
        texts |= set(re.findall(r'measure="[^"]*?: ([^"]+)"', path.read_text(encoding="utf-8")))
    texts |= {"(everyone's group known)", "(with a register of people)", "(from the files alone)", "and", "or"}
    texts |= {DRAWN, *QUASI, *ACTIONS.values()}
    plurals |= {*FACTS.values(), *UNREADABLE.values()}
    things = {("release", "releases"), ("row", "rows"), ("person", "people"), ("group", "groups")}
    things |= {(one, f"{one}s") for one in ("second", "minute")}
    plurals |= {(f"{{count}} {one}", f"{{count}} {many}") for one, many in things}
    return {one for one in texts if one}, plurals


@pytest.mark.parametrize(
    "path", sorted(one for one in PACKAGE.rglob("*.html") if one.stem != "evidence"), ids=lambda path: path.stem
)
def test_a_template_has_no_words_of_its_own(path: Path) -> None:
    assert outside(path.read_text(encoding="utf-8")) == set()


def test_words_outside_of_messages_are_found() -> None:
    source = """<p title="of it">Read {{ _("this") }} or {{ "that thing" if x else _("all") }} <code>k</code></p>"""
    assert outside(source) == {"of it", "Read  or", "that thing"}
    assert in_template(source) == ({"this", "all"}, set())


def places(message: str) -> set[str]:
    try:
        return {name for _, name, _, _ in string.Formatter().parse(message) if name}
    except ValueError:  # braces that are no places: a line of a policy
        return set()


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_translated_and_nothing_else_is(language: str) -> None:
    catalogue = read_catalogue((FOLDER / f"{language}.po").read_text(encoding="utf-8"))
    texts, plurals = used()
    assert {one for one in texts if not catalogue.texts.get(one)} == set()
    assert {one for one, _ in plurals if not all(catalogue.plurals.get(one, ("",)))} == set()
    assert set(catalogue.texts) - texts == set()
    assert set(catalogue.plurals) - {one for one, _ in plurals} == set()


@pytest.mark.parametrize("language", OTHERS)
def test_places_and_code_agree(language: str) -> None:
    catalogue = read_catalogue((FOLDER / f"{language}.po").read_text(encoding="utf-8"))
    pairs = [*catalogue.texts.items(), *((one, form) for one, forms in catalogue.plurals.items() for form in forms)]
    for message, said in pairs:
        assert places(message) | {"count"} == places(said) | {"count"}, message
        assert message in catalogue.plurals or places(message) == places(said), message
        assert sorted(re.findall(r"`[^`]*`", message)) == sorted(re.findall(r"`[^`]*`", said)), message
        assert message.startswith(" ") == said.startswith(" "), message
        assert message.endswith("#") == said.endswith("#"), message


def test_a_catalogue_is_read_as_gettext_writes_it() -> None:
    blocks = (
        'msgid ""\nmsgstr "Language: xx\\n"',
        '# why\n#: a.py:3\nmsgid "one "\n"two"\nmsgstr ""\n"eins "\n"\\"zwei\\""',
        'msgid "{count} row"\nmsgid_plural "{count} rows"\nmsgstr[0] "{count} Zeile"\nmsgstr[1] "{count} Zeilen"',
    )
    source = "\n\n".join(blocks)
    found = read_catalogue(source)
    assert found.texts == {"one two": 'eins "zwei"'}
    assert found.plurals == {"{count} row": ("{count} Zeile", "{count} Zeilen")}


def test_numbers_and_counts() -> None:
    assert (number(1234), percent(0.755), plural(1234, "row"), localized("1,234.5%")) == (
        "1,234",
        "75.5%",
        "1,234 rows",
        "1,234.5%",
    )
    with speaking("de"):
        assert (percent(0.755), plural(1234, "row"), listed([1, 2])) == (
            "75,5\N{NO-BREAK SPACE}%",
            "1.234 Zeilen",
            "1 und 2",
        )
    with speaking("fr"):
        assert plural(0, "row") == "0 ligne"
        assert plural(1234, "row") == "1\N{NARROW NO-BREAK SPACE}234 lignes"
    assert counted(1, "{count} thing of {whole}", "{count} things of {whole}", whole="9") == "1 thing of 9"


def test_the_language_is_chosen_in_this_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [preferred(one) for one in ("de-CH,fr;q=0.8", "it, fr-FR;q=0.7", "de_DE.UTF-8", "", "C")] == [
        "de",
        "fr",
        "de",
        "en",
        "en",
    ]
    monkeypatch.setenv("REISSUE_LANGUAGE", "de_AT.UTF-8")
    assert text("Exposed") == "Gefährdet"
    with speaking("fr"):
        assert text("Exposed") == "Exposé"
    assert language_of(["attack", "--language", "de", "a.csv"]) == ("de", ["attack", "a.csv"])
    assert language_of(["--language=fr", "attack"]) == ("fr", ["attack"])
    assert language_of(["attack"]) == (None, ["attack"])


@pytest.mark.parametrize("language", OTHERS)
def test_a_report_and_its_verdict_are_in_one_language(language: str) -> None:
    months = synth.Population(seed=2, people=150).months(2)
    releases = [ri.anonymize(month, synth.schema(), "k=4 & l=2", method="mondrian", seed=1) for month in months]
    with speaking(language):
        findings = ri.attack(releases, synth.schema(), only=["joint", "disclosure"], timeline=True)
        view, page = view_of(findings), report_html(findings)
    assert f'<html lang="{language}">' in page
    assert not re.search(r"\b(people are exposed|The releases|What to do|At worst|How to read)\b", page)
    assert {"de": "Personen", "fr": "personnes"}[language] in view.headline.sentence
    english = view_of(findings)
    assert "people" in english.headline.sentence, "the language is that of whoever reads"


def test_the_command_line_speaks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REISSUE_LANGUAGE", "en")
    month = next(synth.Population(seed=2, people=60).months(1))
    ri.anonymize(month, synth.schema(), "k=3", seed=1).write("a.csv")
    (tmp_path / "s.toml").write_text(synth.schema().dumps())
    run(["attack", "a.csv", "-s", "s.toml", "--only", "disclosure", "--language", "de"])
    assert "Personen" in capsys.readouterr().out
    monkeypatch.setenv("REISSUE_LANGUAGE", "en")
    run(["attack", "a.csv", "-s", "s.toml", "--only", "disclosure", "--json"])
    assert json.loads(capsys.readouterr().out)["verdict"] in {"exposed", "withstood", "incomplete"}
    assert run(["--language", "xx", "doctor"]) == 2
