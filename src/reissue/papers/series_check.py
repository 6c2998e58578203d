"""What a whole series satisfies: m-unique, m-Distinct, m-Distinct* and its re-publication risk, by the definitions.

Two independent answers: this shares no arithmetic with the method `distinct`. It reads who was in which group, and
goes through every pair of neighbouring groups that somebody was in, set by set (Li and Zhou 2008, definitions 9,
14 and 15). Which sets are legal does not depend on who asks, so each pair is judged once. O(pairs x m^2).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reissue._arrays import Ints
from reissue.errors import CannotRunError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.papers.tracking.membership import Membership, histories_of_members, membership
from reissue.papers.updates.attack import risks
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates

__all__ = ["SeriesCheck", "check_series", "legal"]


@dataclass(frozen=True)
class SeriesCheck:
    """What a series of releases satisfies."""

    releases: int
    people: int
    m: int
    """Every release is m-unique for this m; 0 if some group has a value twice."""
    illegal: int
    """People who went to a group whose values are no legal update instance of the group before."""
    overlapping: int
    """People in whose first group the candidate update sets of two values overlap."""
    risk: float
    """The re-publication risk: the largest posterior of any value of any person in any release."""
    certain: int
    """People with a value that is known for certain."""

    @property
    def distinct(self) -> int:
        """The largest m for which the series is m-Distinct; 0 for none."""
        return 0 if self.illegal else self.m

    @property
    def star(self) -> int:
        """The largest m for which it is m-Distinct*; 0 for none."""
        return 0 if self.overlapping else self.distinct

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in words."""
        unique = f"Every release is {self.m}-unique." if self.m else "Some group has a sensitive value twice."
        through = "nobody's groups rule a value out (m-Distinct)."
        if self.illegal:
            through = f"{self.illegal:,} people went to groups that rule values out, so it is not m-Distinct."
        elif self.star:
            through += f" Candidate update sets of first groups are apart ({self.m}-Distinct*)."
        elif self.overlapping:
            through += f" {self.overlapping:,} people began among values that can become the same (not m-Distinct*)."
        return (
            f"{self.releases:,} releases with {self.people:,} people. {unique}",
            f"Through the series {through}",
            f"The re-publication risk is {self.risk:.4g}; {self.certain:,} people have a value that is certain.",
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "m_distinct": self.distinct, "m_distinct_star": self.star}


def check_series(
    releases: Sequence[Any], schema: Schema, *, knowledge: Knowledge | None = None, dialect: Dialect = FOUND
) -> SeriesCheck:
    """What a series satisfies, from who was in which group: our own releases, or files that kept the identifier."""
    schema.refuse_several_rows("The check of a series")
    series = Series.read(releases, schema, dialect=dialect)
    try:
        members = membership(series, knowledge or Knowledge())
    except CannotRunError as obstacle:
        raise InputError(f"A series cannot be checked: {obstacle}") from None
    linked = histories_of_members(members)
    model = read_updates(schema, linked.names)
    found = risks(linked, model)
    table, values = _multisets(members)
    return SeriesCheck(
        len(series),
        len(linked.table),
        _unique(members),
        _illegal(table, values, model),
        _overlapping(table, values, model),
        float(found.largest.max(initial=0.0)),
        len(np.unique(found.person[found.left == 1])),
    )


def legal(before: Sequence[int], after: Sequence[int], model: UpdateModel) -> bool:
    """Whether values are a legal update instance of the update set signature of other values (definition 14).

    Both are multisets (definition 13): a value that a group has twice stands there twice.
    """
    sets = [set(np.flatnonzero(model.can[value]).tolist()) for value in before]
    return (
        len(after) == len(sets)
        and all(any(value in one for one in sets) for value in after)
        and all(any(value in one for value in after) for one in sets)
    )


def _multisets(members: Membership) -> tuple[Ints, list[list[int]]]:
    """People x releases: the number of the multiset that the person's group shows, -1 where absent; and these."""
    known = np.flatnonzero(members.real[members.person])
    person = np.unique(members.person[known], return_inverse=True)[1].reshape(-1)
    group = members.group[known]
    table = np.full((int(person.max(initial=-1)) + 1, int(members.release.max(initial=-1)) + 1), -1, np.int64)
    table[person, members.release[group]] = members.kinds[group]
    shown = members.histogram.pick(np.unique(members.kinds, return_index=True)[1])
    ends = np.cumsum(np.bincount(shown.group, minlength=shown.groups))[:-1]
    each = zip(np.split(shown.value, ends), np.split(shown.count, ends), strict=True)
    return table, [np.repeat(value, count.astype(np.int64)).tolist() for value, count in each]


def _unique(members: Membership) -> int:
    return 0 if (members.histogram.count > 1).any() else int(members.distinct.min())


def _illegal(table: Ints, values: list[list[int]], model: UpdateModel) -> int:
    """How many people have a neighbouring pair of groups that is not legal."""
    people: set[int] = set()
    last = table[:, 0].copy()
    for column in table.T[1:]:
        both = np.flatnonzero((last >= 0) & (column >= 0))
        steps, place = np.unique(np.stack([last[both], column[both]]), axis=1, return_inverse=True)
        bad = np.array([not legal(values[a], values[b], model) for a, b in steps.T.tolist()], np.bool_)
        if bad.any():
            people |= set(both[bad[place.reshape(-1)]].tolist())
        last = np.where(column >= 0, column, last)
    return len(people)


def _overlapping(table: Ints, values: list[list[int]], model: UpdateModel) -> int:
    """How many people began in a group where two candidate update sets share a value."""
    first: Ints = table[np.arange(len(table)), (table >= 0).argmax(axis=1)]
    apart = {place: (model.can[values[place]].sum(axis=0) <= 1).all() for place in np.unique(first).tolist()}
    return sum(not apart[place] for place in first.tolist())
