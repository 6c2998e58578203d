"""Colluding providers (Rani 2014): m-privacy of a release, the smallest coalition to break it, and whom it exposes.

A release is m-private with respect to a requirement if, for every coalition of at most m providers, what remains of
each group after the coalition takes out any of its own records still meets the requirement (definition 2.1). A
coalition that owns a whole group attacks nobody there. Every requirement is taken by itself too: a conjunction is
broken where one of its parts is. People are counted: whoever has a record of a person knows the person, and takes out
what others gave of them too (see `people`). Where that happens, coalitions are tried one by one.

All groups are judged at once for m = 0, 1, 2, ... until one is broken (see `papers.coalition.contributions`): that is
the smallest size. Of the coalitions of that size one is named that leaves a group with fewest records of others, and
among those one that exposes most people: of all coalitions where they are few, else of those found. In one group that
decided, all search strategies are run, and their checks are reported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, attack
from reissue.counting.resources import in_threads
from reissue.errors import CannotRunError
from reissue.papers.coalition.case import tell
from reissue.papers.coalition.contributions import Contributions, answers, private
from reissue.papers.coalition.exact import worst_coalition
from reissue.papers.coalition.records import ProviderRecords, read_records
from reissue.papers.coalition.search import STRATEGIES, Oracle
from reissue.papers.second_look import confirm_coalitions
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.requirements import Requirement, parse
from reissue.schema import UNIDENTIFIED
from reissue.words import plural

__all__ = ["Weakness", "coalition", "exposed", "requirement_to_break", "weakest"]

NAME = "coalition"
MEASURE = "providers that may collude"
_WORK = 2 * 10**7
_SLOWER = 100
"""How much more an entry costs where coalitions may leave some of their own records in."""
_SEARCHED = 12
"""Groups of more providers are not searched with every strategy."""


@dataclass(frozen=True)
class Weakness:
    """The smallest coalition that breaks a requirement in a release."""

    largest_m: int
    """The largest m for which the release is m-private; -1 if an outsider breaks it, all providers if nobody does."""
    members: tuple[str, ...] | None
    """The coalition; None if no coalition breaks it."""
    groups: int
    people: int
    """How many groups and people it exposes."""
    fewest: int = 0
    """The fewest records of others that it leaves in an exposed group."""
    exact: bool = True

    def withstands(self, m: int) -> bool:
        """Whether no m providers break it, or any other number if there are not so many."""
        return self.members is None or self.largest_m >= m


_Found = tuple[ProviderRecords, Requirement, Weakness]


def _of_release(published: PublishedRelease, series: Series, knowledge: Knowledge) -> _Found:
    """The smallest coalition that breaks the requirement in a release."""
    requirement = requirement_to_break(published, series, knowledge)
    records = read_records(published, series.schema)
    requirement = records.asked(requirement)
    return records, requirement, weakest(records, requirement)


@attack(
    NAME,
    "Providers who collude take their own records out and look at what is left.",
    per_release=True,
    asked_if="providers",
    accepts=Accepts.REPEATED_RECORDS | Accepts.COUNTED_ROWS | Accepts.COALITIONS,
    confirm=confirm_coalitions,
    needs=(
        "to know who gave each record (our own releases, or the holder's copy with the column of providers) and the "
        "requirement that should hold (`--knowledge requirement=...`, or the policy's)"
    ),
    story=(
        "Some of those who gave records to a common table put their knowledge together. They cross out their own "
        "records in each group, and what is left, of other people, may be too few or too alike."
    ),
    prevention=(
        (
            "Publish with the method `providers` and the number of providers that may collude: the requirement then "
            "holds without the records of any group of that many."
        ),
        "A larger `k` helps too, but promises nothing.",
    ),
    command=(
        "reissue anonymize data.csv --schema schema.toml --method providers --option m=2 --require k=5 "
        "--out release.csv"
    ),
)
def coalition(series: Series, knowledge: Knowledge) -> Finding:
    """Find the smallest coalition that breaks the requirement in any release, or what the one that is given breaks.

    Where it is not known which records of different providers are the same person's, there are fewer people than
    records, and coalitions know more of them: what more records only help is broken all the same, if it is broken by
    records. That it is not is then no answer.
    """
    found = in_threads(lambda release: _of_release(release, series, knowledge), series.releases)
    result = _of_one(series, found, knowledge.coalition) if knowledge.coalition else _of_any(found, series, knowledge)
    for records, requirement, _ in found:
        if not records.identified and (result.status == Status.WITHSTOOD or not requirement.growing):
            raise CannotRunError(f"it {UNIDENTIFIED}", needs=["identifier"])
    return result


def _of_any(found: Sequence[_Found], series: Series, knowledge: Knowledge) -> Finding:
    """The smallest coalition that breaks the requirement in any release."""
    number, (records, requirement, weakness) = _worst(found, series)
    m = int(series.limits.get(NAME, 1 if knowledge.m is None else knowledge.m))
    exposes = not weakness.withstands(m)
    limit = m if exposes else min(m, weakness.largest_m)
    return Finding(
        NAME,
        Status.EXPOSED if exposes else Status.WITHSTOOD,
        _sentence(number, records, requirement, weakness, m),
        series.numbers,
        people=weakness.people if exposes else 0,
        population=int(records.contributions.count.sum()),
        measure=MEASURE,
        worst=weakness.largest_m,
        limit=limit,
        at_least=True,
        details=_story(found, series, limit),
    )


def _story(found: Sequence[_Found], series: Series, limit: int) -> dict[str, Any]:
    """The details, with the case of the release that is broken by fewest."""
    number, (records, requirement, weakness) = _worst(found, series)
    fewest = weakness.fewest if weakness.groups else None
    end = _outcome(weakness, limit)
    story = tell(number, records, requirement, weakness.members, exposed, fewest, end, _known(weakness))
    details = _details(number, records, requirement, weakness)
    return details | {"by_release": [one.largest_m for _, _, one in found], "case": story}


def _worst(found: Sequence[_Found], series: Series) -> tuple[int, _Found]:
    """The number of the release that the smallest coalition breaks, and what was found in it."""
    by_number = zip(series.numbers, found, strict=True)
    return min(by_number, key=lambda one: (one[1][2].members is None, one[1][2].largest_m, -one[1][2].people))


def weakest(records: ProviderRecords, requirement: Requirement) -> Weakness:
    """The smallest coalition that breaks a requirement, and of those one that exposes many people."""
    contributions = records.contributions
    if records.holders is not None:
        return _weakest_of_sets(records, requirement)
    for m in range(int(contributions.contributors.max(initial=1))):
        fine = private(contributions, requirement, m)
        if not fine.all():
            members, exact = _choose(contributions.pick(~fine), requirement, m, len(records.names))
            groups = exposed(contributions, requirement, members)
            fewest, people = _harm(contributions, members, groups)
            named = tuple(records.names[place] for place in members)
            return Weakness(m - 1, named, int(groups.sum()), people, fewest, exact)
    return Weakness(len(records.names), None, 0, 0)


def _weakest_of_sets(records: ProviderRecords, requirement: Requirement) -> Weakness:
    """The same where several providers have records of the same people: all coalitions are tried, by size."""
    contributions, providers, work = records.contributions, len(records.names), 0
    for m in range(providers):
        work += comb(providers, m) * (len(contributions.group) + 100) * (1 if requirement.growing else _SLOWER)
        if work > _WORK:
            raise CannotRunError(
                f"several of the {providers} providers have records of the same people, and there are too many "
                f"coalitions of {plural(m, 'provider')} to try each.",
                too_large=True,
            )
        harm = {}
        for members in combinations(range(providers), m):
            known = records.known_to(members)
            groups = exposed(contributions, requirement, known)
            if groups.any():
                fewest, people = _harm(contributions, known, groups)
                harm[members] = fewest, -people, int(groups.sum()), _certain(contributions, requirement, known, groups)
        if harm:
            best = min(sorted(harm), key=lambda members: harm[members][:2])
            fewest, people, broken, exact = harm[best]
            named = tuple(records.names[place] for place in best)
            return Weakness(m - 1, named, broken, -people, fewest, exact)
    return Weakness(providers, None, 0, 0)


def _certain(contributions: Contributions, requirement: Requirement, own: Sequence[int], groups: Bools) -> bool:
    """Whether it is known, and not only feared, that one of these groups is broken."""
    if requirement.growing:
        return True
    for number in np.flatnonzero(groups).tolist():
        group, providers = contributions.one(number)
        oracle = Oracle(group, requirement)
        oracle.breaks(_mask(providers, own))
        if oracle.exact:
            return True
    return False


def _mask(providers: Ints, own: Sequence[int]) -> int:
    """Some of a group's providers as bits."""
    return sum(1 << place for place in np.flatnonzero(np.isin(providers, own)).tolist())


def exposed(contributions: Contributions, requirement: Requirement, members: Sequence[int]) -> Bools:
    """In which groups a coalition breaks a requirement."""
    own = np.isin(contributions.provider, members)
    left = contributions.without(own)
    broken: Bools = (left.sizes > 0) & ~requirement.holds(left)
    if not requirement.growing:
        # Leaving in some of its own records may do more: whoever could be broken at all is asked one by one.
        for number in np.flatnonzero(
            ~broken & (left.sizes > 0) & ~private(contributions, requirement, len(members))
        ).tolist():
            group, providers = contributions.one(number)
            broken[number] = Oracle(group, requirement).breaks(_mask(providers, members))
    return broken


def _harm(contributions: Contributions, members: Sequence[int], groups: Bools) -> tuple[int, int]:
    """Of some groups: the fewest records of others in one of them, and all records of others."""
    others = groups[contributions.group] & ~np.isin(contributions.provider, members)
    left = np.bincount(contributions.group[others], contributions.count[others], contributions.total).astype(np.int64)
    return int(left[groups].min(initial=np.iinfo(np.int64).max)), int(left.sum())


def _choose(broken: Contributions, requirement: Requirement, size: int, providers: int) -> tuple[tuple[int, ...], bool]:
    """Of the coalitions of a size the most harmful one, in groups that are known to be broken."""
    if comb(providers, size) * (len(broken.group) + 100) <= _WORK and requirement.growing:
        tried: Iterable[tuple[int, ...]] = combinations(range(providers), size)
        exact = True
    else:
        found = answers(broken, requirement, size)
        exact = all(verdict.exact for verdict in found.values())
        tried = {_named(broken.one(number)[1], verdict.coalition) for number, verdict in list(found.items())[:200]}

    def rank(members: tuple[int, ...]) -> tuple[int, int]:
        fewest, people = _harm(broken, members, exposed(broken, requirement, members))
        return fewest, -people

    return min(sorted(tried), key=rank), exact


def _named(providers: Ints, mask: int | None) -> tuple[int, ...]:
    return tuple(int(provider) for place, provider in enumerate(providers) if (mask or 0) >> place & 1)


def requirement_to_break(published: PublishedRelease, series: Series, knowledge: Knowledge) -> Requirement:
    """What the release promises: said by the adversary, by our own release, or by the schema's policy."""
    source = published.source
    said = knowledge.requirement or (source.requirement if source else None) or series.schema.policy.get("require")
    if not said:
        raise CannotRunError(
            "there is no requirement to break: name one, or put it under [policy] in the schema.", needs=["requirement"]
        )
    return said if isinstance(said, Requirement) else parse(str(said))


# --- telling ---------------------------------------------------------------------------------------------------------


def _details(number: int, records: ProviderRecords, requirement: Requirement, weakness: Weakness) -> dict[str, Any]:
    parts = []
    for part in requirement.parts():
        one = weakness if len(requirement.parts()) == 1 else weakest(records, part)
        parts.append(
            {
                "requirement": str(part),
                "largest_m": one.largest_m,
                "smallest_coalition": _listed(one),
                "people": one.people,
            }
        )
    return {
        "largest_m": weakness.largest_m,
        "smallest_coalition": _listed(weakness),
        "checks": {}
        if records.holders is not None
        else _checks(records.contributions, requirement, weakness.largest_m),
        "groups": weakness.groups,
        "fewest_left": weakness.fewest if weakness.members is not None else None,
        "exact": weakness.exact,
        "release": number,
        "providers": len(records.names),
        "requirements": parts,
    }


def _listed(weakness: Weakness) -> list[str] | None:
    return None if weakness.members is None else list(weakness.members)


def _checks(contributions: Contributions, requirement: Requirement, largest_m: int) -> dict[str, int]:
    """How many coalitions each strategy checks in the group with most providers of those that decided."""
    size = largest_m + 1
    decided = ~private(contributions, requirement, size)
    some = np.flatnonzero(decided if decided.any() else contributions.contributors > 0)
    fits = some[contributions.contributors[some] <= _SEARCHED]
    number = int(max(fits if len(fits) else some, key=lambda group: contributions.contributors[group]))
    group, _ = contributions.one(number)
    size = min(size, group.providers - 1)
    checks = {"exact": worst_coalition(group, requirement, size).checks}
    if len(fits):
        for name, strategy in STRATEGIES.items():
            oracle = Oracle(group, requirement)
            strategy(oracle, size)
            checks[name] = oracle.checks
    return checks


def _of_one(series: Series, found: Sequence[_Found], coalition: Sequence[str]) -> Finding:
    """What one given coalition breaks, in the release where it exposes most people."""
    outcomes = []
    for number, (records, requirement, weakness) in zip(series.numbers, found, strict=True):
        members = records.known_to([place for place, name in enumerate(records.names) if name in set(coalition)])
        groups = exposed(records.contributions, requirement, members)
        fewest, people = _harm(records.contributions, members, groups)
        outcomes.append((people, fewest, int(groups.sum()), number, records, requirement, weakness))
    people, fewest, groups_broken, number, records, requirement, weakness = max(outcomes, key=lambda one: one[0])
    population = int(records.contributions.count.sum())
    end = f"{_harmed(people, groups_broken)}."
    least = fewest if groups_broken else None
    story = tell(number, records, requirement, coalition, exposed, least, end, _known(weakness))
    words = (
        f"takes its own records out of {plural(groups_broken, 'group')} of release {number} and what is left of them "
        f"does not meet {requirement}: {people:,} of {population:,} people are exposed."
        if people
        else f"breaks no group: what is left without its records meets {requirement} everywhere."
    )
    return Finding(
        NAME,
        Status.EXPOSED if people else Status.WITHSTOOD,
        f"The coalition of {', '.join(coalition)} {words}",
        series.numbers,
        people=people,
        population=population,
        measure="people exposed",
        worst=people,
        limit=0,
        details=_details(number, records, requirement, weakness)
        | {"coalition": list(coalition), "groups": groups_broken, "case": story},
    )


def _sentence(number: int, records: ProviderRecords, requirement: Requirement, weakness: Weakness, m: int) -> str:
    providers = len(records.names)
    if not weakness.exact:
        return (
            f"It could not be shown that release {number} withstands {plural(weakness.largest_m + 1, 'provider')} who "
            f"collude: its groups have too many subsets for {requirement}. It withstands {weakness.largest_m}."
        )
    if weakness.members is None:
        return f"No coalition of the {providers} providers breaks {requirement} in any group."
    if not weakness.members:
        return f"Release {number} does not meet {requirement} even for someone who gave no record."
    who = " and ".join(weakness.members) if len(weakness.members) < 4 else f"{len(weakness.members)} providers"
    damage = (
        f"{who} can take {'its' if len(weakness.members) == 1 else 'their'} own records out of release {number} and "
        f"break {requirement} in {plural(weakness.groups, 'group')}, where {_others(weakness.people)} left"
    )
    if weakness.withstands(m):
        return f"Release {number} withstands any {plural(m, 'colluding provider')}; {damage}."
    return f"{damage}; the release withstands {weakness.largest_m} colluding providers, the limit is {m}."


def _outcome(weakness: Weakness, m: int) -> str:
    """The end of the worst case."""
    withstands = f"the release withstands {weakness.largest_m} colluding providers, the limit is {m}"
    if weakness.members is None:
        return f"So nobody is exposed, whoever collude; the limit is {m}."
    cautious = "" if weakness.exact else ", at most"
    return f"{_harmed(weakness.people, weakness.groups)}{cautious}; {withstands}."


def _harmed(people: int, groups: int) -> str:
    are = "is" if people == 1 else "are"
    return f"In all, {plural(people, 'person', 'people')} in {plural(groups, 'group')} {are} exposed"


def _known(weakness: Weakness) -> dict[tuple[str, ...], int]:
    return {} if weakness.members is None else {weakness.members: weakness.people}


def _others(people: int) -> str:
    return "1 other person is" if people == 1 else f"{people:,} other people are"
