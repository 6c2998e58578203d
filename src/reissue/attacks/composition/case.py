"""A place in words and as a picture: who is meant, which groups that is, and what is left."""

from collections.abc import Sequence

import numpy as np

from reissue.attacks.composition.boxes import SeriesBoxes
from reissue.attacks.composition.places import Part, Place, people_there
from reissue.attacks.stories import Candidates, Shown, TargetGroup, case, short, value_text
from reissue.published.boxes import PublishedValues
from reissue.words import listed, plural

__all__ = ["describe", "description"]

_OTHER = "\ue000"
"""What stands for all values beside those that occur."""
_LISTED = 3


def describe(boxes: SeriesBoxes, worst: Place, numbers: Sequence[int], limit: int) -> dict[str, object]:
    """What is said of a place: one sentence, and the case."""
    who, most = description(boxes, worst.part), people_there(boxes, worst)
    held = [numbers[place] for place in worst.releases]
    few = int(np.argmin(worst.values.sum(axis=1)))
    values = _values(boxes, worst, few)
    when = "" if boxes.can is None else f" in release {held[few]}"
    together = f"both release {held[0]} and release {held[1]}" if len(held) == 2 else f"releases {listed(held)}"
    place = (
        f"Whoever {who}, and was in {together}, has {values}{when}: at most {plural(most, 'person', 'people')}, if "
        "somebody of that description was in them."
    )
    steps = [
        f"The adversary knows that someone {who}, and that this person is in {together}.",
        *(_step(boxes, worst, number, held[number]) for number in range(len(held))),
        f"{_kept(boxes)} What leads through all of them is {values}{when}.",
        (
            f"At most {plural(most, 'person', 'people')} can be there. The files do not say whether somebody is: a "
            "register (`--population`) or lists of members (`--members`) would."
        ),
    ]
    bars = [_bar(boxes, worst, number, held[number]) for number in range(len(held))]
    picture: Candidates = {"kind": "candidates", "bars": bars, "limit": limit, "unit": "values"}
    return {"place": place, "people_there": most, "case": case(steps, picture)}


def description(boxes: SeriesBoxes, part: Part) -> str:
    """Who is meant: `has age [30, 34] and zip 531**`."""
    words = [
        f"{column.name} {text}"
        for column, lo, hi in zip(boxes.columns, part.lo.tolist(), part.hi.tolist(), strict=True)
        if (text := _text(column, lo, hi))
    ]
    return f"has {listed(words)}" if words else "is in them, whoever it is"


def _text(column: PublishedValues, lo: int, hi: int) -> str:
    """A run of codes as it was published, or by its ends; nothing where it is all there is."""
    if (lo, hi) == (0, len(column.leaves) - 1):
        return ""
    for text in column.texts_of(lo, hi):
        return "(missing)" if text is None else short(text) or ""
    names = ["(missing)" if name is None else _named(name) for name in column.leaves[lo : hi + 1]]
    if len(names) == 1:
        return names[0]
    if hi < column.ordered:
        return f"[{names[0]}, {names[-1]}]"
    more = f" or {len(names) - _LISTED} others" if len(names) > _LISTED else ""
    return f"{' or '.join(names[:_LISTED])}{more}"


def _named(leaf: str) -> str:
    """A value, or all others that share its first characters."""
    head = leaf.rstrip(_OTHER)
    if head == leaf:
        return short(leaf) or ""
    return f"{head}{'*' * (len(leaf) - len(head))} that is not named" if head else "that is not named"


def _values(boxes: SeriesBoxes, place: Place, number: int) -> str:
    names = [_value(boxes, code) for code in np.flatnonzero(place.values[number]).tolist()]
    if len(names) == 1:
        return names[0]
    more = [f"{len(names) - _LISTED} others"] if len(names) > _LISTED else []
    return f"one of {listed([*names[:_LISTED], *more])}"


def _value(boxes: SeriesBoxes, code: int) -> str:
    return value_text(boxes.names[code])


def _kept(boxes: SeriesBoxes) -> str:
    return "A value stays what it is." if boxes.can is None else "A value changes as the schema says."


def _groups(boxes: SeriesBoxes, place: Place, number: int) -> Sequence[int]:
    mine = place.boxes[boxes.release[place.boxes] == place.releases[number]]
    return [int(group) for group in np.unique(boxes.group[mine])]


def _step(boxes: SeriesBoxes, place: Place, number: int, release: int) -> str:
    """The groups of one release that such a person can be in."""
    groups = _groups(boxes, place, number)
    held = boxes.members(np.array(groups)).any(axis=0)
    sizes = sum(int(boxes.groups.sizes[group]) for group in groups)
    where = "one group" if len(groups) == 1 else f"one of {len(groups):,} groups"
    return (
        f"In release {release} that is {where}, {plural(sizes, 'record')} in all, with "
        f"{plural(int(held.sum()), 'different value')}."
    )


def _bar(boxes: SeriesBoxes, place: Place, number: int, release: int) -> TargetGroup:
    groups = _groups(boxes, place, number)
    held = int(boxes.members(np.array(groups)).any(axis=0).sum())
    shown: Shown = {}
    if len(groups) == 1:
        own = place.boxes[boxes.release[place.boxes] == place.releases[number]]
        bounds = boxes.bounds.some(own[:1])
        shown = {
            column.name: _text(column, lo, hi) or "*"
            for column, lo, hi in zip(boxes.columns, bounds.lo[:, 0].tolist(), bounds.hi[:, 0].tolist(), strict=True)
        }
    return {"label": f"release {release}", "size": held, "left": int(place.values[number].sum()), "published": shown}
