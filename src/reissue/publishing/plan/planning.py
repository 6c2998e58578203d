"""plan: which method and setting protect a series at the least cost, by trying them on its own waves.

The first setting is tried at once, so that there is something to see; then randomized values, whose price is another
one; then the others in the order of what the first wave would lose. A setting is abandoned at the first release that
could not be published. Where few people are exposed, the release is repaired, unless something that withstands costs
less than this one loses already. Settings that withstand all waves are then tried on as many simulated waves again, the
cheapest first, until one survives these too. Where none does, the one that lasts longest is recommended. True values
and randomized ones are compared by the error of queries.

Then group sizes between those that were tried are examined, wherever they may cost less. The larger the groups, the
less they give away and the more they cost, almost always. So for each number of values per group the smallest size that
withstands is found by bisection: a size that costs more than the current recommendation is too large, one that exposes
somebody too small. Part of a small budget is reserved for that.

The budget is in CPU seconds, so that other work on the machine does not change what a plan finds.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from reissue._renamed import renamed
from reissue.data.table import Table
from reissue.errors import InputError, NotMetError
from reissue.files.dialect import FOUND, Dialect
from reissue.methods import find
from reissue.methods.registry import Trait
from reissue.publishing.longevity import simulated
from reissue.publishing.plan.outcome import Outcome, Plan, RehearsalEnd, ordered, recommended_of
from reissue.publishing.plan.rehearsal import (
    Rehearsal,
    ended_by,
    first_loss,
    learning_sentence,
    rehearse,
    with_known_groups,
)
from reissue.publishing.plan.settings import Limits, Setting, sensible_settings
from reissue.publishing.plan.waves import SIMULATED, Dynamics, Waves, continued, read_waves
from reissue.schema import Schema
from reissue.words import plural

__all__ = ["Progress", "cpu_seconds", "kinds_of_groups", "plan", "seconds_of", "smallest"]


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, all its threads, and its children that have ended."""
    return sum(os.times()[:4])


_SMALLEST = 5
"""Minimum number of rows per group, as often required of published microdata."""
_VALUES = re.compile(r"\b(simple-l|l)=(\d+)")


def kinds_of_groups(tried: Iterable[Setting], waves: Waves) -> Iterator[Setting]:
    """Yield the settings with the smallest groups of each kind: of 2 values, of 3, and so on."""
    kinds = {_VALUES.sub(r"\1", one.sized(_SMALLEST).require): one for one in tried if _sized(one)}
    for setting in kinds.values():
        found = _VALUES.search(setting.require)
        if found is None:
            yield setting.sized(_SMALLEST)
            continue
        most = int(1 / waves.largest_share + 1e-9) if found[1] == "simple-l" else waves.values
        for values in range(2, most + 1):
            yield setting.with_numbers(max(_SMALLEST, values), values)


def _sized(setting: Setting) -> bool:
    """Whether its group size and number of values are all that a setting requires, by a method without memory."""
    return setting.size > 0 and not setting.options and Trait.JOINABLE in find(setting.method).traits


def smallest(first: Setting, waves: Waves, fits: Callable[[Setting], bool | None]) -> None:
    """Bisect group sizes; `fits` returns whether a size withstands and costs less, or None if it costs too much."""
    low, high = first.size - 1, waves.fewest // 2
    while low < high:
        k = min(max(isqrt((low + 1) * high), low + 1), high)
        if fits(first.sized(k)) is False:
            low = k
        else:
            high = k - 1


_SMALL = 5_000
"""Waves with fewer rows in total are continued twice, since the fewer people, the larger the effect of chance."""
_FIRST = 0.6
"""The share of the budget after which no further setting is begun before there is a recommendation."""
_TIME = "The budget of CPU time was spent before {untried} had been tried to the end. A larger `budget` may find more."
_NO_ROOM = (
    "It was stopped before all settings that withstood were tried on further waves. A larger budget may find more."
)
_COARSE = (
    "The budget was spent before all sizes of groups between these were looked at. A larger one may find a cheaper one."
)
_LASTING = 24
"""Simulated further releases of which counterfeits are counted: two years of months."""
_UNLEARNT = "What someone gets who also learns which people tend to have which value was not tried."
_CANCELLED = "Cancelled before {untried} had been tried to the end."


@dataclass(frozen=True)
class Progress:
    """The progress of a plan."""

    done: int
    """Number of finished settings."""
    settings: int
    now: str
    """The current setting."""
    seconds: float
    """CPU seconds since the start."""
    left: float | None
    """Estimated remaining CPU seconds, from those of earlier settings; None if not known yet."""
    so_far: Plan
    """The results so far, without a recommendation."""


_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
"""Seconds of each unit of time."""


class _OutOfTimeError(Exception):
    """The budget is spent."""


@dataclass(eq=False)
class _Search:
    """A plan in progress; its results survive whatever stops it."""

    waves: Waves
    limits: Limits
    budget: float | None
    report: Callable[[Progress], None]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    waiting: list[Setting] = field(default_factory=list)
    started: float = field(default_factory=cpu_seconds)
    further: tuple[tuple[Table, ...], ...] = ()
    """Simulated continuations."""
    losses: dict[str, float] = field(default_factory=dict)
    """The loss of the first wave by itself, by setting."""
    withstood: dict[str, Rehearsal] = field(default_factory=dict)
    """The rehearsals of settings that withstood all waves, by setting."""
    unrepaired: list[Setting] = field(default_factory=list)
    """Settings that were exposed and not repaired, because a setting that withstands costs less."""
    refines: bool = True
    """Whether settings between the given ones are tried, too."""
    refining: bool = False
    """Whether that is in progress."""
    same: dict[tuple[int, float], Setting] = field(default_factory=dict)
    """By group size and loss of the first wave: the setting that stands for all that make the same releases."""

    def run(self, settings: Sequence[Setting]) -> str:
        """Try settings; return why it stopped early, or an empty text."""
        self.waiting = [one for one in settings if not one.randomized]
        try:
            self._begin()
            self._try_randomized([one for one in settings if one.randomized])
            self._order()
            while self.waiting and not self._late():
                self._try_next()
            self._choose()
            self._refine()
            while self.waiting:
                self._try_next()
            self._choose()
            self._repair()
            self._refine()
        except _OutOfTimeError:
            return self._unfinished(_TIME)
        except KeyboardInterrupt:
            return self._unfinished(_CANCELLED)
        return ""

    @property
    def best(self) -> Outcome | None:
        """The setting without randomized values to use, as far as it is known; of little use if its room is not."""
        return self.so_far().best_of(randomized=False)

    @property
    def recommended(self) -> Outcome | None:
        """The cheapest setting that withstands the continuations too."""
        best = self.best
        return None if best is None or best.room is None or best.room < self.room else best

    @property
    def room(self) -> int:
        """How many further releases a setting must withstand."""
        return max((len(tables) for tables in self.further), default=0)

    def learnt(self) -> str:
        """What an adversary who learns gets from the recommended series, in a sentence; empty without one."""
        best = self.best
        if best is None or self.limits.prior == "learned":
            return ""
        if self._spent():
            return _UNLEARNT
        try:
            return learning_sentence(self.withstood[best.setting.name])
        except KeyboardInterrupt:
            return _UNLEARNT

    def lasting(self, rng: np.random.Generator, *, guess: bool) -> str:
        """How many releases the recommended series has counterfeits enough for, in a sentence; empty without any."""
        best = self.best
        if best is None or not find(best.setting.method).stateful or best.setting.randomized or self._spent():
            return ""
        rehearsal, setting = self.withstood[best.setting.name], best.setting
        series = continued(self.waves, _LASTING, rng).tables
        how = "If the series goes on as simulated" if guess else "If the series goes on like its waves"
        asked: dict[str, Any] = {
            "method": setting.method,
            "limit": self.limits.counterfeits,
            "options": setting.options,
        }
        try:
            found = simulated(
                [replace(table, schema=rehearsal.schema) for table in series],
                rehearsal.schema,
                setting.require,
                len(series),
                how,
                suppress=self.limits.suppress,
                **asked,
            )
        except KeyboardInterrupt:
            return ""
        return found.sentence

    def know_groups(self) -> None:
        """Find out what an adversary who knows everyone's group gets from the setting to use.

        Then from all others that withstood, the cheapest first, as far as the budget goes.
        """
        best = self.best
        first = "" if best is None else best.setting.name
        with suppress(KeyboardInterrupt):
            for name in sorted(self.withstood, key=lambda name: (name != first, self.outcomes[name].cost)):
                if name == first or not self._spent():
                    rehearsal, limit = self.withstood[name], self.limits.limit
                    self.outcomes[name] = with_known_groups(rehearsal, self.outcomes[name], limit)

    def _late(self) -> bool:
        """Whether the rest of the budget is needed for continuations."""
        return bool(self.withstood) and self._spent(_FIRST)

    def _spent(self, share: float = 1.0) -> bool:
        """Whether this share of the budget is spent."""
        return self.budget is not None and cpu_seconds() - self.started > share * self.budget

    def _try_randomized(self, settings: Sequence[Setting]) -> None:
        """Try randomized values, which take little time; their price is another one, so they are kept apart."""
        for setting in settings:
            self._try(setting, repaired=False)
            rehearsal = self.withstood.pop(setting.name, None)
            if rehearsal is not None:
                self._continue(setting, rehearsal)
        self.unrepaired = [one for one in self.unrepaired if not one.randomized]

    def _try_next(self) -> None:
        """Try the next setting, with repairs unless its loss already exceeds the cost of one that withstands."""
        setting = self.waiting[0]
        least = min((self.outcomes[name].cost for name in self.withstood), default=1.0)
        self._try(setting, repaired=self.losses[setting.name] <= least)
        self.waiting.pop(0)

    def _repair(self) -> None:
        """Retry, with repairs, exposed settings that may cost less than the recommended one."""
        for setting in [one for one in self.unrepaired if self._cheaper(one.name)]:
            self._try(setting, repaired=True)
        self._choose()

    def _refine(self) -> None:
        """Look for other group sizes and numbers of values that cost less than the recommended setting."""
        if not self.refines or self.recommended is None:
            return
        self.refining = True
        for first in kinds_of_groups(
            [one.setting for one in self.outcomes.values() if not one.setting.randomized], self.waves
        ):
            smallest(first, self.waves, self._fits)
        self.refining = False

    def _fits(self, setting: Setting) -> bool | None:
        """Whether a setting withstands a continuation at less cost than the recommended one; None if it costs too much.

        A setting whose first release has the same loss as another one of the same size makes the same releases.
        """
        if self.recommended is not None and self.recommended.setting.name == setting.name:
            return True
        self._watch(setting)
        loss = self._first_loss(setting)
        if loss is None or not self._less(loss):
            return None
        same = self.same.setdefault((setting.size, loss), setting)
        if same.name not in self.outcomes or same in self.unrepaired:
            self._try(same, repaired=True)
        if same.name not in self.withstood or not self._cheaper(same.name):
            return None if same.name in self.withstood else False
        if self.outcomes[same.name].room is None:
            self._continue(same, self.withstood[same.name])
        return self.recommended is not None and self.recommended.setting.name == same.name

    def _first_loss(self, setting: Setting) -> float | None:
        """The loss of the first wave; None if it cannot be published."""
        if setting.name not in self.losses:
            found = first_loss(setting, self.waves, self.limits)
            if isinstance(found, InputError | NotMetError):
                self.outcomes[setting.name] = Outcome(setting, (), ended_by(found), str(found))
                return None
            self.losses[setting.name] = found
        return self.losses[setting.name]

    def _less(self, loss: float) -> bool:
        """Whether a loss is below the cost of the recommended setting, if there is one."""
        return self.recommended is None or loss < self.recommended.cost

    def _cheaper(self, name: str) -> bool:
        """Whether a setting costs less than the recommended one, if there is one."""
        return self.recommended is None or self.outcomes[name].cost < self.recommended.cost

    def _choose(self) -> None:
        """Try continuations, the cheapest setting first, until one withstands them."""
        for name in sorted(self.withstood, key=lambda name: self.outcomes[name].cost):
            if not self._cheaper(name):
                return
            if self.outcomes[name].room is None:
                self._continue(self.withstood[name].setting, self.withstood[name])

    def _unfinished(self, text: str) -> str:
        if not self.waiting:
            text = _COARSE if self.refining else _NO_ROOM
        return text.format(untried=plural(len(self.waiting), "setting"))

    def _begin(self) -> None:
        """Try the first setting at once, so that there is a result before all of them are sorted."""
        if self.waiting:
            self._try(self.waiting[0], repaired=True)
            self.waiting.pop(0)

    def _order(self) -> None:
        """Sort settings by the loss of the first wave; drop those that cannot publish it."""
        for setting in list(self.waiting):
            self._watch(setting)
            if self._first_loss(setting) is None:
                self.waiting.remove(setting)
        self.waiting.sort(key=lambda setting: self.losses[setting.name])

    def _try(self, setting: Setting, *, repaired: bool) -> None:
        rehearsal = Rehearsal.of(setting, self.waves, self.limits, repaired=repaired)
        for table in self.waves.tables:
            self._watch(setting)
            rehearsal = rehearse(rehearsal, [table], lambda: None)
            self.outcomes[setting.name] = replace(rehearsal, verdict=_so_far(rehearsal, self.waves)).outcome(self.waves)
            if rehearsal.over:
                if not repaired and rehearsal.verdict == RehearsalEnd.EXPOSED:
                    self.unrepaired.append(setting)
                return
        self.withstood[setting.name] = rehearsal

    def _continue(self, setting: Setting, rehearsal: Rehearsal) -> None:
        """Try a setting on the simulated continuations: how many of their releases could be published."""
        seconds, rooms = rehearsal.seconds, []
        for tables in self.further:
            further = rehearse(rehearsal.guessed(), tables, lambda: self._watch(setting))
            refused = further.verdict == RehearsalEnd.EXPOSED
            rooms.append(len(further.steps) - len(self.waves.tables) - refused)
            seconds += further.seconds - rehearsal.seconds
            if further.over:
                break
        outcome = replace(self.outcomes[setting.name], room=min(rooms, default=0), seconds=seconds)
        self.outcomes[setting.name] = outcome

    def _watch(self, setting: Setting) -> None:
        """Report progress; stop if the budget is spent."""
        seconds = cpu_seconds() - self.started
        if self._spent():
            raise _OutOfTimeError
        done = len([one for one in self.outcomes.values() if one.verdict != RehearsalEnd.UNFINISHED])
        total = len({*self.outcomes, *(one.name for one in self.waiting)})
        left = seconds / done * (total - done) if done else None
        if left is not None and self.budget is not None:
            left = min(left, self.budget - seconds)
        self.report(Progress(done, total, setting.name, seconds, left, self.so_far()))

    def so_far(self) -> Plan:
        """What was found so far, without a recommendation."""
        outcomes = ordered(list(self.outcomes.values()))
        return Plan(self.limits, self.waves.sentences, len(self.waves.tables), outcomes, None, self.room)


def _so_far(rehearsal: Rehearsal, waves: Waves) -> RehearsalEnd:
    if rehearsal.over or len(rehearsal.steps) == len(waves.tables):
        return rehearsal.verdict
    return RehearsalEnd.UNFINISHED


def _by_name(given: Limits | Dynamics | None) -> dict[str, Any]:
    """The limits or dynamics that `plan` took as one argument once."""
    return {} if given is None else {name: value for name, value in asdict(given).items() if name != "protect"}


@renamed(limits=_by_name, dynamics=_by_name)
def plan(
    waves: Sequence[Any],
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    limit: float = Limits.limit,
    suppress: float = Limits.suppress,
    counterfeits: float = Limits.counterfeits,
    knowledge: str = Limits.knowledge,
    prior: str = Limits.prior,
    values: str | None = None,
    average: float | None = None,
    come: float | None = None,
    go: float | None = None,
    change: float | None = None,
    settings: Sequence[Setting | str] | None = None,
    budget: float | str | None = None,
    further: int | None = None,
    seed: int = 0,
    newcomers: bool = False,
    dialect: Dialect = FOUND,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Plan:
    """Try methods and settings on the waves of a series, and recommend the cheapest that withstands the attacks.

    Parameters
    ----------
    waves
        Dataframes or files in order of time. Of a single one the others are simulated, and the result is marked as a
        guess.
    schema
        The roles of the columns: a Schema, a mapping of columns to roles, or a path.
    limit
        The highest posterior probability of anybody's value that is allowed, above 0 and below 1.
    suppress
        Maximum share of suppressed records.
    counterfeits
        Maximum share of counterfeit records, relative to the records published.
    knowledge
        What the adversary knows: what the "form" of a release shows, or everyone's "groups".
    prior
        The adversary's prior: "common", "leaving" or "learned", as in a policy.
    values
        "exact" tries only settings whose published values are all true, "randomized" only the others; by default both.
    average
        The largest share of people whose surest guess may be right; by default any.
    come, go, change
        For a single wave, the shares of people who come, who go, and whose value changes from wave to wave.
    settings
        The settings to try, such as "pool k=10 & l=3"; by default those that are sensible for the series.
    budget
        CPU time to spend: seconds, or a text such as "5m". The cheapest settings are tried first; the rest is named in
        the result. By default as much as it takes.
    further
        How many more releases there must be room for; by default as many again as there are waves.
    seed
        The seed of simulations and random choices.
    newcomers
        Whether it is right that hardly anybody returns from one wave to the next.
    dialect
        How the cells of text files are written; what is not given is detected.
    progress
        Called with what is being done. An interrupted plan returns what was found.

    Returns
    -------
    Plan
        Every setting tried with its risk and cost, and the recommended one.

    Raises
    ------
    InputError
        If the waves do not belong together, or a limit or setting cannot be read.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> waves = list(Population(seed=1, people=200).months(2))
    >>> found = ri.plan(waves, schema(), limit=0.9, settings=["pool k=20 & l=3"], budget="1s", further=0)
    >>> found.waves
    2
    """
    limits = Limits(limit, counterfeits, suppress, knowledge, prior, values, average)
    dynamics = _dynamics(come, go, change)
    chosen = None if settings is None else [_setting(one) for one in settings]
    budget = seconds_of(budget) if isinstance(budget, str) else budget
    if budget is not None and budget <= 0:
        raise InputError("The budget must be a number of seconds above 0.")
    schema = Schema.read(schema)
    limits = limits.for_schema(schema)
    given = read_waves(waves, schema, dialect=dialect, newcomers=newcomers)
    rng, guess = np.random.default_rng(seed), len(given.tables) == 1
    if guess:
        given = continued(given, SIMULATED, rng, dynamics or Dynamics())
    elif dynamics is not None:
        raise InputError("How many come, go and change is stated for a single wave only; several show it themselves.")
    known = given.with_updates()
    search = _Search(known, limits, budget, progress, refines=chosen is None)
    room = (0 if guess else len(known.tables)) if further is None else further
    times = 2 if sum(table.rows for table in known.tables) < _SMALL else 1
    search.further = tuple(continued(known, room, rng).tables[len(known.tables) :] for _ in range(times))
    stopped = search.run(sensible_settings(known, limits) if chosen is None else chosen)
    search.know_groups()
    found = search.so_far()
    recommended = recommended_of(found.outcomes, room)
    grouped = recommended is not None and not recommended.setting.randomized
    return replace(
        found,
        recommended=recommended,
        guess=guess,
        untried=tuple(setting for setting in search.waiting if setting.name not in search.outcomes),
        stopped=stopped,
        updates={} if schema.updates else dict(known.schema.updates),
        learnt=search.learnt() if grouped else "",
        lasting=search.lasting(rng, guess=guess) if grouped else "",
    )


def _setting(given: Setting | str) -> Setting:
    return Setting.parse(given) if isinstance(given, str) else given


def _dynamics(come: float | None, go: float | None, change: float | None) -> Dynamics | None:
    """What is stated about a single wave; None where nothing is."""
    given = {"come": come, "go": go, "change": change}
    stated = {name: share for name, share in given.items() if share is not None}
    return Dynamics(**stated) if stated else None


def seconds_of(text: str) -> float | None:
    """Read a time such as `60s`, `5m`, `1h` or `90`; None for 0."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip().lower())
    if not found:
        raise InputError("The budget must be a time such as 60s, 5m or 1h; 0 for as long as it takes.")
    return float(found[1]) * _UNITS[found[2]] or None
