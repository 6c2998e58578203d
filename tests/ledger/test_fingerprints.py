"""The same table is published once, however its rows are ordered, and also after a release of an earlier version."""

from pathlib import Path

import pytest

from reissue.ledger import Ledger
from reissue.ledger.fingerprints import fingerprint_by_csv
from reissue.publishing.publish import publish_next
from tests.ledger.series import INVARIANCE, MONTHS, POOL, schema


@pytest.mark.parametrize("policy", [POOL, INVARIANCE])
def test_the_order_of_rows_does_not_matter(policy: dict[str, object], tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger", schema(policy)) as ledger:
        for month in MONTHS[:2]:
            first = publish_next(month, ledger)
            again = publish_next(month.reverse(), ledger)
            assert (again.again, again.number) == (True, first.number)
            assert again.release.frame.equals(first.release.frame)
        changed = MONTHS[1].with_columns(job=MONTHS[1]["job"].reverse())
        assert not publish_next(changed, ledger).again


def test_a_release_of_an_earlier_version_is_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    month = MONTHS[0].reverse()
    with Ledger.create(tmp_path / "x.ledger", schema(POOL)) as ledger:
        with monkeypatch.context() as earlier:
            first = _published_before(month, ledger, earlier)
        again = publish_next(month, ledger)
        assert (again.again, again.number) == (True, 1)
        assert again.release.frame.equals(first)
        assert not publish_next(MONTHS[1], ledger).again


def _published_before(month: object, ledger: Ledger, earlier: pytest.MonkeyPatch) -> object:
    """As a version that marked a table by its CSV did."""
    from reissue.publishing import candidate

    def marked(book: Ledger, asked: list[object], table: object, *_: object) -> tuple[str, object]:
        return fingerprint_by_csv(book.key, asked, table), table  # type: ignore[arg-type]

    earlier.setattr(candidate, "_marked", marked)
    return publish_next(month, ledger).release.frame
