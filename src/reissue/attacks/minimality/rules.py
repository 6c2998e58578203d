"""What a requirement asks of one class: caps on sets of values where it bounds shares, else its own verdict."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Counts, Domain
from reissue.requirements import Requirement
from reissue.requirements._values import Names, masks, sets_of

__all__ = ["Cap", "RequirementParts", "judged", "limit_of", "singles", "value_sets"]


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
                named = part.named_values
                sets = masks(self.domain, named) if named else singles(codes, self.domain.size)
                found += [Cap(mask, part) for mask in sets if mask[codes].any()]
        return found

    @property
    def everything(self) -> bool:
        """Whether every single value is capped."""
        return any(part.sensitive and not part.named_values for part in self.requirement.parts())


def singles(codes: Ints, size: int) -> Bools:
    """Each code as a set of its own: sets x codes."""
    found = np.zeros((len(codes), size), np.bool_)
    found[np.arange(len(codes)), codes] = True
    return found


def judged(histograms: Ints, codes: Ints, requirement: Requirement, domain: Domain) -> Bools:
    """The requirement's own verdict on histograms (rows x codes)."""
    group, place = np.nonzero(histograms)
    counts = Counts(group, codes[place], domain, len(histograms), histograms[group, place])
    return requirement.holds(counts)


def value_sets(requirement: Requirement, domain: Domain, values: Names) -> Bools:
    """The sensitive value sets, sets x codes: given, or named by the requirement, or every value that occurs."""
    sets = sets_of(values) or requirement.named_values
    return masks(domain, sets) if sets else singles(np.flatnonzero(domain.totals), domain.size)


def limit_of(requirement: Requirement) -> float | None:
    """The credibility that a requirement means to allow: 1/l, alpha, a bound; None where it names none."""
    return requirement.share_limit
