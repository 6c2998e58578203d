"""`reissue anonymize` for methods that follow people: one snapshot, or a folder of them, with a memory file."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reissue.cli import _render
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.release import Release
    from reissue.requirements import Requirement
    from reissue.schema import Schema

__all__ = ["publish_series", "requirement_of"]

_SHORT = {"invariance": "m-unique", "equivalence": "simple-l", "distinct": "m-unique"}
"""What --m means to each method."""


def requirement_of(require: str | None, m: int | None, method: str) -> "Requirement":
    """The requirement as --require says it, or --m for the methods that have one."""
    from reissue.requirements import parse

    if require is not None and m is None:
        return parse(require)
    if require is not None:
        raise InputError("Give --require or --m, not both.")
    if m is None:
        raise InputError("Say what the release must meet: --require 'k=5 & l=3', for example.")
    if method not in _SHORT:
        raise InputError(f"--m is for the methods {', '.join(_SHORT)} and providers. Use --require.")
    if m < 2:
        raise InputError(f"--m of the method '{method}' must be at least 2.")
    return parse(f"{_SHORT[method]}={m}")


def publish_series(
    data: Path,
    schema: "Schema",
    requirement: "Requirement",
    *,
    method: str,
    options: Mapping[str, Any],
    seed: int | None,
    out: Path | None,
    memory: Path | None,
    delimiter: str,
    force: bool,
    as_json: bool,
) -> None:
    """Make the next releases of a series; everything is made before anything is written, the memory last."""
    from reissue.files import refuse_existing
    from reissue.memory import load_memory, save_memory
    from reissue.series import anonymize_series, snapshots
    from reissue.table import Table

    files = snapshots(data) if data.is_dir() else [data]
    if memory is None and not data.is_dir():
        raise InputError(f"The method '{method}' follows people from release to release: give --memory FILE to keep.")
    targets = _targets(files, data, out, force=force)
    if memory is not None:
        refuse_existing(memory, force=True, table=False)
    past = load_memory(memory) if memory is not None and memory.exists() else None
    tables = [Table.read(file, schema, delimiter=delimiter) for file in files]
    with _render.watching("Anonymizing") as progress:
        releases = anonymize_series(
            tables, schema, requirement, method=method, memory=past, seed=seed, progress=progress, **options
        )
    for target in targets:
        target.parent.mkdir(exist_ok=True)
    written = [release.write(str(target), force=force) for release, target in zip(releases, targets, strict=True)]
    if memory is not None:
        save_memory(releases[-1].draft.memory, memory, force=True)
    _show(releases, written, memory, as_json=as_json)


def _targets(files: list[Path], data: Path, out: Path | None, *, force: bool) -> list[Path]:
    """Where each release goes: beside a single file; in a folder of their own otherwise."""
    from reissue.files import refuse_existing, second_path

    if not data.is_dir():
        target = out or Path(second_path(data, "release"))
        if target.exists() and data.exists() and target.samefile(data):
            raise InputError("The output would replace the data itself. Choose another name with --out.")
        refuse_existing(target, force=force)
        return [target]
    folder = out or data.with_name(f"{data.name}.release")
    if folder.exists() and (not folder.is_dir() or folder.samefile(data)):
        raise InputError("--out must be a folder, and not that of the data.")
    if folder.exists() and any(folder.iterdir()) and not force:
        raise InputError(f"The folder '{folder}' is not empty. Choose another name, or --force to replace files in it.")
    if not folder.parent.is_dir():
        raise InputError(f"The folder '{folder.parent}' does not exist.")
    return [folder / file.name for file in files]


def _show(releases: "list[Release]", written: list[list[str]], memory: Path | None, *, as_json: bool) -> None:
    first = releases[0]
    if as_json:
        rows = [
            {"rows": r.table.rows, "groups": r.groups, "counterfeits": r.counterfeits, "files": files}
            for r, files in zip(releases, written, strict=True)
        ]
        _render.show_json({"method": first.method, "requirement": str(first.requirement), "releases": rows})
        return
    for release, files in zip(releases, written, strict=True):
        _render.say(
            f"{_render.plural(release.table.rows, 'row')} published in {_render.plural(release.groups, 'group')}, with "
            f"{_render.plural(release.counterfeits, 'counterfeit')}. Written: {', '.join(files)}"
        )
    _render.say(f"Every release meets {first.requirement}: counted again from the published columns.")
    if memory is not None:
        _render.say(f"The memory of the series is in {memory}. Keep it private, and for the next release.")
