"""The releases under attack, as they went out: files, frames or Release objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reissue.engines.registry import MEMORY, choose
from reissue.errors import InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.published import PublishedRelease, read_published
from reissue.published.counted import open_counted, with_people
from reissue.release.release import Release
from reissue.requirements import parse
from reissue.schema import Schema

__all__ = ["Series"]


@dataclass(frozen=True, eq=False)
class Series:
    """Releases in the order of their publication, and how they are judged."""

    releases: tuple[PublishedRelease, ...]
    schema: Schema
    exact: bool = False
    """Whether attacks use their slower, exact algorithm, where they have one."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Attack to the limit that the caller sets."""
    numbers: tuple[int, ...] = ()
    """The numbers of the releases in findings, from 1."""
    times: tuple[int, ...] = ()
    """When each was published, in steps of the update model; by default one after the other."""

    def __post_init__(self) -> None:
        if not self.numbers:
            object.__setattr__(self, "numbers", tuple(range(1, len(self.releases) + 1)))
        if not self.times:
            object.__setattr__(self, "times", tuple(range(len(self.releases))))

    @classmethod
    def read(
        cls,
        releases: Sequence[Any],
        schema: Schema,
        *,
        exact: bool = False,
        limits: Mapping[str, float] | None = None,
        dialect: Dialect = FOUND,
        engine: str = MEMORY,
    ) -> "Series":
        """Read releases; with an engine, only the distinct rows that it counts come into memory."""
        if isinstance(releases, str | Path | Mapping) or not isinstance(releases, Sequence):
            raise InputError("The releases must be a list of paths, dataframes or releases, in the order published.")
        read = [_read(data, schema, dialect, engine) for data in releases]
        return cls(with_people(read, schema), schema, exact, dict(limits or {}))

    def __len__(self) -> int:
        return len(self.releases)

    def of(self, numbers: Sequence[int]) -> "Series":
        """Restrict to some releases."""
        places = [self.numbers.index(number) for number in numbers]
        kept, times = tuple(self.releases[place] for place in places), tuple(self.times[place] for place in places)
        return replace(self, releases=kept, numbers=tuple(numbers), times=times)

    def of_sensitive(self, column: str) -> "Series":
        """Restrict to one sensitive column."""
        releases = tuple(one.of_sensitive(column) for one in self.releases)
        return replace(self, releases=releases, schema=self.schema.of_sensitive(column))

    def limit(self, attack: str) -> float | None:
        """The limit of an attack: the caller's, else the policy's; None if neither says one."""
        named = self.schema.policy.get("limits") or self.schema.policy.get("ceilings")
        return self.limits.get(attack) or (named.get(attack) if isinstance(named, Mapping) else None)

    @property
    def k(self) -> int | None:
        """The promised size of a group: by the policy (`require = "k=5"`), otherwise by our own releases."""
        require = self.schema.policy.get("require")
        if require:
            return parse(str(require)).least
        own = [release.requirement.least for release in self.releases if release.requirement is not None]
        return min(own) if own and len(own) == len(self.releases) else None


def _read(data: Any, schema: Schema, dialect: Dialect, engine: str) -> PublishedRelease:
    chosen = choose(engine, data)
    if chosen.name == MEMORY or isinstance(data, PublishedRelease | Release):
        return read_published(data, schema, dialect=dialect)
    return open_counted(chosen, data, schema, providers=True)
