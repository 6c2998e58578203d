"""Coalitions over a series: what providers find out about others' people who know their own records in every release.

One release at a time a coalition takes its records out and looks at what is left. Over a series it does better: the
joint attack, with the coalition's own values known in every release. What it claims is claimed about other people only.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reissue.attacks.findings import Finding
from reissue.attacks.registry import find
from reissue.attacks.run import run_attack
from reissue.data.table import Table
from reissue.errors import CannotRunError, InputError
from reissue.papers.coalition.views import few_coalitions
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.words import listed, plural

__all__ = ["ProvidersOverSeries", "SeriesView", "views_over_series"]

_ATTACK = "joint"
_MOST = 12
"""Coalitions that are looked at without being asked for: each is the joint attack once more."""


@dataclass(frozen=True)
class SeriesView:
    """What some providers find in all releases together; of an outsider without members."""

    members: tuple[str, ...]
    own: int
    """Records that they gave, in all releases, and know."""
    people: int
    """People of others whom they can link to a value with a probability above the limit."""
    population: int
    """People of others in the releases."""
    worst: float
    """How surely anybody is linked."""
    certain: int
    """People of others whose value is certain to them."""
    right: int | None
    """Of those links how many are right; None where that is not known."""

    @property
    def sentence(self) -> str:
        """In one sentence, of people of others."""
        who = listed(self.members) if self.members else "Somebody who gave no record"
        if not self.population:
            return f"{who} gave every record: nobody is left to be linked."
        if not self.people:
            return f"{who} can link nobody to a value beyond the limit; the surest link is {self.worst:.2f}."
        certain = f", {self.certain:,} of them for certain" if self.certain else ""
        others = "people of others" if self.members else "people"
        right = "" if self.right is None else f"; {self.right:,} of these links are right"
        return f"{who} can link {self.people:,} of {self.population:,} {others} to a value{certain}{right}."


@dataclass(frozen=True)
class ProvidersOverSeries:
    """A series as its providers see it."""

    releases: tuple[int, ...]
    limit: float
    """How surely anybody may be linked to a value."""
    contributed: Mapping[str, int]
    """Provider to the records of theirs in all releases, the most first."""
    outsider: SeriesView
    """What anybody finds who knows who is where, and gave no record."""
    coalitions: tuple[SeriesView, ...]

    @property
    def withstood(self) -> bool:
        """Whether none of those looked at links anybody beyond the limit."""
        return not any(one.people for one in self.coalitions)

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and lists."""
        views = [{**asdict(one), "sentence": one.sentence} for one in (self.outsider, *self.coalitions)]
        plain = {**asdict(self), "contributed": dict(self.contributed), "withstood": self.withstood}
        return {**plain, "outsider": views[0], "coalitions": views[1:]}


def views_over_series(
    series: Series, coalition: Sequence[str] = (), *, progress: Callable[[float], None] = lambda _: None
) -> ProvidersOverSeries:
    """What coalitions find in releases whose tables are known.

    Without a `coalition` these are all of one provider, of two and so on, as long as they are few.
    """
    gave = _contributed(series)
    names = list(gave)
    strangers = set(coalition) - set(names)
    if strangers:
        raise InputError(f"The coalition names {plural(len(strangers), 'provider')} who gave no record to the series.")
    asked = [tuple(sorted(set(coalition)))] if coalition else _few(names)
    attack, views, limit = find(_ATTACK), [], 0.0
    for turn, members in enumerate(((), *asked)):

        def within(share: float, turn: int = turn) -> None:
            progress((turn + min(share, 1.0)) / (len(asked) + 1))

        found = run_attack(attack, series, Knowledge(coalition=members, progress=within))
        if found.reason is not None:
            raise CannotRunError(found.reason)
        limit = float(found.limit or 0)
        views.append(_view(found, members, sum(gave[name] for name in members)))
    return ProvidersOverSeries(series.numbers, limit, gave, views[0], tuple(views[1:]))


def _few(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(names[place] for place in places) for places in few_coalitions(len(names), _MOST)]


def _contributed(series: Series) -> dict[str, int]:
    """Provider to the records of theirs that were published, the most first."""
    tables = [_table(one) for one in series.releases]
    if not tables or any(one is None or one.providers is None for one in tables):
        raise CannotRunError(
            'nobody knows who gave which record: the schema names no column as "provider".', needs=["providers"]
        )
    total: Counter[str] = Counter()
    for table in tables:
        total.update({} if table is None else table.contributed)
    return dict(total.most_common())


def _table(release: PublishedRelease) -> Table | None:
    """The records of those who are in a release."""
    source, known = release.source, release.presences
    if source is not None:
        return source.table.some(np.flatnonzero(source.draft.groups >= 0))
    return None if known is None else known.table


def _view(found: Finding, members: tuple[str, ...], own: int) -> SeriesView:
    said: Any = found.details
    people, population = int(found.people or 0), int(found.population or 0)
    return SeriesView(members, own, people, population, float(found.worst or 0), int(said["sure"]), said["right"])
