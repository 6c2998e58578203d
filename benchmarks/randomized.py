"""Randomized values over series: what adversaries know, what analysts get, and what it costs.

`worlds`: the demo's twelve months in several synthetic worlds. Query errors are those of `utility` (median over its
default workload, groups of k = 5 by `pool`), once with true values and once with the side table's expected values.
`long`: ten years of 1,000 people. `scale`: CPU seconds and memory. `outside`: adversaries whom no policy names, who
know one true value of each person, or that changes depend on more than the present value; and columns of many values.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
from scipy import sparse

from benchmarks._measure import peak
from reissue import anonymize, synth
from reissue._arrays import Floats, Ints
from reissue.randomized import (
    Adversary,
    Mechanism,
    ProtectedEvents,
    Randomized,
    TrueValues,
    ValueClasses,
    exact_posteriors,
    grow_classes,
    mechanism,
    noise_of,
    noisy_counts,
    public_record,
    publish,
    regression,
    shares_of,
    side_table,
)
from reissue.randomized.adversaries import normalized
from reissue.utility.published import Published, Values
from reissue.utility.queries import WORKLOADS, draw_queries, estimates, true_counts

KEY = b"the key of tests"
NAMES = [name for family in synth.DISEASES.values() for name in family]
HEART = np.array([name in synth.DISEASES["Heart"] for name in NAMES], float)
EPSILON, LEAST = 2.0, 700
"""Of the noise in the counts behind priors, and people of a class at least."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="randomized", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4], help="of worlds")
    parser.add_argument("--limits", nargs="+", type=float, default=[0.75])
    parser.add_argument("--adversaries", nargs="+", choices=["all", "alike"], default=["all", "alike"])
    parser.add_argument("--first", choices=["program", "closed form"], default="program")
    parser.add_argument("--margin", type=float, default=1.25, help="by which odds of priors may be off")
    parser.add_argument("--people", type=int, default=100_000, help="of `scale`")
    parser.add_argument("--here", nargs=2, type=int, metavar=("PEOPLE", "RELEASES"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.here:
        print(json.dumps(cost_here(*chosen.here)))
        return
    for name in chosen.only:
        PARTS[name](chosen)


# --- a hospital ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Hospital:
    """Months of a synthetic register in codes."""

    rows: list[TrueValues]
    ages: list[Floats]
    frames: list[pl.DataFrame]
    classes: ValueClasses
    new: list[np.ndarray]
    """Release and row to whether the person is there for the first time."""


def hospital(seed: int, people: int, months: int, *, frames: bool = True) -> Hospital:
    rows, ages, kept, new = [], [], [], []
    grown: list[ValueClasses] = []
    known = np.empty(0, np.int64)
    code = {name: number for number, name in enumerate(NAMES)}
    for month in synth.Population(seed=seed, people=people).months(months):
        age = month["age"].to_numpy().astype(np.int64)
        quasi = np.stack([age, (month["sex"] == "male").to_numpy().astype(np.int64)])
        grown = grown or [grow_classes(quasi, max(LEAST, people // 12))]
        who = month["patient"].to_numpy().astype(np.int64)
        value = month["disease"].replace_strict(code, return_dtype=pl.Int64).to_numpy()
        rows.append(TrueValues(who, value, grown[0].of(quasi)))
        ages.append(age / 10)
        kept.append(month if frames else month[:0])
        new.append(~np.isin(who, known))
        known = np.union1d(known, who)
    return Hospital(rows, ages, kept, grown[0], new)


def changes() -> Floats:
    found = np.zeros((len(NAMES), len(NAMES)))
    code = {name: number for number, name in enumerate(NAMES)}
    for before, after, chance in synth.updates().iter_rows():
        found[code[before], code[after]] = chance
    return np.asarray(found / found.sum(1, keepdims=True), np.float64)


def departure_rates(rows: Sequence[TrueValues]) -> Floats:
    stays, all_ = np.zeros(len(NAMES)), np.zeros(len(NAMES))
    for now, later in pairwise(rows):
        here = np.isin(now.pseudonyms, later.pseudonyms)
        stays += np.bincount(now.values[here], minlength=len(NAMES))
        all_ += np.bincount(now.values, minlength=len(NAMES))
    return (all_ - stays + 1) / (all_ + 10)


@dataclass(frozen=True, eq=False)
class Published12:
    """A series, and the mechanisms it was drawn by, by release."""

    made: list[Mechanism]
    releases: list[Randomized]
    seconds: float
    """CPU seconds of mechanisms and draws."""


def series(one: Hospital, limit: float, kind: str, departs: Floats, first: str, margin: float) -> Published12:
    """Publish all months. Priors of residents, and of newcomers so far, are noisy counts at the first publication."""
    made, releases, start, step = [], [], time.process_time(), changes()
    shape, sums, fitted, before = (len(one.classes), len(NAMES)), np.zeros((len(one.classes), len(NAMES))), 0.0, None
    residents = sums
    for number, (rows, new) in enumerate(zip(one.rows, one.new, strict=True)):
        found = noisy_counts(rows.values[new], rows.classes[new], shape, epsilon=EPSILON, key=KEY, release=number)
        if number == 0:
            residents = found
        else:
            sums = sums + found
        counts, base = (residents, None) if number == 0 else (sums, residents)
        if number < 2 or sums.sum() >= 2 * fitted:  # newcomers have doubled: the program is solved again
            fitted = sums.sum()
            made.append(
                mechanism(
                    policy(counts, base, step, departs, kind, number),
                    ProtectedEvents.of_values(len(NAMES), limit, margin=margin),
                    first=first,
                )
            )
        else:
            made.append(made[-1])
        releases.append(publish(made[-1], before, number, rows, key=KEY))
        before = releases[-1].remembered
    return Published12(made, releases, time.process_time() - start)


def policy(
    counts: Floats, base: Floats | None, step: Floats, departs: Floats, kind: str, months: int = 1
) -> list[Adversary]:
    """The adversaries, from noisy counts; `base` are those of residents, where counts are of newcomers of some months.

    As many people with a value come as leave, or the register would not be what it is: without newcomers' counts, their
    shares are those of residents times departure rates.
    """
    by_class, alike = None, None
    if base is not None:
        by_class = normalized(shares_of(base) * departs)
        alike = normalized(shares_of(base.sum(0, keepdims=True)) * departs)
    noise = noise_of(EPSILON) * months
    every = np.repeat(shares_of(counts.sum(0, keepdims=True), alike, noise=noise * len(counts)), len(counts), axis=0)
    known = Adversary("people alike", every, step)
    if kind == "alike":
        return [known]
    return [known, Adversary("class prior, departure rates", shares_of(counts, by_class, noise=noise), step, departs)]


# --- what adversaries know -------------------------------------------------------------------------------------------


def audited(one: Hospital, made: Published12, adversary: int) -> tuple[Floats, Floats]:
    """Posteriors (releases x people x values) of an adversary of the policy, and true values (-1: absent)."""
    epochs = {id(mech): number for number, mech in enumerate(dict.fromkeys(made.made))}
    known = list(dict.fromkeys(made.made))
    priors = np.concatenate([mech.views[adversary].adversary.prior for mech in known])
    shift = [epochs[id(mech)] * len(one.classes) for mech in made.made]
    return posteriors(one, made, replace(known[0].views[adversary].adversary, prior=priors), shift)


def with_true_frequencies(one: Hospital, made: Published12) -> tuple[Floats, Floats]:
    """The same for someone who knows the exact shares and departure rates of these very people, newcomers apart."""
    size = len(one.classes)
    counts = np.zeros((2 * size, len(NAMES)))
    for number, (rows, new) in enumerate(zip(one.rows, one.new, strict=True)):
        np.add.at(counts, (rows.classes[new] + size * (number > 0), rows.values[new]), 1)
    known = Adversary(
        "true frequencies",
        (counts + 1e-9) / (counts + 1e-9).sum(1, keepdims=True),
        changes(),
        departure_rates(one.rows),
    )
    return posteriors(one, made, known, [size * (number > 0) for number in range(len(one.rows))])


def posteriors(one: Hospital, made: Published12, adversary: Adversary, shift: list[int]) -> tuple[Floats, Floats]:
    people = np.unique(np.concatenate([rows.pseudonyms for rows in one.rows]))
    shown = [(rows.pseudonyms, some.published, some.chance) for rows, some in zip(one.rows, made.releases, strict=True)]
    classes = [rows.classes + more for rows, more in zip(one.rows, shift, strict=True)]
    found = exact_posteriors(adversary, public_record(people, range(len(shown)), shown, classes))
    truth = np.full(found.shape[:2], -1)
    for number, rows in enumerate(one.rows):
        truth[number, np.searchsorted(people, rows.pseudonyms)] = rows.values
    return found, truth


def known_by(found: Floats, truth: Floats, limit: float) -> dict[str, float]:
    """Who is above the limit, and how far claims are right."""
    there = truth >= 0
    sure, right = found.max(2)[there], (found.argmax(2) == truth)[there]
    above = sure > limit + 1e-4
    off = 0.0
    for low in np.arange(0.1, 1, 0.05):
        some = (sure >= low) & (sure < low + 0.05)
        if some.sum() >= 500:
            off = max(off, abs(sure[some].mean() - right[some].mean()))
    people = np.flatnonzero(((found.max(2) > limit + 1e-4) & there).any(0))
    return {
        "largest": sure.max(), "people above": len(people), "claims above": above.sum(),
        "right of them": right[above].mean() if above.any() else np.nan,
        "claimed": sure.mean(), "right": right.mean(), "calibration off": off,
    }  # fmt: skip


# --- what analysts get -----------------------------------------------------------------------------------------------


def query_errors(frame: pl.DataFrame, every: Sequence[Floats]) -> list[float]:
    """Median errors of `utility`'s queries, groups by `pool` (k = 5), for weights of rows x values."""
    workload = WORKLOADS["ranges"]
    release = anonymize(frame, synth.schema(), "k=5", seed=1)
    table, sizes = release.table, release.boxes.sizes
    quasi, secret = draw_queries(workload, table.taxonomies, table.domain)
    true = true_counts([*table.codes, table.sensitive], [*quasi, *([secret] if secret else [])])
    place = np.full(table.domain.size, -1)
    place[table.sensitive] = [NAMES.index(name) for name in frame["disease"]]
    place[place < 0] = np.setdiff1d(np.arange(len(NAMES)), place)
    group = sparse.csr_matrix((np.ones(len(frame)), (release.draft.groups, np.arange(len(frame)))))
    found = []
    for weights in every:
        counts = sparse.csr_matrix(group @ weights[:, place])
        totals = np.asarray(counts.sum(0)).ravel()
        values = Values(np.rint(totals).astype(np.int64), totals, 0, counts, None)
        boxes = release.boxes
        shown = Published(
            table, boxes.lo, boxes.hi, sizes.astype(np.float64), np.arange(len(sizes)), sizes, values, apart=False
        )
        least = max(workload.bound * table.rows, 1e-9)
        guessed = estimates(shown, quasi, secret)
        found.append(float(np.median(np.abs(guessed - true) / np.maximum(true, least))))
    return found


def table_of(one: Hospital, made: Published12, number: int) -> tuple[Floats, Floats]:
    """Weights of a release's rows: expected and unbiased."""
    rows, some = one.rows[number], made.releases[number]
    table = side_table(some.published, some.belief(-1), some.prior(-1), rows.classes, len(one.classes))
    return table.weights(rows.classes, some.published, "expected"), table.weights(rows.classes, some.published)


def slopes(one: Hospital, made: Published12, number: int) -> tuple[float, float, float]:
    """Heart disease on age (ten years): with true values, estimated, and its standard error."""
    x = np.stack([np.ones(len(one.ages[number])), one.ages[number]], 1)
    weights = table_of(one, made, number)[1]
    outcome = np.broadcast_to(HEART, weights.shape)
    true = regression(np.eye(len(NAMES))[one.rows[number].values], x, outcome).value[1]
    found = regression(weights, x, outcome, these_people=True)
    return float(true), float(found.value[1]), float(found.error[1])


def worlds(chosen: argparse.Namespace) -> None:
    other = hospital(999, 30_000, 12, frames=False)
    departs = departure_rates(other.rows)  # known from elsewhere, as from another hospital's statistics
    for limit in chosen.limits:
        for kind in chosen.adversaries:
            print(f"\nlimit {limit}, margin {chosen.margin}, adversaries: {kind}, first matrices: {chosen.first}")
            months, errors = (0, 1, 3, 5, 7, 9, 11), []
            off: list[tuple[float, float, float]] = []
            for seed in chosen.seeds:
                one = hospital(seed, 3_000, 12)
                made = series(one, limit, kind, departs, chosen.first, chosen.margin)
                for line in lines_of(one, made, limit):
                    print(f"  world {seed}: {line}", flush=True)
                errors.append([
                    query_errors(one.frames[at], [np.eye(len(NAMES))[one.rows[at].values], table_of(one, made, at)[0]])
                    for at in months
                ])  # fmt: skip
                print(f"  world {seed}: query error, true values: " + row(errors[-1], 0), flush=True)
                print(f"  world {seed}: query error, randomized:  " + row(errors[-1], 1), flush=True)
                off += [slopes(one, made, at) for at in (0, 5, 11)]
            true, found, error = np.array(off).T
            inside = np.abs(found - true) < 1.96 * error
            print(
                f"  all worlds, months 1, 6, 12: slope of heart disease on age {true.mean():.4f}, estimated "
                f"{found.mean():.4f}, standard error {error.mean():.4f}, 95% intervals hold it in {inside.mean():.0%}"
            )


def row(errors: list[list[float]], which: int) -> str:
    return " ".join(f"{one[which]:6.1%}" for one in errors)


def lines_of(one: Hospital, made: Published12, limit: float) -> Iterator[str]:
    last, states = made.releases[-1], len(made.releases[-1].remembered.states)
    true = [float((some.published == rows.values).mean()) for some, rows in zip(made.releases, one.rows, strict=True)]
    yield (
        f"{made.seconds:.1f} CPU s, {len(one.classes)} classes, {states} states; true values {true[0]:.0%}, "
        f"{true[5]:.0%}, {true[11]:.0%} in months 1, 6, 12"
    )
    for number, _ in enumerate(last.judgements):
        name = made.made[0].views[number].adversary.name
        yield f"{name}: " + told(known_by(*audited(one, made, number), limit))
    yield "true frequencies: " + told(known_by(*with_true_frequencies(one, made), limit))


def told(found: dict[str, float]) -> str:
    return (
        f"largest {found['largest']:.3f}, {found['people above']:.0f} above ({found['claims above']:.0f} claims, "
        f"{found['right of them']:.0%} right); average claim {found['claimed']:.1%}, right {found['right']:.1%}; "
        f"calibration off by {found['calibration off']:.3f}"
    )


# --- ten years -------------------------------------------------------------------------------------------------------


def ten_years(chosen: argparse.Namespace) -> None:
    """1,000 people in each of 120 releases, whose changes are those of the hospital; nobody knows who leaves why."""
    for turnover in (0.05, 0.1):
        for limit in chosen.limits:
            rng = np.random.default_rng(17)
            step, prior = changes(), rng.dirichlet(np.full(len(NAMES), 1.0), 4)
            known = [
                Adversary("people alike", np.tile(prior.mean(0), (4, 1)), step),
                Adversary("class prior, departure rates", prior, step, np.full(len(NAMES), turnover)),
            ]
            made = mechanism(known, ProtectedEvents.of_values(len(NAMES), limit), first=chosen.first)
            who, ends = np.arange(1_000), np.cumsum(prior, 1)
            group, before, next_, errors, score, seconds = who % 4, None, 1_000, [], 0.0, []
            value = (rng.random(1_000)[:, None] > ends[group]).sum(1).clip(max=24)
            where = rng.random(1_000)
            for release in range(120):
                if release:
                    left = rng.random(1_000) < turnover
                    value = (rng.random(1_000)[:, None] > step.cumsum(1)[value]).sum(1).clip(max=24)
                    who = np.where(left, next_ + np.arange(1_000), who)
                    next_ += 1_000
                    fresh = (rng.random(1_000)[:, None] > ends[group]).sum(1).clip(max=24)
                    value, where = np.where(left, fresh, value), np.where(left, rng.random(1_000), where)
                start = time.process_time()
                some = publish(made, before, release, TrueValues(who, value, group), key=KEY)
                seconds.append(time.process_time() - start)
                before = some.remembered
                errors.append(range_error(some, group, where, value, rng))
                score = max(score, *(float(one.present.max()) for one in some.judgements))
            years = np.array(errors).reshape(10, 12).mean(1)
            print(
                f"\n120 releases of 1,000 people, turnover {turnover:.0%}, limit {limit}: none refused; largest "
                f"posterior {score:.4f}\n  error of range counts by year: {' '.join(f'{one:.1%}' for one in years)} "
                f"(year ten / one {years[-1] / years[0]:.2f})\n  CPU seconds of releases 10 to 14: "
                f"{np.mean(seconds[9:14]):.2f}, 116 to 120: {np.mean(seconds[115:]):.2f} "
                f"(ratio {np.mean(seconds[115:]) / np.mean(seconds[9:14]):.2f})",
                flush=True,
            )


def range_error(some: Randomized, group: Ints, where: Floats, value: Ints, rng: np.random.Generator) -> float:
    """Counts of five neighbouring values among 30% of the people, by the side table."""
    table = side_table(some.published, some.belief(-1), some.prior(-1), group, 4)
    weights, found = table.weights(group, some.published, "expected"), []
    for low, first in zip(rng.random(200) * 0.7, rng.integers(0, 21, 200), strict=True):
        inside = (where >= low) & (where < low + 0.3)
        true = ((value >= first) & (value < first + 5))[inside].sum()
        found.append(abs(weights[inside, first : first + 5].sum() - true) / max(true, 1))
    return float(np.median(found))


# --- cost ------------------------------------------------------------------------------------------------------------


def scale(chosen: argparse.Namespace) -> None:
    """Every size in a process of its own."""
    for people, releases in ((10_000, 12), (chosen.people, 12), (10_000, 121)):
        command = [sys.executable, "-m", "benchmarks", "randomized", "--here", str(people), str(releases)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
        found = json.loads(text.splitlines()[-1])
        print(
            f"{releases} x {people:,} people: {found['all']:.0f} CPU s (mechanisms {found['mechanisms']:.0f}); "
            f"{found['states']:,} states in the end, {found['memory']:.0f} MB kept, {found['peak']:.1f} GB at most; "
            f"CPU s of releases 10 to 12 {found['early']:.2f} each, of the last three {found['late']:.2f} each",
            flush=True,
        )


def cost_here(people: int, releases: int) -> dict[str, float]:
    departs = departure_rates(hospital(999, 10_000, 6, frames=False).rows)
    one, before = hospital(1, people, releases, frames=False), None
    seconds, spent = [], 0.0
    shape = (len(one.classes), len(NAMES))
    for number, (rows, new) in enumerate(zip(one.rows, one.new, strict=True)):
        start = time.process_time()
        if number < 2:
            found = noisy_counts(rows.values[new], rows.classes[new], shape, epsilon=EPSILON, key=KEY, release=number)
            adversaries, events = policy(found, None, changes(), departs, "all"), ProtectedEvents.of_values(25, 0.75)
            made = mechanism(adversaries, events, first="program")
            spent += time.process_time() - start
        before = publish(made, before, number, rows, key=KEY).remembered
        seconds.append(time.process_time() - start)
        kept = before.states
    return {
        "all": sum(seconds), "mechanisms": spent, "states": len(kept), "memory": kept.bytes / 1e6,
        "peak": peak() / 2**30, "early": float(np.mean(seconds[9:12])), "late": float(np.mean(seconds[-3:])),
    }  # fmt: skip


# --- outside the policy ----------------------------------------------------------------------------------------------


def outside(chosen: argparse.Namespace) -> None:
    """What is not covered: one known true value, a second-order law; and what many values cost."""
    departs = departure_rates(hospital(999, 10_000, 6, frames=False).rows)
    limit = chosen.limits[0]
    for seed in chosen.seeds:
        one = hospital(seed, 3_000, 12, frames=False)
        made = series(one, limit, "all", departs, chosen.first, chosen.margin)
        print(f"world {seed}, one true value known: {one_value_known(one, made, limit)}", flush=True)
    for seed in chosen.seeds:
        print(f"world {seed}, second-order law: {second_order(seed, limit, chosen.margin)}", flush=True)
    for size, family in ((100, 100), (300, 10)):
        print(f"{size} values, {family} become each other: {many_values(size, family, limit)}", flush=True)


def one_value_known(one: Hospital, made: Published12, limit: float) -> str:
    """Of people whose first true value is known: who is above the limit later, with and without the releases."""
    step = made.made[-1].views[1].adversary
    people = np.unique(np.concatenate([rows.pseudonyms for rows in one.rows]))
    truth = np.full((len(one.rows), len(people)), -1)
    for number, rows in enumerate(one.rows):
        truth[number, np.searchsorted(people, rows.pseudonyms)] = rows.values
    first = (truth >= 0).argmax(0)
    own = truth[first, np.arange(len(people))]
    known = Adversary("one value", np.eye(len(NAMES)), step.change, step.departs)
    found = []
    for told_ in (True, False):
        shown = [
            (
                rows.pseudonyms,
                some.published if told_ else 0 * some.published,
                some.chance if told_ else 0 * some.chance + 1,
            )
            for rows, some in zip(one.rows, made.releases, strict=True)
        ]
        record = public_record(people, range(len(shown)), shown, [rows.classes for rows in one.rows])
        found.append(exact_posteriors(known, replace(record, classes=own)))
    later = (truth >= 0) & (np.arange(len(truth))[:, np.newaxis] > first)
    sure, alone = (one_.max(2) > limit + 1e-4 for one_ in found)
    right = (found[0].argmax(2) == truth)[later & sure].mean()
    by_itself, with_them = (int((later & some).any(0).sum()) for some in (alone, sure))
    only = int((later & sure & ~alone).any(0).sum())
    return (
        f"{by_itself} of {len(people)} people above {limit} in a later release by that alone, {with_them} with the "
        f"releases ({only} only with them); right in {right:.0%} of these cases"
    )


def second_order(seed: int, limit: float, margin: float, people: int = 2_000, releases: int = 12) -> str:
    """Whoever has just changed changes again ten times as often; the policy's adversary knows the average rate only."""
    rng, size = np.random.default_rng(seed), 8
    shares = rng.dirichlet(np.full(size, 2.0))
    rates = np.array([0.03, 0.3])
    value, fresh, values, changed = (
        (rng.random(people)[:, None] > shares.cumsum()).sum(1),
        np.zeros(people, int),
        [],
        [],
    )
    for release in range(releases):
        if release:
            moves = rng.random(people) < rates[fresh]
            drawn = (rng.random(people)[:, None] > shares.cumsum()).sum(1)
            fresh, value = (moves & (drawn != value)).astype(int), np.where(moves, drawn, value)
            changed.append(float(fresh.mean()))
        values.append(value)
    rate = float(np.mean(changed)) / (1 - (shares**2).sum())
    step = (1 - rate) * np.eye(size) + rate * shares
    known = Adversary("first order", shares[np.newaxis], step)
    made, before, shown = (
        mechanism([known], ProtectedEvents.of_values(size, limit, margin=margin), first="program"),
        None,
        [],
    )
    for release, own in enumerate(values):
        some = publish(made, before, release, TrueValues(np.arange(people), own, np.zeros(people, np.int64)), key=KEY)
        before = some.remembered
        shown.append(some)
    first = exact_posteriors(known, public_record(
        np.arange(people), range(releases), [(np.arange(people), some.published, some.chance) for some in shown],
        [np.zeros(people, np.int64)] * releases,
    ))  # fmt: skip
    second = _second_order(shown, shares, rates)
    true = np.array(values)

    def said(found: Floats) -> str:
        above = found.max(2) > limit + 1e-4
        right = (found.argmax(2) == true)[above].mean() if above.any() else np.nan
        return f"largest {found.max():.3f}, {int(above.any(0).sum())} of {people} above {limit} (right {right:.0%})"

    return f"who knows it: {said(second)}; of the policy: {said(first)}"


def _second_order(shown: Sequence[Randomized], shares: Floats, rates: Floats) -> Floats:
    """Forward-backward over (value, whether it has just changed)."""
    people, size = shown[0].chance.shape
    state = np.zeros((people, 2, size))
    state[:, 0] = shares * shown[0].chance
    forward, kernels = [state / state.sum((1, 2), keepdims=True)], []
    for before, after in pairwise(shown):
        kept = (before.published == after.published).astype(float)
        kernel = np.zeros((people, 2, size, 2, size))
        for fresh, rate in enumerate(rates):
            for value in range(size):
                kernel[:, fresh, value, 1] = rate * shares * after.chance
                kernel[:, fresh, value, 1, value] = 0.0
                kernel[:, fresh, value, 0, value] = (1 - rate + rate * shares[value]) * kept
        kernels.append(kernel)
        state = np.einsum("nfu,nfugv->ngv", forward[-1], kernel)
        forward.append(state / state.sum((1, 2), keepdims=True))
    backward, found = np.ones((people, 2, size)), [forward[-1].sum(1)]
    for kernel, state in zip(reversed(kernels), reversed(forward[:-1]), strict=True):
        backward = np.einsum("nfugv,ngv->nfu", kernel, backward)
        backward /= backward.max((1, 2), keepdims=True)
        own = (state * backward).sum(1)
        found.append(own / own.sum(1, keepdims=True))
    return np.stack(found[::-1])


def many_values(size: int, family: int, limit: float, people: int = 5_000, releases: int = 6) -> str:
    """Shares as in Zipf's law; 5% change by release, within a family of values."""
    rng, start = np.random.default_rng(size), time.process_time()
    shares = 1 / np.arange(1, size + 1)
    shares = shares / shares.sum()
    alike = np.arange(size)[:, np.newaxis] % (size // family) == np.arange(size) % (size // family)
    step = 0.95 * np.eye(size) + 0.05 * normalized(alike * shares)
    known = Adversary("people alike", shares[np.newaxis], step)
    made, before, value, sure = mechanism([known], ProtectedEvents.of_values(size, limit, margin=1.25)), None, None, 0.0
    true, error = [], []
    for release in range(releases):
        chance = np.broadcast_to(shares, (people, size)) if value is None else step[value]
        value = (rng.random(people)[:, np.newaxis] > chance.cumsum(1)).sum(1).clip(max=size - 1)
        rows = TrueValues(np.arange(people), value, np.zeros(people, np.int64))
        some = publish(made, before, release, rows, key=KEY)
        before, sure = some.remembered, max(sure, float(some.judgements[0].present.max()))
        true.append(float((some.published == value).mean()))
        table = side_table(some.published, some.belief(), some.prior(), rows.classes, 1)
        counted = table.weights(rows.classes, some.published, "expected").sum(0)
        count = np.bincount(value, minlength=size)
        error.append(float(np.median((np.abs(counted - count) / count.clip(1))[count >= 50])))
    kept = 0.0 if before is None else before.states.bytes / 1e6
    return (
        f"{time.process_time() - start:.1f} CPU s for {releases} x {people:,} people, {kept:.0f} MB kept; true values "
        f"{true[0]:.0%} at first, {true[-1]:.0%} at last; largest posterior {sure:.3f}; median error of counts of 50 "
        f"and more {error[0]:.1%}, {error[-1]:.1%}"
    )


PARTS = {"worlds": worlds, "long": ten_years, "scale": scale, "outside": outside}
