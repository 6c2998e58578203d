"""What more than minimality tells: to someone who knows that it was Mondrian, or who learns across groups.

Adult as in section 7 of Wong et al. 2009 (`benchmarks papers --figure 004.7` has the minimality attack itself).
"""

import argparse
from functools import partial

from benchmarks._measure import cpu, data_folder
from benchmarks.papers.minimality import adult, alpha_k
from reissue.publishing.attack import attack


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="minimality", description=__doc__)
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--quick", action="store_true", help="m = 2 only")
    given = parser.parse_args(arguments)
    table = adult(data_folder(given.data), 8)
    for m in (2,) if given.quick else (2, 10):
        release = alpha_k(table, m, 1, "mondrian")
        for name in ("mechanism", "definetti"):
            seconds, findings = cpu(partial(attack, [release], table.schema, only=name), times=1)
            found = findings[name]
            unknown = found.details.get("unknown", 0)
            print(f"m = {m}, {name}, {seconds:.1f} CPU s, {unknown:,} people unknown: {found.sentence}", flush=True)
