"""The update attack: what a person's groups through a series say together (Li and Zhou 2008, section III).

A person's update graph has, for each release it is in, the values of its group, each with its share; and an edge for
each update that can have happened in between. The posterior of a value is the weight of the paths through it over the
weight of all paths (see `_forward`); a value through which no path leads is pruned, and where one value is left it is
known for certain (definition 11, lemma 2). A later release can so give away an *earlier* value. Where values do not
change (no update model) the graph has one edge from each value to itself, and the attack is the intersection of groups:
value association across releases, which m-invariance withstands.

It starts from known membership, or from tables of people and their quasi-identifiers (see `_following`). The limit is
the caller's, else the policy's `risk`, else what the worst single release tells by itself: together, releases should
tell nobody more than that. O(people's different histories x releases x values of a group squared).
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks._base import CannotRunError, Knowledge, attack
from reissue.attacks._case_updates import tell, worst_place
from reissue.attacks._following import Following, follow, of_members
from reissue.attacks._forward import blocks, histories
from reissue.attacks._membership import Membership
from reissue.attacks._series import Series
from reissue.errors import SchemaError
from reissue.findings import Finding, Status
from reissue.updates import UpdateModel, read_updates

__all__ = ["Posteriors", "posteriors", "risks", "updates"]

NAME = "updates"
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Posteriors:
    """For each release and each known person in it the largest posterior of a value, and how many values are left."""

    person: Ints
    release: Ints
    largest: Floats
    left: Ints
    """0 where a person's groups contradict the update model: no path leads through them."""


def posteriors(members: Membership, steps: Floats | None = None) -> Posteriors:
    """Everybody's posterior in every release; `steps` is the probability of each update, by old and new value."""
    following = of_members(members)
    names = tuple(str(value) for value in range(max(int(members.value.max(initial=-1)) + 1, len(following.names))))
    return risks(following, UpdateModel.none(names) if steps is None else UpdateModel(names, steps))


def risks(following: Following, model: UpdateModel) -> Posteriors:
    """Everybody's posterior in every release, under a model whose first values are those of the groups."""
    shared = histories(following.table)
    largest = np.zeros(shared.places.shape)
    left = np.zeros(shared.places.shape, np.int32)
    for block in blocks(shared.places, following.places, model):
        top, number = block.posterior.max(axis=2), np.count_nonzero(block.posterior, axis=2)
        if block.release.shape[1] == following.table.shape[1]:
            largest[block.rows], left[block.rows] = top, number
        else:
            at = block.rows[:, np.newaxis]
            largest[at, block.release], left[at, block.release] = top, number
    present = following.table >= 0
    person, release = np.nonzero(present)
    if len(shared.places) < len(following.table):
        largest, left = largest[shared.of_person], left[shared.of_person]
    return Posteriors(person, release, largest[present], left[present].astype(np.int64))


@attack(
    NAME,
    "Follows people through their groups: which values are left, and how likely each is.",
    needs="to know who is in each release: our own, files that kept the identifier, or `--knows members=FOLDER`",
    story=(
        "Someone knows that a person is in several releases and finds the person's group in each of them. Only "
        "values that fit all these groups are left, now and in the past: often one."
    ),
    prevention=(
        (
            "Publish the series through a ledger with the method `distinct` (values change; `--risk` sets a ceiling) "
            "or `invariance` (values stay): groups then show people values that go with their earlier ones."
        ),
        "Put a ceiling, `risk`, into the policy: a release that tells more is refused.",
    ),
)
def updates(series: Series, knowledge: Knowledge) -> Finding:
    """Find everybody's largest posterior in all releases together."""
    following = follow(series, knowledge)
    model = read_updates(series.schema, following.names)
    found = risks(following, model)
    if not len(found.person):
        raise CannotRunError("nobody's group is known.")
    impossible = np.unique(found.person[found.left == 0])
    if len(impossible) and not series.schema.updates:
        raise CannotRunError(
            "somebody's groups have no value in common: values do change here, and the schema has no update model."
        )
    if len(impossible) == len(following.table):
        raise CannotRunError("everybody's groups contradict the schema's update model: it is not of this series.")
    limit = _limit(series, following)
    risk, certain = _per_release(found, len(series))
    exposed = np.unique(found.person[found.largest > limit + _SLACK])
    details = {"risk": float(found.largest.max()), "certain": max(certain), "risks": risk, "certains": certain}
    if series.schema.updates:
        details |= {"impossible": len(impossible)}
    worst = worst_place(following, found.person, found.release, found.largest, limit)
    details |= {"case": tell(series, knowledge, following, model, worst, limit)}
    return Finding(
        NAME,
        Status.SUCCEEDED if len(exposed) else Status.FAILED,
        _sentence(len(exposed), len(following.table), found, limit),
        tuple(series.numbers),
        people=len(exposed),
        population=len(following.table),
        measure="posterior: how surely a person is linked to a sensitive value",
        worst=float(found.largest.max()),
        limit=limit,
        details=details,
    )


def _limit(series: Series, following: Following) -> float:
    given = series.limits.get(NAME) or series.schema.policy.get("risk")
    if given is None:
        used = np.unique(following.table[following.table >= 0])
        inside = np.zeros(len(following.places.widths), np.bool_)
        inside[used] = True
        return float(following.places.share[np.repeat(inside, following.places.widths)].max())
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SchemaError("The limit of the update attack, `risk` in the policy, must be above 0 and at most 1.")
    return float(given)


def _per_release(found: Posteriors, releases: int) -> tuple[list[float], list[int]]:
    """The largest posterior in each release, and how many people are known for sure."""
    risk = [float(found.largest[found.release == number].max(initial=0.0)) for number in range(releases)]
    certain = np.bincount(found.release[found.left == 1], minlength=releases)
    return risk, certain.tolist()


def _sentence(exposed: int, everyone: int, found: Posteriors, limit: float) -> str:
    certain = len(np.unique(found.person[found.left == 1]))
    if not exposed:
        return f"Nobody's value is more likely than {limit:.3g}, whoever follows people through their groups."
    surely = f"; of {certain:,} one is known for sure" if certain else ""
    return f"The values of {exposed:,} of {everyone:,} people are more likely than {limit:.3g}{surely}."
