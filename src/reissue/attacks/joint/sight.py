"""What the reader of a series knows of people: their groups, or a register and the published combinations."""

from dataclasses import replace

import numpy as np

from reissue.attacks.cases import Shown, box_text, shown
from reissue.errors import CannotRunError, InputError
from reissue.people.candidates import Sighting, by_groups, by_register, by_slots, from_copy, own_register
from reissue.people.crowd import Crowd, crowd_of
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.release.roster import Roster

__all__ = ["published_as", "see"]

_LARGEST = 150_000_000
"""Ways of people to be in groups, at most: beyond it memory and time run out."""
_NOBODY = (
    "it starts from people: give our own releases, files that kept the identifier column, a table of people for each "
    "release (`--members`), or one for all of them (`--people`)."
)


def see(series: Series, knowledge: Knowledge) -> Crowd:
    """Everyone whom the reader knows, in every release held."""
    if knowledge.members is not None and len(knowledge.members) != len(series):
        raise InputError(f"`members` must have one table for each of the {len(series)} releases.")
    seen = [_sighting(one, series, knowledge, place) for place, one in enumerate(series.releases)]
    sightings = [_insiders(one, knowledge) for one in seen]
    if not any(len(one.ids) for one in sightings):
        raise CannotRunError("none of the people fits any published group: the tables are not of these releases.")
    crowd = crowd_of(sightings)
    ways = sum(int(np.diff(seen.group_starts)[seen.group].sum()) for seen in crowd.observations)
    if ways > _LARGEST:
        raise CannotRunError(
            f"people fit {crowd.fits:.0f} groups of a release on average, too many to follow all of them at once.",
            too_large=True,
        )
    return crowd


def _sighting(release: PublishedRelease, series: Series, knowledge: Knowledge, place: int) -> Sighting:
    roster = release.roster
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing to link people to.")
    if roster is not None and (knowledge.members is None or not release.tables.frames):
        return _own(release, roster, strong=knowledge.groups or series.schema.policy.get("knowledge") == "groups")
    release = release.of_its_columns()
    if knowledge.members is not None:
        return by_register(release, knowledge.members[place], presence=True)
    if knowledge.population is not None:
        return by_register(release, knowledge.population, presence=False)
    if series.schema.identifier is not None and series.schema.identifier in release.main.columns:
        return from_copy(release)
    raise CannotRunError(_NOBODY, needs=["members", "people"])


def _own(release: PublishedRelease, roster: Roster, *, strong: bool) -> Sighting:
    """Our own release; `strong`: groups are taken to be known although the form does not show them."""
    source = release.source
    if roster.slots is not None:
        return by_slots(roster, roster.slots, source)
    if source is None or strong or not release.form.boxes:
        return by_groups(roster, source)
    return own_register(roster, source)


def published_as(release: PublishedRelease, sighting: Sighting, group: int) -> Shown:
    """The quasi-identifiers of a group as published; nothing where it shows none, or exact ones."""
    if sighting.as_published:
        return shown(release.of_its_columns().box(group))
    own = group if sighting.of_group is None else int(sighting.of_group[group])
    return {} if release.source is None else box_text(release.source, own)


def _insiders(known: Sighting, knowledge: Knowledge) -> Sighting:
    """A coalition of providers knows the values of its own records."""
    providers = None if known.table is None else known.table.providers
    if not knowledge.coalition:
        return known
    if providers is None:
        raise CannotRunError(
            'nobody knows who gave which record: the schema names no column as "provider".', needs=["providers"]
        )
    return replace(known, known=providers.is_in(list(knowledge.coalition)).to_numpy())
