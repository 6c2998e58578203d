"""Synthetic people, for demos, tests and benchmarks: a register of patients that lives from month to month.

A record lives while its patient is ill: people arrive with a disease, move house, change jobs, grow older, and leave
when they are cured or die. Several hospitals contribute; most people go to one near their home. Nothing here
describes a real person, and nothing is read from a file: the seed decides everything.

**The update graph.** While a record lives its disease may change. `STEPS` lists what can happen in one week; a month
is four of them. So `updates()`, the monthly probabilities, is *closed* (paper 3): if flu can become bronchitis and
bronchitis pneumonia, then flu can become pneumonia. Diseases without steps never change.

    flu -> bronchitis <-> pneumonia -> lung cancer      gastritis <-> ulcer -> stomach cancer
           bronchitis <-> asthma                        hepatitis -> cirrhosis -> liver cancer
    hypertension -> angina -> heart attack -> heart failure
    diabetes -> kidney disease                          anxiety <-> depression

All work is vectorized: a month costs a few passes over the people.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Floats
from reissue.errors import InputError
from reissue.schema import Schema
from reissue.taxonomy.codings import Hierarchy

__all__ = ["DISEASES", "JOBS", "STEPS", "Population", "bench_schema", "bench_table", "schema", "updates"]

DISEASES: Mapping[str, list[str]] = {
    "Respiratory": ["flu", "bronchitis", "pneumonia", "asthma"],
    "Digestive": ["gastritis", "ulcer", "hepatitis", "cirrhosis"],
    "Heart": ["hypertension", "angina", "heart attack", "heart failure"],
    "Metabolic": ["diabetes", "kidney disease"],
    "Mind": ["anxiety", "depression", "dementia"],
    "Cancer": ["lung cancer", "stomach cancer", "liver cancer", "breast cancer"],
    "Infection": ["HIV", "tuberculosis"],
    "Injury": ["fracture", "burn"],
}
JOBS: Mapping[str, list[str]] = {
    "Professional": ["doctor", "engineer", "lawyer", "teacher"],
    "Office": ["accountant", "clerk", "salesperson"],
    "Manual": ["builder", "driver", "farmer", "mechanic"],
    "Service": ["cleaner", "cook", "nurse", "police officer"],
    "No job": ["child", "pupil", "student", "unemployed", "retired"],
}
STEPS: Mapping[str, Mapping[str, float]] = {
    "flu": {"bronchitis": 0.03, "pneumonia": 0.01},
    "bronchitis": {"pneumonia": 0.03, "asthma": 0.01},
    "pneumonia": {"bronchitis": 0.04, "lung cancer": 0.002},
    "asthma": {"bronchitis": 0.02},
    "gastritis": {"ulcer": 0.02},
    "ulcer": {"gastritis": 0.02, "stomach cancer": 0.002},
    "hepatitis": {"cirrhosis": 0.01},
    "cirrhosis": {"liver cancer": 0.01},
    "hypertension": {"angina": 0.01},
    "angina": {"heart attack": 0.02},
    "heart attack": {"heart failure": 0.03},
    "diabetes": {"kidney disease": 0.01},
    "anxiety": {"depression": 0.02},
    "depression": {"anxiety": 0.01},
}
"""What a disease can become within a week, with its probability; otherwise it stays."""

_NAMES = tuple(name for family in DISEASES.values() for name in family)
_WORK = tuple(name for family in JOBS.values() for name in family)
_ACUTE = frozenset({"flu", "bronchitis", "pneumonia", "gastritis", "fracture", "burn", "heart attack"})
_ONSET: Mapping[str, tuple[float, float, float, float]] = {  # new patients below 18, below 40, below 65, above
    "flu": (30, 15, 10, 10),
    "bronchitis": (8, 4, 4, 6),
    "pneumonia": (3, 1, 2, 6),
    "asthma": (6, 3, 2, 1),
    "gastritis": (4, 6, 6, 4),
    "ulcer": (0.2, 2, 4, 3),
    "hepatitis": (0.5, 2, 2, 1),
    "cirrhosis": (0.05, 0.3, 2, 2),
    "hypertension": (0.1, 1, 8, 12),
    "angina": (0.05, 0.2, 3, 6),
    "heart attack": (0.05, 0.2, 3, 6),
    "heart failure": (0.05, 0.1, 1, 5),
    "diabetes": (1, 2, 6, 6),
    "kidney disease": (0.2, 0.5, 1, 3),
    "anxiety": (1, 6, 4, 1),
    "depression": (1, 6, 5, 2),
    "dementia": (0.01, 0.05, 0.3, 6),
    "lung cancer": (0.02, 0.1, 1, 2),
    "stomach cancer": (0.02, 0.1, 0.6, 1),
    "liver cancer": (0.02, 0.1, 0.4, 0.6),
    "breast cancer": (0.01, 0.6, 3, 3),
    "HIV": (0.05, 1, 0.8, 0.1),
    "tuberculosis": (0.2, 0.4, 0.4, 0.4),
    "fracture": (10, 8, 5, 8),
    "burn": (4, 2, 2, 1),
}
_BANDS = np.array([18, 40, 65])
_REGIONS, _TOWNS, _STREETS = 5, 8, 10
_ZIPS = tuple(
    f"{region}{10 + town * 11}{street:02d}"
    for region in range(_REGIONS)
    for town in range(_TOWNS)
    for street in range(_STREETS)
)

State = dict[str, Codes]
"""The living records: `patient`, `born` (month), `sex`, `zip`, `job`, `hospital` and `disease` as codes."""


@dataclass(frozen=True)
class Population:
    """People who arrive, leave, move, age and fall ill; the same seed gives the same lives."""

    seed: int = 0
    people: int = 10_000
    """Number of people in the register at the start; it stays near this number."""
    hospitals: int = 3

    def __post_init__(self) -> None:
        if self.people < 1 or self.hospitals < 1 or self.seed < 0:
            raise InputError("A population needs at least one person, one hospital, and a seed that is not negative.")

    def months(self, count: int) -> Iterator[pl.DataFrame]:
        """The register at the end of each month: patient, hospital, age, zip, sex, job, disease.

        A patient who is in two months is the same person in both: join on `patient` to see what changed.
        """
        rng = np.random.default_rng([self.seed, 0])
        state = self._newcomers(self.people, 0, 0, rng, resident=True)
        known = self.people
        arrivals = float(_leaving(state, 0).sum())
        for month in range(count):
            if month:
                rng = np.random.default_rng([self.seed, month])
                state = self._live(state, month, rng)
                fresh = self._newcomers(int(rng.poisson(arrivals)), month, known, rng)
                known += len(fresh["patient"])
                state = {name: np.concatenate([state[name], fresh[name]]) for name in state}
            yield self._snapshot(state, month)

    def _newcomers(
        self, count: int, month: int, known: int, rng: np.random.Generator, *, resident: bool = False
    ) -> State:
        age = np.floor(100 * rng.beta(1.6, 1.5, count)).astype(np.int32)
        born = month - 12 * age - rng.integers(0, 12, count, dtype=np.int32)
        sex = rng.integers(0, 2, count, dtype=np.int32)
        home = _draw(_ZIP_SHARES, rng.random(count))
        onset = _ONSETS / _LEAVE if resident else _ONSETS  # people who stay longer are met more often
        kind = np.digitize(age, _BANDS) * 2 + sex
        return {
            "patient": np.arange(known + 1, known + count + 1, dtype=np.int32),
            "born": born,
            "sex": sex,
            "zip": home,
            "job": _jobs(age, rng),
            "hospital": self._nearest(home, rng),
            "disease": _draw_by(onset, kind, rng.random(count)),
        }

    def _nearest(self, home: Codes, rng: np.random.Generator) -> Codes:
        """The hospital of the own region for three in four."""
        near = home // (_TOWNS * _STREETS) % self.hospitals
        anywhere = rng.integers(0, self.hospitals, len(home), dtype=np.int32)
        return np.where(rng.random(len(home)) < 0.75, near, anywhere).astype(np.int32)

    def _live(self, state: State, month: int, rng: np.random.Generator) -> State:
        """A month of everybody's life."""
        stays = rng.random(len(state["born"])) >= _leaving(state, month)
        state = {name: column[stays] for name, column in state.items()}
        age = (month - state["born"]) // 12
        state["disease"] = _draw_by(_MONTHLY, state["disease"], rng.random(len(age)))
        return self._move(state, rng) | {"job": _change_jobs(state["job"], age, rng)}

    def _move(self, state: State, rng: np.random.Generator) -> State:
        """One in a hundred moves, mostly within the region; those who leave it may change hospitals."""
        movers = np.flatnonzero(rng.random(len(state["zip"])) < 0.01)
        old, new = state["zip"][movers], _draw(_ZIP_SHARES, rng.random(len(movers)))
        area = _TOWNS * _STREETS
        stays = rng.random(len(movers)) < 0.7
        new = np.where(stays, old // area * area + new % area, new).astype(np.int32)
        away = old // area != new // area
        home, hospital = state["zip"].copy(), state["hospital"].copy()
        home[movers] = new
        hospital[movers[away]] = self._nearest(new[away], rng)
        return state | {"zip": home, "hospital": hospital}

    def _snapshot(self, state: State, month: int) -> pl.DataFrame:
        hospitals = [f"Hospital {number}" for number in range(1, self.hospitals + 1)]
        return pl.DataFrame(
            {
                "patient": state["patient"],
                "hospital": _text(hospitals, state["hospital"]),
                "age": (month - state["born"]) // 12,
                "zip": _text(_ZIPS, state["zip"]),
                "sex": _text(("female", "male"), state["sex"]),
                "job": _text(_WORK, state["job"]),
                "disease": _text(_NAMES, state["disease"]),
            }
        )


def schema() -> Schema:
    """Return the schema of a population's months."""
    return Schema.of_columns(
        identifier="patient",
        provider="hospital",
        quasi=["age", "zip", "sex", "job"],
        sensitive=["disease"],
        taxonomies={
            "age": Hierarchy("ranges", ranges=(5, 10, 20, 40)),
            "zip": Hierarchy("prefix", prefix=(3, 1)),
            "job": Hierarchy("tree", tree=JOBS),
            "disease": Hierarchy("tree", tree=DISEASES),
        },
    )


def updates() -> pl.DataFrame:
    """Return the possible updates of a disease within a month (from, to, probability)."""
    before, after = np.nonzero(_MONTHLY)
    return pl.DataFrame(
        {"from": _text(_NAMES, before), "to": _text(_NAMES, after), "probability": _MONTHLY[before, after]}
    )


_DOMAINS = (80, 100, 2, 16, 7, 40, 14, 9)


def bench_table(rows: int, quasi: int = 8, seed: int = 0) -> pl.DataFrame:
    """Return integer codes q1, q2, ...

    and a sensitive s of 30 values, with nearly distinct rows: the hard case for speed.
    """
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        f"q{place + 1}": rng.integers(0, _DOMAINS[place % len(_DOMAINS)], rows, dtype=np.int32)
        for place in range(quasi)
    }
    return pl.DataFrame({**columns, "s": rng.integers(0, 30, rows, dtype=np.int32)})


def bench_schema(quasi: int = 8) -> Schema:
    """The schema of `bench_table`."""
    return Schema.of_columns(quasi=[f"q{place + 1}" for place in range(quasi)], sensitive=["s"])


# --- drawing ---------------------------------------------------------------------------------------------------------


def _text(names: Sequence[str], codes: Any) -> pl.Series:
    return pl.Series(names, dtype=pl.String).gather(codes)


def _draw(shares: Floats, uniform: Floats) -> Codes:
    """Draw codes by their shares, from uniform numbers."""
    ends = np.cumsum(shares / shares.sum())
    ends[-1] = 1.0
    return np.searchsorted(ends, uniform, "right").astype(np.int32)


def _draw_by(shares: Floats, kind: Codes, uniform: Floats) -> Codes:
    """Draw codes by the shares of each person's kind; the ends of kind i lie in (i, i + 1], for a single search."""
    ends = np.minimum(np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1), 1.0)
    line = (ends + np.arange(len(ends))[:, None]).ravel()
    # A sum may end a rounding error below 1: a number above it would select a code without a share.
    places = np.searchsorted(line, kind + np.minimum(uniform, 1 - 1e-12), "right")
    return np.asarray(places - kind * shares.shape[1], np.int32)


def _leaving(state: State, month: int) -> Floats:
    """The probability that each person is cured or dies this month."""
    age = (month - state["born"]) // 12
    return np.where(age < 100, _LEAVE[state["disease"]] + 0.01 * (age >= 85), 1.0)


def _jobs(age: Codes, rng: np.random.Generator) -> Codes:
    """A job that fits the age: children and pupils, then students, working people, pensioners."""
    work = rng.integers(0, _WORK.index("child"), len(age), dtype=np.int32)
    chance = rng.random(len(age))
    idle = np.where((age < 25) & (chance < 0.6), _WORK.index("student"), _WORK.index("unemployed"))
    job = np.where(chance < np.where(age < 25, 0.65, 0.07), idle, work)
    return _by_age(job, age)


def _by_age(job: Any, age: Codes) -> Codes:
    ages = [age < 6, age < 18, age >= 65]
    jobs = [_WORK.index(name) for name in ("child", "pupil", "retired")]
    return np.asarray(np.select(ages, jobs, job), np.int32)


def _change_jobs(job: Codes, age: Codes, rng: np.random.Generator) -> Codes:
    """One in a hundred changes jobs; coming of age and retirement always do."""
    due = (rng.random(len(job)) < 0.01) | ((job == _WORK.index("pupil")) & (age >= 18))
    return _by_age(np.where(due, _jobs(age, rng), job), age)


def _onsets() -> Floats:
    """Shares of new diseases by age band and sex."""
    shares = np.array([_ONSET[name] for name in _NAMES]).T.repeat(2, axis=0)
    shares[1::2, _NAMES.index("breast cancer")] /= 100
    return shares


def _monthly() -> Floats:
    """Four weekly steps."""
    week = np.eye(len(_NAMES))
    for before, steps in STEPS.items():
        for after, chance in steps.items():
            week[_NAMES.index(before), _NAMES.index(after)] = chance
            week[_NAMES.index(before), _NAMES.index(before)] -= chance
    return np.asarray(np.linalg.matrix_power(week, 4), np.float64)


_ONSETS = _onsets()
_MONTHLY = _monthly()
_LEAVE = np.array([0.25 if name in _ACUTE else 0.04 for name in _NAMES])
_ZIP_SHARES = np.array([1 / (1 + int(code[0])) / (1 + int(code[1])) for code in _ZIPS])
