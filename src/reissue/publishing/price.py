"""What a release costs before it is recorded: loss by column, confidence against the limit, and what would be cheaper.

What a change gives is not estimated: the release is made with it, repaired and attacked, as long as the time lasts.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from reissue._notebook import notebook
from reissue.attacks.findings import Findings, Status
from reissue.errors import InputError, NotMetError
from reissue.policy import Policy
from reissue.publishing.changes import Change

__all__ = ["BUDGET", "MOST", "Price", "PriceRequest", "TriedChange", "try_changes"]

BUDGET = 10.0
"""Seconds for trying what would be cheaper, by default."""
MOST = 3
"""Changes that are shown, at most."""
_WORTH = 0.005
"""Information loss that a change must save to be worth telling: half a percent."""


@dataclass(frozen=True)
class PriceRequest:
    """What a release may cost, and how long it is looked for what would cost less."""

    max_loss: float | None = None
    """The largest information loss; None: as the policy says."""
    budget: float = 0.0
    """Seconds for trying changes."""

    def __post_init__(self) -> None:
        if self.max_loss is not None and not 0 <= self.max_loss <= 1:
            raise InputError("`max_loss` must be an information loss, from 0 to 1.")

    def most(self, policy: Policy) -> float:
        """The largest information loss by this request and the policy."""
        return min([1.0, *(one for one in (self.max_loss, policy.max_loss) if one is not None)])


@dataclass(frozen=True)
class TriedChange:
    """A change, and the release that was made with it."""

    change: Change
    loss: float
    """The information loss; a column that is left out counts as lost."""
    losses: Mapping[str, float]
    posterior: float | None
    withstood: bool
    """Whether it would have been published."""

    @property
    def judged(self) -> bool:
        """Whether it is known what it gives away: of a change of the policy only by a posterior."""
        return self.posterior is not None or "policy" not in self.change.sections

    @property
    def others(self) -> float | None:
        """The mean loss of the remaining columns, where one is left out."""
        out = self.change.sections.get("columns", {})
        kept = [loss for name, loss in self.losses.items() if name not in out]
        return sum(kept) / len(kept) if out and kept else None


@dataclass(frozen=True, repr=False)
class Price:
    """What a release costs, and what somebody can learn from it.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population
    >>> patients = next(Population(seed=1, people=400).months(1))
    >>> price = ri.preview(patients, "new.ledger", ri.propose(patients, sensitive=["disease"]).schema, budget=0)
    >>> price.number, 0 < price.loss < 1, price.posterior <= price.limit
    (1, True, True)
    """

    number: int
    """The number that the release would have."""
    rows: int
    """Rows of the table."""
    suppressed: int
    counterfeits: int
    loss: float
    """The information loss, suppressed records counted as lost altogether."""
    losses: Mapping[str, float]
    """The share of its domain that a published value covers, by quasi-identifier."""
    posterior: float | None = None
    """The highest posterior of a protected value; None where the joint attack did not run."""
    limit: float | None = None
    """What it may be."""
    true: float | None = None
    """The share of published values that are true; None where all are."""
    costliest: str = ""
    """The quasi-identifier that loses most."""
    tried: tuple[TriedChange, ...] = ()
    """All changes that were tried."""
    late: bool = False
    """Whether some changes were not tried for lack of time."""
    findings: Findings = field(default_factory=Findings)

    @property
    def cheaper(self) -> tuple[TriedChange, ...]:
        """The changes by which less is lost and nobody is exposed, the most effective first; three at most."""
        better = [one for one in self.tried if one.withstood and one.judged and one.loss < self.loss - _WORTH]
        return tuple(sorted(better, key=lambda one: one.loss)[:MOST])

    @property
    def without_costliest(self) -> TriedChange | None:
        """The release without the costliest column; None where it was not tried."""
        return next((one for one in self.tried if self.costliest in one.change.sections.get("columns", {})), None)

    @property
    def overpaid(self) -> bool:
        """Whether a policy that asks for less was tried, withstands, and loses less."""
        return any("policy" in one.change.sections for one in self.cheaper)

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and lists."""
        left = {"findings", "tried", "losses"}
        found = {name: value for name, value in vars(self).items() if name not in left}
        tried = [{**asdict(one), "losses": dict(one.losses)} for one in self.cheaper]
        return {**found, "losses": dict(self.losses), "cheaper": tried}

    def __str__(self) -> str:
        """The loss in one sentence."""
        sure = "" if self.posterior is None else f" The highest posterior is {self.posterior:.2f} of {self.limit:.2f}."
        return f"Release {self.number} would lose {self.loss:.1%} of what the table says.{sure}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For a notebook."""
        return notebook(self)

    def with_findings(self, findings: Findings) -> "Price":
        """With what the verdict's attack says, and all others."""
        ran = [one for one in findings if one.status != Status.NOT_RUN and one.limit and one.worst is not None]
        sure = [one for one in ran if "posterior" in (one.measure or "") and one.decides]
        surest = max(sure, key=lambda one: one.worst or 0.0, default=None)
        worst, limit = (None, None) if surest is None else (surest.worst, surest.limit)
        return replace(self, posterior=worst, limit=limit, findings=findings)


class _LateError(Exception):
    """The time is over."""


def try_changes(
    changes: Iterable[Change],
    attempt: Callable[[Change, Callable[[float], None]], TriedChange],
    seconds: float,
    took: float,
) -> tuple[tuple[TriedChange, ...], bool]:
    """Try one change after the other, and say whether time was over before the last; `took` is what a release takes."""
    end, found = time.monotonic() + seconds, list[TriedChange]()

    def stop(_: float) -> None:
        if time.monotonic() > end:
            raise _LateError

    for change in changes:
        if time.monotonic() + took > end:
            return tuple(found), True
        try:
            found.append(attempt(change, stop))
        except _LateError:
            return tuple(found), True
        except (InputError, NotMetError):
            continue  # there is no such release
    return tuple(found), False
