"""What is certain is taken out of what is solved: known values cut everyone's chain, and leave fewer records to fill.

Who has one way left in a release fills that slot: it has one record less for the others. What the person has later
begins with the steps from the known value, what came before ends with the steps to it, so each stretch between known
values is a chain of its own. The distribution is the same. What is solved is smaller by half where groups are small,
exact messages take far fewer states, and more people are linked to nobody else. O(entries).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.segments import ranges
from reissue.solver.iterative_scaling import Chains, beginners
from reissue.solver.learning.newcomers import FirstEntries, Latecomers
from reissue.solver.observations import Layer, as_small
from reissue.solver.permanents import SmallGroups, small_groups
from reissue.solver.transitions import Links, Model, Pairing, link, pairings

__all__ = ["Lot", "Unsettled", "unsettled"]


@dataclass(frozen=True, eq=False)
class Unsettled:
    """The chains of what is not certain, and where they are in the whole."""

    layers: tuple[Layer, ...]
    model: Model
    times: Sequence[int] | None
    entry: tuple[Ints, ...]
    """Layer to the whole layer's numbers of its entries."""
    person: Ints
    """Number of a stretch to the person."""
    stepped: tuple[Floats, ...]
    """Layer to what its entries weigh by the steps from and to known values."""
    beginning: tuple[Ints, ...]
    """Layer to who begins with each of its entries, -1 nobody."""
    known: tuple[Floats, ...]
    """Layer to what its entries weigh by these steps and by what is expected of who begins."""
    linked: list[tuple[Links, ...]] = field(default_factory=list)
    """How the layers are linked, once that was asked for: the same for any prior."""
    grouped: list[list[SmallGroups]] = field(default_factory=list)
    """The small groups of the layers, once these were asked for."""
    parted: "list[Lot]" = field(default_factory=list)
    """The lots that it is solved in, once these were asked for."""
    newcomers: Latecomers | None = None
    """Who comes later, if it is to be learnt what they have."""
    leaving: tuple[Floats, ...] = ()
    """Layer to what its entries weigh by who leaves; empty: nothing."""

    @property
    def small(self) -> list[SmallGroups]:
        """The groups that are small enough for exact messages."""
        if not self.grouped:
            self.grouped.append(small_groups(self.layers))
        return self.grouped[0]

    @property
    def chains(self) -> Chains:
        """Linked by stretch."""
        if not self.linked:
            self.linked.append(tuple(link(self.layers, self.model, self.times)))
        first = None if self.newcomers is None else FirstEntries.of(self.newcomers, self.layers, self.beginning)
        return Chains(self.layers, self.linked[0], known=self.known, first=first)

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return sum(layer.entries for layer in self.layers)

    def expecting(self, prior: Floats) -> "Unsettled":
        """The same with another prior."""
        known = []
        for place, (layer, begins, weight) in enumerate(zip(self.layers, self.beginning, self.stepped, strict=True)):
            some = np.flatnonzero(begins >= 0)
            known.append(weight * self.leaving[place] if self.leaving else weight.copy())
            known[-1][some] *= prior[begins[some], layer.value[some]]
        return replace(self, known=tuple(known))

    def with_leaving(self, weights: Sequence[Floats]) -> "Unsettled":
        """The same with what the whole layers' entries weigh by who leaves, if given; for a prior to be given then."""
        return replace(self, leaving=tuple(one[entry] for one, entry in zip(weights, self.entry, strict=bool(weights))))

    def sharing(self, shares: Floats) -> "Unsettled":
        """The same with counterfeits that have values in these shares."""
        return replace(self, layers=tuple(layer.sharing(shares) for layer in self.layers), grouped=[], parted=[])

    def whole(self, layers: Sequence[Layer], parts: Sequence[Floats]) -> list[Floats]:
        """Numbers of entries as numbers of the whole layers' entries, 1 for what is certain."""
        made = []
        for layer, entry, part in zip(layers, self.entry, parts, strict=True):
            full = np.ones(layer.entries)
            full[entry] = part
            made.append(full)
        return made


@dataclass(frozen=True, eq=False)
class Lot:
    """Some components of what is open."""

    part: Unsettled
    entries: tuple[Ints, ...]
    """Layer to the numbers of its entries among all that are open."""
    slots: tuple[Ints, ...]
    """Layer to its slots' numbers in the whole."""
    share: float
    """Of all rows that are open."""

    @property
    def records(self) -> float:
        """How many records it has."""
        return float(sum(layer.count.sum() + layer.settled for layer in self.part.layers))

    def of(self, whole: Unsettled) -> "Lot":
        """The same with what entries weigh now; how they are linked is kept."""
        known = tuple(one[mine] for one, mine in zip(whole.known, self.entries, strict=True))
        newcomers = whole.newcomers and whole.newcomers.share(self.share)
        return replace(self, part=replace(self.part, known=known, newcomers=newcomers))


def unsettled(
    layers: Sequence[Layer],
    model: Model,
    prior: Floats | None = None,
    times: Sequence[int] | None = None,
    arrivals: Sequence[Ints] | None = None,
    newcomers: Latecomers | None = None,
) -> Unsettled:
    """Take out what is certain; the rest is linked as `Chains.of` links the whole.

    `newcomers` are those of whom it is learnt what they have; none of them is certain yet.
    """
    pairs = pairings(layers, times)
    certain = [_certain(layer) for layer in layers]
    weights = _steps(layers, pairs, certain, model)
    stretch, person = _stretches(layers, pairs, certain)
    kept = [~rows[layer.row] for layer, rows in zip(layers, certain, strict=True)]
    made = [_without(*one) for one in zip(layers, certain, kept, stretch, strict=True)]
    stepped = tuple(weight[some] for weight, some in zip(weights, kept, strict=True))
    arrived: Sequence[Ints | None] = arrivals or [None] * len(layers)
    begins = [beginners(*one)[one[0].row] for one in zip(layers, pairs, arrived, strict=True)]
    part = Unsettled(
        tuple(made),
        model,
        times,
        tuple(as_small(np.flatnonzero(one)) for one in kept),
        person,
        stepped,
        tuple(as_small(who[some]) for who, some in zip(begins, kept, strict=True)),
        stepped,
        newcomers=None if newcomers is None else _with_certain(newcomers, layers, begins, kept),
    )
    return part if prior is None else part.expecting(prior)


def _with_certain(
    newcomers: Latecomers, layers: Sequence[Layer], begins: Sequence[Ints], kept: Sequence[Bools]
) -> Latecomers:
    """With those whose first value is certain counted."""
    certain = newcomers.certain.copy()
    for layer, who, open_ones in zip(layers, begins, kept, strict=True):
        mine = (who >= 0) & newcomers.people[who] & ~open_ones
        certain += np.bincount(layer.value[mine], minlength=len(certain))
    return replace(newcomers, certain=certain)


def _certain(layer: Layer) -> Bools:
    """Row to whether one way is left; not where more have no other way than there are records: no world is so.

    Nor of slots that nobody is in where it is known how many of each value these are: that counts them too.
    """
    row = layer.triple_row
    single = (np.bincount(row, minlength=len(layer.person)) == 1) & ~layer.absent
    if len(layer.fakes):
        single &= ~layer.nobody
    must = np.bincount(layer.triple_slot[single[row]], minlength=len(layer.count))
    over = (must > layer.count)[layer.triple_slot]
    single[row[over]] = False
    return np.asarray(single)


def _steps(layers: Sequence[Layer], pairs: Sequence[Pairing], certain: Sequence[Bools], model: Model) -> list[Floats]:
    """Layer to what its entries weigh by the steps from and to known values."""
    ends = np.cumsum([layer.entries for layer in layers])
    weight = np.ones(int(ends[-1]) if len(ends) else 0)
    value = np.concatenate([layer.value for layer in layers])
    sure = np.concatenate([rows[layer.row] for layer, rows in zip(layers, certain, strict=True)])
    offset = 0
    for layer, pairing in zip(layers, pairs, strict=True):
        target = pairing.target_start + offset
        from_sure, to_sure = sure[pairing.source_start], sure[target]
        after, before = np.flatnonzero(from_sure & ~to_sure), np.flatnonzero(to_sure & ~from_sure)
        widths = pairing.target_width[after]
        some, beside = ranges(target[after], widths), np.repeat(pairing.source_start[after], widths)
        weight[some] *= model.chances(np.repeat(pairing.gap[after], widths), value[beside], value[some])
        widths = pairing.source_width[before]
        some, beside = ranges(pairing.source_start[before], widths), np.repeat(target[before], widths)
        weight[some] *= model.chances(np.repeat(pairing.gap[before], widths), value[some], value[beside])
        offset += layer.entries
    return np.split(weight, ends[:-1])


def _stretches(layers: Sequence[Layer], pairs: Sequence[Pairing], certain: Sequence[Bools]) -> tuple[list[Ints], Ints]:
    """Layer to the number of the stretch of each of its rows that is left; and the person of each stretch."""
    people = max((int(layer.person.max(initial=-1)) + 1 for layer in layers), default=0)
    now, made, person, total = np.full(people, -1), [], [], 0
    for layer, pairing, sure in zip(layers, pairs, certain, strict=True):
        linked = np.zeros(len(layer.person), np.bool_)
        linked[pairing.rows] = True
        begins = ~sure & (~linked | (now[layer.person] < 0))
        new = layer.person[begins]
        now[new] = total + np.arange(len(new))
        total += len(new)
        person.append(new)
        now[layer.person[sure]] = -1
        made.append(now[layer.person[~sure]])
    return made, np.concatenate(person) if person else np.empty(0, np.int64)


def _without(layer: Layer, certain: Bools, kept: Bools, stretch: Ints) -> Layer:
    """The layer without rows that are certain and without their records."""
    number = np.cumsum(kept, dtype=np.int32) - 1
    ways = kept[layer.triple_entry]
    filled = np.bincount(layer.triple_slot[~ways], minlength=len(layer.count))
    return replace(
        layer,
        person=stretch,
        starts=np.append(0, np.cumsum(np.diff(layer.starts)[~certain])),
        value=layer.value[kept],
        triple_entry=as_small(number[layer.triple_entry[ways]]),
        triple_slot=layer.triple_slot[ways],
        count=layer.count - filled,
        absent=layer.absent[~certain],
        nobody=layer.nobody[~certain],
        settled=int(certain.sum()),
    )
