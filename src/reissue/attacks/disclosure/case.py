"""The worst case of one release by itself: a group, its values, and how common these are in the whole release."""

import numpy as np

from reissue.attacks.disclosure.counting import ColumnShares, ReleaseDisclosure
from reissue.attacks.stories import Case, case, in_words, shown, value_text
from reissue.errors import InternalError
from reissue.words import percent, plural

__all__ = ["describe"]

_VALUES = 8
"""Values of the group that are drawn, the most common first."""


def describe(found: ReleaseDisclosure) -> Case:
    """The case of a release that shows sensitive values."""
    column = found.worst
    if column is None or column.worst is None:
        raise InternalError("A case was asked for of a release without sensitive values.")
    counts, group = column.counts, int(column.counts.group[column.worst])
    inside = np.flatnonzero(counts.group == group)
    inside = inside[np.argsort(-counts.count[inside], kind="stable")][:_VALUES]
    limit = float(column.limit[column.worst])
    return case(
        _steps(found, column, group, limit),
        {
            "kind": "bars",
            "labels": [value_text(column.view.names[value]) for value in counts.value[inside].tolist()],
            "series": {
                "in the group (posterior)": column.share[inside].tolist(),
                "in the whole release (prior)": column.prior[counts.value[inside]].tolist(),
            },
            "unit": "share of people",
            "across": f"values of {column.view.column}",
            "limit": limit,
            "sentence": f"The values of one group of release {found.number}, and their shares in the whole release.",
        },
    )


def _steps(found: ReleaseDisclosure, column: ColumnShares, group: int, limit: float) -> list[str]:
    counts, entry = column.counts, int(column.worst or 0)
    value, size = int(counts.value[entry]), int(column.sizes[group])
    # Of what a ledger keeps without quasi-identifiers there is nothing to show.
    look = in_words(shown(found.published.box(group))) if found.published.tables.frames else ""
    name = value_text(column.view.names[value])
    share, prior = column.share[entry], column.prior[value]
    above = "above" if share > limit + 1e-9 else "within"
    return [
        (
            f"The adversary finds a person's group in release {found.number}{f': {look}' if look else ''}. It has "
            f"{plural(size, 'person', 'people')}."
        ),
        (
            f"{int(counts.count[entry]):,} of them {'has' if counts.count[entry] == 1 else 'have'} the value {name} of "
            f"{column.view.column}."
        ),
        (
            f"So this person has it with a posterior of {percent(share)}. Without the group it would be "
            f"{percent(prior)} (prior), its share of the whole release. The posterior is {above} the limit of "
            f"{percent(limit)}."
        ),
    ]
