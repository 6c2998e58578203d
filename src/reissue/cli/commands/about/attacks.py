"""`reissue attacks`: what `--only` and the policy's `attacks` can be."""

from typing import TYPE_CHECKING

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import JsonOption

if TYPE_CHECKING:
    from reissue.attacks import Attack


@app.command()
def attacks(as_json: JsonOption = False) -> None:
    """List the attacks, what each needs to know, and the methods against it."""
    from reissue import methods
    from reissue.attacks import registered

    found, known = dict(sorted(registered().items())), methods.registered()
    against = {name: sorted(its for its in known if name in known[its].remedies) for name in found}
    if as_json:
        _render.show_json({"attacks": [_as_dict(its, against[name]) for name, its in found.items()]})
        return
    for name, its in found.items():
        _render.say(name, style="bold")
        _render.say(f"  {its.summary}", f"  {_looks_at(its)}")
        if its.needs:
            _render.say(f"  It needs {its.needs}.")
        if against[name]:
            _render.say(f"  Methods against it: {', '.join(against[name])}.")


def _as_dict(its: "Attack", methods: list[str]) -> dict[str, object]:
    return {
        "name": its.name,
        "summary": its.summary,
        "compares": its.compares,
        "releases": its.fewest,
        "needs": its.needs,
        "story": its.story,
        "prevention": list(its.prevention),
        "command": its.command,
        "methods": methods,
    }


def _looks_at(its: "Attack") -> str:
    if its.per_release:
        return "It looks at every release by itself."
    return "It compares releases" + (f", at least {its.fewest} of them." if its.fewest > 1 else ".")
