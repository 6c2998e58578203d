"""One tool on one table, in a process of its own: the other side of `benchmarks others`.

It reads a job as JSON, runs Reissue, pycanon, anjana or anonypyx on the job's table, and writes JSON beside it. Reissue
is one of them, so that time and memory are measured alike; the others need the Python that has them installed. What
they print is dropped.
"""

import contextlib
import io
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

Job = dict[str, Any]
Answer = dict[str, Any]


def measured(work: Callable[[], Any], times: int = 1) -> tuple[Answer, Any]:
    """The least CPU seconds of several runs, the memory in MB that the first needed on top, and the last outcome."""
    best, outcome, needed = float("inf"), None, 0.0
    for number in range(times):
        before = memory(fresh=True)
        start = time.process_time()
        outcome = work()
        best = min(best, time.process_time() - start)
        needed = needed if number else memory() - before
    return {"seconds": best, "memory": needed}, outcome


def memory(*, fresh: bool = False) -> float:
    """The peak in MB; with `fresh` it begins anew, at what there is now. Where the system cannot, the peak so far."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if fresh:
        Path("/proc/self/clear_refs").write_text("5")
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


# --- what a table satisfies ------------------------------------------------------------------------------------------


def reissue_checks(job: Job, folder: Path) -> Answer:
    reissue, polars = import_module("reissue"), import_module("polars")
    frame = polars.read_csv(folder / "table.csv", infer_schema=False)
    schema = reissue.Schema.loads(job["schema"], folder=Path(job["hierarchies"]))
    answer, found = measured(lambda: reissue.check(frame, schema), 2)
    return answer | {"values": {name: float(found[name] or 0) for name in ("k", "l", "alpha-k", "t")}}


def pycanon_checks(job: Job, folder: Path) -> Answer:
    anonymity = import_module("pycanon.anonymity")
    frame = import_module("pandas").read_csv(folder / "table.csv", dtype=str, keep_default_na=False)
    quasi, sensitive = job["quasi"], [job["sensitive"]]
    few, k = measured(lambda: anonymity.k_anonymity(frame, quasi), 2)
    measures = {
        "l": anonymity.l_diversity,
        "alpha-k": lambda *of: anonymity.alpha_k_anonymity(*of)[0],
        "t": anonymity.t_closeness,
    }
    more, values = measured(lambda: {name: float(of(frame, quasi, sensitive)) for name, of in measures.items()})
    both = {"seconds": few["seconds"] + more["seconds"], "memory": max(few["memory"], more["memory"])}
    return both | {"k seconds": few["seconds"], "values": {"k": k, **values}}


def pycanon_small(_job: Job, folder: Path) -> Answer:
    """Recursive (c,l)-diversity and k of a tiny table."""
    anonymity = import_module("pycanon.anonymity")
    frame = import_module("pandas").read_csv(folder / "table.csv")
    c, rank = anonymity.recursive_c_l_diversity(frame, ["q"], ["s"])
    return {"c": float(c), "l": int(rank), "k": int(anonymity.k_anonymity(frame, ["q"]))}


# --- what they make --------------------------------------------------------------------------------------------------


def reissue_makes(job: Job, folder: Path) -> Answer:
    reissue, polars = import_module("reissue"), import_module("polars")
    frame = polars.read_csv(folder / "table.csv")
    schema = reissue.Schema.loads(job["schema"], folder=Path(job["hierarchies"]))
    small = frame[:200]  # imports and first compilations are nobody's time
    reissue.anonymize(small, schema, "k=2", method=job["method"], suppress=job["percent"] / 100, seed=1)
    answer, release = measured(
        lambda: reissue.anonymize(
            frame, schema, job["require"], method=job["method"], suppress=job["percent"] / 100, seed=1, **job["options"]
        ),
        2,
    )
    release.tables["release"].write_csv(folder / "made.csv")
    return answer | {"groups": release.draft.groups.tolist()}


def anjana_makes(job: Job, folder: Path) -> Answer:
    pandas, anonymity = import_module("pandas"), import_module("anjana.anonymity")
    frame, quasi, trees = pandas.read_csv(folder / "table.csv"), job["quasi"], {}
    for name in quasi:
        trees[name] = dict(pandas.read_csv(Path(job["hierarchies"]) / job["files"][name], sep=";", header=None))
    answer, out = measured(lambda: anonymity.k_anonymity(frame, [], quasi, job["k"], job["percent"], trees), 2)
    added = [name for name in out.columns if name not in frame.columns]
    out.drop(columns=added).to_csv(folder / "made.csv", index=False)
    return answer | {"added": added}


def anonypyx_makes(job: Job, folder: Path) -> Answer:
    pandas, anonypyx = import_module("pandas"), import_module("anonypyx")
    frame = pandas.read_csv(folder / "table.csv")
    for name in frame.select_dtypes("object"):
        frame[name] = frame[name].astype("category")
    settings = {"k": job["k"], "feature_columns": job["quasi"], "sensitive_column": job["sensitive"]}
    settings |= {"algorithm": job["method"], "generalisation_strategy": "human-readable"}
    answer, out = measured(lambda: anonypyx.Anonymiser(frame, **settings).anonymise())
    out.to_csv(folder / "made.csv", index=False)
    return answer


TASKS: dict[tuple[str, str], Callable[[Job, Path], Answer]] = {
    ("reissue", "check"): reissue_checks,
    ("pycanon", "check"): pycanon_checks,
    ("pycanon", "small"): pycanon_small,
    ("reissue", "make"): reissue_makes,
    ("anjana", "make"): anjana_makes,
    ("anonypyx", "make"): anonypyx_makes,
}


def main() -> None:
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    try:
        answer: Answer = {"version": metadata.version(job["tool"])}
    except metadata.PackageNotFoundError:
        answer = {"missing": job["tool"]}
    else:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer |= TASKS[job["tool"], job["task"]](job, folder)
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
