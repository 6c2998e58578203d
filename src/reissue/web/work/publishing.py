"""Publishing: the next release of a ledger, tried or recorded; and whether a ledger is whole."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reissue.data.frames import first_rows
from reissue.errors import CannotRunError, InputError
from reissue.files.dialect import Dialect
from reissue.language import text
from reissue.ledger import Ledger
from reissue.outcome.findings import refused as refused_headline
from reissue.outcome.price import view_of as view_of_price
from reissue.outcome.series import figures_of_release, trust_headline
from reissue.papers.coalition.views import view_of_release
from reissue.publishing.price import BUDGET, Price, PriceRequest
from reissue.publishing.publish import attack_by_providers, publish_next, tried_release
from reissue.publishing.refusal import RefusedError
from reissue.publishing.turn import PublicationInMemory, ledger_at
from reissue.release.release import Release
from reissue.report import publication_html, report_html
from reissue.report.evidence import evidence_html, publish_record
from reissue.schema import Schema
from reissue.utility.tabulation import paired_rows
from reissue.web.work import Tell
from reissue.web.work.auditing import shown

__all__ = ["collude", "collude_over_series", "publish", "rehearse", "verify"]


def rehearse(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """A dry run: make and attack the release, record nothing."""
    return _publish(given, folder, tell, dry_run=True)


def publish(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """Make, attack and record the release."""
    return _publish(given, folder, tell, dry_run=False)


def _publish(given: Mapping[str, Any], folder: Path, tell: Tell, *, dry_run: bool) -> Mapping[str, Any]:
    tell(0.01, text("reading"))
    schema = Schema.load(given["schema"]) if given["schema"] else None
    seen: list[Release] = []
    with ExitStack() as stack:
        book = stack.enter_context(ledger_at(given["ledger"], schema, dry_run=dry_run))
        try:
            made = publish_next(
                Path(given["table"]),
                book,
                schema=schema,
                dry_run=dry_run,
                recipients=given["recipients"],
                date=given["dated"] or None,
                **{name: given[name] for name in ("newcomers", "unchanged", "lookalikes")},
                dialect=Dialect(given["delimiter"]),
                price=PriceRequest(None, BUDGET if dry_run else 0.0),
                when_made=seen.append,
                before_record=lambda one: _leave(one, book, given["recipients"], folder),
                progress=lambda share: tell(0.02 + 0.95 * share, text("making the release and attacking it")),
            )
        except RefusedError as refused:
            said = refused.report
            (folder / "report.html").write_text(report_html(said.findings, refusal=said), encoding="utf-8")
            known = shown(said.findings, refused_headline(said.release))
            words = {"problems": list(said.problems), "steps": [one.as_dict() for one in said.steps]}
            return {**known, **words, "refused": True, "providers": _providers(seen, book, said.release)}
        return {**_said(made, book), "providers": _providers(seen, book, made.number) if dry_run else None}


def _leave(made: PublicationInMemory, book: Ledger, recipients: Sequence[str], folder: Path) -> None:
    """Report and record, before the release is recorded: what cannot be written stops it."""
    record = publish_record(made, book, recipients)
    (folder / "report.html").write_text(publication_html(made), encoding="utf-8")
    (folder / "record.json").write_text(record.to_json(), encoding="utf-8")
    (folder / "evidence.html").write_text(evidence_html(record), encoding="utf-8")


def _said(made: PublicationInMemory, book: Ledger) -> dict[str, Any]:
    release = made.release
    return {
        **shown(made.findings),
        "refused": False,
        "price": None if made.price is None else _price(made.price),
        "number": made.number,
        "recorded": made.recorded,
        "again": made.again,
        "rows": release.table.rows - release.suppressed,
        "groups": release.groups,
        "tables": list(release.tables),
        "facts": figures_of_release(release),
        "warnings": list(made.warnings),
        "head": book.entries()[-1].hash,
        "sample": _sample(made.release),
    }


def _price(price: Price) -> dict[str, Any]:
    view = view_of_price(price)
    return {**asdict(view), "cheaper": [one.as_dict() for one in view.cheaper]}


def _providers(
    seen: Sequence[Release], book: Ledger, number: int, coalition: Sequence[str] = ()
) -> Mapping[str, Any] | None:
    """Who contributed what, and what coalitions would see; None where there is nobody to name, or it cannot be told."""
    if not seen or book.schema.provider is None:
        return None
    try:
        view = view_of_release(seen[-1], coalition, m=book.policy.m, number=number)
        return {**view.as_dict(), "obstacle": ""}
    except CannotRunError as obstacle:
        return {"contributed": seen[-1].table.contributed, "coalitions": [], "told": [], "obstacle": str(obstacle)}


def collude(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """What some providers would see in the next release, made and not recorded."""
    tell(0.05, text("making the release"))
    schema = Schema.load(given["schema"]) if given["schema"] else None
    with ledger_at(given["ledger"], schema, dry_run=True) as book:
        release, number = tried_release(Path(given["table"]), book, dialect=Dialect(given["delimiter"]))
        return {"number": number, "view": _providers([release], book, number, given["coalition"])}


def collude_over_series(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """What some providers would see in all releases of a ledger together, whose tables are brought again."""
    tell(0.02, text("recognizing the tables"))
    with Ledger.open(given["ledger"]) as book:
        try:
            found = attack_by_providers(
                book,
                [Path(one) for one in given["tables"]],
                given["coalition"],
                dialect=Dialect(given["delimiter"]),
                progress=lambda share: tell(0.05 + 0.93 * share, text("looking at all releases as insiders would")),
            )
        except CannotRunError as obstacle:
            raise InputError(text("This cannot be told: {why}", why=obstacle)) from None
    return found.as_dict()


def _sample(release: Release) -> dict[str, Any]:
    """Some rows as they are and as they go out."""
    pairs = paired_rows(release)
    return {"before": first_rows(pairs.before), "after": first_rows(pairs.after), "same": pairs.same}


def verify(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """Whether it is proven that nothing was changed."""
    tell(0.1, text("reading every entry and file"))
    with Ledger.open(given["ledger"]) as book:
        trust, entries = book.examine(given["head"] or None), book.store.found()
        said = {"problems": list(trust.problems), "missing": list(trust.missing)}
        return {**said, "headline": asdict(trust_headline(trust, len(entries))), "head": entries[-1].hash}
