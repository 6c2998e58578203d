"""Coalitions one by one: what each set of providers would see in a release, and what everyone may be told of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from reissue.errors import CannotRunError, InputError
from reissue.papers.coalition.attack import exposed, weakest
from reissue.papers.coalition.case import seen_by
from reissue.papers.coalition.records import ProviderRecords, read_records
from reissue.published import read_published
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.schema import UNIDENTIFIED
from reissue.words import listed, plural

__all__ = ["CoalitionView", "ProvidersView", "few_coalitions", "may_be_told", "view_of", "view_of_release"]

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
    if not records.told:
        raise CannotRunError(f"m-privacy {UNIDENTIFIED}", needs=["identifier"])
    names = list(records.names)
    strangers = set(coalition) - set(names)
    if strangers:
        raise InputError(f"The coalition names {plural(len(strangers), 'provider')} who gave no record to the release.")
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
