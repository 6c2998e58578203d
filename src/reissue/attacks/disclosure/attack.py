"""Disclosure by one release alone: what its own groups say, without any other release, register or algorithm.

The two risks of the textbooks (Duncan and Lambert 1986; Machanavajjhala et al. 2007, the homogeneity attack).
*Attribute disclosure*: someone who finds a person's group links the person to a value by its share there; of a
homogeneous group the value is certain. *Identity disclosure*: someone finds the person's record itself, because the
group is too small.

Every release is judged by itself, each sensitive column by itself and all of them together. A group smaller than the
requirement asks for exposes its people. Where no requirement says how many people a group must have, a unique record
is counted only in a release without sensitive columns: elsewhere its value is judged already, with a share of 100%.
O(rows) for each release and sensitive column.
"""

from collections.abc import Sequence
from typing import Any

from reissue.attacks.disclosure.case import describe
from reissue.attacks.disclosure.counting import ColumnShares, ReleaseDisclosure, disclosed, protection_of
from reissue.attacks.findings import ALONE, Finding, Status
from reissue.attacks.registry import Accepts, attack
from reissue.counting.resources import in_threads
from reissue.errors import CannotRunError
from reissue.language import counted, localized, text
from reissue.people.knowledge import Knowledge
from reissue.protection import TOGETHER, Protection
from reissue.published.series import Series
from reissue.words import number, plural

__all__ = ["disclosure"]

_POSTERIOR = "posterior: the probability of a sensitive value for a person, by the group in one release"
_VACUOUS = (
    "the policy permits everything, by a limit of 1 or as no value is protected: nobody could be exposed. Set `limit` "
    "below 1."
)
_SIZE = "group: how many people share what one release shows of a person, the person included"


@attack(
    ALONE,
    "Looks at each release by itself: groups in which a value is too common, and groups that are too small.",
    per_release=True,
    accepts=Accepts.OTHER_COLUMNS | Accepts.OTHER_VALUES | Accepts.REPEATED_RECORDS | Accepts.COUNTED_ROWS,
    needs="one release or more, and nothing else",
    story=(
        "Someone knows what a release shows of a person (age, home) and finds the person's group in it. The group's "
        "own shares say how likely each value is; where all have the same value, it is certain. Where the group is too "
        "small, the person's record itself is found."
    ),
    prevention=(
        "Ask for different values in every group, such as `l=3`, beside the group size `k`.",
        "Leave a group out where it stays homogeneous, or generalize its quasi-identifiers further.",
    ),
)
def disclosure(series: Series, knowledge: Knowledge) -> Finding:
    """Find the release that exposes most people, or comes nearest to it."""
    found = in_threads(lambda release: disclosed(release, series, knowledge), series.releases)
    worst, protection = _worst(found), protection_of(series)
    if protection.vacuous and not worst.people:
        raise CannotRunError(_VACUOUS, needs=("a limit below 1",))
    surest = _surest(worst.worst)
    by_size = worst.k is not None and (surest["posterior"] is None or bool(worst.small.any() > worst.linked.any()))
    smallest = int(worst.sizes[worst.sizes > 0].min(initial=worst.population))
    return Finding(
        ALONE,
        Status.EXPOSED if worst.people else Status.WITHSTOOD,
        " ".join([_linked(found, worst, protection), *_small(found, worst), *_lacking(found), *_records(found)]),
        series.numbers,
        people=worst.people,
        population=worst.population,
        measure=_SIZE if by_size else _POSTERIOR,
        worst=smallest if by_size else surest["posterior"],
        limit=worst.k if by_size else surest["limit"],
        at_least=by_size,
        details=_details(found, worst) | ({} if worst.worst is None else {"case": describe(worst)}),
    )


def _worst(found: Sequence[ReleaseDisclosure]) -> ReleaseDisclosure:
    return max(found, key=lambda one: (one.people, 0.0 if one.worst is None else one.worst.score))


# --- in words --------------------------------------------------------------------------------------------------------


def _linked(found: Sequence[ReleaseDisclosure], worst: ReleaseDisclosure, protection: Protection) -> str:
    """What values give away."""
    column = worst.worst
    if protection.vacuous:
        return f"Values were not judged: {_VACUOUS}"
    if column is None:
        return "No protected value is shown, so nobody can be linked to one."
    limit = localized(f"{protection.limit:.3g}") if protection.uniform else text("its limit allows")
    value = "a value" if protection.every_value else "a protected value"
    if not worst.linked.any():
        one, many_ones = (
            "In the release no group links anybody to {value} of {column} with a probability above {limit}; {worst}.",
            (
                "In each of the {count} releases by itself no group links anybody to {value} of {column} with a "
                "probability above {limit}; {worst}."
            ),
        )
        named = {"value": text(value), "column": _named(column), "limit": limit, "worst": _side_by_side(column)}
        return counted(len(found), one, many_ones, **named)
    many, sure = worst.people_in(worst.linked), _certain(worst)
    certain = f"; the value of {sure:,} is certain" if sure else ""
    others = sum(bool(one.linked.any()) for one in found) - 1
    more = f" So {'do' if others > 1 else 'does'} {plural(others, 'other release')}." if others else ""
    return (
        f"Release {worst.number} by itself links {many:,} of {plural(worst.population, 'person', 'people')} to {value} "
        f"of {_listed(worst)} with a probability above {limit}{certain}; {_side_by_side(column)}.{more}"
    )


def _side_by_side(column: ColumnShares) -> str:
    """The posterior of the worst case beside the prior."""
    surest = _surest(column)
    highest, before = number(surest["posterior"]), number(surest["prior"])
    return text("at worst the posterior is {posterior}, where the prior is {prior}", posterior=highest, prior=before)


def _surest(column: ColumnShares | None) -> dict[str, float | None]:
    """The posterior of the worst case, its prior and its limit; nothing where no value needs protection."""
    entry = None if column is None else column.worst
    if column is None or entry is None:
        return {"posterior": None, "prior": None, "limit": None}
    prior = float(column.prior[column.counts.value[entry]])
    return {"posterior": float(column.share[entry]), "prior": prior, "limit": float(column.limit[entry])}


def _listed(worst: ReleaseDisclosure) -> str:
    """The columns that expose somebody; all together only where no single one does."""
    exposing = [one for one in worst.columns if one.exposed.any()]
    single = [one for one in exposing if TOGETHER not in one.view.column]
    return " or ".join(_named(one) for one in single or exposing)


def _named(column: ColumnShares) -> str:
    return f"'{column.view.column}'"


def _certain(one: ReleaseDisclosure) -> int:
    if not one.columns:
        return 0
    certain = one.columns[0].homogeneous
    for column in one.columns[1:]:
        certain = certain | column.homogeneous
    return one.people_in(certain)


def _small(found: Sequence[ReleaseDisclosure], worst: ReleaseDisclosure) -> list[str]:
    """Who can be found by the size of a group: exposed by it, or only said."""
    below = worst.people_in(worst.small)
    if below and worst.k is not None:
        return [f"{plural(below, 'person is', 'people are')} in groups of fewer than {worst.k}."]
    unique = max(int((one.sizes == 1).sum()) for one in found)
    if not unique or worst.k is not None:
        return []
    return [
        (
            f"{plural(unique, 'person is', 'people are')} unique by what a release shows; that is not counted, as no "
            "requirement asks for a group size."
        )
    ]


def _lacking(found: Sequence[ReleaseDisclosure]) -> list[str]:
    return [
        f"Release {one.number} does not show {', '.join(map(repr, one.lacking))}: nothing was judged of it there."
        for one in found
        if one.lacking
    ]


def _records(found: Sequence[ReleaseDisclosure]) -> list[str]:
    if all(one.by_people for one in found):
        return []
    return ["People may have several records, and nothing says whose they are: records were counted."]


def _details(found: Sequence[ReleaseDisclosure], worst: ReleaseDisclosure) -> dict[str, Any]:
    return {
        "release": worst.number,
        "linked": worst.people_in(worst.linked),
        "sure": _certain(worst),
        "small": worst.people_in(worst.small),
        "unique": int((worst.sizes == 1).sum()),
        "k": worst.k,
        "columns": {one.view.column: _column(worst, one) for one in worst.columns},
        "by_release": [
            {
                "release": one.number,
                "people": one.people,
                "population": one.population,
                "risk": None if one.worst is None else one.worst.largest,
                "lacking": list(one.lacking),
            }
            for one in found
        ],
    }


def _column(release: ReleaseDisclosure, one: ColumnShares) -> dict[str, Any]:
    return {
        "people": release.people_in(one.exposed),
        "certain": release.people_in(one.homogeneous),
        **_surest(one),
    }
