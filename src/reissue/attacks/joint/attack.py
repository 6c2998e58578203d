"""The joint attack itself: what the reader sees, how values change, what follows, and the finding."""

import numpy as np

from reissue.attacks.findings import Finding
from reissue.attacks.fold import Fold, one_by_one
from reissue.attacks.joint.base_rates import base_rates, expecting
from reissue.attacks.joint.beliefs import Beliefs, occupied
from reissue.attacks.joint.case import Solved, with_case
from reissue.attacks.joint.finding import NAME, Judged, Reader, finding_of
from reissue.attacks.joint.past import believe_in_blocks
from reissue.attacks.joint.sight import knows_totals, published_as, records_of_strangers, refuse_strangers, see
from reissue.attacks.joint.state import JointState, add, judge
from reissue.attacks.joint.update_model import Chosen, Seen, check_fit, learnable, learned, misfits, update_model
from reissue.attacks.registry import attack
from reissue.kernels.everyone.observations import of_people
from reissue.people.crowd import Crowd
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = ["joint"]


@attack(
    NAME,
    "Solves all groups of all releases for everyone at once: how surely each person is linked to a value.",
    insiders=True,
    heavy=True,
    any_columns=True,
    kept=Fold(one_by_one, add, judge, state=JointState),
    follows=True,
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
            "that stay) do; larger groups with more values leave more room in any method."
        ),
    ),
    command=(
        "reissue plan wave1.csv wave2.csv --schema schema.toml --write\n"
        "reissue publish next.csv --ledger series.ledger --schema schema.toml --out release.csv"
    ),
)
def joint(series: Series, knowledge: Knowledge) -> Finding:
    """Everyone's posterior in all releases together."""
    crowd = see(series, knowledge)
    rates = base_rates(crowd.observations, crowd.values)
    seen = Seen(expecting(crowd.observations, rates), crowd.names, crowd.truth, rates)
    chosen = update_model(series.schema, seen, lambda done: knowledge.progress(0.1 + 0.3 * done))
    beliefs = _believe(series, seen, chosen, crowd, knowledge)
    if chosen.source == "none" and learnable(series.schema, seen) and misfits(beliefs, seen.series):
        chosen = learned(seen)
        beliefs = _believe(series, seen, chosen, crowd, knowledge)
    if len(beliefs.contradicted) >= crowd.people:
        refuse_strangers(knowledge)
    check_fit(beliefs, seen.series, chosen)
    totals, strangers = knows_totals(crowd.observations), records_of_strangers(crowd)
    reader = Reader(crowd.knowledge, crowd.fits, chosen.source, totals, strangers)
    people = [of_people(one) for one in crowd.observations]
    insiders = np.unique(np.concatenate([one.known_person for one in people]))
    judged = Judged.of(occupied(beliefs, seen.series), reader, crowd.truth, crowd.people, insiders)
    solved = Solved(
        people,
        chosen.model,
        range(len(series)),
        crowd.names,
        series.numbers,
        lambda place, group: published_as(series.releases[place], crowd.sightings[place], group),
    )
    return with_case(finding_of(judged, series), judged, solved)


def _believe(series: Series, seen: Seen, chosen: Chosen, crowd: Crowd, knowledge: Knowledge) -> Beliefs:
    return believe_in_blocks(
        seen.series,
        chosen.model,
        seen.rates,
        crowd.people,
        exact=series.exact,
        progress=lambda done: knowledge.progress(0.4 + 0.6 * done),
    )
