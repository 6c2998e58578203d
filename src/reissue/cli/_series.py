"""`reissue anonymize` for methods that follow people: one snapshot, or a folder of them, with a memory file."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reissue.cli import _render
from reissue.data.outputs import Input, Output, Outputs, schema_inputs, table_inputs
from reissue.errors import InputError
from reissue.files.tables import second_path

if TYPE_CHECKING:
    from reissue.release.release import Release
    from reissue.requirements import Requirement
    from reissue.schema import Schema

__all__ = ["publish_series", "requirement_of"]


def requirement_of(require: str | None, m: int | None, method: str) -> "Requirement":
    """The requirement as --require says it, or --m for the methods that have one."""
    from reissue.algorithms import find, registered
    from reissue.requirements import parse

    if require is not None and m is None:
        return parse(require)
    if require is not None:
        raise InputError("Give --require or --m, not both.")
    if m is None:
        raise InputError("Say what the release must meet: --require 'k=5 & l=3', for example.")
    name = find(method).m_requirement
    if not name:
        able = [name for name, its in sorted(registered().items()) if its.m_requirement or "m" in its.options]
        raise InputError(f"--m is for the methods {', '.join(able)}. Use --require.")
    if m < 2:
        raise InputError(f"--m of the method '{method}' must be at least 2.")
    return parse(f"{name}={m}")


def publish_series(
    data: Path,
    schema: "Schema",
    requirement: "Requirement",
    *,
    schema_file: Path,
    method: str,
    options: Mapping[str, Any],
    seed: int | None,
    out: Path | None,
    memory: Path | None,
    newcomers: bool,
    boxes: str,
    delimiter: str,
    force: bool,
    as_json: bool,
) -> None:
    """Make the next releases of a series; everything is made before anything is written, the memory last."""
    from reissue.data.table import Table
    from reissue.files.staging import Staging
    from reissue.publishing.series import anonymize_series, snapshots
    from reissue.release.memory import load_memory, pack_memory

    files = snapshots(data) if data.is_dir() else [data]
    if memory is None and not data.is_dir():
        raise InputError(f"The method '{method}' follows people from release to release: give --memory FILE to keep.")
    outputs = _outputs(files, data, out, memory, force=force, inputs=schema_inputs(schema_file, schema))
    targets = [file.path for file in outputs.files if file.table]
    past = load_memory(memory) if memory is not None and memory.exists() else None
    tables = [Table.read(file, schema, delimiter=delimiter) for file in files]
    with _render.watching("Anonymizing") as progress:
        releases = anonymize_series(
            tables,
            schema,
            requirement,
            method=method,
            memory=past,
            seed=seed,
            progress=progress,
            newcomers=newcomers,
            boxes=boxes,
            **options,
        )
    with Staging() as staging:
        if outputs.folder is not None:
            staging.add_folder(outputs.folder)
        pairs = zip(releases, targets, strict=True)
        written = [release.stage(staging, str(target), force=force) for release, target in pairs]
        if memory is not None:
            staging.add_bytes(memory, pack_memory(releases[-1].draft.memory), replaces=True, private=True)
        staging.place()
    _show(releases, written, memory, as_json=as_json)


def _outputs(
    files: list[Path], data: Path, out: Path | None, memory: Path | None, *, force: bool, inputs: Iterable[Input]
) -> Outputs:
    """Where each release goes, and the memory: beside a single file; in a folder of their own otherwise."""
    kept = [] if memory is None else [Output("--memory", memory, continues=True)]
    read = (*table_inputs("the data", [data]), *inputs)
    if not data.is_dir():
        target = out or Path(second_path(data, "release"))
        return Outputs((Output("--out", target, table=True), *kept), read, force=force)
    folder = out or data.with_name(f"{data.name}.release")
    if folder.exists() and (not folder.is_dir() or folder.samefile(data)):
        raise InputError("--out must be a folder, and not that of the data.")
    if folder.exists() and any(folder.iterdir()) and not force:
        raise InputError(f"The folder '{folder}' is not empty. Choose another name, or --force to replace files in it.")
    targets = [Output("--out", folder / file.name, table=True) for file in files]
    return Outputs((*targets, *kept), read, force=force, folder=folder)


def _show(releases: "list[Release]", written: list[list[str]], memory: Path | None, *, as_json: bool) -> None:
    first = releases[0]
    if as_json:
        rows = [
            {"rows": r.table.rows, "groups": r.groups, "counterfeits": r.counterfeits, "files": files}
            for r, files in zip(releases, written, strict=True)
        ]
        told = {"method": first.method, "requirement": str(first.requirement), "warnings": list(first.warnings)}
        _render.show_json({**told, "releases": rows})
        return
    for release, files in zip(releases, written, strict=True):
        _render.say(
            f"{_render.plural(release.table.rows, 'row')} published in {_render.plural(release.groups, 'group')}, with "
            f"{_render.plural(release.counterfeits, 'counterfeit')}. Written: {', '.join(files)}"
        )
    _render.say(f"Every release meets {first.requirement}: counted again from the published columns.")
    _render.warn(*first.warnings)
    if memory is not None:
        _render.say(f"The memory of the series is in {memory}. Keep it private, and for the next release.")
