"""A figure of a paper: how ours is made, what the paper's text says of its curves, and whether that holds here."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import polars as pl

__all__ = ["DETERMINISTIC", "Claim", "Curves", "Figure", "Paper", "Row", "Verdict", "falls", "only", "rises", "span"]

Row = tuple[str, str, float, float]
"""Panel, line, x, y."""
COLUMNS = {"panel": pl.String, "line": pl.String, "x": pl.Float64, "y": pl.Float64}


@dataclass(frozen=True, eq=False)
class Curves:
    """A figure's points."""

    frame: pl.DataFrame

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Curves":
        """To four digits, which is what is told."""
        frame = pl.DataFrame(list(rows), schema=COLUMNS, orient="row")
        return cls(frame.with_columns(pl.col("y").round_sig_figs(4)))

    @classmethod
    def load(cls, path: Path) -> "Curves":
        """What `save` wrote."""
        return cls(pl.read_csv(path, schema=COLUMNS))

    def save(self, path: Path) -> None:
        """As CSV."""
        self.frame.write_csv(path)

    @property
    def panels(self) -> list[str]:
        """In the order in which they were made."""
        return self.frame["panel"].unique(maintain_order=True).to_list()

    def lines(self, panel: str) -> list[str]:
        """The lines of a panel."""
        return self.frame.filter(pl.col("panel") == panel)["line"].unique(maintain_order=True).to_list()

    def line(self, panel: str, line: str) -> dict[float, float]:
        """One line: x to y."""
        part = self.frame.filter(pl.col("panel") == panel, pl.col("line") == line).sort("x")
        if part.is_empty():
            raise KeyError(panel, line)
        return dict(zip(part["x"].to_list(), part["y"].to_list(), strict=True))

    def ys(self, panel: str, line: str) -> list[float]:
        """The values of one line, by rising x."""
        return list(self.line(panel, line).values())


class Verdict(StrEnum):
    """What our curves say to a statement of a paper."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Claim:
    """What a paper says of a figure, in our words, and what our curves say to it."""

    paper: str
    rule: str
    """When it holds here, as the page prints it; or why the two cannot be compared."""
    judge: Callable[[Curves], tuple[bool | None, str]]
    """Whether the rule is met (None: not comparable), and our numbers."""

    def verdict(self, curves: Curves) -> tuple[Verdict, str]:
        """What our curves say, and our numbers."""
        met, ours = self.judge(curves)
        return Verdict.NOT_COMPARABLE if met is None else Verdict.HOLDS if met else Verdict.DIFFERS, ours


DETERMINISTIC = "Nothing is drawn at random but the order of ties; one run."


@dataclass(frozen=True)
class Figure:
    """One figure of a paper, made anew."""

    number: str
    """The paper's, then the figure's: 002.5."""
    title: str
    setting: str
    """What we run, and what is smaller or else than in the paper."""
    x: str | Mapping[str, str]
    """What x is, or what it is in each panel."""
    make: Callable[[Path], Iterable[Row]]
    """Its points, given the folder of the data."""
    claims: tuple[Claim, ...]
    point: Callable[[Path, int], Iterable[Row]]
    """A few cheap points of it, given the folder of the data and a seed; those of seed 0 are points of `make`."""
    logarithmic: tuple[str, ...] = ()
    """Panels whose y is drawn so."""
    remark: str | Callable[[Curves], str] = ""
    """Why what differs does; with our numbers where it names some."""

    def axis(self, panel: str) -> str:
        """What x is in a panel."""
        return self.x if isinstance(self.x, str) else self.x.get(panel, "")


@dataclass(frozen=True)
class Paper:
    """A paper and its figures."""

    number: str
    title: str
    setting: str
    """What all its figures share."""
    figures: tuple[Figure, ...]


def only(rows: Iterable[Row], *panels: str) -> list[Row]:
    """The rows of some panels: those that do not depend on the machine."""
    return [row for row in rows if row[0] in panels]


def rises(values: Iterable[float], *, slack: float = 0.0) -> bool:
    """Whether no value is below the one before by more than a share of it."""
    listed = list(values)
    return all(after >= before - slack * abs(before) for before, after in pairwise(listed))


def falls(values: Iterable[float], *, slack: float = 0.0) -> bool:
    """Whether no value is above the one before by more than a share of it."""
    return rises(list(values)[::-1], slack=slack)


def span(values: Iterable[float], form: str = ",.3g") -> str:
    """First and last of a line, for a sentence."""
    listed = list(values)
    return f"{listed[0]:{form}} to {listed[-1]:{form}}"
