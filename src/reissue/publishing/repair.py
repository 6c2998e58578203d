"""Repair: a release that exposes few people is repaired where it hurts, and attacked again.

First the exposed people are left out, and those who give away somebody who has left, as far as the policy's `suppress`
goes: only a group that does not meet the requirement without them is joined with a neighbour. Where they may not be
left out, or that helps nobody, their groups are joined with neighbours, where the method's groups may be joined, and
each time with more of them. So nobody else pays with larger groups. What joining may cost is bounded by the policy's
`repair`: beyond it the release stays as it was, and is refused. Where a random method still exposes somebody, all of it
is tried again with other random numbers. What `publish` sends out and what `plan` rehearses are repaired by the same
code; a rehearsal has one draw only, so that there is room to go on.

People near the limit are repaired with them, as far as that brings them away from it: when they have left, what becomes
known of others may expose them, and then nothing helps any more. `plan` rehearses with the same distance.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.data.table import Table
from reissue.errors import NotMetError, RequirementError
from reissue.methods import find
from reissue.methods.registry import Trait
from reissue.policy import Policy
from reissue.publishing.anonymize import anonymize
from reissue.publishing.joining import Joined, join_groups, joinable
from reissue.release.memory import Memory
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.utility import measure

__all__ = ["FEW", "Attacked", "Attempt", "Repairs", "make_and_repair"]

_TURNS = 9
"""How often a release is attacked at most."""
_MOST = 3
"""How often the number of groups that one is joined with doubles where that did not suffice."""
_RESERVE = 0.5
"""The share of what may be left out that is kept for people whom the joint attack would expose."""
FEW = 0.05
"""Where more people than this share of the table are exposed, nothing is repaired: the method does not fit."""


@dataclass(frozen=True)
class Repairs:
    """What was done to a release before it was let out."""

    turns: int = 0
    left_out: int = 0
    """People left out because the joint attack would have exposed them, or somebody who has left."""
    groups: int = 0
    """Groups that were joined with a neighbour."""
    rows: int = 0
    """Rows of the groups that this made."""
    joins: int = 0
    """In how many turns groups were joined, and nobody was left out."""
    lost: float | None = None
    """The information loss of the release before any group was joined; None where none was to be."""
    asked: float | None = None
    """What it would have been with groups joined, where that was more than the policy allows."""

    @property
    def price(self) -> str:
        """Why the release was not repaired to the end, with both prices; nothing where cost was no reason."""
        if self.asked is None or self.lost is None:
            return ""
        return (
            f"Joining groups would have made its information loss {self.asked:.3f} instead of {self.lost:.3f}, more "
            "than `repair` in the policy allows"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """In plain words, with counts and without values."""
        surely = (
            "the joint attack would have linked people in them to a value with a probability above the policy's limit"
        )
        said = []
        if self.groups:
            joined = "1 group was" if self.groups == 1 else f"{self.groups:,} groups were"
            said.append(
                f"{joined} joined with neighbours ({_rows(self.rows)} generalized further): without that {surely}, or "
                "nearly so."
            )
        if self.left_out:
            people = "1 person was" if self.left_out == 1 else f"{self.left_out:,} people were"
            said.append(
                f"{people} left out of this release: with everyone in it the joint attack would have linked them, or "
                "others who have left, to a value with a probability above the policy's limit, or close to it."
            )
        return tuple(said)


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


class Attacked(Protocol):
    """What attacks found."""

    @property
    def exposed(self) -> Ints:
        """Pseudonyms of the people whom the joint attack exposes."""

    @property
    def near(self) -> Ints:
        """Pseudonyms of those whom it nearly exposes."""

    @property
    def withstood(self) -> bool:
        """Whether no attack exposes anybody."""

    def companions(self, people: Ints) -> list[Ints]:
        """For each of some people those who may have been in a group with them when they were last there."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Attempt(ABC):
    """A table that is to become a release: it can be made and attacked, by a ledger or in rehearsal."""

    table: Table
    schema: Schema
    policy: Policy
    repairs: Repairs = field(default_factory=Repairs)
    widened: Bools | None = None
    """Row to whether its group was joined with another; None: no group was."""
    reserve: float = _RESERVE
    """The share of what may be left out that the method does not get for itself."""
    draw: int = 0
    """Which of several tries, each with its own random numbers."""
    further: int = 0
    """How many further ones there are."""

    @abstractmethod
    def memory(self) -> Memory | None:
        """What a stateful method remembers of the releases before."""

    @abstractmethod
    def after(self) -> list[Any]:
        """The releases before, for a method that makes the next one after them."""

    @abstractmethod
    def seed(self) -> int:
        """What decides everything random, another one in each draw and turn."""

    def anonymize(self, progress: Callable[[float], None]) -> Release:
        """The release, by the policy's method, knowing what went before."""
        policy, method = self.policy, find(self.policy.method)
        more: dict[str, Any] = dict(policy.options)
        if "counterfeits" in method.options:
            more.setdefault("counterfeits", policy.counterfeits)
        if method.stateful:
            more |= {"memory": self.memory(), "newcomers": True}  # whether hardly anybody returns was looked at before
        elif "after" in method.options:
            more["after"] = self.after()
        return anonymize(
            self.table,
            self.schema,
            policy.require,
            method=policy.method,
            boxes=policy.boxes,
            suppress=self.suppress,
            seed=self.seed(),
            progress=progress,
            **more,
        )

    @property
    def rows(self) -> int:
        """Rows of the table as it was given."""
        return self.table.rows + self.repairs.left_out

    @property
    def suppress(self) -> float:
        """The share of the rows that the method may still leave out by itself."""
        kept = 0.0 if self.table.ids is None else self.reserve
        spare = min(self.policy.suppress * (1 - kept) * self.rows, self.spare)
        return max(0.0, min(spare / max(self.table.rows, 1), 1 - 1e-9))

    @property
    def spare(self) -> float:
        """How many more rows may be left out."""
        return self.policy.suppress * self.rows - self.repairs.left_out

    def mentioned(self, people: Ints) -> Bools:
        """Row to whether its person is one of some pseudonyms."""
        ids = self.table.ids
        return np.zeros(self.table.rows, np.bool_) if ids is None else np.isin(ids.to_numpy(), people)


A = TypeVar("A", bound=Attempt)
R = TypeVar("R", bound=Attacked)


def make_and_repair(
    attempt: A,
    attack: Callable[[A, Release, Callable[[float], None]], R],
    progress: Callable[[float], None] = lambda _: None,
    turns: int = _TURNS,
    draws: int = 1,
) -> tuple[A, Release, R]:
    """A release as far as it can be repaired, the attempt that made it, and what attacks find in it.

    `turns` is how often it is attacked at most, `draws` how often a random method may begin anew where that does not
    suffice.
    """
    return _by_draws(attempt, partial(_repaired_in_rounds, attack=attack, progress=progress, turns=turns), draws)


def _by_draws(attempt: A, repair: Callable[[A], tuple[A, Release, R]], draws: int) -> tuple[A, Release, R]:
    """Mended by one draw after the other, until nobody is exposed, or too many are."""
    last = draws - 1 if Trait.RANDOM in find(attempt.policy.method).traits else 0
    for draw in range(last):
        try:
            made = repair(replace(attempt, draw=draw, further=last - draw))
        except NotMetError:
            break  # chance seldom decides that: one draw more
        if not _few(attempt, made[2].exposed):
            return made
    return repair(replace(attempt, draw=last))


def _few(attempt: Attempt, people: Ints) -> bool:
    """Whether there are some people, and so few that it is worth a repair."""
    return 0 < len(people) <= FEW * attempt.rows


def _repaired_in_rounds(
    attempt: A,
    attack: Callable[[A, Release, Callable[[float], None]], R],
    progress: Callable[[float], None],
    turns: int,
) -> tuple[A, Release, R]:
    """Mended in turns until nobody is exposed or near to it, or nothing more can be repaired."""
    release = _made(attempt, lambda done: progress(done / 3))
    safe: tuple[A, Release, R] | None = None
    before, leaving = None, True
    for turn in range(turns):
        found = attack(attempt, release, lambda done, turn=turn: progress((turn + (1 + done) / 2) / (turn + 1)))  # type: ignore[misc]
        if safe is not None and not (found.withstood and len(found.near) < len(safe[2].near)):
            break  # nobody is brought further away from the limit
        if found.withstood:
            safe = attempt, release, found
        elif before is not None and _in_vain(before[2], found):
            (attempt, release, found), leaving = before, False
        if turn + 1 == turns:
            break
        repaired, price = _repaired_by_price(attempt, release, found, leaving=leaving)
        if repaired is None:
            attempt = attempt if price is None or safe is not None else replace(attempt, repairs=price)
            break
        fewer = joinable(release) and repaired[0].repairs.left_out > attempt.repairs.left_out
        before = (attempt, release, found) if fewer else None
        attempt, release = repaired
    return safe or (attempt, release, found)


def _repaired_by_price(
    attempt: A, release: Release, found: Attacked, *, leaving: bool
) -> tuple[tuple[A, Release] | None, Repairs | None]:
    """The next attempt, repaired for those near the limit too if that can be had, else for the exposed alone.

    Where neither can be had, what it would have cost, if that was the reason.
    """
    exposed, price = found.exposed, None
    both = np.union1d(exposed, found.near)
    for people in [both, exposed] if len(both) > len(exposed) else [exposed]:
        if not _few(attempt, people) or not (found.withstood or len(exposed)):
            continue
        try:
            repaired = _repaired(attempt, release, found, people, leaving=leaving)
        except (NotMetError, RequirementError):
            if people is exposed:
                raise
            continue  # the method cannot do without those near the limit
        price = None if repaired is None else _price(attempt, release, repaired)
        if repaired is not None and price is None:
            return (_with_loss(attempt, release, repaired[0]), repaired[1]), None
    return None, price


def _in_vain(before: Attacked, found: Attacked) -> bool:
    """Whether it helps nobody that people were left out: the same people are exposed, or more people are."""
    same = np.isin(before.exposed, found.exposed).all()
    return bool(same) or len(found.exposed) > len(before.exposed)


def _with_loss(attempt: Attempt, release: Release, repaired: A) -> A:
    """With what the release lost before its groups were joined."""
    joined = repaired.repairs.groups > attempt.repairs.groups
    lost = measure(release, queries=0).loss if joined and attempt.repairs.lost is None else attempt.repairs.lost
    return replace(repaired, repairs=replace(repaired.repairs, lost=lost))


def _price(attempt: Attempt, release: Release, repaired: tuple[Attempt, Release]) -> Repairs | None:
    """Both prices where joining groups costs more than the policy allows; else None."""
    if repaired[0].repairs.groups <= attempt.repairs.groups:
        return None
    lost = measure(release, queries=0).loss if attempt.repairs.lost is None else attempt.repairs.lost
    asked = measure(repaired[1], queries=0).loss
    if asked <= lost + attempt.policy.repair:
        return None
    return replace(attempt.repairs, lost=lost, asked=asked)


def _made(attempt: Attempt, progress: Callable[[float], None]) -> Release:
    """A release; where the method needs all that may be left out for itself, it gets that."""
    try:
        return attempt.anonymize(progress)
    except (NotMetError, RequirementError):
        if not attempt.reserve or not attempt.policy.suppress:
            raise
    return replace(attempt, reserve=0.0).anonymize(progress)


def _repaired(
    attempt: A, release: Release, found: Attacked, exposed: Ints, *, leaving: bool
) -> tuple[A, Release] | None:
    """The next attempt, repaired where some people are exposed; None where nothing can be."""
    broken = _broken(attempt, release, found, exposed)
    steady = find(attempt.policy.method).left_out_with is not None and bool(broken.any())
    # A method that leaves whole cohorts out is run with the same random numbers again: nothing else must change.
    turns = attempt.repairs.turns + (not steady)
    attempt = replace(attempt, repairs=replace(attempt.repairs, turns=turns))
    rng = np.random.default_rng(attempt.seed())
    gone = np.setdiff1d(exposed, _people(attempt)[broken])
    if joinable(release):
        around = _around(attempt, release, found, gone)
        first = _suppressed(attempt, release, broken, around, rng) if leaving else None
        return first or _joined(attempt, release, broken, around, rng) or _left_out(attempt, broken)
    return _left_out(attempt, broken)


def _broken(attempt: Attempt, release: Release, found: Attacked, exposed: Ints) -> Bools:
    """The rows to be repaired: those of the exposed people, and of all who must be left out with them.

    Where none of these is in the table, what becomes known of those beside them exposes them: then it is their rows.
    """
    ids, others = attempt.table.ids, find(attempt.policy.method).left_out_with
    if others is None or ids is None:
        return attempt.mentioned(exposed)
    broken = others(release, pl.Series(exposed).cast(ids.dtype))
    if 0 < broken.sum() <= attempt.spare:
        return broken
    people = exposed if broken.any() else np.concatenate([exposed, *found.companions(exposed)])
    return _affordable(attempt, release, [people[[place]] for place in range(len(people))])


def _affordable(attempt: Attempt, release: Release, sets: Sequence[Ints]) -> Bools:
    """The rows that must be left out with some sets of people, set by set, as far as that is allowed."""
    rows, ids, others = (
        attempt.mentioned(np.empty(0, np.int64)),
        attempt.table.ids,
        find(attempt.policy.method).left_out_with,
    )
    if ids is not None and others is not None:
        for people in sets:
            more = rows | others(release, pl.Series(people).cast(ids.dtype))
            rows = more if more.sum() <= attempt.spare else rows
    return rows


def _suppressed(
    attempt: A, release: Release, broken: Bools, around: Sequence[Bools], rng: np.random.Generator
) -> tuple[A, Release] | None:
    """Without the exposed people, if the policy lets them all be left out; their groups stay, if they can.

    For those who have left, without those who give them away, the fewest first, as far as that is allowed; the groups
    of the others are joined.
    """
    spare = attempt.spare - release.suppressed
    if broken.sum() > spare:
        return None
    out, joined_too = broken, np.zeros_like(broken)
    for rows in sorted(around, key=lambda one: int(one.sum())):
        fits = (out | rows).sum() <= spare
        out, joined_too = (out | rows, joined_too) if fits else (out, joined_too | rows)
    if not out.any():
        return None
    joined = join_groups(release, joined_too & ~out, rng, keep=~out)
    return None if joined is None else (_after_joining(_without(attempt, out), joined), joined.release)


def _joined(
    attempt: A, release: Release, broken: Bools, around: Sequence[Bools], rng: np.random.Generator
) -> tuple[A, Release] | None:
    """Groups joined, with more others where that was done before."""
    repairs = attempt.repairs
    joined = join_groups(release, np.any([broken, *around], axis=0), rng, others=2 ** min(repairs.joins, _MOST))
    attempt = replace(attempt, repairs=replace(repairs, joins=repairs.joins + 1))
    return None if joined is None or not joined.groups else (_after_joining(attempt, joined), joined.release)


def _people(attempt: Attempt) -> Ints:
    ids = attempt.table.ids
    return np.full(attempt.table.rows, -1, np.int64) if ids is None else ids.to_numpy()


def _around(attempt: Attempt, release: Release, found: Attacked, gone: Ints) -> list[Bools]:
    """For each who is not in the table any more: the rows whose groups show what those beside this person had.

    Who has left is exposed by what becomes known of the others of an earlier group. So of today's groups that hold
    them the two with the most of them count as broken.
    """
    made, groups = [], release.draft.groups
    for others in found.companions(gone):
        beside = attempt.mentioned(others) & (groups >= 0)
        most = np.argsort(-np.bincount(groups[beside], minlength=release.groups), kind="stable")[:2]
        made.append(beside & np.isin(groups, most))
    return [rows for rows in made if rows.any()]


def _left_out(attempt: A, broken: Bools) -> tuple[A, Release] | None:
    """Made again without the exposed people of today's table, as far as the policy goes; or only by another chance."""
    method = find(attempt.policy.method)
    if "after" in method.options and not method.stateful:
        return None  # records of a growing table stay in it
    if int(broken.sum()) > attempt.spare or (not broken.any() and (Trait.JOINABLE in method.traits or attempt.further)):
        return None  # another chance is better taken with everyone in the table
    fewer = _without(attempt, broken)
    # Nothing of what was joined before is left.
    fewer = replace(fewer, repairs=replace(fewer.repairs, groups=0, rows=0), widened=None)
    return fewer, _made(fewer, lambda _: None)


def _without(attempt: A, rows: Bools) -> A:
    """With fewer rows in the table."""
    widened = None if attempt.widened is None else attempt.widened[~rows]
    left_out = attempt.repairs.left_out + int(rows.sum())
    repairs = replace(attempt.repairs, left_out=left_out)
    return replace(attempt, table=attempt.table.some(np.flatnonzero(~rows)), repairs=repairs, widened=widened)


def _after_joining(attempt: A, joined: Joined) -> A:
    widened = joined.widened if attempt.widened is None else joined.widened | attempt.widened
    done = replace(attempt.repairs, groups=attempt.repairs.groups + joined.groups, rows=int(widened.sum()))
    return replace(attempt, repairs=done, widened=widened)
