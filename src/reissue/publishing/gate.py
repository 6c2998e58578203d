"""A candidate release attacked together with all earlier ones, by everyone who could hold several of them.

Attacks that judge a release by itself look at the candidate only: earlier releases were judged when they went out. All
others, anyone's too, look at the whole series that a group of colluding recipients holds: those that carry on from the
state that the release before left, if it fits, else from the stored releases.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.attacks import Attack, Fold, by_default, find
from reissue.attacks.findings import ALONE, FIRST, Finding, Findings, Status
from reissue.attacks.joint.state import JointState, companions, remembering
from reissue.attacks.run import cannot_run, deciding, run_attack
from reissue.errors import CannotCarryError, CannotRunError, DataError, InternalError
from reissue.ledger.chain import canonical
from reissue.ledger.ledger import Ledger, Recorded
from reissue.ledger.store import MissingFileError
from reissue.papers.coalition.records import read_records
from reissue.papers.correspondence.history import ChainHistory, add_release
from reissue.papers.updates.attack import UpdateState
from reissue.papers.updates.histories import Histories, largest_of_histories
from reissue.people.histories import histories_of_members
from reissue.people.knowledge import Knowledge
from reissue.people.membership import named_membership
from reissue.policy import Policy
from reissue.published import PublishedRelease, read_published
from reissue.published.series import Series
from reissue.release.release import Form, Release
from reissue.release.states import unpack_state
from reissue.requirements import Requirement, by_column
from reissue.schema import Schema
from reissue.updates import read_updates
from reissue.verify.second_look import confirm, confirm_coalitions, confirm_posteriors

__all__ = ["Attackable", "GateResult", "after", "gate_attacks", "held_together", "kept_state", "run_gate", "state_mark"]

GATE = FIRST
"""The attack on which the verdict rests."""
SLOTS = "trajectory"
"""The attack that follows the slots of a panel."""
_ROWS_FOR_A_CASE = 2_000_000
"""Series of this many records at most are read again where an attack exposes somebody, to explain the case."""
_TWICE = 50
"""This many people's posteriors are looked at twice, in series of"""
_SHORT = 5
"""this many earlier releases at most: all of them are read for it."""
_FORMAT = 10
"""Goes up when attacks keep something else: states that were written before are made again."""


@dataclass(frozen=True, eq=False)
class GateResult:
    """What attacks found, and what those that carry on need for the next release."""

    findings: Findings
    states: Mapping[str, object]
    """Attack to its state after this release; of attacks that saw all earlier releases."""
    uncompared: tuple[tuple[int, ...], ...] = ()
    """Numbers of earlier releases that somebody holds with this one, and that no attack compared it with."""

    @property
    def exposed(self) -> Ints:
        """Pseudonyms of the people whom the joint attack exposes."""
        joint = self.states.get(GATE)
        return joint.exposed if isinstance(joint, JointState) else np.empty(0, np.int64)

    @property
    def near(self) -> Ints:
        """Pseudonyms of those whom it nearly exposes."""
        joint = self.states.get(GATE)
        return joint.near if isinstance(joint, JointState) else np.empty(0, np.int64)

    @property
    def withstood(self) -> bool:
        """Whether no attack exposes anybody."""
        return not self.findings.exposing

    def companions(self, people: Ints) -> list[Ints]:
        """For each of some people those who may have been in a group with them when they were last there."""
        joint = self.states.get(GATE)
        return companions(joint, people) if isinstance(joint, JointState) else []


@dataclass(frozen=True, eq=False)
class Attackable:
    """What attacks need of a release that is to be judged."""

    schema: Schema
    form: Form
    rows: int
    """Of the table that it was made from."""
    requirement: Requirement
    read: Callable[[], PublishedRelease]

    @classmethod
    def of(cls, release: Release) -> "Attackable":
        """Of one in memory."""
        schema = release.schema
        return cls(
            schema, release.draft.form, release.table.rows, release.requirement, lambda: read_published(release, schema)
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
    names = gate_attacks(policy, release.schema, release.form)
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
    if not any(one.attack == GATE and one.status != Status.NOT_RUN for one in findings) and ALONE not in names:
        alone = candidate.finding(find(ALONE), (), progress)  # nobody solved for everyone: at least this is judged
        names, findings = [*names, ALONE], [*findings, *([alone] if alone.status != Status.NOT_RUN else [])]
    order = {name: place for place, name in enumerate(names)}
    missing = tuple(numbers for numbers in map(_numbers, groups) if numbers and numbers not in compared)
    missing = missing if release.schema.sensitive or release.schema.kept else ()  # else there is nothing to compare
    findings = deciding(findings, policy.attacks or (), candidate.limit)
    return GateResult(Findings(tuple(sorted(findings, key=lambda one: order[one.attack]))), candidate.states, missing)


def gate_attacks(policy: Policy, schema: Schema, form: Form = Form.GENERALIZED) -> list[str]:
    """The attacks that a release must withstand.

    Those of the policy, the joint one wherever people have names, and for a panel the one that follows its slots. Where
    the joint one does not run, the release by itself is judged beside them; it says of a release's groups what that
    one would.
    """
    every = (name for name in by_default() if not find(name).files_alone and name != ALONE)
    names = list(policy.attacks if policy.attacks is not None else every)
    if form == Form.PANEL and SLOTS not in names:
        names = [*names, SLOTS]
    return names if GATE in names or schema.identifier is None else [GATE, *names]


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


def after(
    ledger: Ledger, earlier: Sequence[Recorded], schema: Schema, *, accepts_history: bool
) -> ChainHistory | list[Any]:
    """What was carried on of them, if the method can use that, else the releases themselves.

    Where nothing was kept that fits (adopted releases, a changed schema, an older ledger, a lost file) the stored
    releases are taken up again, once. Releases that cannot be followed are the method's to refuse.
    """
    if not accepts_history or not earlier:
        return [ledger.tables(one) for one in earlier]
    kept: ChainHistory | None = kept_state(ledger, earlier[-1], "past", schema, ChainHistory)
    if kept is not None:
        return kept
    past = None
    for one in earlier:
        frame = read_published(ledger.tables(one), schema).generalized
        try:
            past = add_release(past, frame, schema) if frame is not None else None
        except CannotRunError:
            past = None
        if past is None:
            return [ledger.tables(one) for one in earlier]
    return past or []


def _refuse_unconfirmed(confirmed: bool) -> None:
    if not confirmed:
        raise InternalError(
            "The release withstands an attack, and a second formula for a sample says that it does not. Nothing was "
            "published. Please report this."
        )


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
    states: dict[str, object] = field(default_factory=dict)

    def finding(self, attack: Attack, some: Sequence[Recorded], progress: Callable[[float], None]) -> Finding:
        """One attack on the candidate and the earlier releases given; on all of them where it can carry on.

        `look_back` bounds what is read again. A state holds all releases and costs less than to begin anew with some.
        """
        everyone = tuple(some) == self.earlier or (self.policy.collude is None and not self.policy.alone)
        # A state is of the values of all sensitive columns together: where each is attacked, releases are read again.
        apart = attack.each_column and len(self.release.schema.sensitive) > 1
        if attack.kept is not None and everyone and not apart:
            try:
                return self._go_on(attack.name, attack.kept, progress)
            except CannotCarryError:
                pass
        return self._whole(attack, some, progress)

    def limit(self, attack: str) -> float | None:
        """What the policy says of an attack's limit."""
        return self._series([], []).limit(attack)

    def _whole(self, attack: Attack, some: Sequence[Recorded], progress: Callable[[float], None]) -> Finding:
        series = self._all(attack.name, some)
        found = run_attack(attack, series, Knowledge(progress=progress))
        if attack.name == "coalition" and found.status == Status.WITHSTOOD:
            records = read_records(series.releases[-1], series.schema)
            contributions, limit = records.contributions, int(found.limit or 0)
            asked = by_column(self.release.requirement, records.margins, contributions.domain)
            _refuse_unconfirmed(confirm_coalitions(contributions, asked, limit, self._sample()))
        return replace(found, releases=series.numbers) if found.status == Status.NOT_RUN else found

    def _all(self, name: str, some: Sequence[Recorded]) -> Series:
        read = [self._read(one, name) for one in some]
        return self._series([*read, self._own()], [*(one.number for one in some), self.number])

    def _go_on(self, name: str, fold: Fold[Any, Any], progress: Callable[[float], None]) -> Finding:
        """The same from the state after the release before, or from the beginning where there is none that fits."""
        newest, held = self._series([self._own()], [self.number]), (*_numbers(self.earlier), self.number)
        try:
            state = self._added(fold, self._state(name, fold, progress), newest)
            if fold.state is not None:
                self.states[name] = state
            found = fold.judge(state, newest)
            if found.status == Status.WITHSTOOD:
                _refuse_unconfirmed(confirm(state, found, self._sample()) and self._followed_again(state))
            return replace(self._explained(name, fold, state, found, newest), releases=held)
        except CannotRunError as obstacle:
            return cannot_run(name, held, obstacle)

    def _sample(self) -> np.random.Generator:
        """Whom to look at twice: others in every release, the same ones if it is made again."""
        return np.random.default_rng(self.number)

    def _followed_again(self, state: object) -> bool:
        """Whether some people's posteriors are right, by their whole histories, while these are short."""
        if not isinstance(state, UpdateState) or not isinstance(state.past, Histories) or len(self.earlier) > _SHORT:
            return True
        people, largest = largest_of_histories(state.past)
        some = np.sort(self._sample().permutation(len(people))[:_TWICE])
        names, schema = pl.Series(people[some]), self.release.schema
        read = [self.ledger.followed(one, schema, names) for one in self.earlier]
        series = self._series([*read, self._own()], [*_numbers(self.earlier), self.number])
        members, person, _ = named_membership(series, strangers=False)
        linked, order = histories_of_members(members), np.argsort(people)
        rows = np.flatnonzero(np.isin(person, people[some]))
        place = order[np.searchsorted(people[order], person[rows])]
        histories = replace(linked, table=linked.table[rows])
        return confirm_posteriors(histories, read_updates(schema, linked.names), largest[place])

    def _explained(self, name: str, fold: Fold[Any, Any], state: object, found: Finding, newest: Series) -> Finding:
        """With the case, where somebody is exposed; earlier releases are read for it if they are not too large."""
        rows = self.release.rows + sum(one.record.rows for one in self.earlier)
        if found.status != Status.EXPOSED or (fold.looks_back and rows > _ROWS_FOR_A_CASE):
            return found
        return fold.explain(state, found, self._all(name, self.earlier) if fold.looks_back else newest, Knowledge())

    def _state(self, name: str, fold: Fold[Any, Any], progress: Callable[[float], None]) -> Any:
        kept = self._kept(name, fold.state)
        if kept is not None or not self.earlier:
            return kept
        state = None
        for turn, one in enumerate(self.earlier):
            state = self._added(fold, state, self._series([self._read(one, name)], [one.number]))
            progress((turn + 1) / (len(self.earlier) + 1))
        before = self._left(name, fold.state)
        if isinstance(state, JointState) and isinstance(before, JointState):
            return remembering(state, before)
        return state

    def _left(self, name: str, kind: type | None) -> Any:
        """The state that the last release left, by whichever schema and policy it was made."""
        what, files = f"state.{name}", self.earlier[-1].files
        try:
            return (
                None if kind is None or what not in files else unpack_state(kind, self.ledger.store.read(files[what]))
            )
        except MissingFileError:
            return None

    @staticmethod
    def _added(fold: Fold[Any, Any], state: Any, newest: Series) -> Any:
        (seen,) = fold.see(newest, Knowledge())
        return fold.add(state, seen)

    def _kept(self, name: str, kind: type | None) -> Any:
        if not self.earlier or kind is None:
            return None
        return kept_state(self.ledger, self.earlier[-1], f"state.{name}", self.release.schema, kind)

    def _own(self) -> PublishedRelease:
        return self.release.read()

    def _read(self, one: Recorded, attack: str) -> PublishedRelease:
        read = self.ledger.followed if find(attack).follows else self.ledger.published
        return read(one, self.release.schema)

    def _series(self, releases: Iterable[PublishedRelease], numbers: Iterable[int]) -> Series:
        limits = dict(self.policy.limits)
        return Series(tuple(releases), self.release.schema, self.policy.exact, limits, tuple(numbers))


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
