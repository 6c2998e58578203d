"""A toy attack, as a newcomer writes it: whoever is alone in a group of one release, and in no other release."""

from reissue.attacks import Accepts, Finding, Knowledge, Series, Status, attack


@attack(
    "newcomer",
    "Looks for the release in which most people are alone in their group.",
    fewest=2,
    accepts=Accepts.OTHER_COLUMNS,
    story="Someone looks for people who are alone in a group of any release.",
    prevention=("Ask for a larger `k`.",),
)
def newcomer(series: Series, knowledge: Knowledge) -> Finding:
    """Count the people who are alone, release by release."""
    del knowledge
    people, total = max((int((one.sizes == 1).sum()), int(one.sizes.sum())) for one in series.releases)
    status = Status.EXPOSED if people else Status.WITHSTOOD
    sentence = f"{people:,} people are alone in a group of one release."
    return Finding("newcomer", status, sentence, series.numbers, people=people, population=total)
