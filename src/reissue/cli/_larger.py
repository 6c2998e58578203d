"""How a release larger than memory is made from a command line, and shown."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reissue.cli import _render
from reissue.errors import InputError
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.requirements import Requirement
    from reissue.schema import Schema

__all__ = ["make_folder", "streams"]


def streams(engine: str, data: Any) -> bool:
    """Whether a table is not to be read into memory."""
    if engine == "memory":
        return False
    from reissue.engines.registry import MEMORY, choose

    return choose(engine, data).name != MEMORY


def make_folder(
    data: Any,
    schema: "Schema",
    requirement: "Requirement",
    out: Any,
    asked: dict[str, Any],
    others: Mapping[str, object],
    *,
    as_json: bool,
) -> None:
    """Make it, into a folder, by an `asked` method and engine; `others` are options that must be left out."""
    from reissue.files.places import SECOND_TABLES, beside_folder
    from reissue.methods import find
    from reissue.publishing.folder import anonymize_folder

    named = [name for name, value in others.items() if value]
    if named:
        raise InputError(f"{', '.join(named)}: only with --engine memory.")
    if out is None:
        raise InputError("A release larger than memory goes to a folder: name it with --out.")
    if find(asked["method"]).stateful and asked["memory"] is None:
        raise InputError(
            f"The method '{asked['method']}' follows people from release to release: give --memory FILE to keep."
        )
    with _render.watching("Anonymizing") as progress:
        made = anonymize_folder(data, schema, requirement, out, progress=progress, **asked)
    if as_json:
        numbers = {"rows": made.rows, "groups": made.groups, "regions": made.regions, "folder": str(made.folder)}
        said = {"method": made.method, "requirement": str(made.requirement), "warnings": list(made.warnings)}
        _render.show_json({**said, **numbers})
        return
    beside = [beside_folder(made.folder, name) for name in SECOND_TABLES]
    folders = [made.folder, *(one for one in beside if one.is_dir())]
    regions = f", made in {plural(made.regions, 'region')}" if made.regions > 1 else ""
    _render.say(
        f"{plural(made.rows, 'row')} published in {plural(made.groups, 'group')}{regions}.",
        f"The release meets {made.requirement}: counted again from the published columns.",
        *(f"Written: {one}, a folder of Parquet." for one in folders),
    )
    _render.warn(*made.warnings)
