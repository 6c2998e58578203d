"""A rehearsal: the waves published by one setting as `publish` would, in memory; nothing is recorded.

Beside the verdict it measures how much more an adversary learns who knows everyone's group, or who learns which people
tend to have which value.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from reissue._arrays import Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.joint.state import JointState, Thoroughness, add
from reissue.attacks.registry import VERDICT
from reissue.attacks.run import cannot_run
from reissue.data.table import Table
from reissue.errors import CannotRunError, DataError, InputError, InternalError, NotMetError, RequirementError
from reissue.files.dialect import FOUND, Dialect
from reissue.methods import find
from reissue.methods.registry import Trait
from reissue.papers.definetti.series import LIMIT
from reissue.people.knowledge import Knowledge
from reissue.policy import Policy
from reissue.published import read_published
from reissue.published.series import Series
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.publishing.drawn_states import ShownValues, ValuesState
from reissue.publishing.plan.outcome import KnownGroups, Outcome, RehearsalEnd, RehearsedRelease
from reissue.publishing.plan.settings import Limits, Setting, counterfeits_in_rehearsal
from reissue.publishing.plan.waves import SIMULATED, Dynamics, Waves, continued, read_waves
from reissue.publishing.posterior import judge
from reissue.publishing.randomizing import draw_values, with_side_table
from reissue.publishing.repair import Attempt, make_and_repair
from reissue.release.memory import Memory
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.solver import Scaling
from reissue.utility import compare
from reissue.words import percent

__all__ = [
    "Rehearsal",
    "TriedSetting",
    "ended_by",
    "first_loss",
    "learning_sentence",
    "rehearse",
    "try_setting",
    "with_known_groups",
]

_FULL = Thoroughness(story=False)
_HALF = Thoroughness(story=False, scaling=Scaling(sweeps=20))
"""Half of the gate's sweeps: accurate enough for large tables with changing values (measured: a tenth fewer people)."""
_LARGE = 5_000
"""Total number of rows of all waves from which tables count as large."""
_WINDOW = 4
"""Number of simulated waves that are kept completely; they are guesses anyway."""
_FEWER = 0.6
"""Share of the allowed counterfeits for a method that does not limit them itself: later releases may need more."""
_TURNS, _LEAVING_OUT = 9, 5
"""Maximum number of attacks on a release, and for methods that can only suppress records.

A release that needs more repair than that does not withstand a continuation.
"""
_UNREPAIRED = " It was not repaired: it loses more than another setting that withstands costs in all."
_QUERIES = 200
"""Number of random queries by which a release's error is measured."""
_KEY = bytes(16)
"""The key of the draws of a rehearsal; a ledger has a secret one."""
_SEED = 1
"""The seed of the random queries, the same for every setting, so that results are comparable."""


class _TooManyError(NotMetError):
    """A release with more counterfeits than allowed, noticed before it is attacked."""


@dataclass(frozen=True, eq=False)
class _AttackResult:
    """The result of the joint attack, and its state for the next release."""

    finding: Finding
    state: JointState | None

    @property
    def exposed(self) -> Ints:
        return np.empty(0, np.int64) if self.state is None else self.state.exposed

    @property
    def near(self) -> Ints:
        return np.empty(0, np.int64)  # the limit of a rehearsal is lower than the policy's

    @property
    def withstood(self) -> bool:
        return self.finding.status == Status.WITHSTOOD

    def companions(self, people: Ints) -> list[Ints]:
        return [] if self.state is None else self.state.companions(people)


@dataclass(frozen=True, eq=False, kw_only=True)
class _WaveAttempt(Attempt):
    """A wave that is to become the next release."""

    number: int
    earlier: tuple[Release, ...]
    state: JointState | None
    effort: Thoroughness

    def anonymize(self, progress: Callable[[float], None]) -> Release:
        """Make the release, unless it has too many counterfeits."""
        release = super().anonymize(progress)
        real = release.table.rows - release.suppressed
        allowed = int((self.policy.counterfeits or 0) * real)
        if release.counterfeits > allowed:
            raise _TooManyError(
                f"It needs {release.counterfeits:,} counterfeits for {real:,} records. A rehearsal allows {allowed:,}, "
                "fewer than the policy, since later waves may need more."
            )
        return release

    def memory(self) -> Memory | None:
        """The memory that the last release left."""
        return self.earlier[-1].draft.memory if self.earlier else None

    def after(self) -> list[Any]:
        """The earlier releases."""
        return [one.tables["release"] for one in self.earlier]

    def seed(self) -> int:
        """The seed of random choices, the same for every setting."""
        return 1000 * self.number + self.repairs.turns

    def attack(self, release: Release, _: Callable[[float], None]) -> _AttackResult:
        """Attack all releases so far together."""
        series = Series((read_published(release, self.schema),), self.schema, numbers=(self.number,))
        try:
            state = add(self.state, series, self.effort)
        except CannotRunError as obstacle:
            return _AttackResult(cannot_run(VERDICT, (self.number,), obstacle), None)
        return _AttackResult(state.finding, state)


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """A setting on its way through the waves; `advance` publishes the next one."""

    setting: Setting
    schema: Schema
    policy: Policy
    steps: tuple[RehearsedRelease, ...] = ()
    verdict: RehearsalEnd = RehearsalEnd.UNFINISHED
    reason: str = ""
    earlier: tuple[Release, ...] = field(default=(), repr=False)
    state: JointState | None = field(default=None, repr=False)
    seconds: float = 0.0
    effort: Thoroughness = _FULL
    repaired: bool = True
    """Whether releases that expose few people are repaired."""
    released: tuple[Release, ...] = field(default=(), repr=False)
    """All releases so far."""
    values: ValuesState | None = field(default=None, repr=False)
    """Where values are randomized: what the next release needs."""
    shown: tuple[ShownValues, ...] = field(default=(), repr=False)
    """What each release showed then."""

    @classmethod
    def of(cls, setting: Setting, waves: Waves, limits: Limits, *, repaired: bool = True) -> "Rehearsal":
        """Begin before the first wave, with a slightly lower limit."""
        watched = "counterfeits" in find(setting.method).options
        fewer = counterfeits_in_rehearsal(limits, waves)
        fewer = fewer if watched else min(fewer, _FEWER * limits.counterfeits)
        schema = replace(
            waves.schema, policy=setting.policy(replace(limits, limit=limits.rehearsed, counterfeits=fewer))
        )
        many = sum(table.rows for table in waves.tables) > _LARGE
        return cls(
            setting, schema, Policy.of(schema), effort=_HALF if many and waves.changing else _FULL, repaired=repaired
        )

    def guessed(self) -> "Rehearsal":
        """The same rehearsal with less effort, for simulated waves."""
        return replace(self, effort=replace(_HALF, window=_WINDOW))

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.verdict not in {RehearsalEnd.UNFINISHED, RehearsalEnd.WITHSTOOD}

    def advance(self, table: Table) -> "Rehearsal":
        """Return the rehearsal after the next wave."""
        if self.policy.draws:
            return self._draw(table)
        started, number = time.process_time(), len(self.steps) + 1
        table = replace(table, schema=self.schema)
        wave = _WaveAttempt(
            table=table,
            policy=self.policy,
            schema=self.schema,
            number=number,
            earlier=self.earlier,
            state=self.state,
            effort=self.effort,
        )
        try:
            turns = _TURNS if Trait.JOINABLE in find(self.setting.method).traits else _LEAVING_OUT
            repaired = turns if self.repaired else 1
            wave, release, found = make_and_repair(wave, _WaveAttempt.attack, turns=repaired)
        except _TooManyError as problem:
            return self.stopped(RehearsalEnd.TOO_COSTLY, str(problem), started)
        except (InputError, NotMetError) as problem:
            return self.stopped(ended_by(problem), str(problem), started)
        repaired_by = wave.repairs.left_out, wave.repairs.groups
        step = _step(_Measured(table, release, wave.schema, *repaired_by), found.finding, time.process_time() - started)
        made = replace(self, steps=(*self.steps, step))
        if found.finding.status == Status.NOT_RUN:
            return made.stopped(RehearsalEnd.NOT_TRIED, found.finding.sentence, started)
        if step.exposed:
            price = f" {wave.repairs.price}." if wave.repairs.price else ""
            why = found.finding.sentence + (price if self.repaired else _UNREPAIRED)
            return made.stopped(RehearsalEnd.EXPOSED, why, started)
        earlier = (*self.earlier, release)[-1 if find(self.policy.method).stateful else 0 :]
        seconds = self.seconds + time.process_time() - started
        released = (*self.released, release)
        return replace(made, earlier=earlier, state=found.state, seconds=seconds, released=released)

    def _draw(self, table: Table) -> "Rehearsal":
        """Return the rehearsal after the next wave, published with randomized values."""
        started, number = time.process_time(), len(self.steps) + 1
        table, shown = replace(table, schema=self.schema), self.shown
        if table.ids is None:
            raise InternalError("A plan has a wave without identifiers. Please report this.")
        try:
            known: dict[str, Any] = {"key": _KEY, "number": number}
            drawn = draw_values(table, table.ids.to_numpy(), self.policy.randomized, self.values, **known)
            judged = judge(drawn, self.policy, lambda earlier: shown[earlier - 1])
            kept = np.flatnonzero(~np.isin(drawn.people, judged.exposed))
            spare = len(kept) >= (1 - self.policy.suppress) * table.rows
            left_out = table.rows - len(kept) if spare else 0
            rows = kept if left_out else np.arange(table.rows)
            asked: dict[str, Any] = {"method": self.policy.method, "suppress": self.policy.suppress, "seed": number}
            release = anonymize(
                drawn.table.some(rows), self.schema, self.policy.require, **asked, **self.policy.options
            )
            release = with_side_table(release, drawn, rows)
        except (InputError, NotMetError) as problem:
            return self.stopped(ended_by(problem), str(problem), started)
        found = judged.without_exposed().finding if left_out else judged.finding
        wave = _Measured(table, release, self.schema, left_out)
        step = _step(wave, found, time.process_time() - started)
        made = replace(self, steps=(*self.steps, step), values=drawn.state, shown=(*shown, drawn.shown))
        if found.status == Status.EXPOSED:
            return made.stopped(RehearsalEnd.EXPOSED, found.sentence, started)
        return replace(made, seconds=self.seconds + time.process_time() - started, released=(*self.released, release))

    def stopped(self, verdict: RehearsalEnd, reason: str, started: float) -> "Rehearsal":
        """Return the rehearsal, ended with a verdict."""
        seconds = self.seconds + time.process_time() - started
        return replace(self, verdict=verdict, reason=reason, seconds=seconds, earlier=(), state=None, released=())

    def outcome(self, waves: Waves, room: int | None = None) -> Outcome:
        """Return the outcome so far."""
        return Outcome(self.setting, self.steps[: len(waves.tables)], self.verdict, self.reason, room, self.seconds)


def rehearse(rehearsal: Rehearsal, tables: Sequence[Table], watch: Callable[[], None]) -> Rehearsal:
    """Publish some waves until one of them cannot be; `watch` is called before each."""
    for table in tables:
        watch()
        rehearsal = rehearsal.advance(table)
        if rehearsal.over:
            return rehearsal
    return replace(rehearsal, verdict=RehearsalEnd.WITHSTOOD)


def ended_by(problem: InputError | NotMetError) -> RehearsalEnd:
    """Tell a verdict on the setting (the method cannot publish such tables) from an error."""
    verdict = isinstance(problem, NotMetError | RequirementError | DataError)
    return RehearsalEnd.IMPOSSIBLE if verdict else RehearsalEnd.NOT_TRIED


def first_loss(setting: Setting, waves: Waves, limits: Limits) -> float | InputError | NotMetError:
    """Estimate the loss of the first wave by itself, or return the problem if there is no release.

    It only sorts settings; where nobody must be suppressed, suppression is not searched for.
    """
    rehearsal = Rehearsal.of(setting, waves, limits)
    table = replace(waves.tables[0], schema=rehearsal.schema)
    wave = _WaveAttempt(
        table=table,
        policy=rehearsal.policy,
        schema=rehearsal.schema,
        number=1,
        earlier=(),
        state=None,
        effort=_FULL,
    )
    everyone = replace(wave, policy=replace(rehearsal.policy, suppress=0.0))
    why: InputError | NotMetError
    for attempt in (everyone, wave):
        try:
            release = attempt.anonymize(lambda _: None)
        except (InputError, NotMetError) as problem:
            why = problem
        else:
            return compare(table, release, rehearsal.schema, queries=0).loss
    return why


@dataclass(frozen=True, eq=False)
class _Measured:
    """A wave and the release that was made of it."""

    table: Table
    release: Release
    schema: Schema
    left_out: int = 0
    joined: int = 0


def _step(wave: _Measured, found: Finding, seconds: float) -> RehearsedRelease:
    """A release in numbers."""
    table, release = wave.table, wave.release
    lost = compare(table, release, wave.schema, queries=_QUERIES, seed=_SEED)
    average = found.details.get("average")
    margins: Mapping[str, float] = lost.margins
    return RehearsedRelease(
        rows=table.rows,
        published=lost.published,
        loss=lost.loss,
        query_error=0.0 if lost.queries is None else lost.queries.median,
        margin_error=max((margins.get(name, 0.0) for name in wave.schema.sensitive), default=0.0),
        counterfeits=release.counterfeits,
        left_out=release.suppressed + wave.left_out,
        joined=wave.joined,
        exposed=int(found.people or 0),
        risk=float(found.worst or 0.0),
        knowledge=str(found.details.get("knowledge", "rows" if "true" in found.details else "")),
        seconds=seconds,
        average=None if average is None else float(average),
        true=float(found.details.get("true", 1.0)),
    )


_ATTACK = "definetti"
_WHO = f"Someone who also learns which people tend to have which value (the attack {_ATTACK})"


def with_known_groups(rehearsal: Rehearsal, outcome: Outcome, limit: float) -> Outcome:
    """Add to the outcome of a setting what an adversary gets who knows everyone's group."""
    if outcome.steps[-1].knowledge in {"groups", "rows"}:
        return replace(outcome, known_groups=KnownGroups(outcome.risk or 0.0, outcome.exposed))
    limits, known = {"joint": limit}, Knowledge(groups=True)
    found = attack(rehearsal.released, rehearsal.schema, only="joint", limits=limits, knowledge=known)["joint"]
    if found.status == Status.NOT_RUN:
        return outcome
    return replace(outcome, known_groups=KnownGroups(float(found.worst or 0.0), int(found.people or 0)))


def learning_sentence(rehearsal: Rehearsal) -> str:
    """Say how far an adversary gets who learns which people tend to have which value: the limit does not cover that."""
    return sentence(attack(rehearsal.earlier, rehearsal.schema, only=_ATTACK)[_ATTACK])


def sentence(finding: Finding) -> str:
    """Return a finding in the words of a plan."""
    if finding.status == Status.NOT_RUN:
        return f"{_WHO} was not tried: {finding.reason}"
    above = finding.details.get("above")
    if above is None:
        right, before = finding.details["accuracy"], finding.details["baseline"]
        return f"{_WHO} guesses {right:.1%} of the values of a release right; without learning {before:.1%}."
    if not above["people"]:
        return f"{_WHO} links nobody to a value beyond {percent(LIMIT)} either."
    return (
        f"{_WHO} links {above['people']:,} of {finding.population:,} people to a value beyond {percent(LIMIT)}, and is "
        f"right about {above['right']:,}: the limit does not cover that."
    )


@dataclass(frozen=True, eq=False)
class TriedSetting:
    """The outcome of a setting, and the first wave with its release; None if there is none."""

    outcome: Outcome
    table: Table
    release: Release | None


def try_setting(
    waves: Sequence[Any],
    schema: Schema | Mapping[str, Any] | str | Path,
    setting: Setting,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    newcomers: bool = False,
    dialect: Dialect = FOUND,
    progress: Callable[[float], None] = lambda _: None,
) -> TriedSetting:
    """Publish the waves by one setting as a plan would, with repairs if few people are exposed; record nothing."""
    schema = Schema.read(schema)
    limits = (limits or Limits()).for_schema(schema)
    given = read_waves(waves, schema, dialect=dialect, newcomers=newcomers)
    if len(given.tables) == 1:
        given = continued(given, SIMULATED, np.random.default_rng(seed), Dynamics())
    known = given.with_updates()
    rehearsal, first = Rehearsal.of(setting, known, limits), None
    for number, table in enumerate(known.tables):
        progress(number / len(known.tables))
        rehearsal = rehearse(rehearsal, [table], lambda: None)
        if number == 0 and rehearsal.released:
            first = rehearsal.released[0]
        if rehearsal.over:
            break
    return TriedSetting(rehearsal.outcome(known), known.tables[0], first)
