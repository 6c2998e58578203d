"""What a requirement asks of one class: caps on sets of values where it bounds shares, else its own verdict."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Counts, Domain
from reissue.requirements import AlphaK, Confidence, KAnonymity, Requirement, SimpleLDiversity
from reissue.requirements._values import Names, masks, sets_of

__all__ = ["Cap", "Rule", "judged", "limit_of", "singles", "value_sets"]


@dataclass(frozen=True, eq=False)
class Cap:
    """A set of values (a mask over sensitive codes), and how many rows with it a class of a size may have."""

    mask: Bools
    part: Requirement

    def most(self, sizes: Ints) -> Ints:
        """Size to the largest count that is allowed; -1 where the class is too small for any."""
        if isinstance(self.part, SimpleLDiversity):
            return sizes // self.part.l
        bound = float(getattr(self.part, "alpha", getattr(self.part, "bound", 1.0)))
        most = np.floor(bound * sizes + 1e-9).astype(np.int64)
        # The requirement compares quotients, so that is what decides about the last one.
        most -= most / np.maximum(sizes, 1) > bound
        most += (most + 1) / np.maximum(sizes, 1) <= bound
        return np.where(sizes < getattr(self.part, "k", 1), -1, most)


@dataclass(frozen=True, eq=False)
class Rule:
    """A requirement taken apart: least size, caps on sets, or neither if it has to be asked itself."""

    requirement: Requirement
    domain: Domain

    @property
    def bounded(self) -> bool:
        """Whether it only bounds the shares of values or sets (and perhaps sizes)."""
        known = (KAnonymity, SimpleLDiversity, Confidence, AlphaK)
        return all(isinstance(part, known) for part in self.requirement.parts())

    @property
    def least(self) -> int:
        """The rows that a class needs whatever its values."""
        return max((int(getattr(part, "k", 1)) for part in self.requirement.parts() if _sized(part)), default=1)

    def caps(self, codes: Ints) -> list[Cap]:
        """The caps of a bounded requirement on the sets that touch some codes; single values where it names none."""
        found = []
        for part in self.requirement.parts():
            if part.sensitive:
                named = getattr(part, "values", ())
                sets = masks(self.domain, named) if named else singles(codes, self.domain.size)
                found += [Cap(mask, part) for mask in sets if mask[codes].any()]
        return found

    @property
    def everything(self) -> bool:
        """Whether every single value is capped."""
        return any(part.sensitive and not getattr(part, "values", ()) for part in self.requirement.parts())


def _sized(part: Requirement) -> bool:
    return isinstance(part, KAnonymity | AlphaK) or not hasattr(part, "k")


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
    sets = sets_of(values)
    for part in requirement.parts():
        sets = sets or tuple(getattr(part, "values", ()))
    return masks(domain, sets) if sets else singles(np.flatnonzero(domain.totals), domain.size)


def limit_of(requirement: Requirement) -> float | None:
    """The credibility that a requirement means to allow: 1/l, alpha, a bound; None where it names none."""
    bounds: list[float] = []
    for part in requirement.parts():
        bounds += [1 / part.l] if isinstance(part, SimpleLDiversity) else []
        bounds += [float(getattr(part, name)) for name in ("alpha", "bound") if hasattr(part, name)]
        bounds += [float(getattr(part, "c", 1.0))] if part.name == "c-k" else []
    return min(bounds, default=None)
