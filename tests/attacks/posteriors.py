"""The update attack's posteriors of a membership that a test made up."""

from reissue._arrays import Floats
from reissue.papers.tracking.membership import Membership, histories_of_members
from reissue.papers.updates.attack import Posteriors, risks
from reissue.updates import UpdateModel

__all__ = ["posteriors"]


def posteriors(members: Membership, steps: Floats | None = None) -> Posteriors:
    """Everybody's posterior in every release; `steps` is the probability of each update, by old and new value."""
    linked = histories_of_members(members)
    names = tuple(str(value) for value in range(max(members.histogram.values, len(linked.names))))
    return risks(linked, UpdateModel.none(names) if steps is None else UpdateModel(names, steps))
