"""Posteriors of the values that a policy protects: of each sensitive column by itself, and of all columns together.

The joint attack solves for the values of all sensitive columns together. What it finds of one column is the sum over
all values that agree in it. Every probability is weighed by how strict its limit is, so that a person's worst claim is
the one that comes closest to its own limit, or exceeds it most: claims are compared by *score*, the probability times
the strictest limit over the value's own limit. Where all values have one limit, scores are probabilities. A value that
needs no protection scores 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.joint.solving.beliefs import TIED, Beliefs
from reissue.protection import Protection, ValueView
from reissue.solver.observations import Layer, Observation

__all__ = ["Lens", "lenses_of", "plain_lens"]


@dataclass(frozen=True, eq=False)
class Lens:
    """Everyone's posterior of the labels of one view, by release."""

    view: ValueView
    layers: tuple[Layer, ...]
    chance: tuple[Floats, ...]
    """Layer to the probability of each entry; entries have labels for values."""
    priors: tuple[Floats, ...]
    """Layer to the share of each label among the records published."""
    weights: tuple[Floats, ...]
    """Layer to the strictest limit over the limit of each label; 0 where it needs no protection."""

    @cached_property
    def _scores(self) -> list[Floats]:
        pairs = zip(self.layers, self.chance, self.weights, strict=True)
        return [chance * weight[layer.value] for layer, chance, weight in pairs]

    def largest(self, place: int, common: Floats | None = None) -> tuple[Floats, Ints, Floats]:
        """Row of a layer to its largest score, the label that has it, and its probability.

        Of labels that score alike the one that is `common`est among the values of the true tables; else the first.
        """
        layer, score = self.layers[place], self._scores[place]
        if not len(layer.person):
            return np.empty(0), np.empty(0, np.int64), np.empty(0)
        top = np.maximum.reduceat(score, layer.starts[:-1])
        known = np.zeros(len(self.view.names)) if common is None else self._of_labels(common)
        rank = np.where(self.as_sure(place, top), 1.0 + known[layer.value], 0.0)
        hits = np.flatnonzero(rank == np.maximum.reduceat(rank, layer.starts[:-1])[layer.row])[::-1]
        entry = np.empty(len(layer.person), np.int64)
        entry[layer.row[hits]] = hits
        label = layer.value[entry]
        return top, label, np.where(self.view.protected[label], self.chance[place][entry], 0.0)

    def as_sure(self, place: int, top: Floats) -> Bools:
        """Entry of a layer to whether it scores as high as its row's highest, but for rounding."""
        return np.asarray(self._scores[place] >= top[self.layers[place].row] * (1 - TIED))

    def certain(self, place: int) -> Bools:
        """Row of a layer to whether only one label is possible, and needs protection."""
        layer, chance = self.layers[place], self.chance[place]
        possible = layer.sums((chance > 0).astype(np.float64)) == 1
        guarded = layer.sums(((chance > 0) & self.view.protected[layer.value]).astype(np.float64)) > 0
        return np.asarray(possible & guarded)

    def _of_labels(self, common: Floats) -> Floats:
        """Label to how common it is, from the same of values; there may be more or fewer values than in the view."""
        known = common[: len(self.view.label)]
        return np.bincount(self.view.label[: len(known)], known, len(self.view.names)).astype(np.float64)

    def labels(self, values: Ints) -> Ints:
        """The labels of some values, -1 for none."""
        return np.where((values >= 0) & (values < len(self.view.label)), self._label_of(values), -1)

    def _label_of(self, values: Ints) -> Ints:
        return self.view.label[np.clip(values, 0, max(len(self.view.label) - 1, 0))]


def lenses_of(
    beliefs: Beliefs, series: Sequence[Observation], protection: Protection, names: Sequence[str | None]
) -> tuple[Lens, ...]:
    """What is believed of the values of each column, and of all together; `names` are the texts of the values."""
    counts = [_shown(seen, len(names)) for seen in series]
    return tuple(_lens(beliefs, view, counts, protection.strictest) for view in protection.views(names))


def plain_lens(beliefs: Beliefs) -> Lens:
    """What is believed of all values, each with the same limit."""
    values = 1 + max((int(layer.value.max(initial=-1)) for layer in beliefs.layers), default=-1)
    view = ValueView("", (None,) * values, np.arange(values), np.ones(values), np.inf)
    ones = (np.ones(values),) * len(beliefs.layers)
    return Lens(view, beliefs.layers, beliefs.chance, ones, ones)


def _shown(seen: Observation, values: int) -> Floats:
    """Value to how many records of it are published."""
    return np.bincount(seen.slot_value, seen.slot_count, values).astype(np.float64)


def _lens(beliefs: Beliefs, view: ValueView, counts: Sequence[Floats], strictest: float) -> Lens:
    priors = tuple(view.shares(one) for one in counts)
    weights = tuple(strictest / np.maximum(view.limits(prior), 1e-12) for prior in priors)
    pairs = zip(beliefs.layers, beliefs.chance, strict=True)
    merged = [(layer, chance) if view.whole else _merged(layer, chance, view) for layer, chance in pairs]
    return Lens(view, tuple(one for one, _ in merged), tuple(one for _, one in merged), priors, weights)


def _merged(layer: Layer, chance: Floats, view: ValueView) -> tuple[Layer, Floats]:
    """Entries of a person that have one label as one entry."""
    keys = layer.row.astype(np.int64) * len(view.names) + view.label[layer.value]
    distinct, place = np.unique(keys, return_inverse=True)
    row, label = np.divmod(distinct, max(len(view.names), 1))
    starts = np.searchsorted(row, np.arange(len(layer.person) + 1))
    # Sums of probabilities may round above 1.
    return replace(layer, starts=starts, value=label), np.minimum(np.bincount(place, chance, len(distinct)), 1.0)
