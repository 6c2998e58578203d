"""The command line: parse, call, render; no logic. One command is one file."""

from reissue.cli._app import main

__all__ = ["main"]
