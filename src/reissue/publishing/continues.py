"""Whether a table continues a series: its columns, its day, the table itself, its people and how they are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue._arrays import Ints
from reissue.data.identifiers import refuse_strangers
from reissue.errors import DataError
from reissue.ledger.chain import LedgerEntry
from reissue.ledger.fingerprints import FORM, PERSON, TableFingerprints, fingerprint_by_rows, is_former
from reissue.ledger.ledger import Ledger
from reissue.ledger.pack import unpack_people
from reissue.ledger.recorded import Recorded
from reissue.schema import Schema
from reissue.words import plural

__all__ = ["Request", "forms_after", "kinds_of", "refuse_what_does_not_follow", "unseen_forms"]


@dataclass(frozen=True)
class Request:
    """What is asked for beside the table."""

    recipients: tuple[str, ...]
    dated: str | None
    seed: int | None
    newcomers: bool = False
    """Whether hardly anybody of the last release need return. No part of what makes a release, as what follows."""
    unchanged: bool = False
    """Whether the table may be that of an earlier release."""
    lookalikes: bool = False
    """Whether newcomers may be written almost like somebody else."""

    def asked(self, schema: Schema) -> list[Any]:
        """What makes a release, beside the table."""
        return [list(self.recipients), self.dated, self.seed, schema.dumps()]


def refuse_what_does_not_follow(
    ledger: Ledger,
    entries: Sequence[LedgerEntry],
    earlier: Sequence[Recorded],
    known: TableFingerprints,
    request: Request,
    kinds: Mapping[str, str],
    people: pl.Series | None,
    *,
    again: bool,
) -> None:
    """Refuse a table that does not continue a series; one that was published `again` was looked at before."""
    if again:
        _refuse_other_form(earlier, kinds, request.dated)
        return
    same = _refuse_earlier_table(ledger, entries, earlier, known, request)
    _refuse_other_form(earlier, kinds, request.dated, same=same)
    if known.forms is not None and not request.lookalikes:
        _refuse_lookalikes(ledger, earlier, known.forms)
    if people is not None and not request.newcomers:
        _refuse_other_people(ledger, earlier, people.to_numpy(), known.identifiers)


def _refuse_other_form(
    earlier: Sequence[Recorded], kinds: Mapping[str, str], dated: str | None, *, same: bool = False
) -> None:
    """Refuse a table whose columns hold something else than in the release before, or that is older.

    Only the `same` table may be of the same day, for other recipients.
    """
    own = [one for one in earlier if one.record.kinds]
    if own:
        before = own[-1].record.kinds
        alike = {("text", "times")}  # days in a text file were text in earlier versions, and read alike
        pairs = {name: (before.get(name, kind), kind) for name, kind in kinds.items()}
        changed = sorted(name for name, (then, now) in pairs.items() if then != now and (then, now) not in alike)
        if changed:
            said = ", ".join(f"'{name}' ({before[name]}, now {kinds[name]})" for name in changed)
            raise DataError(
                f"Columns have another type than in release {own[-1].number}: {said}. People and values would not "
                "be recognized; bring the columns into the earlier form."
            )
    dates = [one.date for one in earlier if one.date is not None]
    if dated is not None and dates and (dated < max(dates) or (dated == max(dates) and not same)):
        raise DataError(
            f"The table is of {dated}, and a release of {max(dates)} has been published. The next one must be later."
        )


def _refuse_earlier_table(
    ledger: Ledger,
    entries: Sequence[LedgerEntry],
    earlier: Sequence[Recorded],
    known: TableFingerprints,
    request: Request,
) -> bool:
    """Refuse a table of which a release was made before: most often the file of a wrong month was taken.

    The newest table may go to other recipients too. Returns whether that is so.
    """
    equal = [one.number for one in earlier if _is_table(ledger, entries, one, known)]
    newest = set()
    for one in reversed(earlier):
        if one.number not in equal or one.recipients == request.recipients:
            break
        newest.add(one.number)
    wrong = [number for number in equal if number not in newest]
    if wrong and not request.unchanged:
        raise DataError(
            f"This is the table of release {wrong[-1]}: the same people with the same values. Is it the file of a "
            "wrong month? If nothing has changed since then, say so: unchanged=True."
        )
    return bool(newest)


def _is_table(ledger: Ledger, entries: Sequence[LedgerEntry], one: Recorded, known: TableFingerprints) -> bool:
    """Whether a release was made of a table; by its mark, if an earlier version recorded it and drew the seed."""
    record = one.record
    if record.table is not None:
        return record.table == known.table
    if not record.request or is_former(record.request):
        return False
    then = ledger.schema_of(entries[: one.entry.number - 1])
    asked = [list(record.recipients), record.date, None, then.dumps()]
    return fingerprint_by_rows(ledger.key, asked, known.rows) == record.request


def _refuse_other_people(ledger: Ledger, earlier: Sequence[Recorded], now: Ints, identifiers: str | None) -> None:
    """Refuse a table in which hardly anybody of the last release returns."""
    last = earlier[-1] if earlier else None
    if last is None or "roster" not in last.files:
        return
    form = last.record.identifiers
    changed = "" if form in {None, identifiers} else f" (they were {form} and are {identifiers})"
    refuse_strangers(unpack_people(ledger.store.read(last.files["roster"])).to_numpy(), now, changed)


def _refuse_lookalikes(ledger: Ledger, earlier: Sequence[Recorded], now: pl.DataFrame) -> None:
    """Refuse newcomers who are written almost like people who left, or like others in the table."""
    before = ledger.forms(earlier)
    new = now.filter(~pl.col(PERSON).is_in(before[PERSON].implode()))
    left = before.filter(~pl.col(PERSON).is_in(now[PERSON].implode()))
    gone = int(new[FORM].is_in(left[FORM].drop_nulls().implode()).sum())
    shared = now.filter(pl.col(FORM).is_duplicated())[FORM]
    twice = int(new[FORM].is_in(shared.implode()).sum())
    if gone or twice:
        raise DataError(_ALIKE.format(new=plural(new.height, "person", "people"), gone=gone, twice=twice))


def unseen_forms(ledger: Ledger, earlier: Sequence[Recorded], known: TableFingerprints) -> tuple[str, ...]:
    """What could not be compared, in words: of whom it was not recorded how the identifier is written."""
    if known.forms is None or not earlier or "forms" in earlier[-1].files:
        return ()
    before = ledger.forms(earlier)
    left = before.filter(~pl.col(PERSON).is_in(known.forms[PERSON].implode()))
    unknown = left[FORM].null_count()
    if not unknown:
        return ()
    return (_UNSEEN.format(people=plural(unknown, "person", "people")),)


_UNSEEN = (
    "An earlier version of Reissue recorded {people} of earlier releases who are not in this table: whether somebody "
    "new in it is one of them, under an identifier that is written otherwise, is not known."
)
_ALIKE = (
    "Of {new} who are new in this table, {gone:,} are written almost like somebody of an earlier release who is not in "
    "it, and {twice:,} almost like somebody else in it: their identifiers differ only in zeros at the beginning, case, "
    "blanks, punctuation or the encoding of letters. Where a tool has changed identifiers, one person is taken for two "
    "people, and what earlier releases gave away is not counted. Bring identifiers into their earlier form. If these "
    "really are other people, say so: lookalikes=True."
)


def forms_after(ledger: Ledger, earlier: Sequence[Recorded], now: pl.DataFrame, people: pl.Series) -> pl.DataFrame:
    """Everybody in all releases, to the relaxed form of the identifier; of this table those `people` who go out."""
    out = now.filter(pl.col(PERSON).is_in(people.implode()))
    return pl.concat([out, ledger.forms(earlier)]).unique(PERSON, keep="first", maintain_order=True).sort(PERSON)


def kinds_of(columns: Mapping[str, pl.DataType], schema: Schema) -> dict[str, str]:
    """What each column holds, as roughly as a series must keep it."""
    names = [name for name in columns if name not in {schema.identifier, schema.provider}]
    return {name: _kind(columns[name]) for name in names}


def _kind(kind: pl.DataType) -> str:
    if kind.is_numeric():
        return "numbers"
    if kind.is_temporal():
        return "times"
    return "yes or no" if kind == pl.Boolean else "text"
