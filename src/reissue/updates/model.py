"""UpdateModel: what a sensitive value can become from one release to the next, with what probability.

Every value has a *candidate update set* (CUS): the values that it can be in the next release, including itself if it
can stay (Li and Zhou 2008, definition 12). Sets are *closed*: if b is in CUS(a), then CUS(b) lies within CUS(a). So
whatever can happen in several steps can happen in one, and a person who was absent from a release is no exception.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue.errors import InputError, SchemaError

__all__ = ["MOST_VALUES", "ROUND", "Name", "UpdateModel", "refuse_large"]

Name = str | None
ROUND = 1e-6
"""Tolerance of sums of probabilities."""
MOST_VALUES = 5_000
"""Limit of a dense matrix of all pairs: 200 MB of floats."""


@dataclass(frozen=True, eq=False)
class UpdateModel:
    """Which values can become which, with what probability: a matrix over the sensitive values."""

    names: tuple[Name, ...]
    """The values as text; None is the missing value."""
    chance: Floats
    """From x to: the probability of each update; rows sum to 1. Empty if no value ever changes."""
    even: bool = False
    """Whether all updates of a value are equally likely, for lack of better knowledge."""

    def __post_init__(self) -> None:
        size = len(self.names)
        if len(set(self.names)) < size:
            raise InputError("An update model names each value once.")
        if not self.chance.size:
            return
        if self.chance.shape != (size, size) or (self.chance < 0).any():
            raise InputError("An update model needs one probability, not negative, for each pair of values.")
        if size and np.abs(self.chance.sum(axis=1) - 1).max() > ROUND:
            raise InputError("The probabilities of a value's updates must sum to 1.")

    @cached_property
    def can(self) -> Bools:
        """From x to: whether the update is possible; a row is a candidate update set."""
        return self.chance > 0 if self.chance.size else np.eye(len(self.names), dtype=np.bool_)

    @property
    def stays(self) -> bool:
        """Whether every value can stay what it is."""
        return bool(self.can.diagonal().all())

    @cached_property
    def fixed(self) -> bool:
        """Whether values never change."""
        return not self.chance.size or not (self.can & ~np.eye(len(self.names), dtype=np.bool_)).any()

    def gap(self) -> tuple[int, int, int] | None:
        """Positions a, b, c such that a can become b and b can become c, but a cannot become c; None if closed."""
        if self.fixed:
            return None
        steps = self.can.astype(np.float32)
        lacking = ((steps @ steps) > 0) & ~self.can
        if not lacking.any():
            return None
        a, c = (int(place) for place in np.argwhere(lacking)[0])
        return a, int(np.flatnonzero(self.can[a] & self.can[:, c])[0]), c

    def checked(self) -> "UpdateModel":
        """Return the model itself if it is closed; else raise an error that names values by position."""
        found = self.gap()
        if found is not None:
            a, b, c = (place + 1 for place in found)
            raise SchemaError(
                f"The update model is not closed: value {a} can become value {b}, and value {b} can become value {c}, "
                f"but value {a} cannot become value {c} (values are counted in the order in which the model first "
                "names them). Add the missing update, or write  close = true  under [updates] to add all such updates."
            )
        return self

    def closed(self) -> "UpdateModel":
        """Return the model with every update that can happen in several steps as a single step.

        Equally likely updates stay equally likely; other probabilities are averaged over 1, 2, ... steps.
        """
        if self.gap() is None:
            return self
        total, power, steps = self.chance, self.chance, 1
        while ((power @ self.chance > 0) & (total <= 0)).any():
            power = power @ self.chance
            total, steps = total + power, steps + 1
        return UpdateModel.evenly(self.names, total > 0) if self.even else UpdateModel(self.names, total / steps)

    def aligned(self, names: Sequence[Name]) -> "UpdateModel":
        """Return the model with the given values first, in their order; values unknown to it never change."""
        known = {name: place for place, name in enumerate(self.names)}
        given = set(names)
        order = [*names, *(name for name in self.names if name not in given)]
        if self.fixed:
            return UpdateModel.none(order)
        refuse_large(len(order))
        chance = np.eye(len(order))
        mine = np.array([place for place, name in enumerate(order) if name in known])
        old = np.array([known[order[place]] for place in mine], np.int64)
        if len(mine):
            chance[np.ix_(mine, mine)] = self.chance[np.ix_(old, old)]
        return UpdateModel(tuple(order), chance, self.even)

    def steps(self, number: int) -> Floats:
        """The probabilities of updates over this many releases."""
        return np.eye(len(self.names)) if self.fixed else np.asarray(np.linalg.matrix_power(self.chance, number))

    @cached_property
    def kinds(self) -> Ints:
        """The number of each value's candidate update set; equal sets have equal numbers."""
        if self.fixed:
            return np.arange(len(self.names))
        packed = np.packbits(self.can, axis=1)
        return np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @cached_property
    def branches(self) -> Ints | None:
        """The branch of each value, if values change within branches whatever they are now; else None."""
        if self.fixed:
            return np.arange(len(self.names))
        first = np.unique(self.kinds, return_index=True)[1]
        apart = self.kinds[:, np.newaxis] != self.kinds[np.newaxis]
        if (self.can & apart).any() or not np.array_equal(self.chance, self.chance[first[self.kinds]]):
            return None
        return self.kinds

    def frame(self) -> pl.DataFrame:
        """The model as a file stores it: from, to, probability."""
        before, after = np.nonzero(self.can)
        names = pl.Series(self.names, dtype=pl.String)
        chance = self.chance[before, after] if self.chance.size else np.ones(len(before))
        return pl.DataFrame({"from": names.gather(before), "to": names.gather(after), "probability": chance})

    # --- where models come from --------------------------------------------------------------------------------------

    @classmethod
    def none(cls, names: Sequence[Name] = ()) -> "UpdateModel":
        """The model in which values never change."""
        return cls(tuple(names), np.empty((0, 0)), even=True)

    @classmethod
    def evenly(cls, names: Sequence[Name], can: Bools) -> "UpdateModel":
        """The model in which all possible updates of a value are equally likely."""
        return cls(tuple(names), can / can.sum(axis=1, keepdims=True), even=True)

    @classmethod
    def product(
        cls, models: Sequence["UpdateModel"], parts: Sequence[Sequence[Name]], names: Sequence[Name]
    ) -> "UpdateModel":
        """The model of combinations of columns that change independently of each other.

        Combinations in `names` have the values in `parts`, column by column. The probability of becoming any other
        combination is distributed over those that are named.
        """
        if all(model.fixed for model in models):
            return cls.none(names)
        refuse_large(len(names))
        chance = np.ones((len(names), len(names)))
        for at, model in enumerate(models):
            place = {name: number for number, name in enumerate(model.names)}
            own = np.array([place[part[at]] for part in parts], np.int64)
            each = np.eye(len(model.names)) if model.fixed else model.chance
            chance *= each[np.ix_(own, own)]
        total = chance.sum(axis=1, keepdims=True)
        chance = np.where(total > 0, chance / np.where(total > 0, total, 1), np.eye(len(names)))
        even = all(model.even or model.fixed for model in models)
        return cls.evenly(names, chance > 0) if even else cls(tuple(names), chance)

    @classmethod
    def of_pairs(cls, before: Sequence[Name], after: Sequence[Name], chance: Sequence[float] | None) -> "UpdateModel":
        """The model of listed updates; the remaining probability of a value is that of staying.

        Without probabilities a value can always stay, and all of its updates are equally likely.
        """
        names = tuple(dict.fromkeys(name for pair in zip(before, after, strict=True) for name in pair))
        place = {name: number for number, name in enumerate(names)}
        pairs = np.array([[place[a], place[b]] for a, b in zip(before, after, strict=True)], np.int64).reshape(-1, 2)
        refuse_large(len(names))
        if chance is None:
            can = np.eye(len(names), dtype=np.bool_)
            can[pairs[:, 0], pairs[:, 1]] = True
            return cls.evenly(names, can)
        given = np.zeros((len(names), len(names)))
        np.add.at(given, (pairs[:, 0], pairs[:, 1]), np.asarray(chance, np.float64))
        over = np.flatnonzero(given.sum(axis=1) > 1 + ROUND)
        if len(over) or not np.isfinite(given).all() or (given < 0).any():
            raise SchemaError(
                "The probabilities of updates must be numbers from 0 to 1, and those of one value must sum to 1 at "
                f"most ({len(over)} values exceed that)."
            )
        rest = 1 - given.sum(axis=1)
        given[np.diag_indices(len(names))] += np.where(rest > ROUND, rest, 0)
        return cls(names, given / given.sum(axis=1, keepdims=True))

    @classmethod
    def in_branches(cls, names: Sequence[Name], branch: Ints) -> "UpdateModel":
        """The model in which a value can become any value of the same branch."""
        return cls.evenly(names, branch[:, None] == branch[None, :])

    @classmethod
    def never_lower(cls, names: Sequence[Name]) -> "UpdateModel":
        """The model in which a value can become any later one of an ascending list."""
        return cls.evenly(names, np.triu(np.ones((len(names), len(names)), np.bool_)))

    @classmethod
    def learned(cls, tables: Sequence[pl.DataFrame], person: str, value: str, smoothing: float = 1.0) -> "UpdateModel":
        """Estimate a model from tables in order of time.

        Possible are the updates that were seen between consecutive tables, in one step or several; `smoothing` is added
        to the count of each possible update.
        """
        if len(tables) < 2 or not 0 < smoothing < float("inf"):
            raise InputError("Learning updates needs two tables or more, and a smoothing above 0.")
        people = pl.col(person).alias("person")
        texts = [table.select(people, pl.col(value).cast(pl.String).alias("v")) for table in tables]
        names: list[Name] = pl.concat([text["v"] for text in texts]).unique().sort(nulls_last=True).to_list()
        place = pl.DataFrame({"v": pl.Series(names, dtype=pl.String), "n": range(len(names))})
        coded = [text.join(place, on="v", nulls_equal=True).select("person", "n") for text in texts]
        seen = np.zeros((len(names), len(names)))
        for before, after in pairwise(coded):
            both = before.join(after, on="person", suffix="_next")
            np.add.at(seen, (both["n"].to_numpy(), both["n_next"].to_numpy()), 1)
        can = (seen > 0) | np.eye(len(names), dtype=np.bool_)
        can = cls.evenly(names, can).closed().can
        counts = seen + smoothing * can
        return cls(tuple(names), counts / counts.sum(axis=1, keepdims=True))


def refuse_large(size: int) -> None:
    """Raise InputError if a model of this many values would not fit into memory."""
    if size > MOST_VALUES:
        raise InputError(f"An update model may have {MOST_VALUES:,} sensitive values at most; group them first.")
