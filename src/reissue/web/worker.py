"""A job's own process: `python -m reissue.web.worker FOLDER` does what the folder's `job.json` asks.

How far it is goes to standard output, a line of JSON each; what comes of it lies in the folder. When the page's server
is gone, so is this.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

from reissue.errors import NO_MEMORY, InternalError, ReissueError
from reissue.language import speaking
from reissue.web.work import Tell, verb
from reissue.web.work.wording import for_page

__all__ = ["main"]

_YIELDING = 10
"""How far a job stands behind other work of this machine."""
_OFTEN = 0.1
"""Seconds between two words about progress."""


def main() -> int:
    """Do the job; 0 if something came of it."""
    folder = Path(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if hasattr(os, "nice"):
        os.nice(_YIELDING)  # pages come first, whatever is computed
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    tempfile.tempdir = str(folder)  # what is left there goes with the folder
    code, said = _outcome(folder, _telling(out))
    (folder / "outcome.json").write_text(json.dumps(said), encoding="utf-8")
    return code


def _outcome(folder: Path, tell: Tell) -> tuple[int, dict[str, Any]]:
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    with speaking(job["language"]):
        return _done(job, folder, tell)


def _done(job: dict[str, Any], folder: Path, tell: Tell) -> tuple[int, dict[str, Any]]:
    try:
        return 0, {"outcome": verb(job["verb"])(job["given"], folder, tell)}
    except ReissueError as problem:
        known = not isinstance(problem, InternalError)
        return 1, {"problem": for_page(str(problem), folder.parent) if known else "", "what": type(problem).__name__}
    except MemoryError as problem:
        return 1, {"problem": NO_MEMORY, "what": type(problem).__name__}
    except Exception as problem:  # noqa: BLE001  (a library's message could show data)
        return 70, {"problem": "", "what": type(problem).__name__}


def _telling(out: Any) -> Tell:
    last = 0.0

    def tell(share: float, doing: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _OFTEN:
            last = time.monotonic()
            out.write(json.dumps({"share": share, "doing": doing}) + "\n")

    return tell


def _end_with_parent() -> None:
    """Standard input ends when the server does, however it ended."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(1)
    os._exit(143)


if __name__ == "__main__":
    sys.exit(main())
