"""The deFinetti attack (Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009).

Within a group the release says nothing about who has which value; but groups are not independent of each other. If the
young have more often the flu than the old in other groups, then so they have in this one. The adversary learns the link
between quasi-identifiers and sensitive value across groups, and sharpens the belief within each: bucketized releases
show exact quasi-identifiers themselves, for generalized ones the adversary has them from an external table.

The link is naive Bayes, P(s) times P(x_a | s) for each attribute a (large domains are taken on a coarser level), learnt
by expectation maximization from the groups' random worlds. Given the link, each person's chances are scaled until
people have one value each and groups the values they publish (iterative proportional fitting: it orders people as
Kifer's permutations do, with softer odds: for two people and two values their square root). Given the chances, the link
is counted anew.

Accuracy is cross-validated: the link that judges a group was learnt from other groups. The baseline are random worlds:
guessing everyone's most frequent value in the group. Only people count whose true value needs protection by the policy.
O(pairs of person and value in the same group) a round.

That is the paper's attack, on a release by itself. Where people can be followed through several releases, or a release
holds counterfeits, it is the joint attack with a learnt prior instead (`series`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.attacks.findings import Finding, Status, not_run
from reissue.attacks.registry import attack
from reissue.attacks.stories import Bars, Case, case
from reissue.counting.texts import MISSING, joined_texts
from reissue.data.table import Table, to_polars
from reissue.errors import CannotRunError
from reissue.papers.definetti.series import LIMIT, Learnt, guess_together, holds_counterfeits
from reissue.papers.minimality.linkage import link
from reissue.people.knowledge import Knowledge
from reissue.protection import Protection
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.release.release import Release
from reissue.schema import Role, Schema
from reissue.taxonomy.tree import Taxonomy
from reissue.words import percent

__all__ = ["GuessAccuracy", "ReleasePeople", "definetti", "people_of", "sharpen", "tell"]

_LEARNT = (
    "Across groups, some quasi-identifiers go with some values more often than with others. That is learnt from some "
    "of the groups, and used to guess within the rest."
)


def tell(
    numbers: Sequence[int], accuracy: Sequence[float], baseline: Sequence[float], worst: int, limit: float, people: int
) -> Case:
    """The case of a series; `worst` is the place of the release where guessing works best, and has this many people."""
    more = round((accuracy[worst] - baseline[worst]) * people)
    gained = f"{more:,} people more than" if more > 0 else "no more people than"
    right = f"{percent(baseline[worst])} of {people:,} people's values are guessed right"
    steps = [
        f"The adversary holds release {numbers[worst]} and knows everyone's quasi-identifiers and group.",
        f"Guessing everyone's most frequent value in the group, {right}: so much the groups' own histograms allow.",
        _LEARNT,
        f"Then {percent(accuracy[worst])} are guessed right, {gained} without learning; the limit is {percent(limit)}.",
    ]
    picture: Bars = {
        "kind": "bars",
        "labels": [f"release {number}" for number in numbers],
        "series": {"guessed right": list(accuracy), "allowed by the groups alone": list(baseline)},
        "unit": "share of people",
        "limit": None,
    }
    return case(steps, picture)


NAME = "definetti"
_FOLDS = 3
_ROUNDS = 15
_SCALINGS = 8
_NOTHING = 1e-3
"""Where less than this share of the people would move on, it has converged."""
_BINS = 40
"""Attributes with more values are taken on a coarser level."""
_PAIRS = 60_000_000
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class ReleasePeople:
    """Everyone in a release: quasi-identifiers, group, and the truth to compare with."""

    features: Ints
    """Attributes x people: values, or what they lie in."""
    widths: tuple[int, ...]
    """How many different features each attribute has."""
    groups: Ints
    published: Codes
    """Published values, in no order within a group."""
    truth: Codes
    values: int
    """How many sensitive values there are."""
    guarded: Bools
    """Person to whether the true value needs protection."""


@dataclass(frozen=True, eq=False)
class GuessAccuracy:
    """How well values are guessed."""

    accuracy: float
    baseline: float
    posterior: Floats
    """Person to the chance that was given to the guess."""
    guess: Codes
    people: int

    @property
    def error(self) -> float:
        """The standard error of the accuracy."""
        return float(np.sqrt(max(self.accuracy * (1 - self.accuracy), 1e-12) / max(self.people, 1)))

    @property
    def chance(self) -> float:
        """What guesses without learning reach by chance, once in a thousand times."""
        return self.baseline + 3 * self.error


@attack(
    NAME,
    "Learns across groups who tends to have which value, and guesses within each group.",
    per_release=True,
    each_column=True,
    needs="the original table, to count right guesses (`--knowledge population=FILE`); of our own releases it is known",
    story=(
        "Someone learns from all groups together which people tend to have which value, the old or the young, men or "
        "women, and guesses within each group who has what."
    ),
    prevention=(
        (
            "Publish groups of similar people (`pool`, `mondrian`, `topdown`) instead of groups by chance "
            "(`anatomy`): where people of a group are alike there is little to guess by."
        ),
        "Or leave out quasi-identifiers that go with the sensitive value.",
    ),
)
def definetti(series: Series, knowledge: Knowledge) -> Finding:
    """Guess everyone's value: all releases together where people can be followed, else each as the paper does.

    The paper's way learns more boldly; where groups were made by value that may be right more often, so both are tried.
    """
    fakes = holds_counterfeits(series)
    papers = knowledge.population is not None or (len(series) == 1 and not fakes)
    learnt = None if papers else guess_together(series, knowledge)
    if learnt is None:
        return _by_release(series, knowledge)
    found = [_together(series, learnt)]
    if learnt.by_value and not fakes:
        found.append(_by_release(series, knowledge))
    return max(found, key=lambda one: one.worst or 0.0)


def _together(series: Series, learnt: Learnt) -> Finding:
    """What learning adds to solving a series for everyone."""
    sentence = (
        f"Who learns across groups and solves all releases for everyone guesses {learnt.accuracy:.1%} of "
        f"{learnt.people:,} people's values right; without learning it is {learnt.baseline:.1%}.{_surest(learnt)}"
    )
    return _finding(series, learnt, sentence, {"above": learnt.above, "calibration": learnt.calibration}, learnt.case)


def _surest(learnt: Learnt) -> str:
    """How many are above the usual limit, and how many of these guesses are right; empty for nobody."""
    people, right = learnt.above["people"], learnt.above["right"]
    return f" Of the {people:,} guessed with a probability above {LIMIT:g} {right:,} are right." if people else ""


def _by_release(series: Series, knowledge: Knowledge) -> Finding:
    """Guess everyone's value in every release, and report the release where that works best."""
    outcomes = [sharpen(_people(release, series, knowledge)) for release in series.releases]
    worst = max(outcomes, key=lambda outcome: outcome.accuracy - outcome.baseline)
    accuracy, baseline = [one.accuracy for one in outcomes], [one.baseline for one in outcomes]
    sentence = (
        f"Who learns across groups guesses {worst.accuracy:.1%} of {worst.people:,} people's values right (± "
        f"{worst.error:.1%}); the groups' own histograms allow {worst.baseline:.1%}."
    )
    each = [{"accuracy": one, "baseline": other} for one, other in zip(accuracy, baseline, strict=True)]

    def case(limit: float) -> Case:
        return tell(series.numbers, accuracy, baseline, outcomes.index(worst), limit, worst.people)

    return _finding(series, worst, sentence, {"folds": _FOLDS, "releases": each}, case)


_NOTHING_ABOVE = "guessing each group's commonest value is right for nearly everybody: nothing better could be learnt."


def _finding(
    series: Series, found: GuessAccuracy | Learnt, sentence: str, more: dict[str, Any], case: Callable[[float], Case]
) -> Finding:
    """Exposed where learning is better than guessing without it, beyond chance, and above the limit."""
    limit = float(series.limits.get(NAME, found.chance))
    exposed = found.accuracy > max(limit, found.chance)
    people = max(round((found.accuracy - found.baseline) * found.people), 0)
    same = {"accuracy": found.accuracy, "baseline": found.baseline, "error": found.error}
    if max(limit, found.chance) >= 1:
        return not_run(NAME, series.numbers, _NOTHING_ABOVE, {**same, **more})
    return Finding(
        NAME,
        Status.EXPOSED if exposed else Status.WITHSTOOD,
        sentence,
        tuple(series.numbers),
        people=people if exposed else 0,
        population=found.people,
        measure="accuracy: the share of people whose value is guessed right",
        worst=found.accuracy,
        limit=limit,
        details={**same, **more, "case": case(limit)},
    )


def people_of(release: Release) -> ReleasePeople:
    """The holder's own view."""
    table, draft = release.table, release.draft
    if draft.counterfeits is not None:
        raise CannotRunError("the release holds counterfeits, so what its groups show is not the people's own.")
    kept = draft.groups >= 0
    published = table.sensitive if draft.sensitive is None else draft.sensitive
    return _gathered(table, kept, draft.groups[kept].astype(np.int64), published[kept], table.sensitive[kept])


def _people(release: PublishedRelease, series: Series, knowledge: Knowledge) -> ReleasePeople:
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing to guess.")
    if knowledge.population is None:
        if release.source is None:
            raise CannotRunError(
                "it measures how many guesses are right, for which it needs the original table.", needs=["people"]
            )
        return people_of(release.source)
    return _outsider(release, series, knowledge)


def _original(data: Any, schema: Schema) -> Table:
    """The quasi-identifiers and sensitive values of the original; nothing else need be there."""
    frame, _ = to_polars(data, schema)
    if set(schema.sensitive) - set(frame.columns):
        raise CannotRunError("it measures how many guesses are right, for which it needs the original's values.")
    used = {*schema.quasi, *schema.sensitive}
    known = schema.with_roles({name: Role.DROP for name in schema.columns if name not in used})
    return Table.read(frame, known, repair=False)


def _outsider(release: PublishedRelease, series: Series, knowledge: Knowledge) -> ReleasePeople:
    """From published tables and the original: who stands where is found by elimination."""
    given = knowledge.population
    table = given if isinstance(given, Table) else _original(given, series.schema)
    linkage = link(release, table)
    if (linkage.placed > np.bincount(linkage.of_row, minlength=linkage.classes)).any():
        raise CannotRunError("the original table lacks people whom the release shows: it is not of these people.")
    order = np.argsort(linkage.of_row, kind="stable")
    by_class = np.lexsort((linkage.grp, linkage.cls))
    places = np.full(table.rows, -1)
    group = np.repeat(linkage.grp[by_class], linkage.num[by_class])
    owner = np.repeat(linkage.cls[by_class], linkage.num[by_class])
    start = np.searchsorted(linkage.of_row[order], owner)
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    places[order[start + rank]] = group
    places[linkage.open[places] | (linkage.absent[places] > 0)] = -1
    kept = places >= 0
    counts = linkage.counts
    inside = ~linkage.open[counts.group] & (linkage.absent[counts.group] == 0)
    shown = np.repeat(counts.value[inside], counts.count[inside]).astype(np.int32)
    of_shown = np.repeat(counts.group[inside], counts.count[inside])
    if not kept.any() or len(of_shown) != int(kept.sum()):
        raise CannotRunError("it is not known who stands in which group.", needs=["members"])
    published = np.empty(len(shown), np.int32)
    published[np.argsort(places[kept], kind="stable")] = shown[np.argsort(of_shown, kind="stable")]
    return _gathered(table, kept, places[kept], published, table.sensitive[kept])


def _gathered(table: Table, kept: Bools, groups: Ints, published: Codes, truth: Codes) -> ReleasePeople:
    coarse = [_coarse(taxonomy) for taxonomy in table.taxonomies]
    features = np.stack([bins[codes[kept]] for bins, codes in zip(coarse, table.codes, strict=True)])
    _, dense = np.unique(groups, return_inverse=True)
    widths = tuple(int(bins.max(initial=0)) + 1 for bins in coarse)
    guarded = _guarded(table)[truth]
    if not guarded.any():
        raise CannotRunError("nobody has a value that needs protection.")
    return ReleasePeople(features, widths, dense, published, truth, table.domain.size, guarded)


def _guarded(table: Table) -> Bools:
    """Sensitive code to whether it needs protection."""
    sensitive = table.schema.sensitive
    frame = table.decode(np.arange(table.domain.size, dtype=np.int32))
    names = [None if name == MISSING else name for name in joined_texts(frame, sensitive).to_list()]
    return Protection.of(table.schema.policy, sensitive).guarded(names)


def _coarse(taxonomy: Taxonomy) -> Ints:
    """Leaf to feature: the finest level with few enough nodes, or runs of neighbours where only the root has."""
    for level in taxonomy.levels[:-1]:
        if len(level.names) <= _BINS:
            return level.node.astype(np.int64)
    return (np.arange(taxonomy.size) * _BINS // taxonomy.size).astype(np.int64)


# --- learning --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Every person with every value of the person's group."""

    person: Ints
    value: Ints
    cell: Ints
    """The person's group and the value, numbered."""
    stock: Floats
    """Cell to how many of the group have the value."""

    @classmethod
    def of(cls, people: ReleasePeople) -> "_Pairs":
        keys, stock = np.unique(people.groups * people.values + people.published, return_counts=True)
        owner = keys // people.values
        start, stop = np.searchsorted(owner, people.groups, "left"), np.searchsorted(owner, people.groups, "right")
        number = stop - start
        if int(number.sum()) > _PAIRS:
            raise CannotRunError(
                "groups are so large that there are too many pairs of people and values.", too_large=True
            )
        person = np.repeat(np.arange(len(number)), number)
        cell = np.arange(len(person)) - np.repeat(np.cumsum(number) - number, number) + start[person]
        return cls(person, keys[cell] % people.values, cell, stock.astype(np.float64))

    def pick(self, chosen: Bools) -> "_Pairs":
        """The pairs of some people; all of a group or none."""
        inside = chosen[self.person]
        return _Pairs(self.person[inside], self.value[inside], self.cell[inside], self.stock)

    @cached_property
    def starts(self) -> Ints:
        """The first pair of everyone; pairs lie person by person."""
        return np.flatnonzero(np.diff(self.person, prepend=-1))

    @cached_property
    def lengths(self) -> Ints:
        """How many pairs everyone has."""
        return np.diff(np.append(self.starts, len(self.person)))

    def fit(self, chances: Floats, off: float = _NOTHING) -> Floats:
        """Scale chances until everyone has one value and groups the values that they publish, but for that share."""
        chances = self._one_each(chances)
        for _ in range(_SCALINGS):
            of_cell = np.bincount(self.cell, chances, len(self.stock))
            if np.abs(of_cell - self.stock)[of_cell > 0].sum() < off * len(self.starts):
                break
            chances = self._one_each(chances * (self.stock / np.maximum(of_cell, _TINY)).take(self.cell))
        return chances

    def _one_each(self, chances: Floats) -> Floats:
        """Scaled so that everyone has one value."""
        total = np.maximum(np.add.reduceat(chances, self.starts), _TINY)
        return np.asarray(chances / np.repeat(total, self.lengths))

    def places(self, people: ReleasePeople) -> Iterator[Ints]:
        """Attribute by attribute, a number for the feature and the value of each pair."""
        for features in people.features:
            yield features.take(self.person) * people.values + self.value


@dataclass(frozen=True, eq=False)
class _Link:
    """Naive Bayes: log P(x_a | s) for each attribute, features x values. P(s) is fitted away within groups."""

    tables: list[Floats]

    @classmethod
    def learn(cls, people: ReleasePeople, pairs: _Pairs, chances: Floats) -> "_Link":
        tables = []
        for place, width in zip(pairs.places(people), people.widths, strict=True):
            seen = np.bincount(place, chances, width * people.values).reshape(width, people.values)
            # What a value's own records do not tell is taken from everybody: one record's worth.
            everyone = (seen.sum(axis=1) + 1) / (seen.sum() + width)
            seen = seen + everyone[:, np.newaxis]
            tables.append(np.log(seen / seen.sum(axis=0)))
        return cls(tables)

    def chances(self, people: ReleasePeople, pairs: _Pairs) -> Floats:
        """How likely each pair is by the link alone, up to a factor for each person."""
        logs = np.zeros(len(pairs.person))
        for place, table in zip(pairs.places(people), self.tables, strict=True):
            logs += table.reshape(-1).take(place)
        logs -= np.repeat(np.maximum.reduceat(logs, pairs.starts), pairs.lengths)
        return np.asarray(np.exp(logs), np.float64)


def sharpen(people: ReleasePeople, *, folds: int = _FOLDS, seed: int = 0) -> GuessAccuracy:
    """Guess everyone's value with a link learnt from other groups."""
    pairs = _Pairs.of(people)
    number = people.features.shape[1]
    groups = int(people.groups.max(initial=-1)) + 1
    fold = np.random.default_rng(seed).permutation(groups)[people.groups] % max(min(folds, groups), 1)
    posterior, guess = np.zeros(number), np.zeros(number, np.int32)
    for held_out in np.unique(fold).tolist():
        judged = fold == held_out
        learnt = pairs.pick(~judged) if (~judged).any() else pairs
        link_learnt = _expectation_maximization(people, learnt)
        test = pairs.pick(judged)
        _best(test, test.fit(link_learnt.chances(people, test)), posterior, guess)
    some = people.guarded
    right = float((guess == people.truth)[some].mean())
    return GuessAccuracy(right, _baseline(people, pairs), posterior, guess, int(some.sum()))


def _baseline(people: ReleasePeople, pairs: _Pairs) -> float:
    """How many are guessed right by their group's most frequent value: expected, or counted if values were changed."""
    number = people.features.shape[1]
    share, most_frequent = np.zeros(number), np.zeros(number, np.int32)
    _best(pairs, pairs.stock[pairs.cell], share, most_frequent)
    total = (int(people.groups.max(initial=-1)) + 1) * people.values
    true, shown = (
        np.bincount(people.groups * people.values + v, minlength=total) for v in (people.truth, people.published)
    )
    if (true == shown).all():
        return _expected(people, share / np.bincount(people.groups)[people.groups], most_frequent)
    return float((most_frequent == people.truth)[people.guarded].mean())


def _expected(people: ReleasePeople, share: Floats, guess: Codes) -> float:
    """How many are guessed right by chance: of everybody the share, of some those who have the guessed value."""
    if people.guarded.all():
        return float(share.mean())
    return float((guess == people.truth)[people.guarded].mean())


def _expectation_maximization(people: ReleasePeople, pairs: _Pairs) -> _Link:
    chances = pairs.fit(np.ones(len(pairs.person)))
    learnt = _Link.learn(people, pairs, chances)
    for _ in range(_ROUNDS):
        before, chances = chances, pairs.fit(learnt.chances(people, pairs))
        learnt = _Link.learn(people, pairs, chances)
        if np.abs(chances - before).sum() / 2 < _NOTHING * len(pairs.starts):
            break
    return learnt


def _best(pairs: _Pairs, chances: Floats, posterior: Floats, guess: Codes) -> None:
    """Everyone's likeliest value, the last of equal ones, and its chance."""
    largest = np.maximum.reduceat(chances, pairs.starts)
    likeliest = np.flatnonzero(chances == np.repeat(largest, pairs.lengths))
    posterior[pairs.person[pairs.starts]] = largest
    guess[pairs.person[likeliest]] = pairs.value[likeliest]
