"""The worst case of colluding providers: who together exposes how many, and the group that they leave worst off."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.attacks.stories import Case, Matrix, case, in_words, short
from reissue.papers.coalition.contributions import Contributions, private
from reissue.papers.coalition.records import ProviderRecords
from reissue.requirements import Requirement
from reissue.words import listed, plural

__all__ = ["Exposed", "seen_by", "tell"]

Exposed = Callable[[Contributions, Requirement, Sequence[int]], Bools]
"""In which groups a coalition breaks a requirement."""
_MOST = 20
"""This many providers are shown at most."""
_WORK = 10**6
"""Coalitions times entries that are judged for the picture, so that it costs little beside the attack."""
_SEARCHED = 100
"""How much more an entry costs where coalitions may leave some of their own records in."""
_NAMED = 3
UNIT = "people exposed"


def tell(
    number: int,
    records: ProviderRecords,
    requirement: Requirement,
    members: Sequence[str] | None,
    exposed: Exposed,
    fewest: int | None,
    end: str,
    known: Mapping[tuple[str, ...], int],
) -> Case:
    """The case of a coalition in a release.

    `fewest` are the records that it leaves in an exposed group (None if it exposes none), `end` says what it comes to,
    and `known` how many people some coalitions expose.
    """
    contributions, names = records.contributions, list(records.names)
    inside = [names.index(name) for name in members or () if name in names]
    order = _ordered(records.gave, inside)
    work = (len(contributions.group) + 100) * (1 if requirement.growing else _SEARCHED)
    shown = order[: _fitting(_WORK // work, len(order))]
    values = _matrix(records, requirement, exposed, shown, {_places(names, one): n for one, n in known.items()})
    labels = [short(names[place]) for place in shown]
    steps = [*seen_by(number, records, requirement, None if members is None else inside, exposed, fewest), end]
    if len(shown) < len(names):
        steps.append(f"The picture shows {len(shown)} of the {len(names):,} providers, those who gave most.")
    picture: Matrix = {"kind": "matrix", "rows": labels, "columns": labels, "values": values, "unit": UNIT, "limit": 0}
    return case(steps, picture)


def _places(names: Sequence[str], members: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(sorted(names.index(name) for name in members if name in names))


# --- the picture -----------------------------------------------------------------------------------------------------


def _ordered(gave: Ints, first: Sequence[int]) -> list[int]:
    """Providers, the given ones first, then those who gave most."""
    rest = [place for place in np.argsort(-gave, kind="stable").tolist() if place not in set(first)]
    return [*first, *rest]


def _fitting(coalitions: int, providers: int) -> int:
    """How many providers, two at least, have no more coalitions of one or two."""
    most = min(providers, _MOST)
    while most > 2 and most * (most + 1) // 2 > coalitions:
        most -= 1
    return most


def _matrix(
    records: ProviderRecords,
    requirement: Requirement,
    exposed: Exposed,
    shown: Sequence[int],
    known: Mapping[tuple[int, ...], int],
) -> list[list[int]]:
    """How many people each two of the providers expose, and on the diagonal each one alone."""
    broken = records.contributions
    if records.holders is None:  # two providers expose nobody in a group that is private against any two
        broken = broken.pick(~private(broken, requirement, 2))
    found = np.zeros((len(shown), len(shown)), np.int64)
    for row, one in enumerate(shown):
        for column, other in enumerate(shown[: row + 1]):
            both = tuple(sorted({one, other}))
            own = records.known_to(both)
            number = known[both] if both in known else _people(broken, own, exposed(broken, requirement, own))
            found[row, column] = found[column, row] = number
    answer: list[list[int]] = found.tolist()
    return answer


def _people(contributions: Contributions, members: Sequence[int], groups: Bools) -> int:
    others = groups[contributions.group] & ~np.isin(contributions.provider, members)
    return int(contributions.count[others].sum())


# --- the steps -------------------------------------------------------------------------------------------------------


def seen_by(
    number: int,
    records: ProviderRecords,
    requirement: Requirement,
    members: Sequence[int] | None,
    exposed: Exposed,
    fewest: int | None,
) -> list[str]:
    """What some providers see in a release, step by step: their own records, and the group that is worst off."""
    if members is None:
        return [
            f"The {plural(len(records.names), 'provider')} of release {number} know their own records.",
            f"Whoever of them take theirs out of a group, what is left of others' records still meets {requirement}.",
        ]
    contributions, known = records.contributions, records.known_to(members)
    own = np.isin(contributions.provider, known)
    left = np.bincount(contributions.group[~own], contributions.count[~own], contributions.total).astype(np.int64)
    sentences = [_who(number, records, members, int(contributions.count[own].sum()))]
    if not left.any():
        return [*sentences, "All records of the release are theirs: there is nobody else to expose."]
    some: Bools = left == (left[left > 0].min() if fewest is None else fewest)
    if fewest is not None:
        some[some] = exposed(contributions.pick(some), requirement, known)
    sentences.append(_worst_group(records, own, int(some.argmax()), len(members)))
    if fewest is not None:
        return [*sentences, f"That does not meet {requirement}."]
    stay = "" if requirement.growing else ", whichever own records stay in"
    return [*sentences, f"That still meets {requirement}{stay}."]


def _who(number: int, records: ProviderRecords, members: Sequence[int], mine: int) -> str:
    whole = int(records.contributions.count.sum())
    if not members:
        return f"Nobody has to collude: the adversary gave none of the {whole:,} records of release {number}."
    names = [records.names[place] for place in members]
    who = listed(names) if len(names) <= _NAMED else f"{listed(names[:_NAMED])} and others, {len(names)} in all,"
    know, their = ("knows", "its") if len(names) == 1 else ("know", "their")
    return f"{who} {know} {their} own records: {mine:,} of the {whole:,} in release {number}."


def _worst_group(records: ProviderRecords, own: Bools, group: int, colluding: int) -> str:
    contributions = records.contributions
    inside = contributions.group == group
    whole, left = int(contributions.count[inside].sum()), int(contributions.count[inside & ~own].sum())
    published, texts = records.look(group)
    values = sorted({texts[value] for value in contributions.value[inside & ~own].tolist()})
    look = f" ({in_words(published)})" if published else ""
    what = listed(values) if len(values) <= _NAMED else f"{len(values)} values"
    if not colluding:
        return f"The worst group{look} has {plural(whole, 'record')}, with {what}."
    they = "It takes" if colluding == 1 else "They take"
    rest = f"{left:,} {'is' if left == 1 else 'are'} left, with {what}"
    return f"{they} them out of every group: of {plural(whole, 'record')} of the worst one{look} {rest}."
