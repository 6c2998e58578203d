"""Put a built site beside those of other versions: `python docs/versions.py SITE PAGES VERSION`.

Each version has a folder under PAGES; `latest` has a copy of the newest, and the first page leads there. The selector
on every page reads `versions.json`.
"""

import json
import re
import shutil
import sys
from pathlib import Path

_LEADS = '<meta http-equiv="refresh" content="0; url=latest/">'
_FIRST = f'<!doctype html><meta charset="utf-8"><title>Reissue</title>{_LEADS}\n'


def place(site: Path, pages: Path, version: str) -> list[str]:
    """Place a site as a version; return all versions, the newest first."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit(f"A version is three numbers, 1.2.3; got {version}.")
    _copy(site, pages / version)
    versions = sorted((path.name for path in pages.iterdir() if re.fullmatch(r"\d+(\.\d+){2}", path.name)), key=_parts)
    versions.reverse()
    if version == versions[0]:
        _copy(site, pages / "latest")
    listed = [{"version": one, "title": one, "aliases": ["latest"] if one == versions[0] else []} for one in versions]
    (pages / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    (pages / "index.html").write_text(_FIRST, encoding="utf-8")
    (pages / ".nojekyll").write_text("", encoding="utf-8")
    return versions


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _copy(site: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, target)


if __name__ == "__main__":
    place(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
