"""How one setting went in a rehearsal: its releases, their cost and risk, and how it ended."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from reissue.publishing.plan.settings import Setting
from reissue.words import percent

__all__ = ["KnownGroups", "Outcome", "RehearsalEnd", "RehearsedRelease"]


class RehearsalEnd(StrEnum):
    """How a rehearsal ended."""

    WITHSTOOD = "withstood"
    EXPOSED = "exposed"
    TOO_COSTLY = "too costly"
    """More counterfeits than allowed."""
    IMPOSSIBLE = "impossible"
    """The method cannot publish such tables."""
    NOT_TRIED = "could not be tried"
    """An error came before a verdict, or the attack could not follow the releases: nothing is known of the setting."""
    UNFINISHED = "unfinished"


@dataclass(frozen=True)
class RehearsedRelease:
    """One release of a rehearsal."""

    rows: int
    published: int
    loss: float
    query_error: float
    """Half of the random count queries are off by this share or less."""
    margin_error: float
    """How far the shares of sensitive values are off, at worst."""
    counterfeits: int
    left_out: int
    joined: int
    """Groups that were joined with neighbours, because people in them would have been exposed."""
    exposed: int
    risk: float
    """The highest probability of anyone's value, after this release."""
    knowledge: str
    """What the adversary is taken to know: a "register", everyone's "groups", or which "rows" are whose."""
    seconds: float
    average: float | None = None
    """The share of people whose surest guess is right, as the adversary expects; None: not computed."""
    true: float = 1.0
    """The share of published values that are true."""


@dataclass(frozen=True)
class KnownGroups:
    """What a series gives away to someone who knows everyone's group, whatever the form of a release shows."""

    risk: float
    """The highest probability of anyone's value."""
    people: int
    """How many people are linked to a value beyond the limit."""


@dataclass(frozen=True)
class Outcome:
    """One setting: how many releases it made, what it cost, and whom it exposed."""

    setting: Setting
    steps: tuple[RehearsedRelease, ...]
    verdict: RehearsalEnd
    reason: str = ""
    room: int | None = None
    """How many releases of a simulated continuation could be published, too; None: not looked at."""
    seconds: float = 0.0
    known_groups: "KnownGroups | None" = None
    """What someone gets who knows everyone's group; None: not looked at."""

    @property
    def published(self) -> int:
        """How many releases could go out."""
        return len(self.steps) - (self.verdict == RehearsalEnd.EXPOSED)

    def _mean(self, of: Callable[[RehearsedRelease], float]) -> float | None:
        return sum(map(of, self.steps)) / len(self.steps) if self.steps else None

    @property
    def loss(self) -> float | None:
        """Mean information loss of a release."""
        return self._mean(lambda step: step.loss)

    @property
    def query_error(self) -> float | None:
        """Mean over releases."""
        return self._mean(lambda step: step.query_error)

    @property
    def margin_error(self) -> float | None:
        """Mean over releases."""
        return self._mean(lambda step: step.margin_error)

    @property
    def rows(self) -> int:
        """Rows of all tables that were looked at."""
        return sum(step.rows for step in self.steps)

    @property
    def counterfeits(self) -> int:
        """Counterfeits of all releases."""
        return sum(step.counterfeits for step in self.steps)

    @property
    def left_out(self) -> int:
        """Suppressed records of all releases."""
        return sum(step.left_out for step in self.steps)

    @property
    def exposed(self) -> int:
        """People whom the last release would have exposed."""
        return self.steps[-1].exposed if self.steps else 0

    @property
    def risk(self) -> float | None:
        """The highest probability of anyone's value in any release."""
        return max((step.risk for step in self.steps), default=None)

    @property
    def average(self) -> float | None:
        """The largest average over people of the surest guess, of any release."""
        return max((step.average for step in self.steps if step.average is not None), default=None)

    @property
    def true(self) -> float | None:
        """The share of published values that are true, mean over releases."""
        return self._mean(lambda step: step.true)

    @property
    def cost(self) -> float:
        """What is compared: loss, and counterfeits and suppressed records as shares of the records.

        Of randomized values the loss says nothing: there the error of queries stands in its place.
        """
        if self.setting.randomized:
            return (self.query_error or 0.0) + (self.counterfeits + self.left_out) / max(self.rows, 1)
        return (self.loss or 0.0) + (self.counterfeits + self.left_out) / max(self.rows, 1)

    def beats(self, other: "Outcome") -> bool:
        """Whether it is nowhere worse, and somewhere better."""
        if self.setting.randomized != other.setting.randomized:
            return False  # true values, or estimates without bias: that is for the holder to weigh
        mine, theirs = self.measures, other.measures
        return all(a <= b for a, b in zip(mine, theirs, strict=True)) and mine != theirs

    @property
    def measures(self) -> tuple[float, ...]:
        """The highest probability, shares of counterfeits and suppressed records, and the loss: less is better."""
        rows = max(self.rows, 1)
        return (self.risk or 0.0, self.counterfeits / rows, self.left_out / rows, self.loss or 0.0)

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and lists."""
        names = ["published", "loss", "query_error", "margin_error", "counterfeits", "left_out", "exposed", "risk"]
        names += ["average", "true"]
        setting = {
            "method": self.setting.method,
            "require": self.setting.require,
            "options": dict(self.setting.options),
            "values": self.setting.values,
            "drawing": dict(self.setting.drawing),
        }
        found = {name: getattr(self, name) for name in names}
        known = self.known_groups
        found |= {
            "risk_groups_known": None if known is None else known.risk,
            "exposed_groups_known": None if known is None else known.people,
        }
        ended = {"verdict": str(self.verdict), "reason": self.reason, "room": self.room, "cpu_seconds": self.seconds}
        return {**setting, **ended, **found, "releases": [asdict(step) for step in self.steps]}

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Outcome":
        """From what `as_dict` gave."""
        setting = Setting(said["method"], said["require"], dict(said["options"]), said["values"], said["drawing"])
        steps = tuple(RehearsedRelease(**step) for step in said["releases"])
        risk, people = said["risk_groups_known"], said["exposed_groups_known"]
        known = None if risk is None else KnownGroups(risk, people)
        ended = RehearsalEnd(said["verdict"])
        return cls(setting, steps, ended, said["reason"], said["room"], said["cpu_seconds"], known)

    def at(self, limit: float, before: float) -> "Outcome":
        """As it ends by another limit than `before`: what went too far is given up there; the rest is not known."""
        above = [place for place, step in enumerate(self.steps) if step.risk > limit]
        if above and self.verdict in {RehearsalEnd.WITHSTOOD, RehearsalEnd.EXPOSED}:
            why = f"In release {above[0] + 1} somebody's value has a probability above {percent(limit)}."
            return replace(self, steps=self.steps[: above[0] + 1], verdict=RehearsalEnd.EXPOSED, reason=why, room=None)
        if self.verdict == RehearsalEnd.EXPOSED and limit > before:
            why = f"It was given up by the limit of {percent(before)}. Plan again to try the releases after it."
            return replace(self, verdict=RehearsalEnd.UNFINISHED, reason=why)
        return self
