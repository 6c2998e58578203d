"""A series solved for everyone at once: what `joint` judges, and what `definetti` learns from.

Where both are run on the same releases for the same reader, it is solved once: whoever is first leaves it with the
series, and whoever is second takes it, so that it is not kept for longer.
"""

from dataclasses import dataclass, fields, replace
from functools import partial

from reissue.attacks.joint.sight import known_leaving, with_histories
from reissue.attacks.joint.solving.beliefs import Beliefs
from reissue.attacks.joint.solving.past import believe_in_blocks
from reissue.attacks.joint.update_model import Chosen, Learnable, learnable, learned, misfits, update_model
from reissue.people.knowledge import Knowledge, sees_leaving
from reissue.people.series import SeriesPresences
from reissue.published.series import Series
from reissue.solver.labels import with_known_labels

__all__ = ["Solution", "leave", "left", "solve_series"]

_NAME = "joint"


@dataclass(frozen=True, eq=False)
class Solution:
    """Everyone's posterior, how values change, and what both come from."""

    known: SeriesPresences
    """Everyone whom the reader knows."""
    seen: Learnable
    chosen: Chosen
    beliefs: Beliefs


def solve_series(
    known: SeriesPresences, series: Series, knowledge: Knowledge, said: Chosen | None = None, *, twice: bool = False
) -> Solution:
    """Solve some releases for everyone at once; `said` is how values change, if that is known.

    `twice`: they will be solved again with another prior.
    """
    crowd = with_histories(known)
    seen = Learnable.of(crowd.observations, crowd.names, crowd.truth)
    chosen = said or update_model(series.schema, seen, lambda done: knowledge.progress(0.1 + 0.3 * done))
    believe = partial(_believe, series, seen, crowd, knowledge, twice=twice)
    expected, beliefs = believe(chosen)
    if chosen.source == "none" and learnable(series.schema, seen) and misfits(beliefs, seen.series):
        chosen = learned(seen)
        expected, beliefs = believe(chosen)
    return Solution(known, expected, chosen, beliefs)


def _believe(
    series: Series, seen: Learnable, crowd: SeriesPresences, knowledge: Knowledge, chosen: Chosen, *, twice: bool
) -> tuple[Learnable, Beliefs]:
    """What is expected of everyone where values change as was chosen, and what follows."""
    seen = seen.where(chosen)
    beliefs = believe_in_blocks(
        seen.series,
        chosen.model,
        seen.rates,
        crowd.people,
        exact=series.exact,
        sees_leaving=sees_leaving(series.schema.policy),
        leaving=known_leaving(series, knowledge, crowd),
        twice=twice,
        progress=lambda done: knowledge.progress(0.4 + 0.6 * done),
    )
    panel = all(len(one.label) and len(one.occupant) for one in seen.series)
    if not panel or not any(len(one.known_person) for one in seen.series):
        return seen, beliefs
    return seen, replace(beliefs, chance=with_known_labels(seen.series, beliefs.layers, beliefs.chance))


def leave(solution: Solution, series: Series, knowledge: Knowledge) -> None:
    """Leave what was solved for all releases with them, not what it was solved from."""
    beliefs = replace(solution.beliefs, unsolved=None)
    series.shared[_NAME] = knowledge, replace(solution, beliefs=beliefs)


def left(series: Series, knowledge: Knowledge) -> Solution | None:
    """Take what was left for the same reader; None where there is nothing."""
    reader, solution = series.shared.pop(_NAME, (None, None))
    names = [one.name for one in fields(Knowledge) if one.compare]
    same = reader is not None and all(getattr(reader, name) is getattr(knowledge, name) for name in names)
    return solution if same else None
