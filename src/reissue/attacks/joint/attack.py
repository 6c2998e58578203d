"""The joint attack itself: what the reader sees, how values change, what follows, and the finding."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from reissue.attacks.findings import Finding
from reissue.attacks.fold import Fold
from reissue.attacks.joint.finding import NAME, Judged, Reader, finding_of, protection_of
from reissue.attacks.joint.learning import features_of, learning, traits_of
from reissue.attacks.joint.lenses import lenses_of
from reissue.attacks.joint.sight import (
    knows_totals,
    published_as,
    refuse_strangers,
    see,
    with_histories,
)
from reissue.attacks.joint.solution import Solution, left, solve_series
from reissue.attacks.joint.solving.beliefs import Beliefs, occupied
from reissue.attacks.joint.state import JointState, add, remembering
from reissue.attacks.joint.story.case import SolvedSeries, with_case
from reissue.attacks.joint.update_model import Chosen, Learnable, check_fit
from reissue.attacks.registry import Accepts, attack
from reissue.counting.segments import different
from reissue.people.knowledge import Knowledge, learns, sees_leaving
from reissue.people.series import SeriesPresences
from reissue.published.series import Series
from reissue.solver.observations import of_people

__all__ = ["joint"]


@dataclass(frozen=True, eq=False)
class _Believed:
    """What follows from some releases for everyone."""

    chosen: Chosen
    judged: Judged


@attack(
    NAME,
    "Solves all groups of all releases for everyone at once: how surely each person is linked to a value.",
    fold=Fold(JointState, add, remembering),
    accepts=Accepts.OTHER_COLUMNS | Accepts.COUNTED_PEOPLE | Accepts.ROSTERS | Accepts.COALITIONS,
    needs="to know people: our own releases, files that kept the identifier, or a register (`--people`, `--members`)",
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
            "ones, and refused if anybody could be linked to a value more surely than the policy's `limit`."
        ),
        (
            "Keep people together: what leaks is regrouping. `cohorts` (values that change) and `invariance` (values "
            "that stay) do; larger groups with more values hide more in any method. Where people with some values "
            "leave sooner than others, small cohorts hide little: the `cohorts` option `by_itself` makes larger ones."
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
    solution = left(series, knowledge)
    if solution is None:
        crowd = see(series, knowledge)
        solution = solve_series(crowd, series, knowledge, twice=learns(series.schema.policy))
    believed, crowd = _solved(solution, series, knowledge), with_histories(solution.known)
    solved = SolvedSeries(
        [of_people(one) for one in crowd.observations],
        believed.chosen.model,
        range(len(series)),
        crowd.names,
        series.numbers,
        lambda place, group: published_as(series.releases[place], crowd.releases[place], group),
    )
    return with_case(finding_of(believed.judged, series), believed.judged, solved)


def _solved(solution: Solution, series: Series, knowledge: Knowledge) -> _Believed:
    """What follows from a series that was solved for everyone at once."""
    seen, chosen, beliefs, crowd = solution.seen, solution.chosen, solution.beliefs, with_histories(solution.known)
    if len(beliefs.contradicted) >= crowd.people:
        refuse_strangers(knowledge)
    check_fit(beliefs, seen.series, chosen)
    totals, strangers = knows_totals(crowd.observations), crowd.strangers
    leaving = sees_leaving(series.schema.policy)
    reader = Reader(crowd.knowledge, crowd.fits, chosen.source, totals, strangers, leaving)
    insiders = different(np.concatenate([of_people(one).known_person for one in crowd.observations]))
    lenses = partial(lenses_of, series=seen.series, protection=protection_of(series), names=crowd.names)
    inside = occupied(beliefs, seen.series)
    judged = Judged.of(inside, lenses(inside), reader, crowd.truth, crowd.people, insiders)
    if learns(series.schema.policy):
        inside = occupied(_learnt(seen, crowd, chosen, beliefs), seen.series)
        judged = judged.learning(inside, lenses(inside), crowd.truth, insiders)
    return _Believed(chosen, judged)


def _learnt(seen: Learnable, crowd: SeriesPresences, chosen: Chosen, beliefs: Beliefs) -> Beliefs:
    """With what is learnt of who tends to have which value; of people without quasi-identifiers from when they came."""
    everyone = np.arange(crowd.people)
    prior = np.broadcast_to(seen.rates, (crowd.people, len(seen.rates)))
    features = features_of(traits_of(crowd), everyone, beliefs)
    return learning(seen.series, chosen.model, beliefs, features, prior)
