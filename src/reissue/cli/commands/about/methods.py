"""`reissue methods`: what `--method` and `--option` can be."""

import json

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import JsonOption


@app.command()
def methods(as_json: JsonOption = False) -> None:
    """List the methods of `anonymize`, with their options."""
    from reissue.methods import Trait, registered
    from reissue.publishing.recipe import DEFAULT_METHOD

    found = dict(sorted(registered().items(), key=lambda item: (item[0] != DEFAULT_METHOD, item[0])))
    if as_json:
        _render.show_json(
            {
                "default": DEFAULT_METHOD,
                "methods": [
                    {
                        "name": name,
                        "summary": method.summary,
                        "suppresses": Trait.SUPPRESSES in method.traits,
                        "stateful": method.stateful,
                        "several_rows": bool(method.several_rows),
                        "options": {
                            option: {"default": its.default, "help": its.help, "choices": its.choices}
                            for option, its in method.options.items()
                        },
                    }
                    for name, method in found.items()
                ],
            }
        )
        return
    for name, method in found.items():
        _render.say(f"{name}{' (the default)' if name == DEFAULT_METHOD else ''}", style="bold")
        _render.say(f"  {method.summary}")
        if method.stateful:
            _render.say("  It follows people from release to release and keeps a memory of them.")
        if method.several_rows:
            _render.say("  People may have several rows: it counts people.")
        for option, its in method.options.items():
            choices = f" ({', '.join(map(json.dumps, its.choices))})" if its.choices else ""
            _render.say(f"  --option {option}={json.dumps(its.default)}  {its.help}{choices}")
