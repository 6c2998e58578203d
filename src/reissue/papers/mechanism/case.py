"""The worst case of an attack by mechanism: how surely everyone is linked, and the person who is linked most surely."""

import numpy as np

from reissue._arrays import Bools, Floats
from reissue.attacks.stories import Case, Link, box_text, histogram, in_words, set_text, story_of
from reissue.release.release import Release

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
    where = f" ({in_words(look)})" if look else ""
    unknown = int((~known).sum())
    more = [f"About {unknown:,} people too few tables remain to say anything; they are not drawn."] if unknown else []
    counted = np.ones(int(known.sum()), np.int64)
    link = Link(
        "The adversary knows everyone's quasi-identifiers and group, the algorithm, and what it was asked for.",
        number,
        value,
        f"the group{where} has {len(inside):,} records",
        float(shares[person, column]),
        (f"The adversary tries which tables lead to this very release: {worlds}.",),
        float(believed[person, column]),
        limit,
    )
    return story_of(link, histogram(believed[known].max(axis=1, initial=0.0), counted, limit, "posterior"), more)
