"""Run the notebooks of the documentation, and render them as its pages.

`python docs/notebooks.py` runs the code of every notebook in `docs/notebooks`, stores what it shows, and writes a page
beside it. Code runs in this process, in a folder of its own: Jupyter is not needed.
"""

import ast
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
_STYLE = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)
"""What pandas writes before a table: a page has its own."""


def executed(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its code, run in order from the start, in an empty folder."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                cells.append(cell)
                continue
            number += 1
            cells.append(
                {**cell, "execution_count": number, "outputs": _outputs("".join(cell["source"]), scope, number)}
            )
    return {**notebook, "cells": cells}


def _outputs(code: str, scope: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line if that is an expression."""
    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    name, printed, shown = f"<cell {number}>", io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), name, "exec"), scope)  # noqa: S102
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), name, "eval"), scope)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
        )
    if shown is not None:
        data = {"text/plain": repr(shown).splitlines(keepends=True)}
        html = getattr(shown, "_repr_html_", None)
        if html is not None:
            data["text/html"] = html().splitlines(keepends=True)
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def page(notebook: Mapping[str, Any]) -> str:
    """Return a notebook as a page of the documentation."""
    parts = [part for cell in notebook["cells"] for part in _parts(cell)]
    first, _, rest = parts[0].partition("\n")
    note = "This page is a [notebook]({name}) that the tests run; its data are invented."
    return "\n\n".join([first, note, *([rest.strip()] if rest.strip() else []), *parts[1:]]) + "\n"


def _parts(cell: Mapping[str, Any]) -> list[str]:
    source = "".join(cell["source"]).strip()
    if cell["cell_type"] != "code":
        return [source]
    return [f"```python\n{source}\n```", *(_shown(output) for output in cell["outputs"])]


def _shown(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    html = "".join(output["data"].get("text/html", ()))
    if html:
        whole = re.sub(r"\n\s*", "\n", _STYLE.sub("", html)).strip()  # a blank line would end it
        return f'<div class="output">\n{whole}\n</div>'
    return f"```text\n{''.join(output['data']['text/plain']).rstrip()}\n```"


def text_of(notebook: Mapping[str, Any]) -> str:
    """Return a notebook as its file's text."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def rendered(path: Path, notebook: Mapping[str, Any]) -> str:
    """Return the page of a notebook's file."""
    return page(notebook).replace("{name}", path.name, 1)


if __name__ == "__main__":
    os.environ.pop("REISSUE_LANGUAGE", None)
    chosen = [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb"))
    for each in chosen:
        made = executed(json.loads(each.read_text(encoding="utf-8")))
        each.write_text(text_of(made), encoding="utf-8")
        each.with_suffix(".md").write_text(rendered(each, made), encoding="utf-8")
