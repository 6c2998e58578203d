"""Groups of neighbours in the order of the quasi-identifiers, each as small as the requirement allows.

For requirements that unions keep. Not a good method, but a short one: O(rows x rows of a group).
"""

import numpy as np

from reissue._arrays import Ints
from reissue.counting.cells import Counts
from reissue.errors import RequirementError
from reissue.methods import Job, algorithm
from reissue.release.release import Draft


@algorithm("sorted", "Groups of neighbours in the order of the quasi-identifiers: a short example, not a good method.")
def by_order(job: Job) -> Draft:
    """Fill one group after the other; what is left at the end goes to the last ones."""
    if not job.requirement.monotone:
        raise RequirementError(f"The method 'sorted' needs a requirement that unions keep, not {job.requirement}.")
    order, starts = np.lexsort(job.table.codes), [0]
    for last in range(1, job.table.rows + 1):
        if _meets(job, order[starts[-1] : last]):
            starts.append(last)
    while len(starts) > 1 and not _meets(job, order[starts[-1] :]):
        starts.pop()
    groups = np.zeros(job.table.rows, np.int32)
    groups[order] = np.searchsorted(starts, np.arange(job.table.rows), side="right") - 1
    return Draft(groups)


def _meets(job: Job, rows: Ints) -> bool:
    """Whether some rows meet the requirement as one group; the table as a whole does, or nobody would have asked."""
    counts = Counts(np.zeros(len(rows), np.int32), job.table.sensitive[rows], job.table.domain, 1)
    return len(rows) > 0 and bool(job.requirement.holds(counts)[0])
