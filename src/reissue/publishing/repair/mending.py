"""Repair: a release that exposes few people is mended where it hurts, and attacked again.

First the exposed people's groups are joined with their neighbours, where the method's groups may be joined; then the
people themselves are left out, as far as the policy's `suppress` goes. So nobody else pays with larger groups. What
`publish` sends out and what `plan` rehearses are mended by the same code.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.algorithms import find
from reissue.data.table import Table
from reissue.policy import Policy
from reissue.publishing.repair.joining import Joined, join_groups, joinable
from reissue.release.release import Release

__all__ = ["FEW", "Attacked", "Attempt", "Repairs", "make_and_mend"]

_TURNS = 7
"""How often a release is attacked at most."""
_JOINS = 3
"""How often groups are joined before people are left out."""
FEW = 0.05
"""Where more people than this share of the table are exposed, nothing is mended: the method does not fit."""


@dataclass(frozen=True)
class Repairs:
    """What was done to a release before it was let out."""

    turns: int = 0
    left_out: int = 0
    """People left out because the joint attack would have exposed them."""
    groups: int = 0
    """Groups that were joined with a neighbour."""
    rows: int = 0
    """Rows of the groups that this made."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """In plain words, with counts and without values."""
        surely = "the joint attack would have linked people in them to a value more surely than the policy's limit."
        told = []
        if self.groups:
            joined = "1 group was" if self.groups == 1 else f"{self.groups:,} groups were"
            told.append(
                f"{joined} joined with neighbours ({_rows(self.rows)} generalized further): without that {surely}"
            )
        if self.left_out:
            people = "1 person was" if self.left_out == 1 else f"{self.left_out:,} people were"
            told.append(
                f"{people} left out of this release: with everyone in it the joint attack would have linked them to a "
                "value more surely than the policy's limit."
            )
        return tuple(told)


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


class Attacked(Protocol):
    """What attacks found."""

    @property
    def exposed(self) -> Ints:
        """Pseudonyms of the people whom the joint attack exposes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Attempt(ABC):
    """A table that is to become a release: it can be made and attacked, by a ledger or in rehearsal."""

    table: Table
    policy: Policy
    repairs: Repairs = field(default_factory=Repairs)
    widened: Bools | None = None
    """Row to whether its group was joined with another; None: no group was."""

    @abstractmethod
    def anonymize(self, progress: Callable[[float], None]) -> Release:
        """Make the release."""

    @abstractmethod
    def seed(self) -> int:
        """What decides everything random, another one in each turn."""

    @property
    def rows(self) -> int:
        """Rows of the table as it was given."""
        return self.table.rows + self.repairs.left_out

    @property
    def suppress(self) -> float:
        """The share of the rows that the method may still leave out by itself."""
        spare = self.policy.suppress * self.rows - self.repairs.left_out
        return max(0.0, min(spare / max(self.table.rows, 1), 1 - 1e-9))

    def mentioned(self, people: Ints) -> Bools:
        """Row to whether its person is one of some pseudonyms."""
        ids = self.table.ids
        return np.zeros(self.table.rows, np.bool_) if ids is None else np.isin(ids.to_numpy(), people)


A = TypeVar("A", bound=Attempt)
R = TypeVar("R", bound=Attacked)


def make_and_mend(
    attempt: A,
    attack: Callable[[A, Release, Callable[[float], None]], R],
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[A, Release, R]:
    """A release as far as it can be mended, the attempt that made it, and what attacks find in it."""
    release = attempt.anonymize(lambda done: progress(done / 3))
    for turn in range(_TURNS):
        found = attack(attempt, release, lambda done, turn=turn: progress((turn + (1 + done) / 2) / (turn + 1)))  # type: ignore[misc]
        mended = None if turn + 1 == _TURNS else _mended(attempt, release, found.exposed)
        if mended is None:
            break
        attempt, release = mended
    return attempt, release, found


def _mended(attempt: A, release: Release, exposed: Ints) -> tuple[A, Release] | None:
    """The next attempt, or None where nothing is to be mended, or nothing can be."""
    if not 0 < len(exposed) <= FEW * attempt.rows:
        return None
    broken = attempt.mentioned(exposed)
    attempt = replace(attempt, repairs=replace(attempt.repairs, turns=attempt.repairs.turns + 1))
    rng = np.random.default_rng(attempt.seed())
    if attempt.repairs.turns <= _JOINS and broken.any() and joinable(release):
        joined = join_groups(release, broken, rng)
        if joined is not None:
            return _after_joining(attempt, joined), joined.release
    return _left_out(attempt, release, broken, rng)


def _left_out(attempt: A, release: Release, broken: Bools, rng: np.random.Generator) -> tuple[A, Release] | None:
    """The same without the exposed people of today's table: mended on the spot, or made again."""
    method, people = find(attempt.policy.method), int(broken.sum())
    if "after" in method.options and not method.stateful:
        return None  # records of a growing table stay in it
    allowed = attempt.policy.suppress * attempt.rows - attempt.repairs.left_out
    if people > allowed:
        return None
    widened = None if attempt.widened is None else attempt.widened[~broken]
    fewer = replace(attempt, table=attempt.table.some(np.flatnonzero(~broken)), widened=widened)
    fewer = replace(fewer, repairs=replace(attempt.repairs, left_out=attempt.repairs.left_out + people))
    if people and people + release.suppressed <= allowed and joinable(release):
        joined = join_groups(release, broken, rng, keep=~broken)
        if joined is not None:
            return _after_joining(fewer, joined), joined.release
    # Nothing of what was joined before is left.
    fewer = replace(fewer, repairs=replace(fewer.repairs, groups=0, rows=0), widened=None)
    return fewer, fewer.anonymize(lambda _: None)


def _after_joining(attempt: A, joined: Joined) -> A:
    widened = joined.widened if attempt.widened is None else joined.widened | attempt.widened
    done = replace(attempt.repairs, groups=attempt.repairs.groups + joined.groups, rows=int(widened.sum()))
    return replace(attempt, repairs=done, widened=widened)
