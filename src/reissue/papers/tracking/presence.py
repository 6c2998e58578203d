"""Who was in which release: for each row the run of releases that it was in last, and earlier ones apart.

Most people come once and stay until they leave, so two numbers tell all of them, whether they have left or not.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Ints

__all__ = ["PresenceIntervals"]


@dataclass(frozen=True, eq=False)
class PresenceIntervals:
    """Rows of people, each with the releases in which it was there."""

    first: Codes
    """Row to the first release of its newest stretch, from 0 on."""
    last: Codes
    """Row to the last release of its newest stretch."""
    earlier: Codes
    """PresenceIntervals before that, in no order: row, first and last release (3 x stretches)."""

    @classmethod
    def none(cls) -> "PresenceIntervals":
        """No rows."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int32), np.empty((3, 0), np.int32))

    def after(self, total: int, release: int, rows: Ints | Codes) -> "PresenceIntervals":
        """With one more release, from 0 on, and this many rows in all: which of them are in it; new ones must be."""
        known = len(self.first)
        new = np.full(total - known, release, np.int32)
        first, last = np.concatenate([self.first, new]), np.concatenate([self.last, new])
        back = rows[last[rows] < release - 1]
        left = np.stack([back.astype(np.int32), first[back], last[back]])
        first[back] = release
        last[rows] = release
        return PresenceIntervals(first, last, np.hstack([self.earlier, left]))

    def there(self, rows: Ints, releases: int) -> Bools:
        """Rows x releases: whether each of some rows was there."""
        when = np.arange(releases, dtype=np.int32)
        inside = _within(self.first[rows], self.last[rows], when)
        place = np.full(len(self.first), -1, np.int32)
        place[rows] = np.arange(len(rows))
        row, first, last = self.earlier[:, place[self.earlier[0]] >= 0]
        np.logical_or.at(inside, place[row], _within(first, last, when))
        return inside

    def inside(self, release: int) -> Ints:
        """The rows that were in a release."""
        mine = (self.first <= release) & (release <= self.last)
        row, first, last = self.earlier
        mine[row[(first <= release) & (release <= last)]] = True
        return np.flatnonzero(mine)


def _within(first: Codes, last: Codes, when: Codes) -> Bools:
    return np.asarray((first[:, np.newaxis] <= when) & (when <= last[:, np.newaxis]))
