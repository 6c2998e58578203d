"""The joint attack over all releases of an audit, and its declaration."""

from dataclasses import replace

from reissue.attacks.findings import Finding
from reissue.attacks.joint.finding import NAME, finding_of, protection_of
from reissue.attacks.joint.margins import with_margins
from reissue.attacks.joint.sight import known_leaving, published_as, refuse_strangers, see, with_histories
from reissue.attacks.joint.state import JointState, add, remembering
from reissue.attacks.joint.story.case import SolvedSeries, with_case
from reissue.attacks.joint.story.counts import tell_counts
from reissue.attacks.joint.window import Solution, Window, judged, solve_window
from reissue.attacks.registry import Accepts, Fold, attack
from reissue.people.knowledge import Knowledge
from reissue.people.series import SeriesPresences
from reissue.published.series import Series
from reissue.solver.observation import of_people

__all__ = ["joint", "solve_crowd"]


@attack(
    NAME,
    "Solves all groups of all releases together: the probability of each value for each person.",
    fold=Fold(JointState, add, remembering),
    accepts=Accepts.OTHER_COLUMNS | Accepts.COUNTED_PEOPLE | Accepts.ROSTERS | Accepts.COALITIONS | Accepts.COUNTS,
    needs="to know people: our own releases, files that kept the identifier, a register (`--population`), `--members`",
    story=(
        "Someone knows who is in the releases and finds the groups that each person can be in. Every group is an "
        "equation about its members' values, and all releases are equations about the same people: solved together "
        "they say how likely each value is for everyone, now and in the past."
    ),
    prevention=(
        (
            "Find the least protection that suffices: `reissue plan` publishes your waves in every sensible way, "
            "attacks each and writes the policy that it recommends."
        ),
        (
            "Publish the series through a ledger: every release is judged by this attack together with all earlier "
            "ones, and refused if anybody could be linked to a value with a probability above the policy's `limit`."
        ),
        (
            "Keep people together: what leaks is regrouping. `cohorts` (values that change) and `invariance` (values "
            "that stay) do; larger groups with more values hide more in any method."
        ),
    ),
    command=(
        "reissue plan wave1.csv wave2.csv --schema schema.toml --write\n"
        "reissue publish next.csv --ledger series.ledger --schema schema.toml --out release.csv"
    ),
)
def joint(series: Series, knowledge: Knowledge) -> Finding:
    """Find everyone's posterior in all releases together, with the case of whoever is worst off."""
    protection_of(series)  # a policy that permits everything is not worth solving for
    series, knowledge = with_margins(series, knowledge)
    crowd = with_histories(see(series, knowledge))
    solution = solve_crowd(crowd, series, knowledge)
    if len(solution.posterior.contradicted) >= crowd.people:
        refuse_strangers(knowledge)
    confidences = judged(solution, series)
    if any(release.counts for release in series.releases):
        found = finding_of(confidences, series)
        story = tell_counts(confidences, series, crowd.observations, found.limit or 1.0)
        return found if story is None else replace(found, details={**found.details, "case": story})
    solved = SolvedSeries(
        [of_people(one) for one in crowd.observations],
        solution.chosen.model,
        range(len(series)),
        crowd.names,
        series.numbers,
        lambda place, group: published_as(series.releases[place], crowd.releases[place], group),
    )
    return with_case(finding_of(confidences, series), confidences, solved)


def solve_crowd(crowd: SeriesPresences, series: Series, knowledge: Knowledge) -> Solution:
    """Everyone's posterior in all releases."""
    window = Window.of(crowd, series, known_leaving(series, knowledge, crowd))
    return solve_window(window, series, progress=knowledge.progress)
