"""What the adversary knows of people: their groups, or a register and the published combinations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
import polars as pl

from reissue._arrays import Floats
from reissue.attacks.insiders import NO_PROVIDER
from reissue.attacks.joint.update_model import keeps_values
from reissue.attacks.stories import Shown, box_text, shown
from reissue.counting.texts import joined_texts
from reissue.errors import CannotRunError, DataError, InputError
from reissue.people.knowledge import Knowledge, assumed
from reissue.people.known_figures import counted_leaving, read_leaving, read_totals, totals_of
from reissue.people.presences import known_presences, own_register
from reissue.people.seat_histories import by_history
from reissue.people.series import SeriesPresences, number_series
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.release.presences import Presences

__all__ = [
    "known_leaving",
    "published_as",
    "refuse_strangers",
    "see",
    "with_histories",
]

_LARGEST = 150_000_000
"""Pairs of a person and a possible cell, at most: beyond it memory and time run out."""
_AVERAGES = (
    "means of groups are published: whoever knows everyone's numbers finds out who is in which group, so that only "
    "tables of each group's members say what can be learned (`--members`)."
)
_NOBODY = (
    "it starts from people: give our own releases, files that kept the identifier column, a table of people for each "
    "release, or one for all of them."
)


def see(series: Series, knowledge: Knowledge) -> SeriesPresences:
    """Everyone whom the adversary knows, in every release held."""
    if knowledge.members is not None and len(knowledge.members) != len(series):
        raise InputError(f"`members` must have one table for each of the {len(series)} releases.")
    seen = [_presences(one, series, knowledge, place) for place, one in enumerate(series.releases)]
    _refuse_other_tables(seen, series, knowledge)
    seen = [_insiders(one, release, knowledge) for one, release in zip(seen, series.releases, strict=True)]
    releases = [_with_totals(one, series, knowledge, place) for place, one in enumerate(seen)]
    if not any(len(one.ids) for one in releases):
        refuse_strangers(knowledge)
    crowd = number_series(releases)
    if any(one.totals is not None and _lacks_people(one) for one in releases):
        raise CannotRunError("true totals need a register that lists everyone in the releases.", needs=["members"])
    ways = sum(int(np.diff(seen.group_starts)[seen.group].sum()) for seen in crowd.observations)
    if ways > _LARGEST:
        raise CannotRunError(
            f"people fit {crowd.fits:.0f} groups of a release on average, too many to follow all of them at once.",
            too_large=True,
        )
    return crowd


def with_histories(crowd: SeriesPresences) -> SeriesPresences:
    """Add what the seat numbers of panels give away over all releases; unchanged in any other form."""
    if not any(len(seen.label) for seen in crowd.observations):
        return crowd
    found = by_history(crowd.observations)
    releases = (
        replace(one, of_group=of_group) if len(seen.label) else one
        for one, (seen, of_group) in zip(crowd.releases, found, strict=True)
    )
    return replace(crowd, observations=tuple(seen for seen, _ in found), releases=tuple(releases))


def refuse_strangers(knowledge: Knowledge) -> NoReturn:
    """Raise an error: none of the people given can be in these releases. For tables of members that is a mistake."""
    reason = "none of the people fits the published groups: the tables of people are not of these releases."
    if knowledge.members is not None:
        raise DataError(f"{reason[0].upper()}{reason[1:]} Are their values written alike?")
    raise CannotRunError(reason)


def _refuse_other_tables(seen: Sequence[Presences], series: Series, knowledge: Knowledge) -> None:
    """Raise DataError if one of the tables of members is of other people than its release."""
    nobody = [number for number, one in zip(series.numbers, seen, strict=True) if not len(one.ids)]
    if knowledge.members is not None and nobody:
        raise DataError(
            f"Nobody in table {nobody[0]} of members fits a group of release {nobody[0]}: are the tables in the order "
            "of the releases, and their values written alike?"
        )


def _presences(release: PublishedRelease, series: Series, knowledge: Knowledge, place: int) -> Presences:
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing to link people to.")
    members = None if knowledge.members is None else knowledge.members[place]
    known = known_presences(release.of_its_columns(), members, knowledge.population)
    if known is None:
        raise CannotRunError(_NOBODY, needs=["members", "people"])
    source = release.source
    if release.averages and not known.groups_known:
        raise CannotRunError(_AVERAGES, needs=["members"])
    if known.as_published or known.seats is not None or source is None or not release.form.boxes:
        return known
    # Of groups formed by value a register says so little that posteriors from it alone are overconfident. An adversary
    # who knows everyone's group is stronger, and those posteriors are exact.
    by_value = any(keeps_values(method) for method in (series.schema.policy.get("method"), source.method))
    if knowledge.groups or "groups" in assumed(series.schema.policy) or by_value or release.averages:
        return known
    return own_register(known, source)


def published_as(release: PublishedRelease, known: Presences, group: int) -> Shown:
    """The quasi-identifiers of a group as published; nothing where it shows none, or exact ones."""
    own = group if known.of_group is None else int(known.of_group[group])
    if known.as_published:
        return shown(release.of_its_columns().box(own))
    return {} if release.source is None else box_text(release.source, own)


def _with_totals(known: Presences, series: Series, knowledge: Knowledge, place: int) -> Presences:
    """Add the totals of values: from the adversary's table, or the true ones."""
    asked = "totals" in assumed(series.schema.policy) if knowledge.totals is None else knowledge.totals
    if asked is False:
        return known
    number = series.numbers[place]
    if asked is not True:
        totals = read_totals(asked, series.schema, number, len(series))
    elif known.truth is None:
        raise CannotRunError(
            "nobody knows the true totals of each value here: give them as a table (`--knowledge totals=FILE`).",
            needs=["totals"],
        )
    else:
        totals = totals_of(known.truth)
    _check_totals(known, totals, number)
    return replace(known, totals=totals)


def known_leaving(series: Series, knowledge: Knowledge, crowd: SeriesPresences) -> Floats | None:
    """The departure rate of each value: from the adversary's table, or the true one; None if not known."""
    if knowledge.leaving is None or knowledge.leaving is False:
        return None
    if knowledge.leaving is not True:
        return read_leaving(knowledge.leaving, series.schema, crowd.names)
    truth = [one for one in crowd.truth if one is not None]
    if len(truth) < len(crowd.truth):
        raise CannotRunError(
            "nobody knows how soon people with each value leave here: give it as a table (`--knowledge leaving=FILE`).",
            needs=["leaving"],
        )
    return counted_leaving(truth, len(crowd.names))


def _check_totals(known: Presences, totals: Mapping[str, int], number: int) -> None:
    """Raise an error if totals are not of the people whose records are published."""
    shown = known.histogram
    published = dict(zip(shown.names, np.bincount(shown.value, shown.count, len(shown.names)), strict=True))
    if any(count > published.get(text, 0) for text, count in totals.items()):
        raise CannotRunError(f"more people have some value than release {number} shows: values in it were changed.")
    people = known.of_people
    total = sum(totals.values())
    if total != people:
        raise InputError(
            f"The totals of release {number} are of {total:,} people, and it has {people:,} records that "
            "are not counterfeits: they must be of the same people."
        )


def _lacks_people(known: Presences) -> bool:
    """Whether some records are of people whom the adversary does not know."""
    return len(known.ids) < known.of_people


def _insiders(known: Presences, release: PublishedRelease, knowledge: Knowledge) -> Presences:
    """Add the values of a coalition's own records, which it knows."""
    if not knowledge.coalition:
        return known
    if known.as_published:
        return _insiders_of_copy(known, release, knowledge)
    providers = None if known.table is None else known.table.providers
    if providers is None:
        raise CannotRunError(NO_PROVIDER, needs=["providers"])
    return replace(known, insider=providers.is_in(list(knowledge.coalition)).to_numpy())


def _insiders_of_copy(known: Presences, release: PublishedRelease, knowledge: Knowledge) -> Presences:
    """The same for a copy, whose rows name the person and the provider, and show the person's value."""
    name = release.schema.provider
    if name is None:
        raise CannotRunError(NO_PROVIDER, needs=["providers"])
    if not known.groups_known:
        raise CannotRunError(
            "a table of people does not say which of them are in the coalition's own records: give copies that kept "
            "the identifier beside the provider, and no table of people.",
            needs=["identifier"],
        )
    if name not in release.main.columns:
        raise CannotRunError(
            "a release has no column that names the provider of each record: give the holder's copy, which has it.",
            needs=["providers"],
        )
    if not release.form.boxes:
        raise CannotRunError(
            "a release shows values apart from the people who have them, so the copies do not say which values the "
            "coalition's own records have: give the Release itself, or a ledger's tables.",
            needs=["providers"],
        )
    ids, row = release.named
    row = row[ids.is_not_null().to_numpy()]
    own = release.main[name].cast(pl.String).gather(row).is_in(list(knowledge.coalition)).to_numpy()
    truth = joined_texts(release.main, release.schema.sensitive).gather(row)
    return replace(known, insider=own, truth=truth)
