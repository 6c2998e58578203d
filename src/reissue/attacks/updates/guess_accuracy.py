"""How often the surest guess is right, where the truth is known: of our own releases.

Posteriors take the groups of different releases for independent, as the paper does. They are not quite: those who were
together once tend to be together again. So how sure an adversary is and how often the adversary is right differ, and
the holder, who knows the truth, can count it.
"""

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.people.histories import PersonHistories
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
    parts = []
    for number, release in enumerate(releases):
        table, kept = release.table, np.flatnonzero(release.draft.groups >= 0)
        shown = table.decode(table.sensitive[kept]).cast(pl.String)
        text = shown.select(pl.concat_str(pl.all().fill_null("\0"), separator="\1")).to_series()
        ids = table.frame[table.schema.identifier or ""].cast(pl.String).gather(kept)
        parts.append(pl.DataFrame({"person": ids, "value": text, "release": number}))
    everyone = pl.concat(parts)
    names = {"\0" if name is None else name: place for place, name in enumerate(linked.names)}
    person = everyone["person"].rank("dense").to_numpy().astype(np.int64) - 1
    found = np.full((int(person.max(initial=-1)) + 1, len(releases)), -1, np.int64)
    values = everyone["value"].replace_strict(names, default=-1, return_dtype=pl.Int64).to_numpy()
    found[person, everyone["release"].to_numpy()] = values
    return found
