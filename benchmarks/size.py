"""How large an installation is: `python -m benchmarks size [EXTRAS]` installs it anew and adds up all files."""

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = 8
OWN = {"pip", "setuptools"}
"""What a virtual environment may bring by itself."""


def main(arguments: Sequence[str] = ()) -> None:
    """Megabytes by package, the largest first; EXTRAS such as excel,stats."""
    print("installing, a minute or two ...", flush=True)
    wanted = f"{ROOT}[{arguments[0]}]" if arguments else str(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
        subprocess.run([*pip, wanted], check=True, stdin=subprocess.DEVNULL)  # noqa: S603
        (site,) = Path(folder).glob("lib/python*/site-packages")
        sizes = {one.name: _bytes(one, site) for one in distributions(path=[str(site)]) if one.name not in OWN}
    largest = sorted(sizes, key=lambda name: -sizes[name])
    for name in largest[:SHOWN]:
        print(f"{name:20} {sizes[name] / 1e6:6.0f} MB")
    print(f"{len(largest) - SHOWN} others{'':12} {sum(sizes[name] for name in largest[SHOWN:]) / 1e6:6.0f} MB")
    print(f"{'together':20} {sum(sizes.values()) / 1e6:6.0f} MB")


def _bytes(package: Distribution, site: Path) -> int:
    """All files of a package, its bytecode too."""
    places = {os.path.normpath(site / str(file)) for file in package.files or ()}
    return sum(Path(place).stat().st_size for place in places if Path(place).is_file())


if __name__ == "__main__":
    main(sys.argv[1:])
