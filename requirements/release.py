"""Whether a tag may become a release: one version everywhere, named in the changelog, and whole metadata.

`python requirements/release.py v1.2.3` prints what is missing and ends with 1; nothing, and 0, where all is there.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def missing(tag: str, root: Path = ROOT) -> list[str]:
    """Return what stands against a release under this tag, a sentence each."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    found = [] if tag == f"v{version}" else [f"The tag is {tag}, and pyproject.toml says {version}."]
    named = re.search(r'__version__ = "(.*)"', (root / "src/reissue/_version.py").read_text(encoding="utf-8"))
    if named is None or named[1] != version:
        found.append("src/reissue/_version.py has another version.")
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        found.append("CITATION.cff has another version.")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", _changelog(root), re.MULTILINE):
        found.append(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'.")
    if not {"Source", "Documentation", "Issues", "Changelog"} <= project.get("urls", {}).keys():
        found.append("pyproject.toml needs [project.urls] with Source, Documentation, Issues and Changelog.")
    return found


def _changelog(root: Path) -> str:
    return (root / "CHANGELOG.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    problems = missing(sys.argv[1])
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    sys.exit(bool(problems))
