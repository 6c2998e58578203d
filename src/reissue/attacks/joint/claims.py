"""What is claimed of everyone: the value that can be named most surely, and whether it is the true one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.joint.solving.beliefs import Beliefs

__all__ = ["Claims"]


@dataclass(frozen=True, eq=False)
class Claims:
    """For each person the value that can be named most surely, in whichever release."""

    chance: Floats
    release: Ints
    """Place of the release; -1 of people who are in none."""
    value: Ints
    sure: Bools
    """Whether a value of the person is certain, in some release."""

    def right(self, truth: "Sequence[Ints | None]") -> Bools:
        """Person to whether the named value is the true one, where the truth of its release is known."""
        right = np.zeros(len(self.chance), np.bool_)
        for place, one in enumerate(truth):
            mine = np.flatnonzero(self.release == place)
            if one is not None:
                right[mine] = one[mine] == self.value[mine]
        return right

    def right_by_lot(self, beliefs: Beliefs, truth: "Sequence[Ints | None]") -> Floats:
        """Person to how likely a guess is right that takes any of the values that are equally sure.

        A claim of one fifth about each of five values says just that, however common one of them is.
        """
        right = np.zeros(len(self.chance))
        for place, (layer, true) in enumerate(zip(beliefs.layers, truth, strict=True)):
            mine = self.release[layer.person] == place
            if true is None or not mine.any():
                continue
            sure = beliefs.as_sure(place, beliefs.largest(place)[0]).astype(np.float64)
            hit = layer.sums(sure * (layer.value == true[layer.person[layer.row]])) / layer.sums(sure)
            right[layer.person[mine]] = hit[mine]
        return right

    @classmethod
    def of(
        cls,
        beliefs: Beliefs,
        people: int,
        places: Sequence[int] | None = None,
        common: Floats | None = None,
    ) -> "Claims":
        """Over all releases, or some of them; of values that are equally sure the `common`est is named."""
        chance, release = np.zeros(people), np.full(people, -1, np.int64)
        value, sure = np.full(people, -1, np.int64), np.zeros(people, np.bool_)
        for place in range(len(beliefs.layers)) if places is None else places:
            person = beliefs.layers[place].person
            top, best = beliefs.largest(place, common)
            sure[person] |= beliefs.sure(place)
            more = top > chance[person]
            chance[person[more]], release[person[more]], value[person[more]] = top[more], place, best[more]
        return cls(chance, release, value, sure)

    def without(self, people: Ints | None) -> "Claims":
        """No claim about some people."""
        if people is None or not len(people):
            return self
        chance, release, sure = self.chance.copy(), self.release.copy(), self.sure.copy()
        chance[people], release[people], sure[people] = 0.0, -1, False
        return Claims(chance, release, self.value, sure)
