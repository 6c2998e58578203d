"""All places where few values are left: two releases at a time, then more of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from reissue.attacks.composition.boxes import SeriesBoxes
from reissue.attacks.composition.chains import search_chains
from reissue.attacks.composition.exposures import at_most, mark, people_at_most, verify
from reissue.attacks.composition.pairs import meeting_pairs
from reissue.attacks.composition.places import Place

__all__ = ["LIMIT", "Searched", "search"]

LIMIT = 2
"""How many values must be left where nobody says otherwise: with one, it is known."""


@dataclass(frozen=True, eq=False)
class Searched:
    """What was found."""

    worst: Place | None
    """Where least is left; None if the limit is kept everywhere."""
    places: int
    people: int
    """How many people can be in them, at most."""
    compared: int
    """Pairs of groups that overlap."""
    added: int
    """Groups of further releases that were tried."""
    undecided: int
    """Places of which it is not known."""
    complete: bool
    """Whether there is no other place."""


def search(boxes: SeriesBoxes, limit: int, progress: Callable[[float], None] = lambda _: None) -> Searched:
    """Places where fewer values than the limit are left; the worst is looked for with lower limits first."""
    lower = (_search(boxes, number).worst for number in range(LIMIT, limit))
    least = next((worst for worst in lower if worst is not None), None)
    found = _search(boxes, limit, progress)
    return found if least is None else replace(found, worst=least)


def _search(boxes: SeriesBoxes, limit: int, progress: Callable[[float], None] = lambda _: None) -> Searched:
    compared = meeting_pairs(boxes, limit, progress)
    exposures = verify(boxes, compared.few, limit)
    progress(0.8)
    begun = exposures.refuted.with_more(compared.few.some(compared.few.left > 1)).with_more(compared.others)
    chains, complete = search_chains(boxes, begun, limit)
    for place in chains.places:
        mark(boxes, place, exposures.marked)
    undecided = exposures.undecided + chains.undecided
    return Searched(
        _worst(boxes, [*([] if exposures.worst is None else [exposures.worst]), *chains.places]),
        exposures.places + len(chains.places),
        people_at_most(boxes, exposures.marked),
        compared.pairs,
        chains.steps,
        undecided,
        compared.whole and complete and not undecided,
    )


def _worst(boxes: SeriesBoxes, places: Sequence[Place]) -> Place | None:
    """Where least is left; of such places one of few releases where many people can be."""
    order = [(place.left, len(place.releases), -at_most(boxes, place)) for place in places]
    return places[min(range(len(places)), key=order.__getitem__)] if places else None
