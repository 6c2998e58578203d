"""How the sentences of a plan are worded: the adversary, what a setting costs, why settings failed."""

from collections import Counter
from collections.abc import Sequence

from reissue.publishing.plan.rehearsed import Outcome
from reissue.publishing.plan.settings import Limits
from reissue.words import percent, plural

__all__ = ["adversary_of", "cost_sentences", "people_of", "why_failed"]

_REASONS = 3
"""So many reasons are told in a sentence; the table has all."""


def why_failed(failed: Sequence[Outcome]) -> str:
    """The reasons of settings that could not be tried, the most frequent first."""
    reasons = Counter(f"{one.reason.rstrip('.')}." for one in failed).most_common()
    more = [f"There are {len(reasons) - _REASONS} further reasons."] if reasons[_REASONS:] else []
    return " ".join(["Why:", *(reason for reason, _ in reasons[:_REASONS]), *more])


def adversary_of(one: Outcome, limits: Limits) -> str:
    """Against whom the limit is kept."""
    knows = one.steps[-1].knowledge if one.steps else ""
    if knows == "rows":
        leaves = "how soon people with each value leave, " if "departures" in one.setting.drawing else ""
        return (
            f"The adversary is taken to link every record to its person, and to know {leaves}how common values "
            "are, and how they change. Knowing other people's values does not help."
        )
    has = "know everyone's group" if knows == "groups" else "have a register of who is in each release"
    learns = ", and to learn which people tend to have which value" if limits.prior == "learned" else ""
    return f"The adversary is taken to {has}{learns}, and solves all releases for everyone at once."


def cost_sentences(one: Outcome) -> list[str]:
    """Loss or truth, errors, and records added or suppressed."""
    rows = max(one.rows, 1)
    added, left = _of(one.counterfeits, "counterfeit", rows), _of(one.left_out, "suppressed record", rows)
    if one.setting.randomized:
        return [
            (
                f"{one.true or 0:.0%} of published values are true. Estimates with the side table correct for that: "
                f"half of random count queries are off by {one.query_error or 0:.1%} or less."
            ),
            (
                f"The surest guess about a person is right in {percent(one.average or 0.0)} of cases on average. Over "
                f"all releases {added} and {left}."
            ),
        ]
    return [
        (
            f"It costs {one.loss or 0:.1%} information loss. Half of random count queries are off by "
            f"{one.query_error or 0:.1%} or less, shares of sensitive values by {one.margin_error or 0:.1%} at worst."
        ),
        f"Over all releases {added} and {left}.",
    ]


def _of(count: int, noun: str, rows: int) -> str:
    return f"{plural(count, noun)} ({count / rows:.1%} of the records)" if count else f"no {noun}s"


def people_of(number: int) -> str:
    """A number of people in words."""
    return "1 person" if number == 1 else f"{number:,} people"
