"""How the releases of a series look in a terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

from reissue.cli import _render
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.publishing.series import Written

__all__ = ["show_series"]


def show_series(written: "Written", memory: Path | None, *, as_json: bool) -> None:
    """What was made, and where the memory is."""
    from reissue.publishing.series import AGAIN

    first, pairs = written.releases[0], list(zip(written.releases, written.files, strict=True))
    if as_json:
        rows = [
            {"rows": one.table.rows, "groups": one.groups, "counterfeits": one.counterfeits, "files": files}
            for one, files in pairs
        ]
        common = {"method": first.method, "requirement": str(first.requirement), "warnings": list(first.warnings)}
        _render.show_json({**common, "again": written.again, "releases": rows})
        return
    for release, files in pairs:
        _render.say(
            f"{plural(release.table.rows, 'row')} published in {plural(release.groups, 'group')}, with "
            f"{plural(release.counterfeits, 'counterfeit')}. Written: {', '.join(files)}"
        )
    _render.say(f"Every release meets {first.requirement}: counted again from the published columns.")
    _render.warn(*first.warnings)
    _render.say(*([AGAIN] if written.again else []))
    if memory is not None:
        _render.say(f"The memory of the series is in {memory}. Keep it private, and for the next release.")
