"""Everyone at once: our own protected series attacked, how far claims can be trusted, and what the attack takes.

Parts (`--only`): *attacked*, the demo's twelve months by every method, attacked by someone who knows everyone's group
and by someone with a register; *leaving*, the same by readers who do not look at who leaves, who learn how soon people
with each value do, and who know it; *learnt*, with a prior that is learnt; *totals*, by someone who has the true totals
of each value; *calibration*, claims in tenths against how often they are right, for a synthetic hospital, Census
with simulated lives and a real panel; *closeness*, people above the limit as they are counted by default and where
sweeps go on to the end; *speed*, CPU seconds, memory and growth with the people; *long*, what the newest release of a
long series costs.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise, product
from math import erfc, log10, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks._measure import peak
from benchmarks._waves import METHODS, SOURCES, Method, Waves, large_hospital, protect
from benchmarks.ledger import COLUMNS, POLICIES, months
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding
from reissue.attacks.joint.state import WINDOW, Thoroughness, add
from reissue.errors import InputError, NotMetError
from reissue.published import read_published
from reissue.published.series import Series
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.utility import measure

LIMIT = 0.75
MANY, OFF = 200, 0.05
"""A bin of so many people that is off by more is marked."""
KINDS = {
    "by quasi-identifiers": ("pool", "mondrian", "topdown", "correspondence"),
    "cohorts": ("cohorts",),
    "by value": ("distinct", "invariance", "equivalence"),
}
"""How groups are made, and the methods that make them so."""
SMALL, SEVERAL = 20_000, 5
"""So few people take so little time that `speed` takes the median of several runs."""
KNOWLEDGES = {True: "groups", False: "the form's own"}
TOTALS = ", true totals"
"""Of readers who have these too."""
READERS = ("groups", "register")
USUAL = ("hospital", "census", "panel")
"""The sources of `calibration` where none is named; `moving` is for groups made by value. `attacked` has the first."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="joint", description=__doc__)
    parser.add_argument("--data", help="the folder that holds census/ and panel/")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where tables go")
    parser.add_argument("--quick", action="store_true", help="fewer people and releases")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], help="which parts")
    parser.add_argument("--sources", nargs="+", choices=SOURCES, help="for `attacked` and `calibration`")
    parser.add_argument("--worlds", type=int, default=1, help="how many times lives are simulated, for `calibration`")
    parser.add_argument("--first", type=int, default=0, help="the number of the first of these worlds")
    parser.add_argument("--methods", nargs="+", choices=sorted({one.name for one in METHODS}), help="only some")
    parser.add_argument("--share", type=float, help="the largest share of one value, for `cohorts`")
    parser.add_argument("--rows", type=int, default=100_000, help="people of a release, for `long`")
    parser.add_argument("--people", nargs="+", type=int, default=[10_000, 100_000], help="sizes, for `speed`")
    parser.add_argument("--readers", nargs="+", choices=READERS, default=[*READERS], help="for `speed`")
    parser.add_argument("--district", type=int, help="`speed` where more people live in more districts of so many")
    parser.add_argument("--one", nargs=3, metavar=("PEOPLE", "RELEASES", "KNOWLEDGE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        people, releases, knowledge = chosen.one
        return one_speed(int(people), int(releases), chosen.district, groups=knowledge == "groups")
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for part in chosen.only:
            print(f"-- {part}", flush=True)
            PARTS[part](Bench(Path(folder), chosen))
    return None


@dataclass(frozen=True, eq=False)
class Bench:
    """What was asked for."""

    folder: Path
    chosen: argparse.Namespace

    @cached_property
    def methods(self) -> list[Method]:
        """Ways to publish."""
        chosen = [one for one in METHODS if not self.chosen.methods or one.name in self.chosen.methods]
        return [_sharing(one, self.chosen.share) if one.name == "cohorts" else one for one in chosen]

    def waves(self, source: str, world: int = 0) -> Waves:
        """A source's tables, made once."""
        return _waves(self.folder, source, self.chosen.data, quick=self.chosen.quick, world=world)

    def findings(
        self, method: Method, source: str, *, groups: bool, world: int = 0, totals: bool = False
    ) -> dict[str, Finding]:
        """Attack to what it finds, computed once; empty where the method cannot publish."""
        return _findings(method, self.waves(source, world), groups=groups, totals=totals)


def _sharing(method: Method, share: float | None) -> Method:
    """Cohorts in which one value may have so large a share."""
    if share is None:
        return method
    return replace(method, label=f"{method.label}, share={share:g}", options={**method.options, "share": share})


@cache
def _waves(folder: Path, source: str, data: str | None, *, quick: bool, world: int) -> Waves:
    return SOURCES[source](folder, data, quick=quick, world=world)


@cache
def _protected(method: Method, waves: Waves) -> tuple[Waves, list[Release]]:
    """The waves as the method is for, and its releases; none where it cannot publish them."""
    fit = method.waves(waves)
    try:
        return fit, protect(method, fit)
    except (InputError, NotMetError) as problem:
        print(f"{waves.name}, {method.label}: not possible. {problem}", flush=True)
        return fit, []


@cache
def _findings(method: Method, waves: Waves, *, groups: bool, totals: bool) -> dict[str, Finding]:
    """Attack to what it finds in a method's series."""
    fit, releases = _protected(method, waves)
    if not releases:
        return {}
    found = attack(
        releases,
        fit.schema,
        only=["joint", "updates"] if groups and not totals else ["joint"],
        knowledge=Knowledge(groups=groups, totals=totals or None),
        limits={"joint": LIMIT, "updates": LIMIT},
    )
    return {one.attack: one for one in found}


# --- our own series --------------------------------------------------------------------------------------------------


def attacked(bench: Bench) -> None:
    """A row for each method: what it costs, what the paper's measure says, what everyone at once gives."""
    print(
        f"| method | loss | counterfeits | `updates` above {LIMIT}, right | groups known: above {LIMIT}, right, sure "
        f"| its form: groups a person fits | above {LIMIT}, right, sure |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    sources = bench.chosen.sources or USUAL[:1]
    for source, method in product(sources, bench.methods):
        releases = _protected(method, bench.waves(source))[1]
        if not releases:
            continue
        costs = [measure(release) for release in releases]
        strong, plain = (bench.findings(method, source, groups=groups) for groups in KNOWLEDGES)
        person = strong["updates"]
        cells = [
            f"{source}, {method.label}" if len(sources) > 1 else method.label,
            f"{np.mean([one.loss for one in costs]):.3f}",
            f"{sum(one.added for one in costs):,} of {sum(one.published for one in costs):,}",
            f"{person.people:,}, {person.details.get('right') or 0:,}",
            exposed(strong["joint"]),
            f"{plain['joint'].details.get('fits', float('nan')):.1f}" if plain["joint"].details else "",
            exposed(plain["joint"]),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def exposed(found: Finding) -> str:
    """People above the limit, how many of the guesses are right, and how many values are certain."""
    if not found.details:
        return found.sentence
    return f"{found.people:,}, {found.details['right'] or 0:,}, {found.details['sure']:,}"


def leaving(bench: Bench) -> None:
    """A row for each method: what it says who leaves, groups known."""
    print(f"| method | people alike: above {LIMIT}, right | who leaves is learnt | known | largest claims, known |")
    print("|---|---|---|---|---|", flush=True)
    readers = (("common", None), ("leaving", None), ("leaving", True))
    for method in bench.methods:
        fit, releases = _protected(method, bench.waves("hospital"))
        cells, bins = [method.label], []
        for prior, known in readers if releases else ():
            schema = replace(fit.schema, policy={**fit.schema.policy, "prior": prior})
            knowledge = Knowledge(groups=True, leaving=known)
            found = attack(releases, schema, only="joint", knowledge=knowledge, limits={"joint": LIMIT})["joint"]
            cells.append(f"{found.people:,}, {found.details['right']:,}")
            bins = [one for one in found.details["calibration"] if one["people"] >= MANY][-3:]
        if releases:
            print(f"| {' | '.join(cells)} | {'; '.join(map(_bin, bins))} |", flush=True)


def learnt(bench: Bench) -> None:
    """A row for each method: what learning who tends to have which value adds, groups known."""
    print(
        f"| method | right without learning | with it | above {LIMIT}, right | claims, and how often they are right "
        '| the gate with `prior = "learned"`: exposed, right, only by learning |'
    )
    print("|---|---|---|---|---|---|", flush=True)
    for method in bench.methods:
        fit, releases = _protected(method, bench.waves("hospital"))
        if not releases:
            continue
        found = attack(releases, fit.schema, only="definetti", knowledge=Knowledge(groups=True))["definetti"]
        above, bins = found.details["above"], found.details["calibration"]
        large = "; ".join(_bin(one) for one in bins if one["people"] >= MANY)
        shares = f"{found.details['baseline']:.1%} | {found.details['accuracy']:.1%}"
        cells = [method.label, shares, f"{above['people']:,}, {above['right']:,}", large, _gate(fit, releases)]
        print(f"| {' | '.join(cells)} |", flush=True)


def _gate(fit: Waves, releases: list[Release]) -> str:
    """What the joint attack finds where the policy's readers learn: by claim or calibrated claim, both ways."""
    schema = replace(fit.schema, policy={**fit.schema.policy, "prior": "learned"})
    knowledge = Knowledge(groups=True)
    found = attack(releases, schema, only="joint", knowledge=knowledge, limits={"joint": LIMIT})["joint"]
    return f"{found.people:,}, {found.details['right']:,}, {found.details['by_learning']:,}"


def totals(bench: Bench) -> None:
    """A row for each method that adds counterfeits: the same attack by someone who has true totals of each value."""
    print(f"| method | counterfeits | above {LIMIT}, right, sure | with true totals: above {LIMIT}, right, sure |")
    print("|---|---|---|---|", flush=True)
    for method in bench.methods:
        releases = _protected(method, bench.waves("hospital"))[1]
        added = sum(measure(release).added for release in releases)
        if not added:
            continue
        plain, found = (
            bench.findings(method, "hospital", groups=True, totals=totals)["joint"] for totals in (False, True)
        )
        print(f"| {method.label} | {added:,} | {exposed(plain)} | {exposed(found)} |", flush=True)


# --- calibration -----------------------------------------------------------------------------------------------------


def calibration(bench: Bench) -> None:
    """Claims in tenths against how often they are right, with what chance alone would do to independent people.

    People of a bin are not independent: groups are equations about several of them. How much a bin moves from one
    simulated world to the next is told by several of them (`--worlds`); there is only one of the panel.
    """
    rows: list[dict[str, Any]] = []
    first = bench.chosen.first
    worlds = range(first, first + bench.chosen.worlds)
    for world, source in product(worlds, bench.chosen.sources or USUAL):
        if world > first and source == "panel":
            continue
        for method, totals, groups in product(bench.methods, (False, True), KNOWLEDGES):
            if totals and method.name not in KINDS["by value"]:
                continue
            found = bench.findings(method, source, groups=groups, world=world, totals=totals).get("joint")
            if found is None or (not groups and found.details.get("knowledge") == "groups"):
                continue  # the form shows groups: the same once more
            words = KNOWLEDGES[groups] + TOTALS * totals
            bins = [{**one, "chance": _chance(one)} for one in found.details.get("calibration", [])]
            print(f"{source}, {method.label}, {words}: {_binned(bins) or found.sentence}", flush=True)
            rows += [{"source": source, "method": method.label, "knowledge": words, "world": world, **b} for b in bins]
        if world > first:  # what is kept of it would not be asked for again
            _findings.cache_clear()
            _protected.cache_clear()
    pl.DataFrame(rows).write_csv(bench.chosen.out / "calibration.csv", float_precision=4)
    for world in worlds:
        mine = [one for one in rows if one["world"] == world]
        for (kind, methods), more in product(KINDS.items(), ("", TOTALS)):
            kin = [one for one in mine if one["method"].split(",")[0] in methods]
            _print_off(kind + more, [one for one in kin if one["knowledge"].endswith(TOTALS) == bool(more)])
    _print_leaning(pl.DataFrame(rows))
    if bench.chosen.worlds > 1:
        _print_worlds(pl.DataFrame(rows))


def _print_off(kind: str, bins: list[dict[str, Any]]) -> None:
    """How many large bins are off, and how many would be if all claims were true and people independent."""
    large = [one for one in bins if one["people"] >= MANY]
    if large:
        by_chance = sum(erfc(OFF / max(one["chance"], 1e-9) / sqrt(2)) for one in large)
        print(
            f"{kind}: {sum(map(_off, large))} of {len(large)} bins of {MANY} people or more are off by more than "
            f"{OFF}; if all claims were true, {by_chance:.1f} would be by chance.",
            flush=True,
        )


def _print_leaning(rows: pl.DataFrame) -> None:
    """Whether claims that are neither guesses nor nearly certain are too sure on the whole, or too modest."""
    off = (pl.col("right") - pl.col("claim")) * pl.col("people")
    between = rows.filter(pl.col("claim").is_between(0.2, 0.9))
    print("| source, method, knowledge | claims between 0.2 and 0.9 | right more often than claimed, on average |")
    print("|---|---|---|")
    for one in (
        between.group_by("source", "method", "knowledge", maintain_order=True)
        .agg(pl.col("people").sum(), (off.sum() / pl.col("people").sum()).alias("off"))
        .iter_rows(named=True)
    ):
        print(f"| {one['source']}, {one['method']}, {one['knowledge']} | {one['people']:,} | {one['off']:+.3f} |")


def _print_worlds(rows: pl.DataFrame) -> None:
    """For each bin of so many people a world: how far it is off over all worlds, and how far it moves between them.

    People who hang together are right or wrong together: a bin of one world may be off though every claim is exact
    (decision 0208). Worlds are independent, so their average may not, beyond its own standard error.
    """
    series = ["source", "method", "knowledge"]
    gap = pl.col("right") - pl.col("claim")
    off = (gap * pl.col("people")).sum() / pl.col("people").sum()
    bins = (
        rows.filter(pl.col("source") != "panel")
        .with_columns(worlds=pl.col("world").n_unique().over(series))
        .group_by(*series, "from", maintain_order=True)
        .agg(
            people=pl.col("people").sum() / pl.col("worlds").first(),
            claim=(pl.col("claim") * pl.col("people")).sum() / pl.col("people").sum(),
            off=off,
            error=((gap - off) * pl.col("people")).pow(2).sum().sqrt() / pl.col("people").sum(),
            moves=gap.std(),
            chance=pl.col("chance").mean(),
        )
        .filter(pl.col("people") >= MANY)
    )
    print("| source, method, knowledge | claim | people a world | off on average | moves by | by chance alone |")
    print("|---|---|---|---|---|---|")
    for one in bins.filter(pl.col("off").abs() + pl.col("moves") > OFF).iter_rows(named=True):
        name = f"{one['source']}, {one['method']}, {one['knowledge']}"
        numbers = (
            f"{one['claim']:.2f} | {one['people']:,.0f} | {one['off']:+.3f} ±{one['error']:.3f} | {one['moves']:.3f} "
            f"| {one['chance']:.3f}"
        )
        print(f"| {name} | {numbers} |")
    for (kind, methods), more in product(KINDS.items(), ("", TOTALS)):
        label = pl.col("method").str.split(",").list.first()
        mine = bins.filter(label.is_in(methods), pl.col("knowledge").str.ends_with(TOTALS) == bool(more))
        if mine.height:
            far = mine.filter(pl.col("off").abs() > OFF).height
            ratio = float(mine.select((pl.col("moves") / pl.col("chance")).median()).item())
            print(
                f"{kind}{more}, over all worlds: {far} of {mine.height} bins of {MANY} people a world or more are off "
                f"by more than {OFF}; a bin moves from world to world {ratio:.1f} times as far as bins of independent "
                "people would (median).",
                flush=True,
            )


def _chance(one: dict[str, Any]) -> float:
    """The standard deviation of the share that is right if people were independent and claims true."""
    return float(np.sqrt(one["claim"] * (1 - one["claim"]) / one["people"]))


def _off(one: dict[str, Any]) -> bool:
    return bool(one["people"] >= MANY and abs(one["claim"] - one["right"]) > OFF)


def _binned(bins: list[dict[str, Any]]) -> str:
    return "; ".join(f"{_bin(one)} ±{2 * one['chance']:.2f}{' OFF' if _off(one) else ''}" for one in bins)


def _bin(one: dict[str, Any]) -> str:
    return f"{one['claim']:.2f} right {one['right']:.2f} ({one['people']:,})"


# --- speed -----------------------------------------------------------------------------------------------------------


def closeness(bench: Bench) -> None:
    """A row for each method and reader: by default, and as `--exact` has it."""
    print(f"| method | reader | above {LIMIT}, by default | CPU s | to the end | CPU s |\n|---|---|---|---|---|---|")
    for method, groups in product(bench.methods, KNOWLEDGES):
        fit, releases = _protected(method, bench.waves("hospital"))
        cells = []
        for exact in (False, True) if releases else ():
            start = time.process_time()
            knows = Knowledge(groups=groups)
            (found,) = attack(
                releases, fit.schema, only=["joint"], knowledge=knows, limits={"joint": LIMIT}, exact=exact
            )
            cells += [exposed(found), f"{time.process_time() - start:.1f}"]
        if cells:
            print(f"| {method.label} | {KNOWLEDGES[groups]} | {' | '.join(cells)} |", flush=True)


def speed(bench: Bench) -> None:
    """Each size in a process of its own, so that peak memory is its own; small ones several times: they are noisy."""
    sizes = ((1_000, 4), (10_000, 4)) if bench.chosen.quick else [(people, 12) for people in bench.chosen.people]
    for knowledge in bench.chosen.readers:
        taken = []
        for people, releases in sizes:
            command = [sys.executable, "-m", "benchmarks", "joint", "--one", str(people), str(releases), knowledge]
            command += ["--district", str(bench.chosen.district)] if bench.chosen.district else []
            runs = []
            for _ in range(SEVERAL if people <= SMALL else 1):
                said = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
                line = said.splitlines()[-1]
                print(line, flush=True)
                runs.append(float(line.rpartition(": ")[2].split()[0]))
            taken.append(float(np.median(runs)))
        pairs = list(pairwise(zip([people for people, _ in sizes], taken, strict=True)))
        whole = [(pairs[0][0], pairs[-1][1])] if len(pairs) > 1 else []
        for (few, less), (many, more) in pairs + whole:
            grown = log10(more / less) / log10(many / few)
            print(f"  {knowledge}: from {few:,} to {many:,} people the exponent is {grown:.2f}", flush=True)


def one_speed(people: int, releases: int, district: int | None, *, groups: bool) -> None:
    """Months of a hospital published by pool one by one, attacked once."""
    with tempfile.TemporaryDirectory() as name:
        waves, made = large_hospital(Path(name), people, releases, district)
        before, start, clock = peak(), time.process_time(), time.perf_counter()
        found = attack(made, waves.schema, only="joint", knowledge=Knowledge(groups=groups), limits={"joint": LIMIT})
        seconds, wall = time.process_time() - start, time.perf_counter() - clock
    one = found.findings[0]
    words = f"fits {one.details['fits']:.1f} groups of {_sizes(made):.1f} people"
    words += f", {'converged' if one.details['converged'] else 'not converged'} in {one.details['sweeps']} sweeps"
    memory = f"{peak() / 2**30:.2f} GB at most, {before / 2**30:.2f} GB before"
    places = "" if district is None else f" in districts of {district:,}"
    size = f"{KNOWLEDGES[groups]}, {people:,} people{places} x {releases}"
    print(f"  {size}, {words}, {memory}, {wall:.0f} s wall: {seconds:.2f} CPU s")


def _sizes(releases: list[Release]) -> float:
    """How many people are in a person's group, on average."""
    sizes = np.concatenate([release.group_people for release in releases])
    return float((sizes**2).sum() / sizes.sum())


# --- long series -----------------------------------------------------------------------------------------------------


def long(bench: Bench) -> None:
    """What the newest release of a ledger's series costs the joint attack: release 12, and one ten times as late.

    In between only the newest two releases are solved, so that the state gets old cheaply: it is as large as it would
    be, and the last twelve releases are whole again when the late one is judged.
    """
    rows, last = (300, 30) if bench.chosen.quick else (bench.chosen.rows, 121)
    schema = Schema.loads(COLUMNS + POLICIES["invariance"])
    state, memory = None, None
    for number, table in enumerate(months(rows, last), start=1):
        more: dict[str, Any] = {"memory": memory, "newcomers": True} if memory is not None else {}
        release = anonymize(table, schema, "m-unique=3", method="invariance", seed=number, **more)
        memory, series = release.draft.memory, Series((read_published(release, schema),), schema, numbers=(number,))
        window = max(1, WINDOW - (last - 1 - number)) if number > WINDOW else WINDOW
        start = time.process_time()
        state = add(state, series, Thoroughness(window=window))
        seconds = time.process_time() - start
        if number in {2, WINDOW, WINDOW + 1, last - 1, last}:
            people, memory_used = len(state.index.people), peak() / 2**30
            print(
                f"  release {number}: {seconds:.1f} CPU s, {people:,} people so far, {memory_used:.2f} GB", flush=True
            )


PARTS = {
    "attacked": attacked,
    "leaving": leaving,
    "learnt": learnt,
    "totals": totals,
    "calibration": calibration,
    "closeness": closeness,
    "speed": speed,
    "long": long,
}
