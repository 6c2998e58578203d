"""Publish one release after another: draw values, and carry public beliefs from each to the next."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.errors import InputError
from reissue.randomized.adversaries import Adversary, ProtectedEvents, foreseen, normalized
from reissue.randomized.audit import log_odds
from reissue.randomized.beliefs import Outcomes, PublicBeliefs, joined, moved_on
from reissue.randomized.draws import pick, tags, uniform
from reissue.randomized.layout import layout_of
from reissue.randomized.program import first_program, least_varying
from reissue.randomized.rule import ChangeRule, Passage, View, all_drawn, change_rule, first_rule, passage

__all__ = [
    "Judgement",
    "Mechanism",
    "Randomized",
    "Remembered",
    "StartingBeliefs",
    "TrueValues",
    "mechanism",
    "publish",
    "remembered_from",
]

_FIRST, _FRESH, _TRUTH, _SUBSTITUTE = range(4)
"""Purposes of draws."""
_CELLS = 1 << 19
"""Numbers in one array of the change rule: a few of them stay in the processor's cache."""
_PAIRS = 1 << 16
"""Largest number of (event, value) pairs of one state and layer; beyond, memory would not be small."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """All that decides how values are drawn; it may be published."""

    views: list[View]
    first: Floats
    """Classes x values x values: the first matrix M(y | v) of each class."""
    entry: PublicBeliefs
    """Public beliefs after a first publication: a row for each class and published value."""
    odds: float
    layers: int
    fresh: int
    """Values are drawn anew up to so many releases after the first publication."""
    known: float = 1.0
    """Of people who were in exact releases before: by which factor the odds of every event stay below its limit's."""

    @property
    def size(self) -> int:
        """How many values there are."""
        return int(self.first.shape[1])


def mechanism(
    adversaries: list[Adversary],
    protected: ProtectedEvents,
    *,
    first: str = "closed form",
    odds: float = 1000.0,
    layers: int = 4,
    changes: bool = False,
    returns: int = 1,
    redraw: bool = True,
    matrices: Floats | None = None,
    fresh: int = 12,
) -> Mechanism:
    """Build the mechanism that no given adversary gets past.

    Parameters
    ----------
    adversaries
        All of them at once; their priors have the same classes.
    protected
        Events and their limits.
    first
        How the first matrices are found: by `closed form` or by linear `program`.
    odds
        By how much one draw may change the odds between any two values, whatever the prior: e to the epsilon of a draw.
    layers
        How many layers of past events are kept: the latest releases one each, older ones share one.
    changes
        Whether a visible change at the next release is foreseen. Without it a first value is true more often, but when
        the true value changes the published one more often cannot follow.
    returns
        How many times somebody may leave and come back without an adversary, who knows departure rates, getting too
        sure. A rate that is high for few values makes each return telling.
    redraw
        Whether values may be drawn anew at all. Without it `odds` bounds what a whole series tells, for any prior.
    matrices
        The first matrices (`Mechanism.first`) that an earlier call found for the same arguments; they are not sought
        again.
    fresh
        For how many releases after the first publication. The work for a release does not grow beyond that.

    Raises
    ------
    InputError
        If the adversaries do not fit each other, or there are too many values that become each other.

    """
    if not adversaries or len({one.prior.shape for one in adversaries}) > 1 or layers < 1 or not odds > 1:
        raise InputError(
            "Adversaries need priors for the same classes, at least one layer is kept, and odds are above 1."
        )
    layout = layout_of([one.change for one in adversaries], protected.member)
    if layout.pairs > _PAIRS:
        raise InputError(
            f"{layout.pairs:,} pairs of an event and a value are possible for one person; at most {_PAIRS:,} are "
            "supported. Leave unlikely changes out of the update model, or group the values."
        )
    views = [
        View(one, foreseen(one, protected, changes=changes, returns=returns), layout, protected) for one in adversaries
    ]
    priors = np.stack([one.prior for one in adversaries])
    fresh = fresh if redraw else 0
    if matrices is not None:
        return Mechanism(views, matrices, _entry(views, priors, matrices, layers), odds, layers, fresh)
    if first not in ("closed form", "program"):
        raise InputError("`first` must be 'closed form' or 'program'.")
    rule = first_rule(views, priors, odds)
    matrices = rule.truth[:, np.newaxis, np.newaxis] * np.eye(priors.shape[2])
    matrices = matrices + ((1 - rule.truth)[:, np.newaxis] * rule.substitutes)[:, np.newaxis, :]
    if first == "program":
        matrices = least_varying(first_program(views, priors, odds), matrices, priors[-1])
    return Mechanism(views, matrices, _entry(views, priors, matrices, layers), odds, layers, fresh)


def _entry(views: list[View], priors: Floats, matrices: Floats, layers: int) -> PublicBeliefs:
    size = priors.shape[2]
    belief = normalized(np.einsum("acv,cvy->cyav", priors, matrices)).reshape(-1, len(views), size)
    prior = np.repeat(priors.swapaxes(0, 1), size, axis=0)
    shapes = [(len(belief), len(views), layers, *group.member.shape) for group in views[0].layout.groups]
    past = tuple(np.zeros(shape, np.float32) for shape in shapes)
    return PublicBeliefs(belief, prior, past, np.zeros(len(belief), np.int64))


@dataclass(frozen=True, eq=False)
class Remembered:
    """What a ledger keeps of everybody who was ever published."""

    release: int
    pseudonyms: Ints
    """In order."""
    published: Ints
    tag: Ints
    """A keyed tag of the true value at the last sight: whether the value has changed since."""
    seen: Ints
    """The release of the last sight."""
    state: Ints
    """Person to the row of `states`."""
    states: PublicBeliefs


@dataclass(frozen=True, eq=False)
class StartingBeliefs:
    """What exact releases told of people before anything was randomized."""

    pseudonyms: Ints
    belief: Floats
    """People x values: the posterior of the value at the last sight."""
    seen: Ints
    """The release of the last sight: the first randomized one has the number 0, exact ones before it -1, -2, ..."""

    @classmethod
    def nobody(cls) -> "StartingBeliefs":
        """Where there were no exact releases."""
        none = np.empty(0, np.int64)
        return cls(none, np.empty((0, 0)), none)


class Judgement(NamedTuple):
    """What one adversary knows after a release of those who are in it; shares, a number for each person in the end."""

    present: Floats
    """The largest posterior of a present value."""
    score: Floats
    """The largest posterior of any event, present or past, as a share of its limit; of older releases a bound, and
    without past events of people whose published value is kept for good, which is safe whatever it would be."""
    epsilon: Floats
    """By how much the odds between two present values changed, as a logarithm."""
    prior_above: Bools
    """Whether presence and prior alone make some event likelier than its limit."""


class TrueValues(NamedTuple):
    """The people of a release, a row each."""

    pseudonyms: Ints
    values: Ints
    classes: Ints
    """The class of each person; only that of the first publication counts."""


@dataclass(frozen=True, eq=False)
class Randomized:
    """A release."""

    published: Ints
    """The value to publish, row by row."""
    remembered: Remembered
    state: Ints
    """Row to its public belief, `remembered.states`."""
    hold: Floats
    truth: Floats
    """The change rule that was in force, row by row; not a number for a first publication."""
    chance: Floats
    """Rows x values: the likelihood of the published value, at a first publication by true value, later if the true
    value has changed to this one."""
    judgements: list[Judgement]
    """One for each adversary."""

    def belief(self, adversary: int = 0) -> Floats:
        """Rows x values: the posterior of each row's true value."""
        return np.asarray(self.remembered.states.belief[self.state, adversary], np.float64)

    def prior(self, adversary: int = 0) -> Floats:
        """Rows x values: the same for someone who knows presence alone."""
        return np.asarray(self.remembered.states.prior[self.state, adversary], np.float64)


def publish(
    made: Mechanism,
    before: Remembered | None,
    release: int,
    rows: TrueValues,
    *,
    key: bytes,
    column: int = 0,
) -> Randomized:
    """Draw the values of one release.

    Parameters
    ----------
    made
        The mechanism. It may differ from release to release, but for its number of adversaries, layers and values.
    before
        What the release before left; nothing for the first.
    release
        Its number. Releases are numbered without gaps: whoever was not in the release before was absent.
    rows
        Who is in the release (each once, in any order), and with which true values.
    key
        16 bytes.
    column
        The number of the sensitive column, so that columns are drawn independently.

    Raises
    ------
    InputError
        If somebody is there twice, or the release is not later than the last one.

    """
    before = before or _nobody(made)
    pseudonyms, values, classes = rows
    if len(np.unique(pseudonyms)) < len(pseudonyms) or release <= before.release:
        raise InputError("Each person may be in a release once, and releases are published in their order.")
    place, known = _find(before.pseudonyms, pseudonyms)
    tag = tags(key, pseudonyms, values, column)
    new, old = np.flatnonzero(~known), np.flatnonzero(known)
    drawn = _Drawn(np.zeros(len(tag), np.int64), np.zeros(len(tag), np.int64), np.zeros((len(tag), made.size)))
    first = pick(made.first[classes[new], values[new]], uniform(key, pseudonyms[new], release, column, _FIRST))
    drawn.published[new], drawn.state[new] = first, classes[new] * made.size + first
    drawn.chance[new] = made.first[classes[new], :, first]
    hold, truth = np.full(len(pseudonyms), np.nan), np.full(len(pseudonyms), np.nan)
    grown = [made.entry]
    if len(old):
        at = place[old]
        last = np.stack([before.state[at], release - before.seen[at], before.published[at]], axis=1)
        sources, source = np.unique(last, axis=0, return_inverse=True)
        rules = _rules(made, before.states, sources)
        own = ChangeRule(*(one[source.reshape(-1)] for one in rules))
        hold[old], truth[old] = own.hold, own.truth
        numbers = [uniform(key, pseudonyms[old], release, column, one) for one in (_FRESH, _TRUTH, _SUBSTITUTE)]
        shown = _redrawn(own, values[old], before.published[at], tag[old] != before.tag[at], numbers)
        ends, end = np.unique(source.reshape(-1) * made.size + shown, return_inverse=True)
        drawn.published[old], drawn.state[old] = shown, len(made.entry) + end.reshape(-1)
        drawn.chance[old] = _outcomes(own, shown, before.published[at]).changed
        grown.append(_grown(made, before.states, sources, rules, ends))
    after = _remembered(before, release, pseudonyms, drawn.published, tag, drawn.state, joined(grown))
    state = after.state[np.searchsorted(after.pseudonyms, pseudonyms)]
    return Randomized(drawn.published, after, state, hold, truth, drawn.chance, _judged(made, after.states, state))


class _Drawn(NamedTuple):
    """Columns of a release while it is made."""

    published: Ints
    state: Ints
    chance: Floats


def _redrawn(own: ChangeRule, values: Ints, before: Ints, changed: Bools, numbers: list[Floats]) -> Ints:
    """The values to publish for people who were published before, from three numbers in [0, 1) each."""
    fresh, truth, substitute = numbers
    drawn = np.where(truth < own.truth, values, pick(own.substitutes, substitute))
    return np.where((changed | (before < 0)) & (fresh >= own.hold), drawn, before)


def remembered_from(made: Mechanism, known: StartingBeliefs, *, key: bytes, column: int = 0) -> Remembered:
    """What the first randomized release of a series goes on from, where exact releases came before."""
    order = np.argsort(known.pseudonyms)
    belief = np.repeat(known.belief[order][:, np.newaxis], len(made.views), axis=1)
    shapes = [(len(belief), *one.shape[1:]) for one in made.entry.past]
    nothing, none = np.zeros(len(belief), np.int64), np.full(len(belief), -1)
    states = PublicBeliefs(belief, belief, tuple(np.zeros(shape, np.float32) for shape in shapes), nothing)
    people = known.pseudonyms[order]
    return Remembered(
        -1, people, none, tags(key, people, none, column), known.seen[order], np.arange(len(belief)), states
    )


def _nobody(made: Mechanism) -> Remembered:
    none = np.empty(0, np.int64)
    return Remembered(-1, none, none, none, none, none, made.entry.take(slice(0, 0)))


def _find(sorted_: Ints, wanted: Ints) -> tuple[Ints, Bools]:
    """Where each is in a sorted array, and whether."""
    place = np.searchsorted(sorted_, wanted)
    known = place < len(sorted_)
    known[known] = sorted_[place[known]] == wanted[known]
    return place, known


def _chunks(made: Mechanism, sources: Ints) -> list[Ints]:
    """Rows of `sources` (state, gap, published) with one gap, few at a time."""
    step = int(np.clip(_CELLS // (made.views[0].layout.pairs * (made.layers + 3)), 1, 4096))
    found = []
    for gap in np.unique(sources[:, 1]):
        rows = np.flatnonzero(sources[:, 1] == gap)
        found += [rows[at : at + step] for at in range(0, len(rows), step)]
    return found


def _passages(views: list[View], states: PublicBeliefs, sources: Ints) -> tuple[list[Passage], list[Floats]]:
    """The way to the present of sources with one gap, for each adversary, and what presence alone tells there."""
    gap, passages, priors = int(sources[0, 1]), [], []
    for number, view in enumerate(views):
        belief, prior, past = states.of(number, sources[:, 0])
        moved = passage(view, gap, belief, past, view.protected.limits(prior))
        passages.append(all_drawn(moved, sources[:, 2] < 0))
        priors.append(normalized((prior * view.adversary.seen(gap)) @ view.adversary.power(gap)))
    return passages, priors


def _rules(made: Mechanism, states: PublicBeliefs, sources: Ints) -> ChangeRule:
    """The change rule of each source."""
    even = np.full((len(sources), made.size), 1 / made.size)
    rules = ChangeRule(np.ones(len(sources)), np.zeros(len(sources)), even)
    fresh = np.flatnonzero(_age(states, sources) <= made.fresh)
    undrawn = sources[fresh, 2] < 0
    inner = [replace(view, protected=view.protected.within(made.known)) for view in made.views]
    for some, views in ((fresh[~undrawn], made.views), (fresh[undrawn], inner)):
        for chunk in _chunks(made, sources[some]):
            rows = some[chunk]
            passages, priors = _passages(views, states, sources[rows])
            found = change_rule(views, passages, priors, sources[rows, 2], made.odds)
            for every, own in zip(rules, found, strict=True):
                every[rows] = own
    return rules


def _grown(made: Mechanism, states: PublicBeliefs, sources: Ints, rules: ChangeRule, ends: Ints) -> PublicBeliefs:
    """The states after each different outcome: `ends` are source * values + published value."""
    source, shown = ends // made.size, ends % made.size
    age = _age(states, sources[source])
    old = np.flatnonzero(age > made.fresh)
    parts, order = [_stayed(made, states, sources[source[old]])], [old]
    fresh = np.flatnonzero(age <= made.fresh)
    for part in _chunks(made, sources[source[fresh]]):
        some = fresh[part]
        rows = source[some]
        passages, priors = _passages(made.views, states, sources[rows])
        outcome = _outcomes(ChangeRule(*(one[rows] for one in rules)), shown[some], sources[rows, 2])
        every = [
            moved_on(view.layout, moved, outcome, made.layers) for view, moved in zip(made.views, passages, strict=True)
        ]
        past = tuple(np.stack(blocks, axis=1) for blocks in zip(*(one for _, one in every), strict=True))
        belief = np.stack([one for one, _ in every], axis=1)
        # Whoever was in exact releases keeps the first drawn value for good: what it tells of others was judged once.
        lasting = np.where(sources[rows, 2] < 0, made.fresh + 1, age[some])
        parts.append(PublicBeliefs(belief, np.stack(priors, axis=1), past, lasting))
        order.append(some)
    return joined(parts).take(np.argsort(np.concatenate(order)))


def _age(states: PublicBeliefs, sources: Ints) -> Ints:
    """How many releases ago the first value was drawn; 0 where it is drawn now."""
    return np.where(sources[:, 2] < 0, 0, states.age[sources[:, 0]] + sources[:, 1])


def _stayed(made: Mechanism, states: PublicBeliefs, sources: Ints) -> PublicBeliefs:
    """The states of people whose published value stays for good, which tells nothing new."""
    found = states.take(sources[:, 0])
    belief, prior = np.empty_like(found.belief), np.empty_like(found.prior)
    for gap in np.unique(sources[:, 1]).tolist():
        rows = np.flatnonzero(sources[:, 1] == gap)
        for number, view in enumerate(made.views):
            seen, power = view.adversary.seen(gap), view.adversary.power(gap)
            for after, before in ((belief, found.belief), (prior, found.prior)):
                after[rows, number] = normalized((before[rows, number] * seen) @ power)
    past = tuple(np.zeros((len(sources), *one.shape[1:]), np.float32) for one in made.entry.past)
    return PublicBeliefs(belief, prior, past, found.age + sources[:, 1])


def _outcomes(rule: ChangeRule, shown: Ints, before: Ints) -> Outcomes:
    """The likelihoods of what was published."""
    states = np.arange(len(shown))
    chance = np.repeat(
        ((1 - rule.truth) * rule.substitutes[states, shown])[:, np.newaxis], rule.substitutes.shape[1], 1
    )
    chance[states, shown] += rule.truth
    kept = shown == before
    chance[kept] = rule.hold[kept, np.newaxis] + (1 - rule.hold[kept, np.newaxis]) * chance[kept]
    return Outcomes(kept.astype(np.float64), chance)


def _remembered(
    before: Remembered, release: int, people: Ints, published: Ints, tag: Ints, state: Ints, states: PublicBeliefs
) -> Remembered:
    """Those of before who are not in this release stay as they were; states that nobody has are dropped."""
    gone = np.flatnonzero(~np.isin(before.pseudonyms, people))
    used, left = np.unique(before.state[gone], return_inverse=True)
    mine, own = np.unique(state, return_inverse=True)
    pseudonyms = np.concatenate([before.pseudonyms[gone], people])
    order = np.argsort(pseudonyms)
    columns = (
        (before.published[gone], published),
        (before.tag[gone], tag),
        (before.seen[gone], np.full(len(people), release)),
        (left.reshape(-1), len(used) + own.reshape(-1)),
    )
    sorted_ = [np.concatenate(pair)[order] for pair in columns]
    kept = joined([before.states.take(used), states.take(mine)])
    return Remembered(release, pseudonyms[order], sorted_[0], sorted_[1], sorted_[2], sorted_[3], kept)


def _judged(made: Mechanism, states: PublicBeliefs, rows: Ints) -> list[Judgement]:
    """What every adversary knows of the states of these people."""
    used, place = np.unique(rows, return_inverse=True)
    found = []
    for number, view in enumerate(made.views):
        belief, prior, past = states.of(number, used)
        limits = view.protected.limits(prior)
        score = (view.protected.shares(belief) / limits).max(1)
        before = [
            np.einsum("nlbev,nbv->nlbe", known, belief[:, group.values])
            for group, known in zip(view.layout.groups, past, strict=True)
        ]
        score = np.maximum(score, view.layout.totals(before).max((1, 2)))
        above = np.asarray((view.protected.shares(prior) > view.protected.limit + 1e-9).any(1))
        at, epsilon = place.reshape(-1), log_odds(belief, prior)
        found.append(Judgement(belief.max(1)[at], score[at], epsilon[at], above[at]))
    return found
