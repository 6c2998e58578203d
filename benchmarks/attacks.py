"""What attacks take on a large series: a year of a hospital, published by pool month by month, the holder attacks.

Every attack in a process of its own, in CPU seconds (with clock seconds and memory at most beside them), then all of
them with a timeline. `definetti` is run three times: on each release by itself, which is the paper's attack; on the
series, which is the joint attack with a learnt prior; and beside `joint`, with which it shares the first solution: what
both take, less what `joint` takes alone. Making the releases is not counted.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks._measure import peak
from benchmarks._waves import large_hospital
from reissue.attacks import registered
from reissue.publishing.attack import attack

SINGLE, BESIDE = "definetti-single", "definetti-beside"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="attacks", description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=12)
    names = [*registered(), SINGLE, BESIDE, "all"]
    parser.add_argument("--only", nargs="+", choices=names, help="which attacks; `all` with timeline")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.here:
        measure(chosen.people, chosen.releases, chosen.only[0])
        return
    print(f"{'attack':<32}{'CPU s':>8}{'clock s':>9}{'GB':>6}  found", flush=True)
    size = ["--people", str(chosen.people), "--releases", str(chosen.releases)]
    for name in chosen.only or names:
        command = [sys.executable, "-m", "benchmarks", "attacks", "--here", *size, "--only", name]
        subprocess.run(command, check=True, stdout=None, env=os.environ)  # noqa: S603


def measure(people: int, releases: int, name: str) -> None:
    """One attack, or all of them with a timeline."""
    with tempfile.TemporaryDirectory() as folder:
        waves, made = large_hospital(Path(folder), people, releases)
        whole, less = name == "all", (0.0, 0.0)
        if name == BESIDE:
            less = _taken(lambda: attack(made, waves.schema, only="joint"))
        start, clock = time.process_time(), time.perf_counter()
        if name == SINGLE:
            found = [attack([one], waves.schema, only="definetti") for one in made][-1]
        else:
            only = ["definetti", "joint"] if name == BESIDE else None if whole else name
            found = attack(made, waves.schema, only=only, timeline=whole)
        seconds, wall = time.process_time() - start - less[0], time.perf_counter() - clock - less[1]
    label = "all attacks with a timeline" if whole else name
    said = found.verdict if whole else found.findings[0].sentence
    print(f"{label:<32}{seconds:>8.1f}{wall:>9.1f}{peak() / 2**30:>6.2f}  {said}", flush=True)


def _taken(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and clock seconds."""
    start, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - start, time.perf_counter() - clock
