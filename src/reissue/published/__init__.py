"""Published tables, ours or anyone's, read into one type that says what form they have."""

from reissue.counting.texts import TextCounts, joined_texts
from reissue.published.counts_table import open_counts, refuse_counts
from reissue.published.release import Looks, PublishedRelease, read_published
from reissue.published.tables import Tables, order_hint, read_tables, releases_among
from reissue.release.form import Form

__all__ = [
    "Form",
    "Looks",
    "PublishedRelease",
    "Tables",
    "TextCounts",
    "joined_texts",
    "open_counts",
    "order_hint",
    "read_published",
    "read_tables",
    "refuse_counts",
    "releases_among",
]
