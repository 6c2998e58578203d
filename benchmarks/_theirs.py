"""The other libraries' side of `benchmarks others`, run by the Python that has them installed.

It knows nothing of Reissue: it reads a job as JSON, runs pycanon or anjana on the job's files, and writes JSON beside
them. What these libraries print is dropped.
"""

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

Job = dict[str, Any]


def timed(work: Callable[[], Any], times: int) -> tuple[float, Any]:
    """The least CPU seconds of several runs, and the last outcome."""
    best, outcome = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        outcome = work()
        best = min(best, time.process_time() - start)
    return best, outcome


def check(job: Job, folder: Path) -> dict[str, Any]:
    """What pycanon says of a published table."""
    anonymity = import_module("pycanon.anonymity")
    frame = import_module("pandas").read_csv(folder / "table.csv", dtype=str, keep_default_na=False)
    quasi, sensitive = job["quasi"], [job["sensitive"]]
    few, k = timed(lambda: anonymity.k_anonymity(frame, quasi), 2)
    measures = {
        "l": anonymity.l_diversity,
        "alpha-k": lambda *of: anonymity.alpha_k_anonymity(*of)[0],
        "t": anonymity.t_closeness,
    }
    more, values = timed(lambda: {name: float(of(frame, quasi, sensitive)) for name, of in measures.items()}, 1)
    return {"k seconds": few, "seconds": few + more, "values": {"k": k, **values}}


def small(_job: Job, folder: Path) -> dict[str, Any]:
    """Recursive (c,l)-diversity and k of a tiny table, by pycanon."""
    anonymity = import_module("pycanon.anonymity")
    frame = import_module("pandas").read_csv(folder / "table.csv")
    c, rank = anonymity.recursive_c_l_diversity(frame, ["q"], ["s"])
    return {"c": float(c), "l": int(rank), "k": int(anonymity.k_anonymity(frame, ["q"]))}


def anonymize(job: Job, folder: Path) -> dict[str, Any]:
    """A k-anonymous table by anjana, written beside the original."""
    pandas, anonymity = import_module("pandas"), import_module("anjana.anonymity")
    frame, quasi = pandas.read_csv(folder / "table.csv"), job["quasi"]
    trees = {name: dict(pandas.read_csv(job["hierarchies"][name], sep=";", header=None)) for name in quasi}
    seconds, out = timed(lambda: anonymity.k_anonymity(frame, [], quasi, job["k"], job["percent"], trees), 2)
    added = [name for name in out.columns if name not in frame.columns]
    out.drop(columns=added).to_csv(folder / "made.csv", index=False)
    return {"seconds": seconds, "added": added}


def main() -> None:
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    library = "anjana" if job["task"] == "anonymize" else "pycanon"
    try:
        answer = {"version": metadata.version(library)}
    except metadata.PackageNotFoundError:
        answer = {"missing": library}
    else:
        with contextlib.redirect_stdout(io.StringIO()):
            answer |= {"check": check, "small": small, "anonymize": anonymize}[job["task"]](job, folder)
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
