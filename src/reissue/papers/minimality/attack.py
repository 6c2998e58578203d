"""The minimality attack (Wong, Fu, Wang and Pei, "Anonymization-based attacks in privacy-preserving data publishing").

An algorithm that does not generalize without need says, by what it generalized, where the requirement was broken. The
adversary has the release, a table of everyone's quasi-identifiers (of just these people, or of more, or only the
multiset of values and the target's own) and the requirement; keeps the worlds in which every generalized group holds an
original class that broke it; and so links people to sensitive value sets with a higher probability than the requirement
means to allow.

Its measure is the credibility (definition 2); the limit is 1/m (definition 5), by default what the requirement
itself names. Near-to-minimality (definition 4), where a stronger requirement was used than intended, is the same
attack with a limit of one's own: `limits={"minimality": 1/2}`.

Global and local recoding alike: see `linkage` for who stands where and `credible` for the worlds. O(s N) for a
group of N people, s of them sensitive, where one set of values can break; all groups that look alike are solved once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue._arrays import Bools, Floats
from reissue.attacks.findings import Finding, Status, not_run
from reissue.attacks.registry import Accepts, attack
from reissue.attacks.stories import Case, Link, Shown, box_text, histogram, in_words, set_text, shown, story_of
from reissue.counting.resources import in_threads
from reissue.errors import CannotRunError, Why
from reissue.methods.registry import look_up
from reissue.papers.minimality.credible import BUDGET, Credibility, credibility
from reissue.papers.minimality.linkage import Linkage, link, link_release
from reissue.papers.minimality.rules import limit_of, value_sets
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.requirements import Requirement, by_column, parse
from reissue.words import plural

__all__ = [
    "Credibility",
    "Linkage",
    "WorstClass",
    "credibility",
    "limit_of",
    "link",
    "link_release",
    "minimality",
    "requirement_of",
    "tell",
    "worst_of",
]

_EXCLUDED = (
    "Nothing is generalized without need, so before, some people with the same quasi-identifiers broke {requirement}: "
    "ways to hand out the values in which nobody did are excluded."
)
_NOTHING = "No way to hand out the group's values can be excluded, so knowing the algorithm adds nothing here."


@dataclass(frozen=True, eq=False)
class WorstClass:
    """The class that is linked most surely, and the group that tells it."""

    cls: int
    group: int
    people: int
    """How many of the class stand in the group."""
    column: int
    """The set of values that they are linked to."""


def worst_of(linkage: Linkage, found: Credibility) -> WorstClass:
    """Of the classes with the largest credibility one of which the release itself tells least; the first of those."""
    there = np.flatnonzero(linkage.placed > 0)
    worst = np.round(found.worst[there], 9)
    gain = np.round((found.believed[there] - found.shares[there]).max(axis=1, initial=0.0), 9)
    cls = int(there[np.lexsort((-gain, -worst))[0]])
    links = np.flatnonzero(linkage.cls == cls)
    link = links[np.lexsort((-linkage.num[links], linkage.plain[linkage.grp[links]]))[0]]
    return WorstClass(cls, int(linkage.grp[link]), int(linkage.num[link]), int(found.believed[cls].argmax()))


def tell(
    number: int, linkage: Linkage, found: Credibility, asked: Bools, requirement: Requirement, limit: float, look: Shown
) -> Case:
    """The case of a release; `asked` are the sets of values that people are linked to."""
    worst = worst_of(linkage, found)
    counts = linkage.counts
    inside = counts.group == worst.group
    stock = counts.count[inside] * asked[worst.column][counts.value[inside]]
    size, hits = int(counts.sizes[worst.group]), int(stock.sum())
    where = f"release {number}" + (f" ({in_words(look)})" if look else "")
    alone = worst.people == 1
    who = "one who shares them with nobody else there" if alone else f"the {worst.people:,} who share theirs"
    classes = int((linkage.grp == worst.group).sum())
    people = f"{plural(size, 'person', 'people')}, with {classes:,} different exact quasi-identifiers"
    share, believed = found.shares[worst.cls, worst.column], found.believed[worst.cls, worst.column]
    link = Link(
        f"The adversary knows everyone's quasi-identifiers: a group of {where} has {people}. Take {who}.",
        number,
        set_text(linkage.domain, counts.value[inside][stock > 0]),
        f"{hits:,} of {size:,} records show it",
        float(share),
        (_EXCLUDED.format(requirement=requirement) if believed > share + _SLACK else _NOTHING,),
        float(believed),
        limit,
        "this person" if alone else f"these {worst.people:,} people",
    )
    return story_of(link, histogram(found.worst, linkage.placed, limit, "credibility"))


NAME = "minimality"
_SLACK = 1e-9
"""A credibility of exactly 1/m is allowed, however it was rounded."""


@attack(
    NAME,
    "Uses that nothing was generalized without need: where it was, the requirement had been broken.",
    per_release=True,
    asked_if="known",
    accepts=Accepts.COUNTED_ROWS,
    needs=(
        "the requirement that the release was made to meet, and a table of everyone's quasi-identifiers (`--knowledge "
        "population=FILE`); of our own releases both are known"
    ),
    story=(
        "Someone knows that the software generalizes only where it must. So where people were generalized, the "
        "requirement had been broken before, and many of the ways to hand out the values can be excluded."
    ),
    prevention=(
        (
            "Ask for a `k` beside the requirement on values: where many people have unique quasi-identifiers, that "
            "is reason enough to generalize, and nothing can be excluded."
        ),
        "Or publish with the method `mask`, which forms groups without a look at sensitive values.",
    ),
)
def minimality(series: Series, knowledge: Knowledge) -> Finding:
    """Find everyone's credibility in every release, and report the worst release."""
    outcomes = in_threads(lambda release: _outcome(release, series, knowledge), series.releases)
    worst = max(outcomes, key=lambda outcome: (outcome.worst > outcome.limit + _SLACK, outcome.people, outcome.worst))
    details = worst.details() | {"releases": [outcome.details() for outcome in outcomes]}
    exposed = worst.people > 0
    if not exposed and any(outcome.gaps for outcome in outcomes):
        reason = next(outcome.reason for outcome in outcomes if outcome.gaps)
        return not_run(NAME, series.numbers, reason, details, why=Why.TOO_LARGE)
    return Finding(
        NAME,
        Status.EXPOSED if exposed else Status.WITHSTOOD,
        worst.sentence(),
        tuple(series.numbers),
        people=worst.people,
        population=worst.population,
        measure="credibility: the probability of a sensitive value (or set of values) for a person",
        worst=worst.worst,
        limit=worst.limit,
        details=details | {"case": _case(outcomes.index(worst), worst, series, knowledge)},
    )


def _case(place: int, worst: "_Outcome", series: Series, knowledge: Knowledge) -> Case:
    linkage, release = worst.linkage, series.releases[place]
    asked = value_sets(worst.requirement, linkage.domain, knowledge.values, linkage.margins)
    group = worst_of(linkage, worst.found).group
    own = release.source if knowledge.population is None else None
    boxed = own is None and release.form.boxes
    look = shown(release.box(group)) if boxed else {} if own is None else box_text(own, group)
    return tell(series.numbers[place], linkage, worst.found, asked, worst.requirement, worst.limit, look)


def requirement_of(release: PublishedRelease, series: Series, knowledge: Knowledge) -> Requirement:
    """What the release was made to meet, as far as the adversary knows."""
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing to link people to.")
    given: Any = knowledge.requirement
    if given is None and release.source is not None:
        given = release.source.requirement
    given = given or series.schema.policy.get("require")
    if given is None:
        raise CannotRunError(
            "it needs to know the requirement that the releases were made to meet.", needs=["requirement"]
        )
    requirement = given if isinstance(given, Requirement) else parse(str(given))
    # What is asked of a release as a whole breaks no class by itself: taken for a reason it would hide the others.
    return requirement.in_groups or requirement


def linkage_of(release: PublishedRelease, knowledge: Knowledge) -> Linkage:
    """Who stands where: the holder knows, anyone else needs a table of everyone's quasi-identifiers."""
    if knowledge.population is not None:
        return link(release, knowledge.population)
    if release.source is None:
        raise CannotRunError(
            "it needs a table of everyone's quasi-identifiers (the original, or an external table).", needs=["people"]
        )
    return link_release(release.source)


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What one release gives away."""

    found: Credibility
    placed: Floats
    """Class to its people in the data."""
    limit: float
    why: str
    """Why nothing can be excluded, if so."""
    linkage: Linkage
    requirement: Requirement

    @property
    def above(self) -> Any:
        """Classes whose people are linked with a higher probability than the limit."""
        return (self.found.worst > self.limit + _SLACK) & (self.placed > 0)

    @property
    def people(self) -> int:
        """How many people that is."""
        return int(self.placed[self.above].sum())

    @property
    def population(self) -> int:
        """Out of how many."""
        return int(self.placed.sum())

    @property
    def worst(self) -> float:
        """The largest credibility."""
        return float(self.found.worst[self.placed > 0].max(initial=0.0))

    @property
    def gaps(self) -> int:
        """Groups that could not be attacked."""
        return self.found.unsolved + self.found.unknown

    @property
    def reason(self) -> str:
        """Why those could not."""
        gaps = [
            f"{self.found.unsolved:,} allow more worlds than can be counted" if self.found.unsolved else "",
            f"of {self.found.unknown:,} it is not known who stands in them" if self.found.unknown else "",
        ]
        missing = ", and ".join(filter(None, gaps))
        return f"of {self.found.generalized:,} generalized groups {missing}. The others expose nobody."

    def details(self) -> dict[str, Any]:
        """For the finding."""
        chosen = self.above
        weights = self.placed[chosen]
        average = float(np.average(self.found.worst[chosen], weights=weights)) if len(weights) else None
        return {
            "credibility": self.worst,
            "problematic": self.people,
            "average": average,
            "published": float(self.found.shares[self.placed > 0].max(initial=0.0)),
            "generalized": self.found.generalized,
            "excluded": self.found.excluded,
            "unsolved": self.found.unsolved,
            "unknown": self.found.unknown,
            "exact": self.found.exact,
        }

    def sentence(self) -> str:
        """In plain words."""
        if self.people:
            return (
                f"Knowing that nothing was generalized without need, one links {self.people:,} of {self.population:,} "
                f"people to a sensitive value with more than {self.limit:.3g}, the surest with {self.worst:.3g}."
            )
        if not self.found.excluded:
            why = self.why or "every group has a class that breaks the requirement whatever its values, or none can"
            return f"Nothing can be excluded: {why}. Nobody's probability of a value is higher than the release shows."
        return (
            f"Worlds can be excluded in {self.found.excluded:,} groups, but nobody is linked to a sensitive value with "
            f"more than {self.limit:.3g}; the surest with {self.worst:.3g}."
        )


def _outcome(release: PublishedRelease, series: Series, knowledge: Knowledge) -> _Outcome:
    """Attack one release."""
    requirement = requirement_of(release, series, knowledge)
    linkage = linkage_of(release, knowledge)
    requirement = by_column(requirement, linkage.margins, linkage.domain)
    algorithm = knowledge.algorithm or (release.source.method if release.source else None)
    method = look_up(algorithm)
    why = "" if method is None else method.unforced
    if not requirement.sensitive:
        why = "the requirement does not look at sensitive values"
    found = credibility(linkage, requirement, knowledge.values, 0 if why else BUDGET)
    limit = series.limits.get(NAME, limit_of(requirement))
    if limit is None:
        limit = float(found.shares[linkage.placed > 0].max(initial=0.0))
    return _Outcome(found, linkage.placed.astype(np.float64), float(limit), why, linkage, requirement)
