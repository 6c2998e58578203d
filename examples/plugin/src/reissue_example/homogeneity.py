"""The homogeneity attack (Machanavajjhala et al. 2006): whose group has one sensitive value, that person has it."""

import numpy as np

from reissue.attacks import Knowledge, Series, attack
from reissue.attacks.findings import Finding, Status

NAME = "homogeneity"


@attack(
    NAME,
    "Finds groups in which everybody has the same sensitive value.",
    per_release=True,
    story="Someone finds a person's group. If all its records have one value, that is the person's.",
    prevention=("Ask for `l=2` or more beside `k`.",),
)
def homogeneity(series: Series, _: Knowledge) -> Finding:
    """Count the people of such groups in every release, and report the worst one."""
    found = []
    for release in series.releases:
        values = np.bincount(release.histogram.group, minlength=release.groups)
        found.append((int(release.sizes[values == 1].sum()), int(release.sizes.sum())))
    people, population = max(found)
    if people:
        status, sentence = Status.EXPOSED, f"{people:,} people are in groups that have one sensitive value only."
    else:
        status, sentence = Status.WITHSTOOD, "Every group has two sensitive values or more."
    return Finding(NAME, status, sentence, series.numbers, people=people, population=population)
