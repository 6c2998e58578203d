"""Who has which row of the holder's copies, where engines opened them: asked for all releases of a series at once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from reissue.engines.base import Counted, FollowsPeople, WhoHasWhich
from reissue.published.release import PublishedRelease
from reissue.schema import Schema

__all__ = ["with_people"]


def with_people(releases: Sequence[PublishedRelease], schema: Schema) -> tuple[PublishedRelease, ...]:
    """The same releases, which say who has which row where an engine knows: it is asked when somebody wants to know.

    Where people are told by numbers, these say something among the releases that were asked for together only, so all
    of the series must have been opened by that engine.
    """
    one_engine = len({type(release.tables.opened) for release in releases}) == 1
    known = [_known(release, schema.identifier, one_engine=one_engine) for release in releases]
    asked = [one for one in known if one is not None]
    answer = cache(lambda: _followed(asked, str(schema.identifier)))
    turn = iter(range(len(asked)))
    return tuple(
        release if one is None else replace(release, tables=replace(release.tables, people=_turn(answer, next(turn))))
        for release, one in zip(releases, known, strict=True)
    )


def _known(release: PublishedRelease, name: str | None, *, one_engine: bool) -> tuple[FollowsPeople, Counted] | None:
    """A table whose people can be followed, and what was counted of it."""
    source, times = release.tables.opened, release.tables.times
    if not isinstance(source, FollowsPeople) or times is None or not (source.tells_identifiers or one_engine):
        return None
    kept = name in source.columns and name not in release.main.columns
    return (source, Counted(release.main, times)) if kept else None


def _turn(answer: Callable[[], list[WhoHasWhich]], place: int) -> Callable[[], WhoHasWhich]:
    return lambda: answer()[place]


def _followed(asked: Sequence[tuple[FollowsPeople, Counted]], name: str) -> list[WhoHasWhich]:
    """Those of one engine together."""
    found: dict[int, WhoHasWhich] = {}
    for kind in {type(source) for source, _ in asked}:
        places = [place for place, (source, _) in enumerate(asked) if type(source) is kind]
        tables = [asked[place] for place in places]
        found |= zip(places, tables[0][0].by_person(name, tables), strict=True)
    return [found[place] for place in range(len(asked))]
