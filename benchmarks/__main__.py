"""`python -m benchmarks [name [its options]]`; without a name: the ground floor."""

import sys
from importlib import import_module
from pathlib import Path

DEFAULT = ("loss", "fulldomain", "speed")


def run() -> None:
    here = Path(__file__).parent
    names = sorted(path.stem for path in (*here.glob("[!_]*.py"), *(one.parent for one in here.glob("*/__init__.py"))))
    if len(sys.argv) > 1 and sys.argv[1] not in names:
        raise SystemExit(f"There is no benchmark of that name. There are: {', '.join(names)}")
    chosen = sys.argv[1:2] or [name for name in DEFAULT if name in names]
    for name in chosen:
        print(f"== {name}", flush=True)
        import_module(f"benchmarks.{name}").main(sys.argv[2:])


run()
