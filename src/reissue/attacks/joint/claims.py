"""What is claimed of everyone: the value that comes closest to its limit, or exceeds it most, and if it is true."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.joint.lenses import Lens

__all__ = ["Claims"]


@dataclass(frozen=True, eq=False)
class Claims:
    """For each person the claim of the highest score, in whichever release and about whichever column."""

    score: Floats
    """The probability, weighed by how strict the value's limit is: see `lenses`."""
    chance: Floats
    """The probability itself."""
    release: Ints
    """Place of the release; -1 of people who are in none."""
    value: Ints
    """The label that is named, as its lens numbers labels; -1 where nothing that needs protection is possible."""
    lens: Ints
    """The number of the lens."""
    sure: Bools
    """Whether a value of the person that needs protection is certain, in some release."""

    @property
    def weight(self) -> Floats:
        """Score over probability: 1 where every value has the strictest limit."""
        return np.where(self.chance > 0, self.score / np.maximum(self.chance, 1e-300), 1.0)

    def right(self, lenses: Sequence[Lens], truth: "Sequence[Ints | None]") -> Bools:
        """Person to whether the named value is the true one, where the truth of its release is known."""
        right = np.zeros(len(self.chance), np.bool_)
        for number, lens in enumerate(lenses):
            for place, one in enumerate(truth):
                mine = np.flatnonzero((self.release == place) & (self.lens == number) & (self.value >= 0))
                if one is not None and len(mine):
                    right[mine] = lens.labels(one[mine]) == self.value[mine]
        return right

    def right_by_lot(self, lenses: Sequence[Lens], truth: "Sequence[Ints | None]") -> Floats:
        """Person to how likely a guess is right that takes any of the values that score alike.

        A claim of one fifth about each of five values says just that, however common one of them is.
        """
        right = np.zeros(len(self.chance))
        for number, lens in enumerate(lenses):
            for place, (layer, true) in enumerate(zip(lens.layers, truth, strict=True)):
                mine = (self.release[layer.person] == place) & (self.lens[layer.person] == number)
                if true is None or not mine.any():
                    continue
                sure = lens.as_sure(place, lens.largest(place)[0]).astype(np.float64)
                hit = layer.value == lens.labels(true[layer.person])[layer.row]
                right[layer.person[mine]] = (layer.sums(sure * hit) / layer.sums(sure))[mine]
        return right

    @classmethod
    def of(
        cls,
        lenses: Sequence[Lens],
        people: int,
        places: Sequence[int] | None = None,
        common: Floats | None = None,
    ) -> "Claims":
        """Over all releases, or some of them; of values that score alike the `common`est is named."""
        score, chance = np.full(people, -1.0), np.zeros(people)
        release, value, lens = (np.full(people, -1, np.int64) for _ in range(3))
        sure = np.zeros(people, np.bool_)
        for number, one in enumerate(lenses):
            for place in range(len(one.layers)) if places is None else places:
                person = one.layers[place].person
                top, best, probable = one.largest(place, common)
                sure[person] |= one.certain(place)
                more = top > score[person]
                mine = person[more]
                score[mine], chance[mine], release[mine] = top[more], probable[more], place
                value[mine], lens[mine] = np.where(top[more] > 0, best[more], -1), number
        return cls(np.maximum(score, 0.0), chance, release, value, lens, sure)

    def of_lens(self, number: int) -> Bools:
        """Person to whether the claim is about a value of one lens."""
        return np.asarray((self.lens == number) & (self.value >= 0))

    def without(self, people: Ints | None) -> "Claims":
        """No claim about some people."""
        if people is None or not len(people):
            return self
        score, chance, release, sure = self.score.copy(), self.chance.copy(), self.release.copy(), self.sure.copy()
        score[people], chance[people], release[people], sure[people] = 0.0, 0.0, -1, False
        return replace(self, score=score, chance=chance, release=release, sure=sure)

    def or_else(self, other: "Claims", mine: Bools) -> "Claims":
        """Of each person this claim where it is `mine`, else the other one."""
        return Claims(
            np.where(mine, self.score, other.score),
            np.where(mine, self.chance, other.chance),
            np.where(mine, self.release, other.release),
            np.where(mine, self.value, other.value),
            np.where(mine, self.lens, other.lens),
            self.sure | other.sure,
        )
