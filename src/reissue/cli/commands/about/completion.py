"""`reissue completion`: what a shell needs to complete commands and options."""

from typing import Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import COMPLETE, app
from reissue.cli._options import JsonOption
from reissue.errors import InputError, nearest

SHELLS = ("bash", "zsh", "fish")


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    as_json: JsonOption = False,
) -> None:
    """Print a script for your shell; for bash, put  eval "$(reissue completion bash)"  into ~/.bashrc."""
    from typer._completion_shared import get_completion_script

    if shell not in SHELLS:
        raise InputError("There is completion for bash, zsh and fish." + nearest(shell, SHELLS))
    script = get_completion_script(prog_name="reissue", complete_var=COMPLETE, shell=shell)
    if as_json:
        _render.show_json({"shell": shell, "script": script})
    else:
        typer.echo(script)
