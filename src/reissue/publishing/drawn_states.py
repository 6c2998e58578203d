"""What a ledger keeps of a series of randomized values: what the next release needs, and what each one showed."""

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from reissue._arrays import Floats, Ints
from reissue.randomized import Remembered, StartingBeliefs, ValueClasses

__all__ = ["ShownValues", "ValuesState"]


@dataclass(frozen=True, eq=False)
class ValuesState:
    """What a series of randomized values keeps: private, replaced by every release."""

    VERSION: ClassVar[int] = 2

    asked: str
    """What the schema says of settings, limits and changes, which stays the same for the whole series, as JSON."""
    settings: str
    """All settings, with the defaults of the version of Reissue that the series began with, as JSON."""
    values: pl.DataFrame
    """The sensitive columns: a row for each value that may be published, whose number is its code."""
    scales: tuple[pl.DataFrame, ...]
    """The values of each quasi-identifier in the first table, in the order by which classes were made."""
    classes: ValueClasses
    remembered: Remembered
    residents: Floats
    """Classes x values: noisy counts of those in the first release."""
    newcomers: Floats
    """The same of everybody who came later, at the first publication."""
    fitted: float
    """How many newcomers the priors of newcomers were made of."""
    cap: float
    """The largest limit by which values are drawn; lower than the policy's where `average` asks for it."""
    priors: Floats
    """Epochs x adversaries x classes x values."""
    change: Floats
    """Ways x values x values: the probabilities of changes from one release to the next, as they may be."""
    first: Floats
    """Classes x values x values: the first matrices of the last epoch."""
    releases: Ints
    """The numbers of the releases so far."""
    epochs: Ints
    """The epoch of each of them."""
    known: StartingBeliefs
    """What exact releases told of people before."""


@dataclass(frozen=True, eq=False)
class ShownValues:
    """What a release showed of whom, and what it was drawn from: public, but for the pseudonyms."""

    VERSION: ClassVar[int] = 1

    people: Ints
    published: Ints
    classes: Ints
    """Of each person, had this been the first publication; those of an epoch follow those of the epoch before."""
    row: Ints
    """Person to row of `chance`."""
    chance: Floats
    """Distinct likelihoods of a published value, by true value (`PublicRecord.chance`)."""
