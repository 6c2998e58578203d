"""Updates: what a sensitive value can become from one release to the next, and the `[updates]` section that says so."""

from reissue.updates.model import MOST_VALUES, UpdateModel, fingerprint_of
from reissue.updates.section import read_updates, settled

__all__ = ["MOST_VALUES", "UpdateModel", "fingerprint_of", "read_updates", "settled"]
