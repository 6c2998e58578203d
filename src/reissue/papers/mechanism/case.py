"""The worst case of an attack by mechanism: how surely everyone is linked, and the person who is linked most surely."""

import numpy as np

from reissue._arrays import Bools, Floats
from reissue.attacks.cases import box_text, case, histogram, in_words, set_text
from reissue.attacks.pictures import Case
from reissue.release.release import Release
from reissue.words import percent

__all__ = ["tell"]


def tell(
    number: int,
    source: Release,
    believed: Floats,
    shares: Floats,
    known: Bools,
    asked: Bools,
    limit: float,
    worlds: str,
) -> Case:
    """The case of a release.

    `believed` and `shares` say, for everyone published and each set of values asked for, what is believed and what the
    release alone tells; `known` of whom anything can be said; `worlds` how many tables were tried and how many remain.
    """
    most = np.where(known, believed.max(axis=1, initial=0.0), -1.0)
    gain = np.where(known, (believed - shares).max(axis=1, initial=0.0), -1.0)
    person = int(np.lexsort((-np.round(gain, 9), -np.round(most, 9)))[0])
    column = int(believed[person].argmax())
    kept = source.draft.groups >= 0
    groups = source.draft.groups[kept]
    published = (source.table.sensitive if source.draft.sensitive is None else source.draft.sensitive)[kept]
    inside = published[groups == groups[person]]
    # A method that changes values may have hidden what is believed.
    values = np.unique(inside[asked[column][inside]])
    value = set_text(source.table.domain, values if len(values) else np.flatnonzero(asked[column]))
    look = box_text(source, int(groups[person]))
    where = f"release {number}" + (f" ({in_words(look)})" if look else "")
    share, surely = percent(shares[person, column]), percent(believed[person, column])
    unknown = int((~known).sum())
    steps = [
        "The adversary knows everyone's quasi-identifiers and group, the algorithm, and what it was asked for.",
        f"Take someone in a group of {where}: its {len(inside):,} records give this person {value} with {share}.",
        f"The adversary tries which tables lead to this very release: {worlds}.",
        f"In those the person has {value} with {surely}; the limit is {percent(limit)}.",
    ]
    if unknown:
        steps.append(f"About {unknown:,} people too few tables remain to say anything; the picture leaves them out.")
    counted = np.ones(int(known.sum()), np.int64)
    return case(steps, histogram(believed[known].max(axis=1, initial=0.0), counted, limit, "posterior"))
