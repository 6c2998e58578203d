"""How often the surest guess is right, where the truth is known: of our own releases.

Posteriors take the groups of different releases for independent, as the paper does. They are not quite: those who were
together once tend to be together again. So how sure an adversary is and how often the adversary is right differ, and
the holder, who knows the truth, can count it.
"""

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.keys import distinct_keys
from reissue.counting.texts import MISSING, joined_texts, ranked_texts
from reissue.papers.tracking.membership import PersonHistories
from reissue.published.series import Series
from reissue.release.release import Release

__all__ = ["guessed_right"]


def guessed_right(series: Series, linked: PersonHistories, people: Ints, release: Ints, value: Ints) -> int | None:
    """Of how many of these people the likeliest value of all, where it is likeliest, is theirs; None if unknown."""
    sources = [one.source for one in series.releases]
    own = [source for source in sources if source is not None and source.table.ids is not None]
    if len(own) < len(sources):
        return None
    truth = _truth(own, linked)
    return int((truth[people, release] == value).sum()) if len(truth) == len(linked.table) else None


def _truth(releases: list[Release], linked: PersonHistories) -> Ints:
    """People x releases: everybody's value, -1 where the person is absent; people in the order of their names."""
    number = {MISSING if name is None else name: place for place, name in enumerate(linked.names)}
    ids, values, places = [], [], []
    for place, release in enumerate(releases):
        table, kept = release.table, np.flatnonzero(release.draft.groups >= 0)
        codes, of_row = distinct_keys(table.sensitive[kept].astype(np.int64), table.domain.size)
        texts = joined_texts(table.decode(codes.astype(np.int32)), table.schema.sensitive)
        values.append(np.array([number.get(text, -1) for text in texts], np.int64)[of_row])
        ids.append(table.frame[table.schema.identifier or ""].cast(pl.String).gather(kept))
        places.append(np.full(len(kept), place))
    names, person = ranked_texts(pl.concat(ids))
    found = np.full((len(names), len(releases)), -1, np.int64)
    found[person, np.concatenate(places)] = np.concatenate(values)
    return found
