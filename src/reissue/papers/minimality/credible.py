"""Credibility of every person under a minimality attack (Wong, Fu, Wang, Pei 2009, sections 4 and 5.1).

A group that was generalized holds an original class that broke the requirement, or there would have been no need. Of
all ways to place the group's sensitive values among its people the adversary keeps those with such a class.

- A class is judged as it was before: with its people in this group, those who were published as they are (their values
  are known), and those in other generalized groups (whose count of sensitive values follows its random worlds).
- Requirements that bound shares (simplified l-diversity, confidence bounding, (alpha,k)) are asked only about the sets
  of values that could break in this group at all. One such set: `binomials`. Several: `worlds`, one variable a set.
  Any other requirement: `worlds`, one variable a value.
- A class that breaks the requirement in every world excludes nothing (theorem 1), nor does a requirement that does not
  look at values: then the credibility is the published share.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.errors import CannotRunError
from reissue.papers.minimality.binomials import AlikeClasses, Odds, fast
from reissue.papers.minimality.linkage import Beside, Linkage
from reissue.papers.minimality.rules import Cap, RequirementParts, TooManyError, judged, value_sets, worlds
from reissue.requirements import Requirement
from reissue.requirements._values import Names

__all__ = ["BUDGET", "Credibility", "credibility"]

BUDGET = 20_000_000
"""This many products at most for one group's worlds."""
_CELLS = 50_000_000
"""Classes times sets of values, at most."""


@dataclass(frozen=True, eq=False)
class Credibility:
    """How surely each class of people is linked to a sensitive value set, with and without knowing the algorithm."""

    shares: Floats
    """Classes x sets: what the release alone tells."""
    believed: Floats
    """Classes x sets: what it tells someone who knows that it was not generalized without need."""
    generalized: int
    """Groups that were generalized."""
    excluded: int
    """Groups in which some worlds could be excluded."""
    unsolved: int
    """Groups with more worlds than the budget allows."""
    unknown: int
    """Groups of which it is not known who stands in them."""
    exact: bool
    """Whether no class stands in two generalized groups; the worlds of such groups are taken as independent."""

    @property
    def worst(self) -> Floats:
        """Class to its largest credibility."""
        return np.asarray(self.believed.max(axis=1, initial=0.0), np.float64)


def credibility(linkage: Linkage, requirement: Requirement, values: Names = (), budget: int = BUDGET) -> Credibility:
    """The credibility of every class; `values` are the sensitive value sets, by default those of the requirement.

    A budget of 0 excludes nothing: what the release alone tells.
    """
    asked = value_sets(requirement, linkage.domain, values, linkage.margins)
    if len(asked) * linkage.classes > _CELLS:
        raise CannotRunError(
            "there are too many sensitive values to follow each of them; name those that matter.", needs=["values"]
        )
    return _Attack(linkage, RequirementParts(requirement, linkage.domain), asked, budget).run()


@dataclass
class _Tally:
    excluded: int = 0
    unsolved: int = 0
    split: int = 0


@dataclass(frozen=True, eq=False)
class _Group:
    """One generalized group: its classes, its values, and what is known of the classes beside it."""

    number: int
    classes: Ints
    people: Ints
    """Class to its people in the group."""
    sizes: Ints
    """Class to all its people."""
    codes: Ints
    """The values that occur in the group, or are known of its classes."""
    stock: Ints
    """Value to its count in the group."""
    known: Ints
    """Classes x values: published as they are."""
    away: Ints
    """Class to its people in other generalized groups."""
    absent: int


_Chances: TypeAlias = "tuple[float, Floats, list[Bools]] | None"
"""Share of worlds kept, classes x columns, and the columns as masks over the group's values; None: nothing excluded."""


@dataclass(frozen=True, eq=False)
class _Attack:
    """One release under attack, group by group."""

    linkage: Linkage
    rule: RequirementParts
    asked: Bools
    budget: int
    tally: _Tally = field(default_factory=_Tally)
    solved: dict[tuple[object, ...], Odds] = field(default_factory=dict)

    def run(self) -> Credibility:
        """The credibility of every class."""
        link = self.linkage
        shares = self._shares()[link.grp]
        believed = shares.copy()
        look = Beside(link)
        for number in np.flatnonzero(self._worthwhile()).tolist():
            links = slice(int(link.starts[number]), int(link.starts[number + 1]))
            group = self._group(number, links, look)
            try:
                found = self._bounded(group, look) if self.rule.bounded else self._any(group)
            except TooManyError:
                self.tally.unsolved += 1
                continue
            if found is not None:
                self.tally.excluded += found[0] < 1 - 1e-12
                believed[links] = found[1] @ self._inside(group, found[2])
        return Credibility(
            self._mixed(shares),
            self._mixed(believed),
            int((~link.plain).sum()),
            self.tally.excluded,
            self.tally.unsolved,
            int(link.open.sum()),
            not self.tally.split,
        )

    def _worthwhile(self) -> Bools:
        """Groups that were generalized, are known, and where some world may lack a class that broke the requirement."""
        link, counts = self.linkage, self.linkage.counts
        if not self.rule.requirement.sensitive or not self.budget:
            return np.zeros(link.groups, np.bool_)
        chosen = ~link.plain & ~link.open & ~self._broken_anyway()
        if self.rule.bounded and not self.rule.everything:
            caps = self.rule.caps(np.arange(link.domain.size))
            capped = np.logical_or.reduce([cap.mask for cap in caps])
            chosen &= np.bincount(counts.group, capped[counts.value], counts.total) > 0
        return chosen

    def _broken_anyway(self) -> Bools:
        """Groups with a class that is too small for the requirement, whatever its values: no world is excluded.

        A class whose people may all be absent is none that was broken.
        """
        link = self.linkage
        small = (link.placed[link.cls] < self.rule.least) & (link.num > link.absent[link.grp])
        return np.asarray(np.bincount(link.grp[small], minlength=link.groups) > 0)

    def _shares(self) -> Floats:
        """Groups x sets: the published share."""
        counts = self.linkage.counts
        rows = [counts.sum(np.where(mask[counts.value], counts.count, 0)) for mask in self.asked]
        return np.stack(rows, axis=1) / np.maximum(counts.sizes, 1)[:, np.newaxis]

    def _mixed(self, of_link: Floats) -> Floats:
        """Classes x sets: mixed over the groups in which a class's people stand (section 4.2)."""
        link = self.linkage
        weight = link.num / np.maximum(link.placed[link.cls], 1)
        return np.stack([np.bincount(link.cls, weight * column, link.classes) for column in of_link.T], axis=1)

    def _group(self, number: int, links: slice, look: Beside) -> _Group:
        link = self.linkage
        classes, people = link.cls[links], link.num[links]
        value, count = look.histogram(number)
        place, seen, times = look.seen(classes)
        codes = np.union1d(value, seen)
        stock = np.zeros(len(codes), np.int64)
        stock[np.searchsorted(codes, value)] = count
        known = np.zeros((len(classes), len(codes)), np.int64)
        known[place, np.searchsorted(codes, seen)] = times
        away = look.away(classes, number)
        sizes = link.placed[classes]
        return _Group(number, classes, people, sizes, codes, stock, known, away, int(link.absent[number]))

    def _inside(self, group: _Group, columns: list[Bools]) -> Floats:
        """Columns x sets: how much of a column's stock belongs to a set."""
        held = np.stack(columns) * group.stock
        parts = held @ self.asked[:, group.codes].T.astype(np.float64)
        return np.asarray(parts / np.maximum(held.sum(axis=1), 1)[:, np.newaxis], np.float64)

    def _bounded(self, group: _Group, look: Beside) -> _Chances:
        """A requirement that bounds shares: only the sets that could break in this group matter."""
        caps: dict[bytes, tuple[Cap, Ints]] = {}
        rows = int(group.stock.sum()) + group.absent
        for cap in self.rule.caps(group.codes):
            mask = cap.mask[group.codes]
            most = cap.most(group.sizes)
            if not cap.part.named_values and (most < 1).any() and not group.absent:
                return None
            hits, known = int(group.stock[mask].sum()), group.known[:, mask].sum(axis=1)
            least = known + np.maximum(group.people - (rows - hits), 0)
            if (least > most).any() and not group.absent:
                return None
            if (known + np.minimum(group.people, hits) + group.away > most).any() or group.absent:
                key = mask.tobytes()
                tighter = most if key not in caps else np.minimum(caps[key][1], most)
                caps[key] = (cap, tighter)
        if not caps:
            return None
        if len(caps) == 1 and not group.absent:
            return self._one_set(group, *next(iter(caps.values())), look)
        return self._several(group, [cap for cap, _ in caps.values()])

    def _one_set(self, group: _Group, cap: Cap, most: Ints, look: Beside) -> _Chances:
        """The closed form: a class is fine with j more of the set while j is no more than its slack."""
        mask = cap.mask[group.codes]
        sensitive = int(group.stock[mask].sum())
        slack = np.maximum(most - group.known[:, mask].sum(axis=1), -1)
        slack = np.where(group.away > 0, slack, np.minimum(slack, np.minimum(group.people, sensitive)))
        free = (slack >= np.minimum(group.people, sensitive)) & (group.away == 0)
        kinds = np.column_stack([group.people, slack, np.where(group.away > 0, np.arange(len(slack)), -1)])
        kinds[free] = -1
        distinct, kind, copies = np.unique(kinds, axis=0, return_inverse=True, return_counts=True)
        everyone = int(group.people[free].sum())
        key = (sensitive, everyone, distinct.tobytes(), copies.tobytes())
        odds = self.solved.get(key)
        if odds is None:
            odds = fast([*_blocks(group, cap, look, distinct, copies, everyone)], sensitive)
            self.tally.split += bool(group.away.any())
        if not group.away.any():
            self.solved[key] = odds
        believed = odds.credibility[kind.reshape(-1)]
        return odds.kept, np.column_stack([believed, 1 - believed]), [mask, ~mask]

    def _several(self, group: _Group, caps: list[Cap]) -> _Chances:
        """Several sets: one variable for each part that they cut the values into."""
        if group.away.any():
            raise TooManyError
        member = np.stack([cap.mask[group.codes] for cap in caps])
        patterns, column = np.unique(member, axis=1, return_inverse=True)
        columns = [column.reshape(-1) == number for number in range(patterns.shape[1])]

        def judge(histograms: Ints) -> Bools:
            sizes = histograms.sum(axis=1)
            fine = sizes >= self.rule.least
            for cap, pattern in zip(caps, patterns, strict=True):
                fine &= histograms[:, pattern].sum(axis=1) <= cap.most(sizes)
            return np.asarray(fine, np.bool_)

        stock = np.array([int(group.stock[one].sum()) for one in columns])
        known = np.stack([group.known[:, one].sum(axis=1) for one in columns], axis=1)
        found = worlds(group.people, known, stock, judge, self.budget, group.absent)
        return found.kept, found.credibility, columns

    def _any(self, group: _Group) -> _Chances:
        """Any requirement: asked itself about every possible histogram of every class."""
        if group.away.any():
            raise TooManyError

        def judge(histograms: Ints) -> Bools:
            return judged(histograms, group.codes, self.rule.requirement, self.linkage.domain)

        found = worlds(group.people, group.known, group.stock, judge, self.budget, group.absent)
        return found.kept, found.credibility, list(np.eye(len(group.codes), dtype=np.bool_))


def _blocks(group: _Group, cap: Cap, look: Beside, kinds: Ints, copies: Ints, free: int) -> Iterator[AlikeClasses]:
    """Classes by kind: people, slack, and place in the group if some of the class stand in other groups."""
    for (people, slack, place), number in zip(kinds.tolist(), copies.tolist(), strict=True):
        if people < 0:
            yield AlikeClasses(free, np.ones(free + 1))
        elif place < 0:
            yield AlikeClasses(people, (np.arange(people + 1) <= slack).astype(np.float64), number)
        else:
            chances = look.chances(int(group.classes[place]), group.number, cap.mask)
            yield AlikeClasses(people, _smeared(people, slack, chances), number)


def _smeared(people: int, slack: int, chances: Floats) -> Floats:
    """The chance to be fine with j of the set here, when other groups may add some."""
    below = np.append(np.cumsum(chances), 1.0)
    room = slack - np.arange(people + 1)
    return np.where(room < 0, 0.0, below[np.clip(room, 0, len(chances))])
