"""The worst case of a minimality attack: how surely everyone is linked, and the group that gives away most."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools
from reissue.attacks.cases import case, histogram, in_words, set_text
from reissue.attacks.pictures import Case, Shown
from reissue.papers.minimality.credible import Credibility
from reissue.papers.minimality.linkage import Linkage
from reissue.requirements import Requirement
from reissue.words import percent, plural

__all__ = ["WorstClass", "tell", "worst_of"]

_SLACK = 1e-9
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
    picture = histogram(found.worst, linkage.placed, limit, "credibility")
    return case(_steps(number, linkage, found, asked[worst.column], worst, requirement, limit, look), picture)


def _steps(
    number: int,
    linkage: Linkage,
    found: Credibility,
    mask: Bools,
    worst: WorstClass,
    requirement: Requirement,
    limit: float,
    look: Shown,
) -> list[str]:
    counts = linkage.counts
    inside = counts.group == worst.group
    stock = counts.count[inside] * mask[counts.value[inside]]
    size, hits = int(counts.sizes[worst.group]), int(stock.sum())
    value = set_text(linkage.domain, counts.value[inside][stock > 0])
    where = f"release {number}" + (f" ({in_words(look)})" if look else "")
    alone = worst.people == 1
    who = "one who shares them with nobody else there" if alone else f"the {worst.people:,} who share theirs"
    classes = int((linkage.grp == worst.group).sum())
    people = f"{plural(size, 'person', 'people')}, with {classes:,} different exact quasi-identifiers"
    whom = "this person" if alone else "them"
    share, believed = found.shares[worst.cls, worst.column], found.believed[worst.cls, worst.column]
    sentences = [
        f"The adversary knows everyone's quasi-identifiers: a group of {where} has {people}. Take {who}.",
        f"By itself the release links {whom} to {value} with {percent(share)}: {hits:,} of {size:,} records show it.",
        _EXCLUDED.format(requirement=requirement) if believed > share + _SLACK else _NOTHING,
    ]
    they = "this person has" if alone else f"these {worst.people:,} people have"
    return [*sentences, f"So {they} {value} with {percent(believed)}; the limit is {percent(limit)}."]
