"""Coalitions one by one: what each set of providers would see in a release, and what everyone may be told of it.

**Over a series**: what providers find out about others' people who know their own records in every release. One release
at a time a coalition takes its records out and looks at what is left. Over a series it does better: the joint attack,
with the coalition's own values known in every release. Its conclusions are about other people only.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from reissue.attacks.findings import Finding
from reissue.attacks.registry import find
from reissue.attacks.run import run_attack
from reissue.data.table import Table
from reissue.errors import CannotRunError, InputError
from reissue.papers.coalition.attack import exposed, weakest
from reissue.papers.coalition.case import seen_by
from reissue.papers.coalition.records import ProviderRecords, read_records
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease, read_published
from reissue.published.series import Series
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.schema import UNIDENTIFIED
from reissue.words import listed, plural

__all__ = [
    "CoalitionView",
    "ProvidersOverSeries",
    "ProvidersView",
    "SeriesView",
    "few_coalitions",
    "may_be_told",
    "view_of",
    "view_of_release",
    "views_over_series",
]

_MOST = 300
"""Coalitions that are looked at without being asked for."""
_WORK = 10**7
_SEARCHED = 100
"""How much more an entry costs where coalitions may leave some of their own records in."""


@dataclass(frozen=True)
class CoalitionView:
    """What some providers see in a release when they take their own records out."""

    members: tuple[str, ...]
    own: int
    """Records that they gave, and know."""
    groups: int
    """Groups in which theirs stand beside those of others."""
    broken: int
    """Of these: how many do not meet the requirement without theirs."""
    people: int
    """People of others in them: whom the coalition exposes."""
    fewest: int | None
    """The fewest records of others beside theirs in any group; None where they share none."""
    steps: tuple[str, ...] = ()
    """What they do and see in the group that is worst off: for the holder's eyes only."""

    @property
    def sentence(self) -> str:
        """In one sentence; what follows from it for the requirement is in `people`."""
        who, take = listed(self.members), "takes" if len(self.members) == 1 else "take"
        if self.fewest is None:
            return f"{who} shares no group with anybody else." if take == "takes" else f"{who} share no group."
        left = f"at least {plural(self.fewest, 'record')} of others {'is' if self.fewest == 1 else 'are'} left"
        out = f"{who} {take} {plural(self.own, 'record')} out"
        if not self.broken:
            return f"{out}: {left} in every group that they share, and nobody is exposed."
        return (
            f"{out} and {'exposes' if take == 'takes' else 'expose'} "
            f"{plural(self.people, 'person', 'people')} of others in {plural(self.broken, 'group')}."
        )


@dataclass(frozen=True)
class ProvidersView:
    """A release as its providers see it: who gave what, and what coalitions of them would see."""

    requirement: str
    m: int
    """How many colluding providers it was agreed to withstand."""
    contributed: Mapping[str, int]
    """Provider to the records of theirs that are published, the most first."""
    withstands: int
    """The largest number of providers, whoever they are, who expose nobody together; -1 if an outsider does."""
    coalitions: tuple[CoalitionView, ...]
    """Those that were looked at, the smallest first."""

    @property
    def told(self) -> tuple[str, ...]:
        """What every provider may be told."""
        agreed = min(self.m, len(self.contributed))
        return may_be_told(self.requirement, len(self.contributed), self.m if self.withstands >= agreed else 0)

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and lists."""
        views = [{**asdict(one), "sentence": one.sentence} for one in self.coalitions]
        return {**asdict(self), "contributed": dict(self.contributed), "coalitions": views, "told": list(self.told)}


def may_be_told(requirement: str, providers: int, m: int) -> tuple[str, ...]:
    """What every provider may be told of a release, in sentences: no more than that, for more is an instruction.

    `m` is how many colluding ones it was agreed to withstand, and does: how many more it might is nobody's business.
    """
    any_of = "any one provider who takes its" if m == 1 else f"any {m} providers who take their"
    return (
        f"The release was made to meet {requirement}.",
        f"{plural(providers, 'provider')} took part.",
        *([f"It withstood the attack by {any_of} own records out."] if m > 0 else []),
    )


def view_of_release(release: Release, coalition: Sequence[str] = (), *, m: int = 1, number: int = 1) -> ProvidersView:
    """The same of one of our own releases, by the requirement that it was made to meet."""
    records = read_records(read_published(release, release.schema), release.schema)
    return view_of(records, release.requirement, coalition, m=m, number=number)


def view_of(
    records: ProviderRecords, requirement: Requirement, coalition: Sequence[str] = (), *, m: int = 1, number: int = 1
) -> ProvidersView:
    """Who gave what to a release, and what coalitions would see.

    Without a `coalition` these are all of one provider, of two and so on, as long as they are few.
    """
    requirement = records.asked(requirement)
    if not records.identified:
        raise CannotRunError(f"m-privacy {UNIDENTIFIED}", needs=["identifier"])
    names = list(records.names)
    unknown = set(coalition) - set(names)
    if unknown:
        raise InputError(f"The coalition names {plural(len(unknown), 'provider')} who gave no record to the release.")
    asked = (
        [tuple(sorted(names.index(one) for one in set(coalition)))]
        if coalition
        else few_coalitions(len(names), _affordable(records, requirement))
    )
    gave = records.gave
    return ProvidersView(
        str(requirement),
        m,
        {names[place]: int(gave[place]) for place in np.argsort(-gave, kind="stable").tolist()},
        weakest(records, requirement).largest_m,
        tuple(_view(records, requirement, members, number) for members in asked),
    )


def _affordable(records: ProviderRecords, requirement: Requirement) -> int:
    """How many coalitions are looked at without being asked for."""
    entry = (len(records.contributions.group) + 100) * (1 if requirement.growing else _SEARCHED)
    return min(_MOST, _WORK // entry)


def few_coalitions(providers: int, most: int) -> Iterable[tuple[int, ...]]:
    """All coalitions that leave somebody over, by size, as long as they are few together; single ones always."""
    total = 0
    for size in range(1, providers):
        total += comb(providers, size)
        if size > 1 and total > most:
            return
        yield from combinations(range(providers), size)


def _view(records: ProviderRecords, requirement: Requirement, members: tuple[int, ...], number: int) -> CoalitionView:
    given, known = records.contributions, records.known_to(members)
    own = np.isin(given.provider, known)
    theirs, others = (
        np.bincount(given.group[some], given.count[some], given.total).astype(np.int64) for some in (own, ~own)
    )
    shared = (theirs > 0) & (others > 0)
    broken = shared & exposed(given, requirement, known)
    fewest = int(others[broken].min()) if broken.any() else None
    return CoalitionView(
        tuple(records.names[place] for place in members),
        int(given.count[own].sum()),
        int(shared.sum()),
        int(broken.sum()),
        int(others[broken].sum()),
        int(others[shared].min()) if shared.any() else None,
        tuple(seen_by(number, records, requirement, members, exposed, fewest)),
    )


_ATTACK = "joint"
_MOST_PROVIDERS = 12
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
    unknown = set(coalition) - set(names)
    if unknown:
        raise InputError(f"The coalition names {plural(len(unknown), 'provider')} who gave no record to the series.")
    asked = [tuple(sorted(set(coalition)))] if coalition else _few(names)
    attack, views, limit = find(_ATTACK), [], 0.0
    for number, members in enumerate(((), *asked)):

        def within(share: float, number: int = number) -> None:
            progress((number + min(share, 1.0)) / (len(asked) + 1))

        found = run_attack(attack, series, Knowledge(coalition=members, progress=within))
        if found.reason is not None:
            raise CannotRunError(found.reason)
        limit = float(found.limit or 0)
        views.append(_earlier_view(found, members, sum(gave[name] for name in members)))
    return ProvidersOverSeries(series.numbers, limit, gave, views[0], tuple(views[1:]))


def _few(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(names[place] for place in places) for places in few_coalitions(len(names), _MOST_PROVIDERS)]


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


def _earlier_view(found: Finding, members: tuple[str, ...], own: int) -> SeriesView:
    said: Any = found.details
    people, population = int(found.people or 0), int(found.population or 0)
    return SeriesView(members, own, people, population, float(found.worst or 0), int(said["sure"]), said["right"])
