"""The joint attack's worst case: the few groups that leave a person one value, or what makes a value so likely.

Of people whose value is certain the one is shown whose proof is shortest, among the first who are in few and small
groups; proofs in which other people's groups matter come first, for these are what only everyone at once shows. Where
no rule shows it but all worlds agree, every other value is supposed in turn until groups contradict it. Where nothing
is certain it is the person with the largest posterior. Other people are letters; nothing is shown that was not
published.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Ints
from reissue.attacks.findings import Finding
from reissue.attacks.joint.confidence import Confidences
from reissue.attacks.joint.finding import Judgment
from reissue.attacks.joint.story.picture import Letters, Scene, picture_of_person, picture_of_proof
from reissue.attacks.joint.story.steps import likely_link, proof_steps
from reissue.attacks.stories import Case, Shown, case, story_of, value_text
from reissue.protection import ValueView
from reissue.solver.deduction import Neighbourhood, Proof, prove, refute
from reissue.solver.observation import Observation
from reissue.solver.transitions import Model

__all__ = ["SolvedSeries", "tell", "with_case"]

_TRIED = 40
"""People whose values are certain of whom a proof is looked for, at most."""
_WAYS = 20_000
"""Ways that a proof may look at."""
_SHORT = (3, 6)
"""Groups and steps of a proof that is short enough: no other one is looked for."""


@dataclass(frozen=True, eq=False)
class SolvedSeries:
    """What was solved: releases as the reader sees them, and how values change."""

    observations: Sequence[Observation]
    model: Model
    times: Sequence[int]
    names: Sequence[str | None]
    numbers: Sequence[int]
    """Release to its number."""
    shown: Callable[[int, int], Shown] = lambda _place, _group: {}
    """Release and group to the quasi-identifiers as published; nothing where they are not at hand."""


def with_case(finding: Finding, judged: Judgment, solved: SolvedSeries) -> Finding:
    """The finding with its story."""
    story = tell(judged, solved, finding.limit or 1.0)
    return finding if story is None else replace(finding, details={**finding.details, "case": story})


def tell(judged: Judgment, solved: SolvedSeries, limit: float) -> Case | None:
    """The case of whoever is worst off; None where nobody is in the releases."""
    if not (judged.confidences.release >= 0).any():
        return None
    number = int(judged.confidences.marginal[judged.worth.argmax()])
    marginal, confidences = judged.marginals[number], judged.apart[number]
    if not marginal.view.whole:
        solved = _through(solved, marginal.view)
    scene = Scene(
        Neighbourhood(solved.observations, solved.model, solved.times),
        replace(judged.posterior, releases=marginal.releases, chance=marginal.chance),
        solved.names,
        solved.numbers,
        solved.shown,
        judged.adversary.knowledge,
        limit,
        number >= judged.plain,
    )
    proof = _shortest(confidences, scene)
    if proof is not None:
        labels = Letters.of(proof)
        return case(proof_steps(scene, proof, labels), picture_of_proof(scene, proof, labels))
    person = _likeliest(confidences, scene)
    place, value = int(confidences.release[person]), int(confidences.value[person])
    if value < 0:
        return None
    return story_of(likely_link(scene, person, place, value), picture_of_person(scene, person, place))


def _through(solved: SolvedSeries, view: ValueView) -> SolvedSeries:
    """The same series as it shows one sensitive column: groups count its values, and these change as all values do."""
    names = tuple(f"{view.column} = {value_text(name)}" for name in view.names)
    steps = solved.model.steps
    if steps is not None:
        shares = np.zeros((len(view.names), len(view.label)))
        shares[view.label, np.arange(len(view.label))] = 1.0
        steps = (shares / shares.sum(axis=1, keepdims=True)) @ steps[: len(view.label), : len(view.label)] @ shares.T
    model = Model(len(view.names), steps)
    return replace(
        solved, observations=[_relabelled(one, view) for one in solved.observations], model=model, names=names
    )


def _relabelled(seen: Observation, view: ValueView) -> Observation:
    """Slots of a group that show one label as one slot."""
    keys = seen.cell_group * len(view.names) + view.label[seen.cell_value]
    distinct, place = np.unique(keys, return_inverse=True)
    group, label = np.divmod(distinct, len(view.names))
    count = np.bincount(place, seen.cell_count, len(distinct)).astype(np.int64)
    known = seen.counterfeits
    known = np.bincount(view.label[: len(known)], known, len(view.names)) if len(known) else known
    return replace(
        seen,
        cell_group=group,
        cell_value=label,
        cell_count=count,
        shares=np.empty(0),
        known_value=view.label[seen.known_value],
        label_value=view.label[seen.label_value],
        counterfeits=known,
    )


def _work(observations: Sequence[Observation], people: int) -> Ints:
    """Person to the ways that there are to be in all releases."""
    work = np.zeros(people, np.int64)
    for seen in observations:
        work += np.bincount(seen.person, np.diff(seen.group_starts)[seen.group], people).astype(np.int64)
    return work


def _shortest(confidences: Confidences, scene: Scene) -> Proof | None:
    """The shortest proof that was found, first of those that need other people's groups."""
    sure = np.flatnonzero(confidences.sure)
    work = _work(scene.around.observations, len(confidences.sure))
    best: Proof | None = None
    for person in sure[np.argsort(work[sure], kind="stable")][:_TRIED].tolist():
        proof = prove(scene.around, person, _WAYS)
        if proof is not None and (best is None or _length(proof) < _length(best)):
            best = proof
            if proof.joint and len(proof.equations) <= _SHORT[0] and len(proof.steps) <= _SHORT[1]:
                break
    return best or _refuted(scene, sure[np.argsort(work[sure], kind="stable")][:_TRIED])


def _refuted(scene: Scene, people: Ints) -> Proof | None:
    """Of people whose value is certain because nothing else fits, the shortest proof of that."""
    best: Proof | None = None
    for person in people.tolist():
        for place in scene.places(person):
            sure = [value for value, chance in scene.chances(person, place).items() if chance > 0]
            proof = refute(scene.around, person, place, sure[0], _WAYS) if len(sure) == 1 else None
            if proof is not None and (best is None or _length(proof) < _length(best)):
                best = proof
        if best is not None and len(best.steps) <= 2 * _SHORT[1]:
            break
    return best


def _length(proof: Proof) -> tuple[bool, int, int]:
    return not proof.joint, len(proof.equations), len(proof.steps)


def _likeliest(confidences: Confidences, scene: Scene) -> int:
    """The person with the highest score; of equal ones that with the fewest ways, then the first."""
    some = np.flatnonzero(confidences.score >= confidences.score.max() - 1e-9)
    work = _work(scene.around.observations, len(confidences.score))
    return int(some[np.argmin(work[some])])
