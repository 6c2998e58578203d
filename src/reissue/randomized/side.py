"""The side table of a randomized release: what is published beside it, so that analysts can estimate.

**Format.** A tidy table in any file format of tables (CSV, Parquet, ...), one row for each class, published value and
true value. It has no comments and no header of its own: every tool reads it, and joins it in one line.

| column | meaning |
| --- | --- |
| `value_class` | the class; the release has a column of that name, row by row |
| the sensitive columns, as the release names them | the published value |
| `true_...`, one for each sensitive column | the true value |
| `chance` | the probability of the published value, given the true one (and the class) |
| `share` | the share of the true value among people of the class, as estimated from public information alone |
| `expected` | the probability of the true value, given the published one: `share * chance`, normalized |
| `unbiased` | the inverse of `chance`: weights whose mean is 1 at the true value and 0 at all others |
| `truth` | the class's share of published values that are true |
| `condition` | the class's condition number; where it is large, `unbiased` weights give large errors |
| `definition` | the class in words |
| `version` | 1 |

    SELECT t.true_disease, SUM(t.unbiased) FROM release r JOIN side t USING (value_class, disease) GROUP BY 1

**What publishing must do.**

1. Give every row of the release a column `value_class`. Compute it from the row's *published* quasi-identifiers by
   `ValueClasses.of_boxes`: the class of the middle of the published box. So it is a function of what the row shows, and
   tells nothing beyond, whatever the method of grouping; groups need not nest in classes. (A class computed from exact
   quasi-identifiers would narrow the box of whoever's group spans two classes.) The classes of `TrueValues`, by which
   matrices are chosen, stay those of the exact quasi-identifiers at the first publication.
2. Call `side_table(published, belief, prior, classes, number, values=..., definitions=...)` with these classes and the
   beliefs of the adversary of the policy who knows most, and write `SideTable.frame()` beside the release with
   `reissue.files.tables.write_file`, which escapes formulas in it as it does in the release.
3. Refuse schemas with a column named `value_class`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import sparse

from reissue._arrays import Floats, Ints
from reissue.errors import DataError, InputError
from reissue.files.tables import read_file
from reissue.randomized.adversaries import normalized

__all__ = ["CLASS", "TRUE", "SideTable", "side_table"]

CLASS, TRUE = "value_class", "true_"
"""The column of classes, and how columns of true values begin."""
_VERSION = 1
_OWN = ("chance", "share", "expected", "unbiased", "truth", "condition", "definition", "version")
_BORROWED = 1.0
"""People's worth of all rows that each class borrows, so that no value of it is without any."""
_LEAST = 1e-9
"""Keeps quotients finite."""
_STEPS, _SETTLED = 500, 1e-4
"""Rounds of EM at most; and the share of people by which a count may still move."""
_SINGULAR = 1e-10
"""Smaller singular values, as a share of the largest, are left out of inverses."""
_NEAR = 1e-6
"""How far the sum of shares may be from 1 in a file."""


@dataclass(frozen=True, eq=False)
class SideTable:
    """What is published beside the rows, by class: enough to estimate, nothing that rows and mechanism do not tell.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from reissue.randomized import SideTable
    >>> chance, share = np.array([[[0.8, 0.2], [0.3, 0.7]]]), np.array([[0.4, 0.6]])
    >>> side = SideTable(chance, share, pl.DataFrame({"flu": ["yes", "no"]}))
    >>> side.frame().select("flu", "true_flu", "chance", "expected").rows()[0]
    ('yes', 'yes', 0.8, 0.64)
    """

    chance: Floats
    """Classes x true values x published values: the probability of each published value; sums to 1 over these."""
    share: Floats
    """Classes x true values."""
    values: pl.DataFrame
    """What each code means: a row for each value, a column for each sensitive column, named as in the release."""
    definitions: tuple[str, ...] = ()
    """Class to what it is in words."""

    def __post_init__(self) -> None:
        number, size = self.share.shape
        if self.chance.shape != (number, size, size) or self.values.height != size:
            raise InputError(
                "A side table needs probabilities of classes x values x values, and a name for each value."
            )
        taken = {CLASS, *_OWN} & set(self.values.columns)
        if taken or any(name.startswith(TRUE) for name in self.values.columns):
            raise InputError(
                f"A sensitive column may not be called {', '.join(sorted(taken)) or TRUE + '...'} where values are "
                "randomized: the side table has a column of that name. Rename it."
            )

    @cached_property
    def expected(self) -> Floats:
        """Classes x published values x true values: the probability of each true value; sums to 1 over these."""
        return normalized((self.share[:, :, np.newaxis] * self.chance).swapaxes(1, 2))

    @cached_property
    def unbiased(self) -> Floats:
        """The same shape: the inverse of `chance`; sums to 1 over true values."""
        return np.asarray(np.linalg.pinv(self.chance, rcond=_SINGULAR), np.float64)

    def collapsed(self, member: Floats) -> Floats:
        """Classes x published values x categories: weights of categories of true values.

        `member` (values x categories) says which values are in each. The mean of the weights is 1 at the true category
        and 0 at all others, if the class's shares hold within each category; of all such weights these have the least
        variance (generalized least squares). They sum to 1 over categories.
        """
        mass = self.share @ member
        given = np.einsum("cv,vk,cvy->cky", self.share, member, self.chance) / mass[:, :, np.newaxis]
        root = np.sqrt(np.einsum("cv,cvy->cy", self.share, self.chance))[:, np.newaxis, :]
        scaled = given / root
        return np.asarray((np.linalg.pinv(scaled @ scaled.swapaxes(1, 2)) @ scaled / root).swapaxes(1, 2), np.float64)

    @cached_property
    def condition(self) -> Floats:
        """Class to the condition number of `chance`; large where `unbiased` gives large errors."""
        return np.asarray(np.linalg.cond(self.chance), np.float64)

    @cached_property
    def truth(self) -> Floats:
        """Class to the share of published values that are true."""
        return np.asarray(np.einsum("cv,cvv->c", self.share, self.chance), np.float64)

    def weights(self, classes: Ints, published: Ints, kind: Literal["unbiased", "expected"] = "unbiased") -> Floats:
        """Rows x true values."""
        return np.asarray((self.unbiased if kind == "unbiased" else self.expected)[classes, published], np.float64)

    def frame(self) -> pl.DataFrame:
        """The public table: a row for each class, published value and true value."""
        number, size = self.share.shape
        at, shown, true = (one.ravel() for one in np.indices((number, size, size)))
        definitions = self.definitions or ("",) * number
        true_values = self.values[true].rename({name: TRUE + name for name in self.values.columns})
        numbers = pl.DataFrame({
            "chance": self.chance[at, true, shown],
            "share": self.share[at, true],
            "expected": self.expected[at, shown, true],
            "unbiased": self.unbiased[at, shown, true],
            "truth": self.truth[at],
            "condition": self.condition[at],
            "definition": pl.Series(definitions, dtype=pl.String).gather(at),
            "version": np.full(len(at), _VERSION),
        })  # fmt: skip
        first = pl.DataFrame({CLASS: at + 1})
        found: pl.DataFrame = pl.concat([first, self.values[shown], true_values, numbers], how="horizontal")
        return found

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> "SideTable":
        """A side table as `frame` gives it, from anybody: it is checked.

        Raises
        ------
        DataError
            If it is no side table, or not a complete one.
        """
        columns = [name for name in frame.columns if TRUE + name in frame.columns]
        lacking = {CLASS, "chance", "share"} - set(frame.columns)
        if lacking or not columns or frame.is_empty():
            raise DataError(
                "This is no side table of a randomized release: it needs the columns value_class, chance, share, and "
                f"for each sensitive column its name and {TRUE}name."
            )
        if "version" in frame.columns and frame["version"].n_unique() == 1 and frame["version"][0] != _VERSION:
            raise DataError(f"The side table has another version than {_VERSION}. Update Reissue.")
        values = frame.select(columns).unique(maintain_order=True)
        number, size = int(frame[CLASS].cast(pl.Int64, strict=False).max() or 0), values.height  # type: ignore[arg-type]
        at = frame[CLASS].cast(pl.Int64, strict=False).fill_null(0).to_numpy() - 1
        shown = codes_of(values, frame.select(columns))
        true = codes_of(values, frame.select(pl.col(TRUE + name).alias(name) for name in columns))
        chance, share = np.full((number, size, size), np.nan), np.full((number, size), np.nan)
        if min(at.min(initial=0), shown.min(initial=0), true.min(initial=0)) < 0:
            raise DataError("The side table has a row without a class, or a true value that is never published.")
        chance[at, true, shown] = frame["chance"].cast(pl.Float64, strict=False).to_numpy()
        share[at, true] = frame["share"].cast(pl.Float64, strict=False).to_numpy()
        sums = np.abs(np.concatenate([chance.sum(2).ravel(), share.sum(1)]) - 1)
        if not (sums <= _NEAR).all() or (chance < 0).any() or (share < 0).any():
            raise DataError(
                "The side table is not complete: each class needs every pair of values, with probabilities that sum "
                "to 1."
            )
        first = np.unique(at, return_index=True)[1]
        texts = frame["definition"].cast(pl.String).fill_null("").gather(first) if "definition" in frame.columns else ()
        return cls(chance, share, values, tuple(texts))

    @classmethod
    def read(cls, source: Any) -> "SideTable":
        """A side table from a file or a Polars frame; a side table is returned as it is."""
        if isinstance(source, SideTable):
            return source
        frame: pl.DataFrame = source if isinstance(source, pl.DataFrame) else read_file(Path(source))
        return cls.of_frame(frame)


def codes_of(values: pl.DataFrame, rows: pl.DataFrame) -> Ints:
    """The row of `values` that each row of another frame is equal to, as text; -1 where there is none."""
    names = values.columns
    known = values.with_columns(pl.all().cast(pl.String)).with_columns(pl.int_range(pl.len()).alias("\0code"))
    found = rows.select(pl.col(name).cast(pl.String) for name in names).join(
        known, on=names, how="left", nulls_equal=True, maintain_order="left"
    )
    return np.asarray(found["\0code"].fill_null(-1).to_numpy(), np.int64)


def side_table(
    published: Ints,
    belief: Floats,
    prior: Floats,
    classes: Ints,
    number: int,
    *,
    worth: float = 1.0,
    values: pl.DataFrame | None = None,
    definitions: Sequence[str] = (),
) -> SideTable:
    """Summarize what is public about a release's rows by class.

    The priors behind beliefs may be wrong for these people, and `chance` must not inherit that: it is computed with
    the shares of true values under which the published values of the class are likeliest (EM), in place of the
    prior's. At a first publication it is then the first matrix itself, whatever the prior was. `share` uses the prior
    too, which noisy counts of these people made: it is far more precise than published values are.

    Parameters
    ----------
    published, classes
        Of each row. Classes may be any that the published rows tell (`ValueClasses.of_boxes`).
    belief, prior
        Rows x values: what is believed of each row, and what presence alone tells.
    number
        How many classes there are.
    worth
        How many rows of evidence the prior of a row counts as in `share`; 0 if it does not tell classes apart, or comes
        from elsewhere.
    values
        What each code means: a row for each value, a column for each sensitive column as the release has it. Without
        them codes are their own names, in a column `value`.
    definitions
        Each class in words.
    """
    size = belief.shape[1]
    joint = np.zeros((number, size, size))
    np.add.at(joint.swapaxes(1, 2), (classes, published), _fitted(belief, prior, classes, number, 0.0))
    every = joint.sum(0) + _LEAST * np.eye(size)
    chance = normalized(joint + _BORROWED * every / every.sum())
    share = _totals(_fitted(belief, prior, classes, number, worth), classes, number) + every.sum(1) / every.sum()
    named = pl.DataFrame({"value": np.arange(size)}) if values is None else values
    return SideTable(chance, normalized(share), named, tuple(definitions))


def _fitted(belief: Floats, prior: Floats, classes: Ints, number: int, worth: float) -> Floats:
    """Beliefs with the priors of each class tilted until, value by value, they agree with what is believed on average.

    The prior counts as `worth` rows for each row, and one more for each class, so that no share becomes 0.
    """
    tilt, expected = np.ones((number, belief.shape[1])), _totals(prior, classes, number) + _LEAST
    weight = worth + 1 / expected.sum(1, keepdims=True)
    for _ in range(_STEPS):
        after, before = (_totals(normalized(one * tilt[classes]), classes, number) for one in (belief, prior))
        step = (after + weight * expected) / ((1 + weight) * before + _LEAST)
        tilt = tilt * step
        if np.abs(before * (step - 1)).max() < _SETTLED * len(belief):
            break
    return normalized(belief * tilt[classes])


def _totals(rows: Floats, classes: Ints, number: int) -> Floats:
    """Sums by class."""
    member = sparse.csr_array((np.ones(len(classes)), (classes, np.arange(len(classes)))), (number, len(classes)))
    return np.asarray(member @ rows)
