"""Updates: what a sensitive value can become from one release to the next, and the `[updates]` section that says so."""

from reissue.updates.model import MOST_VALUES, UpdateModel
from reissue.updates.section import read_updates

__all__ = ["MOST_VALUES", "UpdateModel", "read_updates"]
