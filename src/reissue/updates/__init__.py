"""Updates: what a sensitive value can become from one release to the next, and the `[updates]` section that says it."""

from reissue.updates.model import UpdateModel, mark_of
from reissue.updates.section import read_updates, settled

__all__ = ["UpdateModel", "mark_of", "read_updates", "settled"]
