"""Protects tables of counts: rounding, cell keys, and suppression whose hidden cells totals do not give away.

- *Deterministic rounding* to the nearest multiple of a base.
- *Random rounding* to either neighbour, so that the expected count is the true one.
- *Cell keys* (Fraser and Wooton 2005; Thompson, Broadfoot and Elazar 2013): everyone has a key, and the sum of the keys
  of the people in a cell decides its noise. The same people get the same noise in every table, now and later. Noise is
  whole, at most `most`, and has expectation 0; zeros stay zeros.
- *Suppression*: cells below a threshold are hidden, and then further ones (complementary suppression) until no hidden
  cell can be told more closely than the threshold by totals.

Keys come from a secret, so nobody else can compute them. Random rounding is decided by cell keys, too: it is the same
for the same people.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.contingency.bounds import bounds
from reissue.contingency.table import CountTable
from reissue.errors import InputError, nearest

__all__ = ["METHODS", "Protector", "cell_keys", "protect", "protector_from"]

KEYS = 1 << 16
"""Number of different keys."""
METHODS = ("round", "random", "cellkey", "threshold", "dp")
_EPSILON = re.compile(r"\d+(?:\.\d+)?")
_LARGEST_EPSILON = 100.0
_TRIES = 400
"""Cells hidden beside small ones, at most."""


@dataclass(frozen=True)
class Protector:
    """A method, and its number: the base, the most noise, or the threshold."""

    method: str
    number: int
    epsilon: float = 0.0
    """The budget of a release, for differentially private counts."""

    def __str__(self) -> str:
        """As `protector_from` reads it."""
        return f"{self.method}={self.epsilon or self.number:g}"


def protector_from(text: str) -> Protector:
    """Read a protection: `round=5`, `random=3`, `cellkey=2`, `threshold=5` or `dp=0.5`."""
    name, _, number = (part.strip() for part in text.partition("="))
    if name not in METHODS:
        raise InputError(
            "Counts are protected by round=5, random=3, cellkey=2, threshold=5 or dp=0.5." + nearest(name, METHODS)
        )
    if name == "dp":
        if not _EPSILON.fullmatch(number) or not 0 < float(number) <= _LARGEST_EPSILON:
            raise InputError("Write the budget of a release as in dp=0.5: above 0, and 100 at most.")
        return Protector(name, 0, float(number))
    if not number.isdecimal() or int(number) < 1 or (name in {"round", "random", "threshold"} and int(number) < 2):
        raise InputError(f"Write {name} with a whole number: {name}=5.")
    return Protector(name, int(number))


def cell_keys(rows: pl.DataFrame, keys: Ints, table: CountTable) -> Ints:
    """The sum of the keys of the people in each cell.

    `rows` has a row for each person with the table's dimensions as text; totals are cells of their own.
    """
    made = np.zeros(table.cells, np.int64)
    named = rows.select(table.dimensions).with_columns(pl.Series("\0key", keys))
    for margin in table.margins():
        sums = (
            named.group_by(margin.dimensions).agg(pl.col("\0key").sum())
            if margin.dimensions
            else named.select(pl.col("\0key").sum())
        )
        if margin.dimensions:
            found = margin.categories.join(sums, on=list(margin.dimensions), how="left", maintain_order="left")["\0key"]
        else:
            found = sums["\0key"]
        made[margin.cell] = found.fill_null(0).to_numpy()
    return np.asarray(made % KEYS)


def protect(table: CountTable, how: Protector, keys: Ints | None = None) -> CountTable:
    """The table as it may go out: every cell as the interval that its published form says.

    Parameters
    ----------
    table
        True counts.
    how
        The method.
    keys
        The key of each cell, for methods that draw.

    Examples
    --------
    >>> import polars as pl
    >>> from reissue.contingency import CountTable
    >>> from reissue.contingency.protection import protect, protector_from
    >>> table = CountTable.of("count", pl.DataFrame({"sex": ["f", "m"]}), [12, 3])
    >>> protect(table, protector_from("round=5")).low.tolist()
    [8, 3]

    """
    true = table.low
    if how.method == "threshold":
        return _suppressed(table, how.number)
    if how.method == "round":
        near = (true + how.number // 2) // how.number * how.number
        return _spread(table, near, how.number // 2, how.number)
    if how.method == "dp":
        raise InputError("Differentially private counts are drawn for all tables of a release together.")
    if keys is None:
        raise InputError("This protection draws by keys of people, which a ledger has: give --ledger.")
    share = (keys + 0.5) / KEYS
    if how.method == "random":
        below = true // how.number * how.number
        up = share < (true - below) / how.number
        return _spread(table, below + up * how.number, how.number - 1, how.number)
    noise = np.searchsorted(np.cumsum(noise_of(how.number)), share) - how.number
    shown = np.where(true > 0, np.maximum(true + noise, 0), 0)
    made = _spread(table, shown, how.number, 1)
    # Zeros stay zeros, and nothing else is known not to be one where noise may have made it one.
    zero = shown == 0
    return replace(made, low=np.where(zero, 0, np.maximum(made.low, 1)), high=np.where(zero, how.number, made.high))


def noise_of(most: int) -> Floats:
    """Probability of each noise from -most to most: that of largest entropy with half the variance of even noise."""
    values = np.arange(-most, most + 1)
    variance = most * (most + 1) / 6
    low, high = 0.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        weight = np.exp(-middle * values**2)
        low, high = (middle, high) if (weight * values**2).sum() / weight.sum() > variance else (low, middle)
    weight = np.exp(-low * values**2)
    return np.asarray(weight / weight.sum())


def _spread(table: CountTable, shown: Ints, width: int, base: int) -> CountTable:
    """Published numbers as intervals of the given width on both sides."""
    return replace(table, low=np.maximum(shown - width, 0), high=shown + width, base=base, shown=shown)


def _suppressed(table: CountTable, threshold: int) -> CountTable:
    """Small cells hidden, and others until totals leave every hidden cell as wide as the threshold."""
    true = table.low
    hidden = (true > 0) & (true < threshold)
    for _ in range(_TRIES):
        shown = _with_hidden(table, hidden, threshold)
        (found,) = bounds([shown])
        told = np.flatnonzero(hidden & (found.high - found.low < threshold - 2))
        if not len(told):
            return shown
        beside = (_neighbours(table, cell, hidden) for cell in told.tolist())
        more = next((cells for cells in beside if len(cells)), None)
        if more is None:
            break
        hidden[more[np.argmin(true[more])]] = True
    return _with_hidden(table, hidden, threshold)


def _with_hidden(table: CountTable, hidden: np.ndarray, threshold: int) -> CountTable:
    """The table with some cells hidden; how large one is that was hidden beside small ones is not said."""
    beside = hidden & (table.low >= threshold)
    high = np.where(beside, max(int(table.low.max(initial=1)), threshold), threshold - 1)
    low = np.where(hidden, 1, table.low)
    return replace(table, low=low, high=np.where(hidden, high, table.low), hidden=int(hidden.sum()))


def _neighbours(table: CountTable, cell: int, hidden: np.ndarray) -> Ints:
    """Cells that are in a sum with a cell and may be hidden beside it: same margin, all but one category the same."""
    rows = table.categories.rows()
    own = rows[cell]
    pattern = [text is None for text in own]
    found = [
        place
        for place, row in enumerate(rows)
        if not hidden[place]
        and table.low[place] > 0
        and [text is None for text in row] == pattern
        and sum(one != other for one, other in zip(row, own, strict=True)) == 1
    ]
    return np.array(found, np.int64)


def errors(true: Sequence[CountTable], published: Sequence[CountTable]) -> Floats:
    """Absolute error of each published cell; of a hidden one by the middle of its interval."""
    made = []
    for one, other in zip(true, published, strict=True):
        middle = (other.low + other.high) / 2 if other.shown is None else other.shown
        made.append(np.abs(one.low - middle))
    return np.concatenate(made)
