"""m-privacy as a requirement that any top-down method can take, provider-blind ones too.

Counts know groups and sensitive codes, nothing of providers. So the table handed to the method has *joint* codes,
provider times number of values plus value, and this requirement takes them apart again.
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import ClassVar, NoReturn

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.data.table import Table
from reissue.errors import InternalError
from reissue.papers.coalition.contributions import Contributions, private
from reissue.requirements import Requirement
from reissue.requirements._base import fitness

__all__ = ["MPrivate", "with_providers"]


@dataclass(frozen=True, eq=False)
class MPrivate(Requirement):
    """What remains of a group without records of any m of its providers still meets a requirement."""

    name: ClassVar[str] = "m-private"
    m: int
    inner: Requirement
    domain: Domain
    """Of the sensitive values alone."""
    providers: int
    """How many providers there are."""

    @property
    def growing(self) -> bool:  # type: ignore[override]
        """Adding records never breaks it if that never breaks the requirement."""
        return self.inner.growing

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """A union of private groups is private if the requirement is growing, else a member may own one of them."""
        return self.inner.growing

    @property
    def least(self) -> int:
        """What the requirement needs at least: what others gave may be as little, and one provider's own group."""
        return max(part.least for part in self.inner.parts())

    def holds(self, counts: Counts) -> Bools:
        """Which groups are m-private; most fail for their size already, which needs no look at values."""
        sizes = counts.rolled(self._provider, self.providers)
        fine: Bools = (_without_largest(sizes, self.m) >= self.least) | (counts.sizes == 0)
        others = [part for part in self.inner.parts() if not part.by_size]
        if others and fine.any():
            left = counts if fine.all() else counts.only(fine)
            fine[fine] = private(Contributions.of_counts(left, self.domain), reduce(and_, others), self.m)
        return fine

    @property
    def _provider(self) -> Ints:
        """Joint code to provider."""
        return np.repeat(np.arange(self.providers), self.domain.size)

    def fitness(self, counts: Counts) -> Floats:
        """How far each group is above the requirement, whoever gave the records."""
        return fitness(self.inner, Contributions.of_counts(counts, self.domain).whole)

    @classmethod
    def parse(cls, argument: str) -> NoReturn:
        """It belongs to one table, so it is never read from text."""
        raise InternalError(f"m-privacy is asked for by an option, not as '{cls.name}={argument}'.")

    def __str__(self) -> str:
        """For messages."""
        return f"{self.inner} against any {self.m} of its providers"


def with_providers(table: Table, providers: Codes, total: int) -> Table:
    """The same table with joint codes of provider and sensitive value."""
    size = table.domain.size
    joint = (providers.astype(np.int64) * size + table.sensitive).astype(np.int32)
    return replace(table, sensitive=joint, domain=Domain(np.bincount(joint, minlength=total * size)))


def _without_largest(sizes: Ints, m: int) -> Ints:
    """Rows of each group (a row of providers each) without its m largest contributors, or all but the smallest."""
    providers = sizes.shape[1]
    few = min(m, providers - 1)
    smaller: Ints = np.partition(sizes, providers - few - 1, axis=1)[:, : providers - few].sum(axis=1)
    smallest: Ints = np.where(sizes > 0, sizes, np.iinfo(np.int64).max).min(axis=1)
    return np.where(np.count_nonzero(sizes, axis=1) > few, smaller, smallest)
