"""Write `runtime.txt`: what Reissue needs to run, at the versions of constraints.txt, with the hashes of its wheels.

    make hashes

pip is asked which files it would install on each system and Python, by whatever registry it is set up with; none is
named in the result. A system and Python for which some wheel is missing is left out, and that is said.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
CONSTRAINTS = HERE.parent / "constraints.txt"
EXTRAS = "duckdb,excel,fast,postgres,stats,web"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86_64": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "Linux aarch64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "macOS arm64": ("macosx_15_0_arm64", "macosx_14_0_arm64", "macosx_11_0_arm64"),
}
HEAD = """\
# Written by `make hashes`; do not edit. The runtime and its extras ({extras}), as in constraints.txt.
# Wheels for: {covered}.
#   pip install --require-hashes --only-binary :all: -r requirements/runtime.txt
#   pip install --no-deps reissue
"""


def would_install(*asked: str) -> Iterator[tuple[str, str, str]]:
    """Name, version and SHA-256 of every file that pip would install."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ("--quiet", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", str(report))
        subprocess.run([sys.executable, "-m", "pip", "install", *options, *asked], check=True)  # noqa: S603
        for one in json.loads(report.read_text(encoding="utf-8"))["install"]:
            about, archive = one["metadata"], one["download_info"].get("archive_info")
            if archive:  # our own folder has none
                yield about["name"], about["version"], archive["hashes"]["sha256"]


def hashes_of(pins: Sequence[str], platforms: Sequence[str], python: str) -> list[tuple[str, str, str]]:
    """The same for one system and Python, of exactly these packages."""
    systems = [option for name in platforms for option in ("--platform", name)]
    with tempfile.TemporaryDirectory() as nowhere:
        return list(would_install("--no-deps", "--target", nowhere, *systems, "--python-version", python, *pins))


def main() -> None:
    """Ask, and write."""
    root = f"{HERE.parent}[{EXTRAS}]"
    pins = [f"{name}=={version}" for name, version, _ in would_install("--constraint", str(CONSTRAINTS), root)]
    hashes: dict[str, set[str]] = defaultdict(set)
    covered = []
    for (system, platforms), python in itertools.product(PLATFORMS.items(), PYTHONS):
        try:
            found = hashes_of(pins, platforms, python)
        except subprocess.CalledProcessError:
            sys.stderr.write(f"Left out: {system}, Python {python}: some wheel is missing.\n")
            continue
        covered.append(f"{system} {python}")
        for name, version, digest in found:
            hashes[f"{name}=={version}"].add(digest)
    if not covered:
        sys.exit("Nothing was written: the registry has no wheels for any system.")
    lines = [
        " \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in sorted(hashes[pin]))])
        for pin in sorted(hashes, key=str.lower)
    ]
    head = HEAD.format(extras=EXTRAS.replace(",", ", "), covered=", ".join(covered))
    (HERE / "runtime.txt").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
