"""Randomized values as they are published: twelve months through a ledger, and what is found in them.

For each synthetic world: the gate's finding in months 1, 6 and 12; then everybody's exact posterior once more, for the
adversaries of the policy and for one who knows the true frequencies of these very people, who is not in the policy; and
`reissue attack` on the exported files, whose attacks take published values for true. Departure rates come from another
synthetic hospital.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from reissue import Ledger, Schema, attack, publish, synth
from reissue._arrays import Floats, Ints
from reissue.publishing.drawn_states import ShownValues, ValuesState
from reissue.randomized import Adversary, exact_posteriors, public_record
from reissue.release.states import unpack_state

_POLICY = '\n[updates]\nfile = "updates.csv"\n[policy]\nrequire = "k=5"\nvalues = "randomized"\n'


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="randomized_series", description=__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4], help="of worlds")
    parser.add_argument("--people", type=int, default=3_000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--policy", default="", help="further lines of [policy]")
    chosen = parser.parse_args(arguments)
    rates = departure_rates(list(synth.Population(seed=999, people=10 * chosen.people).months(chosen.months)))
    for seed in chosen.seeds:
        for line in lines_of(seed, chosen, rates):
            print(f"world {seed}: {line}", flush=True)


def departure_rates(months: list[pl.DataFrame]) -> dict[str, float]:
    """The share of people with each value who are absent from the next month."""
    stays = [now.with_columns(pl.col("patient").is_in(later["patient"].implode())) for now, later in pairwise(months)]
    found = pl.concat(stays).group_by("disease").agg((1 - pl.col("patient").mean()).alias("leaves"))
    return dict(found.iter_rows())


def lines_of(seed: int, chosen: argparse.Namespace, rates: Mapping[str, float]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        synth.updates().write_csv(folder / "updates.csv")
        pl.DataFrame({"disease": list(rates), "leaves": list(rates.values())}).write_csv(folder / "leave.csv")
        more = chosen.policy.replace(";", "\n")
        text = f'{synth.schema().dumps()}{_POLICY}{more}\n[policy.randomized]\ndepartures = "leave.csv"\n'
        (folder / "schema.toml").write_text(text)
        tables = list(synth.Population(seed=seed, people=chosen.people).months(chosen.months))
        with Ledger.create(folder / "x.ledger", Schema.load(folder / "schema.toml")) as ledger:
            for number, table in enumerate(tables, 1):
                start = time.process_time()
                made = publish(table, ledger)
                found = ledger.releases[-1].findings["posterior"]
                if number in {1, (chosen.months + 1) // 2, chosen.months}:
                    said = found.details
                    yield (
                        f"month {number}: {time.process_time() - start:.1f} CPU s; {found.status}; worst "
                        f"{found.worst:.3f}, average {said['average']:.1%} (right {said['right']:.1%}, without "
                        f"{said['without']:.1%}), true values {said['true']:.0%}, {found.people} people above, "
                        f"{said['prior_above']} by the prior alone, {made.suppressed} suppressed"
                    )
                ledger.export(number, folder / f"{number:02}.csv")
            yield from stronger(ledger, tables)
        files = [folder / f"{number:02}.csv" for number in range(1, chosen.months + 1)]
        for one in attack(files, Schema.load(folder / "schema.toml")):
            if one.reason is None:
                words = f"{one.status}, decides {one.decides}, {one.people} people, worst {one.worst}"
                yield f"attack {one.attack}: {words}"


def stronger(ledger: Ledger, tables: list[pl.DataFrame]) -> Iterator[str]:
    """What someone learns who knows more than the policy assumes.

    The exact shares and departure rates of these very people, newcomers apart; or the values of everybody else: those
    give the shares of the others, and what the noisy counts behind the matrices tell of the last one.
    """
    releases = ledger.releases
    state = unpack_state(ValuesState, ledger.store.read(releases[-1].files["values"]))
    shown = [unpack_state(ShownValues, ledger.store.read(one.files["shown"])) for one in releases]
    assert state is not None  # noqa: S101
    kept = [one for one in shown if one is not None]
    size, number = state.values.height, len(state.classes)
    code = {text: place for place, text in enumerate(state.values["disease"].to_list())}
    people = np.unique(np.concatenate([one.people for one in kept]))
    truth = np.full((len(kept), len(people)), -1)
    for at, table in enumerate(tables):
        row = np.searchsorted(people, ledger.key.pseudonyms(table["patient"]).to_numpy())
        truth[at, row] = [code[name] for name in table["disease"]]
    counts, classes, known = np.zeros((2 * number, size)), [], np.zeros(len(people), np.bool_)
    for at, one in enumerate(kept):
        own: Ints = one.classes % number + number * (at > 0)
        classes.append(own)
        row = np.searchsorted(people, one.people)
        new = ~known[row]
        np.add.at(counts, (own[new], truth[at, row[new]]), 1)
        known[row] = True
    prior = (counts + 1e-9) / (counts + 1e-9).sum(1, keepdims=True)
    rates = _rates(truth, size)
    record = public_record(people, range(len(kept)), [(o.people, o.published, o.chance[o.row]) for o in kept], classes)
    known_shares = Adversary("true frequencies", prior, state.change[0], rates)
    yield "true frequencies: " + told(exact_posteriors(known_shares, record), truth)
    first = truth[(truth >= 0).argmax(0), np.arange(len(people))]
    others = counts[record.classes] - np.eye(size)[first]
    seen = np.concatenate([state.residents, state.newcomers])[record.classes] - others
    tells = np.exp(np.where(seen >= 1, 1, -1) * ledger.policy.randomized.epsilon / 2)
    pooled = counts.sum(0) / counts.sum()
    own = (others + pooled) * tells
    everybody = Adversary("all others", own / own.sum(1, keepdims=True), state.change[0], rates)
    record = replace(record, classes=np.arange(len(people)))
    yield "coalition of all others: " + told(exact_posteriors(everybody, record), truth)


def _rates(truth: Ints, size: int) -> Floats:
    stays, all_ = np.zeros(size), np.zeros(size)
    for now, later in pairwise(truth):
        stays += np.bincount(now[(now >= 0) & (later >= 0)], minlength=size)
        all_ += np.bincount(now[now >= 0], minlength=size)
    return np.asarray((all_ - stays + 1) / (all_ + 10), np.float64)


def told(posterior: Floats, truth: Ints) -> str:
    there = truth >= 0
    sure, right = posterior.max(2), posterior.argmax(2) == truth
    above = (sure > 0.75 + 1e-4) & there
    hits = right[above].mean() if above.any() else np.nan
    return (
        f"largest {sure[there].max():.3f}, {int(above.any(0).sum())} of {truth.shape[1]} people above 0.75, right in "
        f"{hits:.0%} of these cases; average {sure[there].mean():.1%}, right {right[there].mean():.1%}"
    )
