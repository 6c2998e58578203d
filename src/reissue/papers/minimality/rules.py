"""What a requirement asks of one class: caps on sets of values where it bounds shares, else its own verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Counts, Domain, Margin
from reissue.errors import CannotRunError, RequirementError
from reissue.requirements import Requirement
from reissue.requirements._values import Names, Sets, masks, sets_of

__all__ = ["Cap", "RequirementParts", "judged", "limit_of", "value_sets"]


@dataclass(frozen=True, eq=False)
class Cap:
    """A set of values (a mask over sensitive codes), and how many rows with it a class of a size may have."""

    mask: Bools
    part: Requirement

    def most(self, sizes: Ints) -> Ints:
        """Size to the largest count that is allowed; -1 where the class is too small for any."""
        return self.part.cap(sizes)


@dataclass(frozen=True, eq=False)
class RequirementParts:
    """A requirement taken apart: least size, caps on sets, or neither if it has to be asked itself."""

    requirement: Requirement
    domain: Domain

    @property
    def bounded(self) -> bool:
        """Whether it only bounds the shares of values or sets (and perhaps sizes)."""
        return all(part.capped or part.by_size for part in self.requirement.parts())

    @property
    def least(self) -> int:
        """The rows that a class needs whatever its values."""
        return max((part.least for part in self.requirement.parts() if not part.across), default=1)

    def caps(self, codes: Ints) -> list[Cap]:
        """The caps of a bounded requirement on the sets that touch some codes; single values where it names none."""
        found = []
        for part in self.requirement.parts():
            if part.sensitive:
                sets = part.capped_sets(codes, self.domain)
                found += [Cap(mask, part) for mask in sets if mask[codes].any()]
        return found

    @property
    def everything(self) -> bool:
        """Whether every single value is capped."""
        return any(part.sensitive and not part.named_values for part in self.requirement.parts())


def judged(histograms: Ints, codes: Ints, requirement: Requirement, domain: Domain) -> Bools:
    """The requirement's own verdict on histograms (rows x codes)."""
    group, place = np.nonzero(histograms)
    counts = Counts(group, codes[place], domain, len(histograms), histograms[group, place])
    return requirement.holds(counts)


def value_sets(requirement: Requirement, domain: Domain, values: Names, margins: Sequence[Margin] = ()) -> Bools:
    """The sensitive value sets, sets x codes: given, or named by the requirement, or every value that occurs.

    Every value of each sensitive column, and every combination, that needs protection.
    """
    if sets_of(values):
        return _named(domain, sets_of(values), margins)
    if requirement.named_values:
        return requirement.named_masks(domain)
    found = []
    for margin in margins or (Margin("", None, domain.size, None, np.zeros(domain.size, np.bool_)),):
        labels, inner = margin.labels(domain), margin.domain(domain)
        own = np.eye(inner.size, dtype=np.bool_)[(inner.totals > 0) & ~margin.harmless]
        found.append(own if labels is None else own[:, labels.of_value])
    sets = np.concatenate(found)
    if not len(sets):
        raise CannotRunError("no sensitive value of the release needs protection.")
    return sets


def _named(domain: Domain, sets: Sets, margins: Sequence[Margin]) -> Bools:
    """Named sets, in the first sensitive column that has all of these values."""
    problem: RequirementError | None = None
    for margin in margins:
        labels = margin.labels(domain)
        try:
            found = masks(margin.domain(domain), sets)
        except RequirementError as lacking:
            problem = problem or lacking
        else:
            return found if labels is None else found[:, labels.of_value]
    if problem is not None:
        raise problem
    return masks(domain, sets)


def limit_of(requirement: Requirement) -> float | None:
    """The credibility that a requirement means to allow: 1/l, alpha, a bound; None where it names none."""
    return requirement.share_limit
