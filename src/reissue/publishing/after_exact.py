"""Randomized values in a series that began with exact ones.

After exact releases what is known of one person depends on all others, through the groups. Two facts make it exact
again. Given the value that a person had in the last exact release, randomized values of that person depend on nothing
else; so to the joint attack they are a likelihood of that value (`solve(..., evidence=...)`). And given the joint
posterior of that value, the person's randomized values are a hidden Markov chain as ever, which starts from the
*cavity*: the joint posterior divided by that likelihood, which is what everybody else's records tell.

Values are drawn from what the exact releases alone tell of each person. What other people's randomized values add to
that, through the groups of the exact releases, no single draw can foresee; so the gate solves the whole series again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.joint.finding import exposed_of, protection_of
from reissue.attacks.joint.sight import see, with_histories
from reissue.attacks.joint.window import Solution, Window, judged, solve_window
from reissue.counting.texts import MISSING
from reissue.errors import InputError
from reissue.ledger.ledger import Ledger
from reissue.ledger.recorded import Recorded
from reissue.people.knowledge import Knowledge
from reissue.people.series import SeriesPresences
from reissue.policy import Policy
from reissue.published.series import Series
from reissue.randomized import StartingBeliefs
from reissue.randomized.adversaries import normalized
from reissue.schema import Schema
from reissue.solver.posterior import of_occupants

__all__ = ["ExactReleases", "JointKnowledge"]


@dataclass(frozen=True, eq=False)
class JointKnowledge:
    """What the joint attack finds."""

    belief: Floats
    """People x values: the posterior of everyone's value in the last exact release in which the person is."""
    exposed: Bools
    """Person to whether the value in some exact release is known better than allowed."""


@dataclass(frozen=True, eq=False)
class ExactReleases:
    """The exact releases with which a series began, and who may be where in them."""

    series: Series
    crowd: SeriesPresences

    @classmethod
    def of(cls, ledger: Ledger, releases: Sequence[Recorded], schema: Schema, policy: Policy) -> "ExactReleases":
        """Those of a ledger."""
        if any(one.counts or "roster" not in one.files for one in releases):
            raise InputError(
                "Randomized values can go on after exact releases only if it is known who is in which group of each of "
                "them. Of some nobody knows; begin a new series, with people who are in none of these releases."
            )
        read = tuple(ledger.followed(one, schema) for one in releases)
        series = Series(read, schema, policy.exact, dict(policy.limits), tuple(one.number for one in releases))
        return cls(series, with_histories(see(series, Knowledge())))

    @property
    def names(self) -> list[str]:
        """The values that these releases show, as text; those that are missing have the text of a missing value."""
        return [MISSING if name is None else name for name in self.crowd.names]

    @cached_property
    def last(self) -> Ints:
        """Person to the place of the last release in which the person is; -1: a seat, not a person."""
        found = np.full(self.crowd.people, -1)
        for place, rows in enumerate(self.crowd.rows):
            found[rows] = place
        return found

    @cached_property
    def alone(self) -> JointKnowledge:
        """What these releases tell before anything is randomized."""
        return self.solved(None)

    def solved(self, evidence: Floats | None) -> JointKnowledge:
        """What they tell to someone who knows likelihoods of everyone's last value (people x values) beside them."""
        window = replace(Window.of(self.crowd, self.series, None), evidence=evidence)
        solution = solve_window(window, self.series)
        limit = protection_of(self.series).strictest
        return JointKnowledge(self._last_values(solution), exposed_of(judged(solution, self.series), limit))

    def known(self, values: Sequence[str]) -> StartingBeliefs:
        """What the first randomized release goes on from; `values` are those that may be published."""
        people = np.flatnonzero(self.last >= 0)
        belief = normalized(self.alone.belief[people] @ self._places(values) + 1e-12)
        return StartingBeliefs(self.crowd.identifiers[people], belief, self.last[people] - len(self.series))

    def moved(self, people: Ints, likelihood: Floats, values: Sequence[str]) -> tuple[Floats, Ints]:
        """The cavities of some people, by pseudonym, and who is exposed in exact releases and was not before.

        `likelihood` (people x values) is what randomized releases say of the value in the last exact one.
        """
        everyone, at = self.crowd.identifiers, self._places(values)
        place = np.full(len(everyone), -1)
        order = np.argsort(people)
        found = np.minimum(np.searchsorted(people, everyone, sorter=order), len(order) - 1)
        same = people[order[found]] == everyone
        place[same] = order[found[same]]
        evidence = np.ones((len(everyone), at.shape[0]))
        evidence[same] = likelihood[place[same]] @ at.T
        after = self.solved(evidence)
        cavity = np.empty_like(likelihood)
        told = after.belief[same] @ at
        own = likelihood[place[same]]
        cavity[place[same]] = normalized(np.divide(told, own, out=np.zeros_like(told), where=own > 0) + 1e-12)
        return cavity, everyone[after.exposed & ~self.alone.exposed]

    def _places(self, values: Sequence[str]) -> Floats:
        """Values of these releases x values that may be published: ones where they are the same."""
        place = {text: code for code, text in enumerate(values)}
        missing = [name for name in self.names if name not in place]
        if missing:
            raise InputError(
                f"{len(missing)} values of the exact releases of this series are not in today's table, so they could "
                "not be published. List all values in the taxonomy of the sensitive column."
            )
        found = np.zeros((len(self.names), len(values)))
        found[np.arange(len(self.names)), [place[name] for name in self.names]] = 1.0
        return found

    def _last_values(self, solution: Solution) -> Floats:
        """Everyone's posterior in the last release; of people whose releases contradict each other that of all."""
        posterior = of_occupants(solution.posterior, solution.series)
        found = np.zeros((self.crowd.people, len(self.crowd.names)))
        for place, (release, chance) in enumerate(zip(posterior.releases, posterior.chance, strict=True)):
            who = release.person[release.row]
            some = self.last[who] == place
            found[who[some], release.value[some]] = chance[some]
        nobody = found.sum(1) <= 0
        found[nobody] = found[~nobody].mean(0) if (~nobody).any() else 1.0
        return normalized(found)
