"""A toy method, as a newcomer writes it: groups in the order of the first quasi-identifier, of a size that suffices."""

import numpy as np

from reissue.counting.cells import Counts
from reissue.errors import NotMetError
from reissue.methods import Job, Option, Trait, algorithm
from reissue.release.release import Draft


@algorithm(
    "slices",
    "Cuts the table, in the order of its first quasi-identifier, into slices of equal size.",
    options={"slices": Option(8, "How many slices to begin with.")},
    traits=Trait.JOINABLE,
    remedies={"newcomer": "nobody is alone in a slice"},
)
def slices(job: Job) -> Draft:
    """Halve the number of slices until each of them meets the requirement."""
    order = np.argsort(job.table.codes[0], kind="stable")
    number = int(job.options["slices"])
    while number:
        groups = np.empty(job.table.rows, np.int32)
        groups[order] = np.arange(job.table.rows) * number // job.table.rows
        counts = Counts(groups, job.table.sensitive, job.table.domain, number)
        if job.requirement.holds(counts).all():
            return Draft(groups)
        number //= 2
    raise NotMetError("Not even the whole table meets the requirement.")
