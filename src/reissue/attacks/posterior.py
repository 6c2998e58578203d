"""What releases of randomized values give away to someone who knows how they were drawn, record by record.

A side table says how likely each true value is for a record of its class that shows a value. Someone who has the files
alone takes each record by itself: this is that adversary. Someone who also links a person's records over releases knows
more; the holder of the series has judged that, exactly, before each release was published (`reissue.randomized`).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.attacks.findings import POSTERIOR, Finding, Status
from reissue.attacks.registry import Accepts, attack
from reissue.counting.texts import MISSING, joined_texts
from reissue.errors import CannotRunError, DataError
from reissue.people.knowledge import Knowledge
from reissue.protection import CERTAIN, Protection, average_of
from reissue.published.release import PublishedRelease
from reissue.published.series import Series
from reissue.randomized.side import CLASS, SideTable, codes_of
from reissue.release.release import SIDE
from reissue.words import plural

__all__ = ["posterior"]

_SLACK = 1e-6
_ERRORS = 3.0
"""Standard errors by which a posterior must exceed its limit, among hundreds of classes and values."""


@dataclass(frozen=True, eq=False)
class _Read:
    """One release, by class and published value."""

    side: SideTable
    shown: Ints
    """Classes x published values: how many records."""


@attack(
    POSTERIOR,
    "Knows how values were randomized: the probability of each true value, given the published one.",
    accepts=Accepts.OTHER_COLUMNS,
    needs="releases of randomized values, with their side tables beside them",
    story=(
        "Published values are not all true, and everybody may know how they were drawn. Someone looks up how likely "
        "each true value is for a record that shows this one. In a ledger this adversary also links every record to "
        "its person, over all releases."
    ),
    prevention=(
        "Lower the policy's `limit` or `average` in a new series: values are then true less often.",
        "A larger `margin` in [policy.randomized], in a new series, if priors differ from those assumed.",
    ),
    command="reissue publish next.csv --ledger series.ledger --out release.csv",
)
def posterior(series: Series, knowledge: Knowledge) -> Finding:
    """Find the record whose true value is known best."""
    del knowledge
    read = [_read(release) for release in series.releases]
    found = [one for one in read if one is not None]
    if not found:
        raise CannotRunError(
            "None of the releases has randomized values with a side table beside it.", needs=("a side table",)
        )
    judged = [_judged(one, series) for one in found]
    worst = max(judged, key=lambda one: one.score)
    people, last = max(one.people for one in judged), judged[-1]
    allowed = average_of(series.schema.policy)
    too_many = allowed is not None and last.average > allowed + _SLACK
    return Finding(
        POSTERIOR,
        Status.EXPOSED if people or too_many else Status.WITHSTOOD,
        " ".join([_said(worst, last), *_left_out(len(read) - len(found))]),
        series.numbers,
        people=people,
        population=int(found[-1].shown.sum()),
        measure="largest posterior of a protected value, record by record, less three standard errors",
        worst=worst.worst,
        limit=worst.limit,
        details={"average": last.average, "without": last.without, "average_limit": allowed}
        | {"estimated": last.estimated},
    )


@dataclass(frozen=True)
class _Judged:
    """What one release gives away."""

    score: float
    worst: float
    """The largest posterior, less some standard errors."""
    limit: float
    people: int
    average: float
    without: float
    estimated: float
    """The largest posterior as it is estimated."""


def _said(worst: _Judged, last: _Judged) -> str:
    return (
        "Someone who knows how values were drawn, and takes each record by itself, has a posterior of at least "
        f"{worst.worst:.3f} for a true value (less three standard errors, as shares of values are estimated); "
        f"{worst.limit:g} is allowed. In the last release the surest guess is "
        f"right for {last.average:.1%} of records on average, without the published values for {last.without:.1%}. "
        "Whoever links a person's records over releases may know more: the ledger of the series judges that."
    )


def _left_out(lacking: int) -> list[str]:
    if not lacking:
        return []
    return [f"{plural(lacking, 'release')} without a side table cannot be judged so."]


def _judged(one: _Read, series: Series) -> _Judged:
    """One release by the limits of the policy.

    The shares of values in a side table are estimated from few people, and those that come out too large look most
    telling. Of n records that show a value, n (1 - p) are expected to be untrue, and that number is random: so p has a
    standard error of sqrt((1 - p) / n), and only what exceeds a limit by several of them is held against a release.
    """
    columns, shown = series.schema.sensitive, one.shown
    texts = joined_texts(one.side.values, columns).to_list()
    names = [None if text == MISSING and len(columns) == 1 else text for text in texts]
    protection = Protection.of(series.schema.policy, columns, series.limit(POSTERIOR))
    score, worst, limit, estimated = 0.0, 0.0, 1.0, 0.0
    over, prior = np.zeros(shown.shape, np.bool_), one.side.share.mean(0)
    for view in protection.views(names):
        limits = view.limits(np.asarray(np.bincount(view.label, prior, len(view.names)), np.float64))
        for label in np.flatnonzero(view.limit < 1 - CERTAIN):
            chance = one.side.expected[:, :, view.label == label].sum(2)
            surely = np.where(shown > 0, chance - _ERRORS * np.sqrt((1 - chance).clip(0) / np.maximum(shown, 1)), 0.0)
            over |= surely > limits[label] + _SLACK
            estimated = max(estimated, float(np.where(shown > 0, chance, 0.0).max()))
            if surely.max() / limits[label] > score:
                score, worst = float(surely.max() / limits[label]), float(surely.max())
                limit = float(limits[label])
    guarded, records = protection.guarded(names), max(int(shown.sum()), 1)
    guess = np.where(guarded, one.side.expected, 0.0).max(2)
    blind = np.where(guarded, one.side.share, 0.0).max(1)
    average, without = (shown * guess).sum() / records, (shown.sum(1) * blind).sum() / records
    return _Judged(score, worst, limit, int(shown[over].sum()), float(average), float(without), estimated)


def _read(release: PublishedRelease) -> _Read | None:
    """What a release shows by class and value; None where it has no side table."""
    frame = release.tables.frames.get(SIDE)
    if frame is None or CLASS not in release.main.columns:
        return None
    side = SideTable.of_frame(frame)
    absent = [name for name in side.values.columns if name not in release.main.columns]
    if absent:
        raise DataError(f"The side table has a column '{absent[0]}' that the release lacks.")
    published = codes_of(side.values, release.main.select(side.values.columns))
    classes = release.main[CLASS].cast(pl.Int64, strict=False).fill_null(0).to_numpy() - 1
    if len(published) and (published.min() < 0 or classes.min() < 0 or classes.max() >= len(side.share)):
        raise DataError("The release has a class or a published value that its side table lacks.")
    size = side.values.height
    shown = np.bincount(classes * size + published, minlength=len(side.share) * size).reshape(-1, size)
    return _Read(side, shown)
