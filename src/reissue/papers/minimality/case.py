"""The worst case of a minimality attack: how surely everyone is linked, and the group that gives away most."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools
from reissue.attacks.stories import Case, Link, Shown, histogram, in_words, set_text, story_of
from reissue.papers.minimality.credible import Credibility
from reissue.papers.minimality.linkage import Linkage
from reissue.requirements import Requirement
from reissue.words import plural

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
