"""The change rule: how likely a changed value is kept back (`hold`), or published truthfully when it is drawn anew.

Let b be what an adversary believes of a person's last value u, C(u, v) the probability of a change to v, and y the
value published last. If the new value is drawn (truth t, substitutes r), the outcome z, other than y, has the
likelihood C(u, v) (t [v = z] + (1 - t) r(z)). Write A(v) = sum over u of b(u) f(u) C(u, v) for an event of which the
adversary is too sure where the mean of f exceeds 1, c(v) for the same without f, o for anything foreseen, and T for
the sum over v of (A(v) - c(v)) o(v). The requirement (see `adversaries`) for z is then

    t (A(z) - c(z)) o(z) + (1 - t) r(z) T <= 0.

If T is not negative, a visible change itself tells too much, and nothing new is drawn. Otherwise z needs the share
r(z) >= t / (1 - t) * need(z), where need(z) is the largest (A(z) - c(z)) o(z) / -T over events, adversaries and
observations, and at least 1 / (odds - 1): a draw then changes the odds between two values by a factor of `odds` at
most. The largest t that leaves r a distribution has r proportional to need: t / (1 - t) = 1 / sum of need. For the
outcome y the requirement is linear in `hold`, and holds with `hold` = 1, when y tells nothing; so the least `hold` is
a maximum of quotients. No search, no grid: both are exact. First publications are the same with b = the prior and
everything drawn.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.randomized.adversaries import Adversary, Foreseen, ProtectedEvents
from reissue.randomized.layout import Blocks, EventLayout

__all__ = ["ChangeRule", "Passage", "View", "all_drawn", "change_rule", "first_rule", "passage"]

_ZERO = 1e-6
"""Probabilities this close are equal but for rounding: past events are kept in single precision."""


@dataclass(frozen=True, eq=False)
class View:
    """One adversary, with what all states share."""

    adversary: Adversary
    foreseen: list[Foreseen]
    layout: EventLayout
    protected: ProtectedEvents


class ChangeRule(NamedTuple):
    """How values are drawn, for each state of public beliefs."""

    hold: Floats
    """The probability to publish the old value though the true one has changed."""
    truth: Floats
    """The probability that a new draw is the true value."""
    substitutes: Floats
    """States x values: what is drawn otherwise."""


class Passage(NamedTuple):
    """One adversary's probabilities from a person's last sight to the present, before anything is published.

    Arrays of past events have a layer for each past release that is kept apart, and a last one for the last sight.
    """

    same: Floats
    """States x values: the value has stayed what it was."""
    changed: Floats
    """States x values: it has become this one."""
    past_same: Blocks
    past_changed: Blocks

    def take(self, rows: Ints) -> "Passage":
        """Some of the states."""
        same, changed = (tuple(one[rows] for one in every) for every in (self.past_same, self.past_changed))
        return Passage(self.same[rows], self.changed[rows], same, changed)


class _Terms(NamedTuple):
    """Requirements of one adversary under one observation: states x layers x events."""

    changed: Floats
    """T: what a visible change alone tells; it must be negative."""
    same: Floats
    at_last: Floats
    """What is added if the value published last is drawn as the truth."""

    def take(self, rows: Ints) -> "_Terms":
        """Some of the states."""
        return _Terms(self.changed[rows], self.same[rows], self.at_last[rows])


def passage(view: View, gap: int, belief: Floats, past: Blocks, limits: Floats) -> Passage:
    """From beliefs about the last sight (states x values), past events as shares of their limits, and limits then."""
    weight = belief * view.adversary.seen(gap)
    power = view.adversary.power(gap)
    stay = power.diagonal()
    move = power - np.diag(stay)
    past_same, past_changed = [], []
    for group, known in zip(view.layout.groups, past, strict=True):
        last = group.member / limits[:, group.events][..., np.newaxis]
        every = np.concatenate([known, last[:, np.newaxis]], axis=1)
        every *= weight[:, group.values][:, np.newaxis, :, np.newaxis, :]
        past_same.append(every * stay[group.values][:, np.newaxis, :])
        past_changed.append(every @ move[group.values[:, :, np.newaxis], group.values[:, np.newaxis, :]])
    return Passage(weight * stay, weight @ move, tuple(past_same), tuple(past_changed))


def all_drawn(moved: Passage, undrawn: Bools) -> Passage:
    """Where nothing was drawn before, a value is drawn whether or not the true one has changed (arrays are changed)."""
    if not undrawn.any():
        return moved
    for same, changed in zip((moved.same, *moved.past_same), (moved.changed, *moved.past_changed), strict=True):
        changed[undrawn] += same[undrawn]
        same[undrawn] = 0.0
    return moved


def first_rule(views: list[View], priors: Floats, odds: float) -> ChangeRule:
    """The most truthful M = truth I + (1 - truth) 1 r^T for these priors (adversaries x classes x values)."""
    need = np.full(priors.shape[1:], 1 / (odds - 1))
    told = np.zeros(len(need), np.bool_)
    for view, prior in zip(views, priors, strict=True):
        empty = tuple(np.zeros((len(prior), 0, *group.member.shape)) for group in view.layout.groups)
        start = Passage(np.zeros_like(prior), prior, empty, empty)
        limits = view.protected.limits(prior)
        for one in view.foreseen:
            terms = _terms(view, one, start, limits, prior, None, need)
            told |= (terms.changed > -_ZERO).any((1, 2))
    truth, substitutes = _draw(need)
    return ChangeRule(np.zeros(len(need)), np.where(told, 0.0, truth), substitutes)


def change_rule(
    views: list[View], passages: list[Passage], priors: list[Floats], published: Ints, odds: float
) -> ChangeRule:
    """The most truthful rule for each state; `priors` (states x values) is what presence alone tells each adversary.

    Where nothing was drawn before (`published` is -1), something is: where an adversary is above a limit already, by
    chance alone.
    """
    undrawn = published < 0
    found = _change_rule(views, passages, priors, np.maximum(published, 0), odds)
    found = found._replace(truth=np.where(undrawn | (found.hold < 1), found.truth, 0.0))
    if not undrawn.any():
        return found
    above = [
        (view.protected.shares(prior) > view.protected.limit + _ZERO).any(1)
        for view, prior in zip(views, priors, strict=True)
    ]
    silent = undrawn & np.any(above, axis=0)
    return ChangeRule(np.where(undrawn, 0.0, found.hold), np.where(silent, 0.0, found.truth), found.substitutes)


def _change_rule(
    views: list[View], passages: list[Passage], priors: list[Floats], published: Ints, odds: float
) -> ChangeRule:
    need: Floats = np.full(passages[0].same.shape, 1 / (odds - 1))
    hold, truth = np.ones(len(need)), np.zeros(len(need))
    substitutes = np.full(need.shape, 1 / need.shape[1])
    rows = np.arange(len(need))
    terms: list[_Terms] = []
    for number, seen in [(number, seen) for number, view in enumerate(views) for seen in view.foreseen]:
        limits = views[number].protected.limits(priors[number])
        terms.append(_terms(views[number], seen, passages[number], limits, priors[number], published, need))
        told = ((terms[-1].changed > -_ZERO) | (terms[-1].same + terms[-1].changed > _ZERO)).any((1, 2))
        if told.all():
            return ChangeRule(hold, truth, substitutes)
        if told.any():
            # Most states are at a limit already: work goes on with the others only.
            left = np.flatnonzero(~told)
            rows, need, published = rows[left], need[left], published[left]
            terms = [every.take(left) for every in terms]
            passages, priors = [one.take(left) for one in passages], [one[left] for one in priors]
    truth[rows], substitutes[rows] = _draw(need)
    hold[rows] = _least_hold(terms, truth[rows], substitutes[rows, published])
    return ChangeRule(hold, truth, substitutes)


def _least_hold(terms: list["_Terms"], truth: Floats, substitute: Floats) -> Floats:
    """The least probability to publish the old value for which that tells nobody too much."""
    other = ((1 - truth) * substitute)[:, np.newaxis, np.newaxis]
    least = np.zeros(len(truth))
    for one in terms:
        silent = one.same + one.changed
        drawn = one.same + one.changed * other + one.at_last * truth[:, np.newaxis, np.newaxis]
        over = (drawn > _ZERO) & (silent < drawn)
        asked = np.divide(drawn, drawn - silent, out=np.zeros_like(drawn), where=over)
        least = np.maximum(least, asked.max((1, 2)))
    return np.minimum(least, 1.0)


def _draw(need: Floats) -> tuple[Floats, Floats]:
    """The largest truth, and the substitutes that allow it."""
    total = need.sum(1, keepdims=True)
    shares = np.divide(need, total, out=np.full_like(need, 1 / need.shape[1]), where=total > 0)
    return 1 / (1 + total[:, 0]), shares


def _terms(
    view: View, seen: Foreseen, moved: Passage, limits: Floats, prior: Floats, published: Ints | None, need: Floats
) -> _Terms:
    """Requirements under one observation; raises `need` (states x values) where they ask for more substitutes.

    Layers: past releases, the present, and the value at the time of the observation.
    """
    weight, ends = moved.changed * seen.now, seen.path @ view.protected.member.T
    lost = _lost(view, seen, prior, limits, ends)
    rows: dict[str, list[Floats]] = {"changed": [], "same": []}
    parts = []
    for group, past_same, past_changed in zip(view.layout.groups, moved.past_same, moved.past_changed, strict=True):
        now = seen.now[group.values][:, np.newaxis, :]
        bound = limits[:, group.events][..., np.newaxis]
        later = ends.T[group.events[:, :, np.newaxis], group.values[:, np.newaxis, :]]
        new = np.stack([group.member * now / bound, later / bound], axis=1)
        changed = moved.changed[:, group.values][:, np.newaxis, :, np.newaxis, :]
        part = np.concatenate([past_changed * now, new * changed], axis=1)
        rows["changed"].append(part.sum(-1))
        same = moved.same[:, group.values][:, np.newaxis, :, np.newaxis, :]
        rows["same"].append(np.concatenate([(past_same * now).sum(-1), (new * same).sum(-1)], axis=1))
        parts.append(part - weight[:, group.values][:, np.newaxis, :, np.newaxis, :])
    totals = view.layout.totals(rows["changed"]) - weight.sum(1)[:, np.newaxis, np.newaxis]
    still = view.layout.totals(rows["same"]) - (moved.same @ seen.now)[:, np.newaxis, np.newaxis]
    totals[:, -2:][lost], still[:, -2:][lost] = -1.0, -1.0
    _raise_need(view.layout, parts, totals, lost, need)
    return _Terms(totals, still, _at_last(view.layout, parts, weight, lost, published))


def _lost(view: View, seen: Foreseen, prior: Floats, limits: Floats, ends: Floats) -> Bools:
    """Whether presence and prior alone make an event likelier than its limit: no release could help it."""
    shares = np.stack([(prior * seen.now) @ view.protected.member.T, prior @ ends], axis=1)
    mass = (prior @ seen.now)[:, np.newaxis, np.newaxis]
    return np.asarray(shares > mass * limits[:, np.newaxis] - _ZERO)


def _raise_need(layout: EventLayout, parts: list[Floats], totals: Floats, lost: Bools, need: Floats) -> None:
    """Take the largest of need so far and what these requirements ask for, value by value."""
    scale = np.divide(-1.0, totals, out=np.zeros_like(totals), where=totals < -_ZERO)
    scale[:, -2:][lost] = 0.0
    for group, part in zip(layout.groups, parts, strict=True):
        asked = (part * scale[:, :, group.events][..., np.newaxis]).max((1, 3))
        need[:, group.values] = np.maximum(need[:, group.values], asked)


def _at_last(layout: EventLayout, parts: list[Floats], weight: Floats, lost: Bools, published: Ints | None) -> Floats:
    """The terms of every event at the value published last, which may be in any component."""
    states, layers = len(weight), parts[0].shape[1]
    if published is None:
        return np.zeros((states, layers, len(layout.starts)))
    everyone = np.arange(states)
    found = np.repeat(-weight[everyone, published][:, np.newaxis], layers * len(layout.starts), axis=1)
    found = found.reshape(states, layers, -1)
    place = np.array(layout.place)[published]
    for number, (group, part) in enumerate(zip(layout.groups, parts, strict=True)):
        here = np.flatnonzero(place[:, 0] == number)
        block, column = place[here, 1], place[here, 2]
        events = group.events[block]
        found[here[:, np.newaxis], :, events] = part[here, :, block, :, column].swapaxes(1, 2)
    found[:, -2:][lost] = 0.0
    return found
