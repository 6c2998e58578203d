"""A candidate release attacked together with all earlier ones, by everyone who could hold several of them.

Attacks that judge a release by itself look at the candidate only: earlier releases were judged when they went out. All
others are run on the whole series that a group of colluding recipients holds, read from the ledger. An attack that
declares a `fold` goes on from the state that the release before left instead, if it fits.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from reissue._arrays import Ints
from reissue.attacks import Accepts, Attack, Finding, Knowledge, Runs, Series, Status, find, running
from reissue.attacks.findings import Findings
from reissue.attacks.registry import ALONE, SLOTS, VERDICT, Fold, Kept, on_counts
from reissue.attacks.run import as_published, cannot_run, deciding, run_attack
from reissue.errors import CannotRunError, DataError, InternalError, Why
from reissue.ledger.chain import canonical
from reissue.ledger.ledger import Ledger, Recorded
from reissue.ledger.store import MissingFileError
from reissue.policy import Policy
from reissue.published import PublishedRelease, read_published
from reissue.release.form import DEFAULT_FORM, Form
from reissue.release.release import Release
from reissue.release.states import unpack_state
from reissue.requirements import Requirement
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.publishing.posterior import Judged

__all__ = ["Attackable", "GateResult", "gate_attacks", "held_together", "kept_state", "run_gate", "state_mark"]

_FORMAT = 11
"""Goes up when attacks keep something else: states that were written before are made again."""


@dataclass(frozen=True, eq=False)
class GateResult:
    """What attacks found, and what those that carry on need for the next release."""

    findings: Findings
    states: Mapping[str, Kept]
    """Attack that declares a fold to its state after this release and all earlier ones."""
    uncompared: tuple[tuple[int, ...], ...] = ()
    """Numbers of earlier releases that somebody holds with this one, and that no attack compared it with."""

    @property
    def exposed(self) -> Ints:
        """Pseudonyms of the people whom the verdict's attack exposes."""
        return self.states[VERDICT].exposed if VERDICT in self.states else np.empty(0, np.int64)

    @property
    def near(self) -> Ints:
        """Pseudonyms of those whom it nearly exposes."""
        return self.states[VERDICT].near if VERDICT in self.states else np.empty(0, np.int64)

    @property
    def withstood(self) -> bool:
        """Whether no attack exposes anybody."""
        return not self.findings.exposing

    def companions(self, people: Ints) -> list[Ints]:
        """For each of some people those who may have been in a group with them when they were last there."""
        return self.states[VERDICT].companions(people) if VERDICT in self.states else []


@dataclass(frozen=True, eq=False)
class Attackable:
    """What attacks need of a release that is to be judged."""

    schema: Schema
    form: Form
    rows: int
    """Of the table that it was made from."""
    requirement: Requirement
    read: Callable[[], PublishedRelease]
    counts: bool = field(default=False, kw_only=True)
    """Whether it is tables of counts."""
    judged: "Judged | None" = None
    """Where values are randomized: what adversaries who know that learn of the true ones."""

    @classmethod
    def of(cls, release: Release, judged: "Judged | None" = None) -> "Attackable":
        """Of one in memory."""
        schema = release.schema
        return cls(
            schema,
            release.draft.form,
            release.table.rows,
            release.requirement,
            cache(lambda: read_published(release, schema)),
            judged,
        )


def run_gate(
    ledger: Ledger,
    earlier: Sequence[Recorded],
    release: Attackable,
    policy: Policy,
    recipients: Sequence[str],
    number: int,
    progress: Callable[[float], None] = lambda _: None,
) -> GateResult:
    """What all attacks of the policy find."""
    if release.judged is not None:
        return _of_randomized(_Candidate(ledger, tuple(earlier), release, policy, number), release.judged, progress)
    names = gate_attacks(policy, release.schema, release.form)
    if release.counts:
        names = [name for name in names if Accepts.COUNTS in find(name).accepts]
        names = list(dict.fromkeys([*names, *on_counts()]))
    groups = held_together(earlier, recipients, policy)
    asked: list[tuple[str, tuple[Recorded, ...]]] = [(name, ()) for name in names if find(name).per_release]
    asked += [(name, some) for some in groups for name in names if not find(name).per_release]
    candidate = _Candidate(ledger, tuple(earlier), release, policy, number)
    findings, compared = [], set()
    for turn, (name, some) in enumerate(asked):
        share = _part(progress, turn, len(asked))
        found = candidate.finding(find(name), some, share)
        findings.append(found)
        if find(name).compares and found.status != Status.NOT_RUN:
            compared.add(_numbers(some))
        share(1.0)
    if not any(one.attack == VERDICT and one.status != Status.NOT_RUN for one in findings) and ALONE not in names:
        alone = candidate.finding(find(ALONE), (), progress)  # nobody solved for everyone: at least this is judged
        names, findings = [*names, ALONE], [*findings, *([alone] if alone.status != Status.NOT_RUN else [])]
    idle = {name for name in on_counts() if name not in (policy.attacks or ())}  # one table: nothing to subtract
    findings = [one for one in findings if one.attack not in idle or one.why != Why.DOES_NOT_APPLY]
    order = {name: place for place, name in enumerate(names)}
    missing = tuple(numbers for numbers in map(_numbers, groups) if numbers and numbers not in compared)
    missing = missing if release.schema.sensitive or release.schema.kept else ()  # else there is nothing to compare
    findings = deciding(findings, policy.attacks or (), candidate.limit)
    return GateResult(Findings(tuple(sorted(findings, key=lambda one: order[one.attack]))), candidate.states, missing)


def _of_randomized(candidate: "_Candidate", judged: "Judged", progress: Callable[[float], None]) -> GateResult:
    """The exact posterior decides; attacks that the policy names are run beside it on the values as published."""
    policy, release = candidate.policy, candidate.release
    panel = [SLOTS] if release.form.seats else []
    names = [name for name in dict.fromkeys([*(policy.attacks or ()), *panel]) if name != judged.finding.attack]
    others = []
    for turn, name in enumerate(names):
        some = () if find(name).per_release else candidate.earlier
        share = _part(progress, turn, len(names))
        others.append(as_published(candidate.repeated(find(name), some, share), release.schema))
        share(1.0)
    finding = replace(judged.finding, releases=(*_numbers(candidate.earlier), candidate.number))
    return GateResult(Findings((finding, *others)), {})


def gate_attacks(policy: Policy, schema: Schema, form: Form = DEFAULT_FORM) -> list[str]:
    """The attacks that a release must withstand.

    Those of the policy, the joint one wherever people have names, and for a panel the one that follows its slots. Where
    the joint one does not run, the release by itself is judged beside them; it says of a release's groups what that
    one would.
    """
    every = (name for name in running(Runs.ALWAYS) if name != ALONE)
    names = list(policy.attacks if policy.attacks is not None else every)
    if form.seats and SLOTS not in names:
        names = [*names, SLOTS]
    return names if VERDICT in names or schema.identifier is None else [VERDICT, *names]


def state_mark(schema_text: str, withdrawn: Sequence[int] = ()) -> str:
    """Tells by which schema, policy and version of Reissue a state was made, and without which releases."""
    from reissue._version import __version__

    made = {"schema": schema_text, "reissue": __version__, "format": _FORMAT, "withdrawn": list(withdrawn)}
    return hashlib.sha256(canonical(made).encode()).hexdigest()


def kept_state(ledger: Ledger, last: Recorded, what: str, schema: Schema, kind: type) -> Any:
    """The state that a release left, if it was made by the same schema and policy and is still there."""
    file = last.files.get(what)
    if file is None or last.record.carried != state_mark(schema.dumps(), last.without):
        return None
    try:
        return unpack_state(kind, ledger.store.read(file))
    except MissingFileError:
        return None
    except DataError as problem:
        # It could be made again just as well, but then nobody would learn that something changes files.
        raise DataError(f"{problem} This one may be removed instead: it is made again from the releases.") from None


def _part(progress: Callable[[float], None], turn: int, turns: int) -> Callable[[float], None]:
    return lambda done: progress((turn + min(done, 1.0)) / turns)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A release that is to be attacked together with earlier ones."""

    ledger: Ledger
    earlier: tuple[Recorded, ...]
    release: Attackable
    policy: Policy
    number: int
    states: dict[str, Kept] = field(default_factory=dict)

    def finding(self, attack: Attack, some: Sequence[Recorded], progress: Callable[[float], None]) -> Finding:
        """One attack on the candidate and the earlier releases given; on all of them where it goes on from a state.

        `look_back` bounds what is read again. A state holds all releases and costs less than to begin anew with some.
        """
        everyone = tuple(some) == self.earlier or (self.policy.collude is None and not self.policy.alone)
        # A state is of the values of all sensitive columns together: where each is attacked, releases are read again.
        apart = attack.each_column and len(self.release.schema.sensitive) > 1
        counts = self.release.counts or any(one.counts for one in self.earlier)
        if attack.fold is not None and everyone and not apart and not counts:
            return self._go_on(attack, attack.fold, progress)
        return self.repeated(attack, some, progress)

    def limit(self, attack: str) -> float | None:
        """What the policy says of an attack's limit."""
        return self._series([], []).limit(attack)

    def repeated(self, attack: Attack, some: Sequence[Recorded], progress: Callable[[float], None]) -> Finding:
        """The attack run on the stored releases and the candidate."""
        read = [self._read(one, attack) for one in some]
        series = self._series([*read, self.release.read()], [*(one.number for one in some), self.number])
        found = run_attack(attack, series, Knowledge(progress=progress))
        if found.status == Status.NOT_RUN:
            return replace(found, releases=series.numbers)
        if found.status == Status.WITHSTOOD and attack.confirm is not None:
            # Others are sampled in every release, the same ones if it is made again.
            confirmed = attack.confirm(series, found, np.random.default_rng(self.number))
            _refuse_unconfirmed(confirmed)
        return found

    def _go_on(self, attack: Attack, fold: Fold[Any], progress: Callable[[float], None]) -> Finding:
        """The same from the state after the release before, or from the beginning where there is none that fits."""
        newest, held = self._series([self.release.read()], [self.number]), (*_numbers(self.earlier), self.number)
        try:
            state = fold.add(self._state(attack, fold, progress), newest)
        except CannotRunError as obstacle:
            return cannot_run(attack.name, held, obstacle)
        self.states[attack.name] = state
        found: Finding = state.finding
        return replace(found, releases=held)

    def _state(self, attack: Attack, fold: Fold[Any], progress: Callable[[float], None]) -> Any:
        """The state after the last release; None before the first one."""
        if not self.earlier:
            return None
        what, last = f"state.{attack.name}", self.earlier[-1]
        kept = kept_state(self.ledger, last, what, self.release.schema, fold.state)
        if kept is not None:
            return kept
        state = None
        for turn, one in enumerate(self.earlier):
            state = fold.add(state, self._series([self._read(one, attack)], [one.number]))
            progress((turn + 1) / (len(self.earlier) + 1))
        before = self._left(what, fold.state)
        return state if before is None else fold.restore(state, before)

    def _left(self, what: str, kind: type) -> Any:
        """The state that the last release left, by whichever schema and policy it was made."""
        files = self.earlier[-1].files
        try:
            return unpack_state(kind, self.ledger.store.read(files[what])) if what in files else None
        except MissingFileError:
            return None

    def _read(self, one: Recorded, attack: Attack) -> PublishedRelease:
        rosters = Accepts.ROSTERS in attack.accepts and not one.counts
        read = self.ledger.followed if rosters else self.ledger.published
        return read(one, self.release.schema)

    def _series(self, releases: Iterable[PublishedRelease], numbers: Iterable[int]) -> Series:
        limits = dict(self.policy.limits)
        return Series(tuple(releases), self.release.schema, self.policy.exact, limits, tuple(numbers))


def _refuse_unconfirmed(confirmed: bool) -> None:
    if not confirmed:
        raise InternalError(
            "The release withstands an attack, and a second formula for a sample says that it does not. Nothing was "
            "published. Please report this."
        )


def held_together(earlier: Sequence[Recorded], recipients: Sequence[str], policy: Policy) -> list[tuple[Recorded, ...]]:
    """The earlier releases that someone who gets the next one may hold, for each group of colluding recipients.

    A release without recipients is public: everyone holds it. Groups that hold less than another are left out. Of what
    a group holds only the last `look_back` are read. Where the policy says `alone`, nobody holds an earlier one.
    """
    if policy.alone:
        return [()]
    last = slice(None) if policy.look_back is None else slice(-policy.look_back, None)
    if policy.collude is None:
        return [tuple(earlier[last])]
    everyone = {name for one in earlier for name in one.recipients} | set(recipients)
    groups = [set(group) for group in policy.collude] + [{name} for name in sorted(everyone)]
    reached = [group for group in groups if not recipients or group & set(recipients)] or [set()]
    held = {
        tuple(one for one in earlier if not one.recipients or group & set(one.recipients))[last]
        for group in map(frozenset, reached)
    }
    return [
        some
        for some in sorted(held, key=_numbers)
        if not any(set(_numbers(some)) < set(_numbers(more)) for more in held)
    ]


def _numbers(some: Sequence[Recorded]) -> tuple[int, ...]:
    return tuple(one.number for one in some)
