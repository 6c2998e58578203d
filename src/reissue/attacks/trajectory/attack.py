"""The trajectory attack: releases that let the same person be followed, by a pseudonym or by what never changes.

Every release may be k-anonymous and the series not: what somebody looked like in each release, and when the person was
there at all, is a pattern that few share. An adversary who knows a person's quasi-identifiers and attendance finds the
class of people with that pattern. This is about who somebody is, not about sensitive values: whoever is found is found
with all that the files hold.

Without a pseudonym nothing links the rows of different releases but columns that never change in a life (sex, date of
birth). Who shares them with few others in some release can be followed just as well.

Where people have several rows in a release (visits), a pseudonym links these too: what is shown of a person in one
release is how often each combination of quasi-identifiers occurs in their rows.

The seats of a panel are such marks too, of places that people are in: see `classes.seat_histories`.
"""

from collections.abc import Sequence
from dataclasses import asdict

import polars as pl

from reissue._arrays import Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.joint.finding import limit_of
from reissue.attacks.registry import Accepts, Heading, attack
from reissue.attacks.trajectory.case import describe, describe_seats
from reissue.attacks.trajectory.classes import (
    LookedAt,
    TrajectoryClasses,
    follow,
    lasting_classes,
    lasting_columns,
    one_each,
    seat_histories,
)
from reissue.counting.texts import joined_texts
from reissue.errors import CannotRunError, DataError, SchemaError
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.words import plural

__all__ = ["LIMIT", "trajectory"]

NAME = "trajectory"
LIMIT = 5
"""How many people must share a pattern where nobody says otherwise: the usual smallest cell of a published table."""
SEATS = "class: how many seats of a panel share a history of groups"
MEASURE = "class: how many people share what all releases show of a person, the person included"


@attack(
    NAME,
    "Follows people by a pseudonym, or by what never changes: how many share the pattern of a person in all releases.",
    accepts=Accepts.OTHER_COLUMNS | Accepts.OTHER_VALUES | Accepts.REPEATED_RECORDS | Accepts.COUNTED_PEOPLE,
    needs="files that kept a pseudonym (`--identifier COLUMN`), or columns that never change, such as a date of birth",
    story=(
        "Someone knows what a person looked like (age, home) each time a release was made, and when the person was in "
        "it at all. Rows of the same person can be followed from release to release, so these are looked at together: "
        "few people, often one, have such a pattern, and all rows of that person are found."
    ),
    prevention=(
        "Give people a new pseudonym in every release, or none.",
        (
            "Where rows must stay linked, publish quasi-identifiers once and coarser (as of the first release), or "
            "publish waves of people who come and go together."
        ),
        (
            'Publish a panel of cohorts (method "cohorts", form = "panel"): rows carry the number of a seat, which '
            "people take over from each other, and seats that are alike come and go together."
        ),
    ),
    heading=Heading.SINGLING_OUT,
)
def trajectory(series: Series, knowledge: Knowledge) -> Finding:
    """How many people share what all releases show of a person."""
    del knowledge
    limit = _limit(series)
    shown = [release.of_its_columns() for release in series.releases]
    panels = [(one, number) for one, number in zip(shown, series.numbers, strict=True) if one.form.seats]
    if panels:
        return _of_seats(series, *zip(*panels, strict=True), limit=limit)
    name = series.schema.identifier
    if name is None or not all(one.keeps_identifier for one in shown):
        if any(one.tables.times is not None for one in shown):
            raise CannotRunError("without a pseudonym it needs every row, and an engine counted equal ones together.")
        return _without_pseudonym(series, shown, limit)
    seen = [_looked_at(one, name, number) for one, number in zip(shown, series.numbers, strict=True)]
    found = follow(seen, limit)
    end = found.growth[-1]
    return Finding(
        NAME,
        Status.EXPOSED if end.below else Status.WITHSTOOD,
        _sentence(found, limit, len(series)),
        series.numbers,
        people=end.below,
        population=end.people,
        measure=MEASURE,
        worst=end.smallest,
        limit=limit,
        at_least=True,
        details={
            "linked_by": "pseudonym",
            "unique": end.unique,
            "below": end.below,
            "expected": end.classes,
            "growth": [
                {"release": number, **asdict(one)} for number, one in zip(series.numbers, found.growth, strict=True)
            ],
            "case": describe(found, shown, seen, series.numbers, limit),
        },
    )


def _of_seats(series: Series, releases: Sequence[PublishedRelease], numbers: Sequence[int], *, limit: int) -> Finding:
    """How many seats of a panel could be a person's, and what they show."""
    most = limit_of(series)
    seats = seat_histories(releases, limit, most)
    end = seats.found.growth[-1]
    exposed = bool(end.below or seats.above)
    return Finding(
        NAME,
        Status.EXPOSED if exposed else Status.WITHSTOOD,
        f"The seats of {plural(len(numbers), 'release')} are followed by their numbers: {end.below:,} of "
        f"{end.people:,} have a history of groups that fewer than {limit} share (the fewest: {end.smallest}); among "
        f"those that share one, no value ever has more than {seats.share:.0%} (the limit is {most:.0%}). "
        f"{seats.sentence}",
        series.numbers,
        people=max(end.below, seats.above),
        population=end.people,
        measure=SEATS,
        worst=end.smallest,
        limit=limit,
        at_least=True,
        details={
            "linked_by": "slots",
            "unique": end.unique,
            "below": end.below,
            "above": seats.above,
            "largest_share": seats.share,
            "left_by_one_value": seats.left,
            "single_by_one_value": seats.single,
            "case": describe_seats(seats, numbers, limit),
        },
    )


def _limit(series: Series) -> int:
    limit = series.limit(NAME) or series.k or LIMIT
    if isinstance(limit, bool) or limit != int(limit) or limit < 1:
        raise SchemaError("The limit of the trajectory attack is a number of people, 1 or more.")
    return int(limit)


def _looked_at(release: PublishedRelease, name: str, number: int) -> LookedAt:
    """Who is in a release; rows without a mark are counterfeits or people whom nobody can follow."""
    marks, row = release.named
    there = marks.is_not_null()
    marks = marks.filter(there)
    looks = _looks(release)[release.looks.of_row[row[there.to_numpy()]]]
    if not len(marks):
        raise CannotRunError(f"in release {number} no row has a pseudonym.")
    if release.schema.several_rows:
        return one_each(marks, looks)
    twice = len(marks) - marks.n_unique()
    if twice and release.schema.provider is not None:
        raise CannotRunError(f"several providers gave records of the same people in release {number}.")
    if twice:
        raise DataError(
            f"In release {number} the column '{name}' is no pseudonym: it repeats itself in {plural(twice, 'row')}. "
            "Give each person one row in a release, or name another column with --identifier. If people have several "
            "rows, a schema says so: [person] several_rows = true."
        )
    return LookedAt(marks, looks)


def _looks(release: PublishedRelease) -> Ints:
    """Look to its number by texts alone: the number of a group is nothing that is known about a person."""
    texts = joined_texts(release.looks.texts, release.schema.quasi)
    return (texts.rank("dense").cast(pl.Int64) - 1).to_numpy()


def _sentence(found: TrajectoryClasses, limit: int, releases: int) -> str:
    first, end = found.growth[0], found.growth[-1]
    many = "one release" if releases == 1 else f"{releases} releases"
    since = f" (after the first release {first.unique:,} and {first.below:,})" if releases > 1 else ""
    return (
        f"By the pseudonym that {many} kept, {end.unique:,} of {end.people:,} people are the only ones with their "
        f"pattern of quasi-identifiers and attendance, and {end.below:,} are among fewer than {limit}{since}; who "
        f"guesses within each pattern finds {end.classes:,} people."
    )


def _without_pseudonym(series: Series, shown: Sequence[PublishedRelease], limit: int) -> Finding:
    """Who can be followed by columns that never change."""
    if series.schema.several_rows:
        raise CannotRunError(
            "people have several rows, and without a pseudonym nothing says which rows are the same person's."
        )
    columns = lasting_columns([one.schema.quasi for one in shown])
    if not columns:
        raise CannotRunError(
            "nothing links rows of different releases: no pseudonym, no date of birth or the like, which never changes."
        )
    texts, rows = [one.looks.texts for one in shown], [one.looks.rows for one in shown]
    classes = lasting_classes(texts, rows, columns, limit)
    people, everyone = sum(one.below for one in classes), sum(one.people for one in classes)
    unique = sum(one.smallest == 1 for one in classes)
    named = ", ".join(f"'{column}'" for column in columns)
    return Finding(
        NAME,
        Status.EXPOSED if people else Status.WITHSTOOD,
        f"By {named}, taken to stay the same for life, {people:,} people or more are among fewer than {limit} in some "
        f"release, {unique:,} of them alone: wherever such a combination occurs, rows can be followed.",
        series.numbers,
        people=people,
        population=everyone,
        measure=MEASURE,
        worst=min(one.smallest for one in classes),
        limit=limit,
        at_least=True,
        details={"linked_by": "columns", "columns": list(columns), "unique": unique, "below": people},
    )
