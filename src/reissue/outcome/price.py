"""What a release costs, in words: loss by column, confidence against the limit, and what would be cheaper."""

from dataclasses import dataclass

from reissue.outcome.view import GOOD, UNSURE, Headline, TableView, table
from reissue.publishing.changes import Advice
from reissue.publishing.price import Price, TriedChange
from reissue.words import plural

__all__ = ["PriceView", "view_of"]

_ALL = 0.995
"""From this loss on a column says nothing any more."""


@dataclass(frozen=True)
class PriceView:
    """The price of a release."""

    headline: Headline
    columns: TableView
    """Loss by quasi-identifier."""
    sentences: tuple[str, ...]
    cheaper: tuple[Advice, ...]
    """What costs less, the most effective first, as it was tried."""


def view_of(price: Price) -> PriceView:
    """Return the view of a price."""
    much = price.loss > 0.5 or bool(price.cheaper)
    lost = f"Release {price.number} loses {price.loss:.1%} of what the table says."
    rows: list[tuple[str, ...]] = [
        (name, f"{one:.1%}", "nothing is left" if one >= _ALL else "published as it is" if one == 0 else "")
        for name, one in sorted(price.losses.items(), key=lambda pair: -pair[1])
    ]
    headline = Headline(UNSURE if much else GOOD, "Price", lost, _sure(price))
    cheaper = tuple(Advice(_cheaper(one), one.change) for one in price.cheaper)
    headings: tuple[str, ...] = ("column", "lost#", "what is left")
    if not any(row[2] for row in rows):
        headings, rows = headings[:2], [row[:2] for row in rows]
    return PriceView(headline, table(headings, rows, "Loss by column"), tuple(_sentences(price)), cheaper)


def _sure(price: Price) -> str:
    if price.posterior is None or price.limit is None:
        return "How sure anybody can be of a value was not computed: the joint attack did not run."
    said = f"Nobody can be surer of a value than {price.posterior:.2f}; the limit is {price.limit:.2f}"
    return f"{said}: more was paid than this release needs." if price.overpaid else f"{said}."


def _sentences(price: Price) -> list[str]:
    said = [_costliest(price)]
    if price.true is not None:
        said.append(
            f"{price.true:.0%} of the published values are true; estimates with the side table correct for that."
        )
    if price.suppressed or price.counterfeits:
        said.append(
            f"{plural(price.suppressed, 'record')} of {price.rows:,} suppressed, "
            f"{plural(price.counterfeits, 'counterfeit')} added."
        )
    if price.tried and not price.cheaper:
        said.append(f"{plural(len(price.tried), 'change')} tried: none costs less and exposes nobody.")
    if price.overpaid:
        said.append("Later releases raise what somebody can learn: a plan says which policy leaves room for them.")
    if price.late:
        said.append("Some changes were not tried: the time was over.")
    return said


def _costliest(price: Price) -> str:
    """Which column loses most, and what leaving it out gives."""
    name, dropped = price.costliest, price.without_costliest
    most = f"'{name}' loses most: {price.losses[name]:.1%}."
    if dropped is None or dropped.others is None:
        return most
    if not dropped.withstood:
        return f"{most} Without it somebody would be exposed."
    kept = [lost for column, lost in price.losses.items() if column != name]
    before = sum(kept) / len(kept)
    if abs(before - dropped.others) < 0.005:
        return f"{most} Without it the other columns lose as much as now, {before:.1%}."
    return f"{most} Without it the other columns lose {dropped.others:.1%} instead of {before:.1%}."


def _cheaper(one: TriedChange) -> str:
    """A change as it was tried."""
    sure = "" if one.posterior is None else f", and nobody can be surer of a value than {one.posterior:.2f}"
    return f"{one.change.sentence}: {one.loss:.1%} is lost then{sure}."
