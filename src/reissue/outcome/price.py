"""What a release costs, in words: loss by column, confidence against the limit, and what would be cheaper."""

from dataclasses import dataclass

from reissue.language import counted, localized, text
from reissue.outcome.view import GOOD, UNSURE, Headline, TableView, table
from reissue.publishing.changes import Advice
from reissue.publishing.price import Price, TriedChange
from reissue.words import number

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
    lost = text("Release {number} loses {loss} of what the table says.", number=price.number, loss=_share(price.loss))
    rows: list[tuple[str, ...]] = [
        (name, _share(one), text("nothing is left") if one >= _ALL else text("published as it is") if one == 0 else "")
        for name, one in sorted(price.losses.items(), key=lambda pair: -pair[1])
    ]
    headline = Headline(UNSURE if much else GOOD, text("Price"), lost, _sure(price))
    cheaper = tuple(Advice(_cheaper(one), one.change) for one in price.cheaper)
    headings: tuple[str, ...] = (text("column"), f"{text('lost')}#", text("what is left"))
    if not any(row[2] for row in rows):
        headings, rows = headings[:2], [row[:2] for row in rows]
    return PriceView(headline, table(headings, rows, text("Loss by column")), tuple(_sentences(price)), cheaper)


def _share(share: float) -> str:
    return localized(f"{share:.1%}")


def _sure(price: Price) -> str:
    if price.posterior is None or price.limit is None:
        return text("How sure anybody can be of a value was not computed: the joint attack did not run.")
    numbers = {"posterior": localized(f"{price.posterior:.2f}"), "limit": localized(f"{price.limit:.2f}")}
    if price.overpaid:
        return text(
            "Nobody can be surer of a value than {posterior}; the limit is {limit}: more was paid than this release "
            "needs.",
            **numbers,
        )
    return text("Nobody can be surer of a value than {posterior}; the limit is {limit}.", **numbers)


def _sentences(price: Price) -> list[str]:
    said = [_costliest(price)]
    if price.true is not None:
        true = localized(f"{price.true:.0%}")
        said.append(
            text(
                "{share} of the published values are true; estimates with the side table correct for that.", share=true
            )
        )
    if price.suppressed or price.counterfeits:
        said.append(
            text(
                "Suppressed records: {suppressed} of {rows}. Counterfeits added: {counterfeits}.",
                suppressed=number(price.suppressed),
                rows=number(price.rows),
                counterfeits=number(price.counterfeits),
            )
        )
    if price.tried and not price.cheaper:
        said.append(
            counted(
                len(price.tried),
                "{count} change was tried: it does not cost less, or exposes somebody.",
                "{count} changes were tried: none costs less without exposing somebody.",
            )
        )
    if price.overpaid:
        said.append(
            text("Later releases raise what somebody can learn: a plan says which policy leaves room for them.")
        )
    if price.late:
        said.append(text("Some changes were not tried: the time was over."))
    return said


def _costliest(price: Price) -> str:
    """Which column loses most, and what leaving it out gives."""
    name, dropped = price.costliest, price.without_costliest
    most = text("'{column}' loses most: {loss}.", column=name, loss=_share(price.losses[name]))
    if dropped is None or dropped.others is None:
        return most
    if not dropped.withstood:
        return f"{most} {text('Without it somebody would be exposed.')}"
    kept = [lost for column, lost in price.losses.items() if column != name]
    before = sum(kept) / len(kept)
    if abs(before - dropped.others) < 0.005:
        same = text("Without it the other columns lose as much as now, {loss}.", loss=_share(before))
        return f"{most} {same}"
    after = text(
        "Without it the other columns lose {after} instead of {before}.",
        after=_share(dropped.others),
        before=_share(before),
    )
    return f"{most} {after}"


def _cheaper(one: TriedChange) -> str:
    """A change as it was tried."""
    if one.posterior is None:
        return text("{change}: {loss} is lost then.", change=one.change.sentence, loss=_share(one.loss))
    return text(
        "{change}: {loss} is lost then, and nobody can be surer of a value than {posterior}.",
        change=one.change.sentence,
        loss=_share(one.loss),
        posterior=localized(f"{one.posterior:.2f}"),
    )
