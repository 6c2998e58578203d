"""Readers and writers of one ledger in processes of their own: `python -m tests.ledger.stress SECONDS READERS WRITERS`.

Prints how often each kind tried, and how often it was refused, as JSON. A reader must never be.
"""

import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

from reissue.errors import InputError
from reissue.ledger import Ledger
from tests.ledger.series import POOL, schema


def work(place: str, until: float, writes: bool, tell: "multiprocessing.Queue[tuple[str, int, int]]") -> None:
    """Open it again and again, and read it or add to it."""
    tried = refused = 0
    while time.time() < until:
        tried += 1
        try:
            with Ledger.open(place) as ledger:
                if writes:
                    ledger.amend(schema({**POOL, "require": f"k={5 + tried % 2}"}))
                else:
                    _ = ledger.releases
        except InputError:
            refused += 1
        if writes:
            time.sleep(0.01)
    tell.put(("writers" if writes else "readers", tried, refused))


def main() -> None:
    """Run them all, for as long as was asked for."""
    seconds, readers, writers = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="reissue-stress-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        place = str(Path(folder) / "x.ledger")
        Ledger.create(place, schema(POOL)).close()
        tell: multiprocessing.Queue[tuple[str, int, int]] = multiprocessing.Queue()
        until = time.time() + seconds
        kinds = [False] * readers + [True] * writers
        running = [multiprocessing.Process(target=work, args=(place, until, writes, tell)) for writes in kinds]
        for one in running:
            one.start()
        found = [tell.get() for _ in running]
        for one in running:
            one.join()
    said = {
        kind: {
            "tried": sum(one[1] for one in found if one[0] == kind),
            "refused": sum(one[2] for one in found if one[0] == kind),
        }
        for kind in ("readers", "writers")
    }
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
