"""The command line as a whole: which commands there are, and how each one ends.

A command is a module of `commands`, named in WORK or ABOUT, that registers one function with `@app.command()`. It
imports what it works with inside that function, calls one of the library's doors, and shows the outcome with `_render`.
It raises what the library raises; how that ends is decided here, in one place.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup, TyperOption

from reissue.cli import _render
from reissue.cli._renamed import by_current_names
from reissue.errors import NO_MEMORY, InputError, InternalError, NotMetError, NotWrittenError, ReadingNote
from reissue.language import LANGUAGES, VARIABLE

__all__ = ["COMMANDS", "COMPLETE", "EXIT_CODES", "app", "load", "main", "run"]

WORK = (
    "open",
    "clean",
    "init",
    "compare-settings",
    "plan",
    "anonymize",
    "check",
    "attack",
    "publish",
    "tabulate",
    "check-output",
    "ledger",
    "measure",
    "estimate",
    "demo",
)
"""The modules in `commands`, in the order that help shows them."""
ABOUT = ("methods", "attacks", "requirements", "explain", "doctor", "completion")
"""Those in `commands/about`, which need no data; shown after them."""
COMMANDS = (*WORK, *ABOUT)

COMPLETE = "_REISSUE_COMPLETE"
"""The variable by which a shell asks what may follow."""
FINE, NOT_MET, BAD_INPUT, UNTESTED, NOT_WRITTEN, NOT_PROVABLE, BUG = 0, 1, 2, 3, 4, 5, 70
EXIT_CODES = {
    FINE: "fine",
    NOT_MET: "the answer is no: a requirement is not met, somebody is exposed, or a ledger is broken",
    BAD_INPUT: "bad input: a message says what was wrong and what to try; nothing was written",
    UNTESTED: "nothing could be tested: no attack that compares releases could be run, or a plan could try no setting",
    NOT_WRITTEN: "a release was recorded, but its files could not be written: `reissue ledger export` gives them",
    NOT_PROVABLE: "`reissue ledger verify` found nothing wrong, and lacks the key or a head to prove that nothing is",
    BUG: "a bug in Reissue",
}

_ENDS = {InputError: BAD_INPUT, NotMetError: NOT_MET, NotWrittenError: NOT_WRITTEN}


class CommandGroup(TyperGroup):
    """Commands under one name, whose --help is plainly on or off: Typer checks what is neither by pydantic, slowly."""

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """The option --help."""
        return _plain_flag(super().get_help_option(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _plain_flag(command.get_help_option(ctx))
        return command


def _plain_flag(option: TyperOption | None) -> TyperOption | None:
    if option is not None:
        option.default, option.metavar = False, ""
    return option


app = typer.Typer(
    name="reissue",
    cls=CommandGroup,
    help="Publish microdata about people again and again without giving anyone away.",
    epilog="Start with `reissue init DATA`, which may be CSV, Excel, SPSS, Stata, SAS, Parquet or a database; or see "
    "`reissue demo`. `reissue explain WORD` says what a word means. `--language de` or `fr`, after any command, or "
    "REISSUE_LANGUAGE gives verdicts and reports in German or French. Exit codes: 0 fine, 1 requirement not met, "
    "2 bad input, 3 nothing could be tested, 4 recorded but not written, 5 a ledger is not provable, 70 a bug.",
    add_completion=False,
    pretty_exceptions_enable=False,  # tracebacks would show the values of variables
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", metavar="", help="Show the version and stop.")] = False,
) -> None:
    if version:
        from reissue._version import __version__

        typer.echo(f"reissue {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def load(asked: str = "") -> typer.Typer:
    """The app with all its commands, or with the one that is asked for, if it is one."""
    if COMPLETE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    for name in [asked] if asked in COMMANDS else COMMANDS:
        import_module(f"reissue.cli.commands.{'about.' if name in ABOUT else ''}{name.replace('-', '_')}")
    app.registered_commands.sort(key=lambda one: COMMANDS.index(_module_of(one.callback)))
    return app


def _module_of(command: object) -> str:
    return command.__module__.rpartition(".")[2].replace("_", "-")


def main() -> None:
    """The `reissue` command."""
    _silence_libraries()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter is no reason to stop
    warnings.showwarning = _warn  # type: ignore[assignment]
    sys.exit(run(sys.argv[1:]))


def _warn(message: Warning | str, *_: object) -> None:
    """A warning of the library, without the line of code that gave it."""
    kind = "" if isinstance(message, ReadingNote) else "Warning: "
    _render.say(kind + _render.as_options(str(message)), error=True, style="yellow" if sys.stderr.isatty() else "")


def _speak(language: str | None) -> None:
    """Have texts in a language, also those of children that read files or attack."""
    if language is None:
        return
    if language not in LANGUAGES:
        raise InputError(f"There are texts in {', '.join(LANGUAGES)}:  --language de.")
    os.environ[VARIABLE] = language


def language_of(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the language that a command line asks for, if any, and the command line without that option."""
    found, rest, before = None, [], ""
    for text in arguments:
        name, equals, value = text.partition("=")
        if before == "--language":
            found = text
        elif name == "--language" and equals:
            found = value
        elif text != "--language":
            rest.append(text)
        before = text
    return found, rest


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; whatever happens, no data value is shown."""
    language, arguments = language_of(arguments)
    as_json, arguments = "--json" in arguments, by_current_names(arguments)
    try:
        _speak(language)
        return load(next(iter(arguments), ""))(list(arguments), prog_name="reissue", standalone_mode=False) or FINE
    except typer.TyperException as problem:
        _render.show_usage_error(problem, as_json=as_json)
        return BAD_INPUT
    except (InputError, NotMetError, NotWrittenError) as problem:
        _render.show_error(problem, as_json=as_json)
        return next(code for kind, code in _ENDS.items() if isinstance(problem, kind))
    except MemoryError:
        _render.show_error(InputError(NO_MEMORY), as_json=as_json)
        return BAD_INPUT
    except InternalError as problem:
        _render.show_bug(problem, str(problem), as_json=as_json)
        return BUG
    except BaseException as problem:  # a traceback or a library's message could show data
        if not isinstance(problem, Exception) and not _is_panic(problem):
            raise
        _render.show_bug(problem, "", as_json=as_json)
        return BUG


def _is_panic(problem: BaseException) -> bool:
    """Whether a library in Rust gave up; what Python says of it is no Exception."""
    return type(problem).__name__ == "PanicException"


def _silence_libraries() -> None:
    """Leave standard error to our own messages: where a library in Rust gives up, it shows values there by itself."""
    sys.stderr.flush()
    try:
        ours = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, buffering=1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except (OSError, AttributeError):  # there is no standard error at all
        return
    os.dup2(nowhere, 2)
    os.close(nowhere)
    sys.stderr = ours
