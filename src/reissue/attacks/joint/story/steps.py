"""The steps of the joint attack's worst case, in plain sentences."""

from collections.abc import Sequence

from reissue.attacks.joint.story.picture import Letters, Scene, expected_of_others
from reissue.attacks.stories import Link, in_words
from reissue.solver.deduction import Proof, Rule, Step
from reissue.words import listed, percent, plural

__all__ = ["likely_link", "proof_steps"]

_MOST = 3
"""Sentences about conclusions."""
_NAMED = 4
_VALUES = 6
_NOBODY = "nobody's value"
_DIFFER = 1.5
"""Whose share of people who leave differs from all people's by less than this factor leaves about as they do."""


def proof_steps(scene: Scene, proof: Proof, labels: Letters) -> list[str]:
    """What each conclusion rests on, and what they come to."""
    if proof.supposes:
        sentences = _suppositions(scene, proof, labels)
        return [_known(scene), _group(scene, proof), *sentences, _certain(scene, proof)]
    sentences = [_conclusion(scene, proof, labels, some) for some in _merged(scene, proof.steps)]
    if len(sentences) > _MOST:
        earlier = len(sentences) - _MOST + 1
        sentences = [
            f"First, {earlier} conclusions like the next ones rule out values of others.",
            *sentences[1 - _MOST :],
        ]
    return [_known(scene), _group(scene, proof), *sentences, _certain(scene, proof)]


def _suppositions(scene: Scene, proof: Proof, labels: Letters) -> list[str]:
    """For each other value a sentence of what would follow from it, and why that cannot be."""
    made: list[str] = []
    between: list[Step] = []
    for step in proof.steps:
        if step.rule == Rule.SUPPOSED:
            supposed, between = scene.name(step.other), []
            made.append(f"Suppose that this person had {supposed} in {scene.release(step.place)}.")
        elif step.rule in {Rule.TOO_FEW, Rule.TOO_MANY, Rule.NOTHING}:
            follows = _clauses(scene, labels, between)
            made[-1] += f" Then {'; '.join(follows)}." if follows else ""
            made[-1] += f" But then {_impossible(scene, labels, step)}. So it was not {supposed}."
        else:
            between.append(step)
    return made


def _clauses(scene: Scene, labels: Letters, steps: Sequence[Step]) -> list[str]:
    """What follows from what, in short; what is the same of several people together, of very many the last ones."""
    made = []
    for some in _alike(scene, steps):
        step, people = some[0], [one for each in some for one in each.people]
        here = scene.release(step.place)
        if step.rule == Rule.CHAIN:
            made.append(f"{_people(labels, people)} did not have {_listed(scene, _values(scene, step))} in {here}")
        else:
            count = int(scene.around.observations[step.place].cell_count[step.other])
            value = scene.name(scene.around.value(step.place, step.other))
            records = f"the only record of {value}" if count == 1 else f"all {count:,} records of {value}"
            whose = _people(labels, people, "'s")
            made.append(f"{records} in a group of {here} {_is(count)} {whose}")
    earlier = len(made) - 2 * _MOST
    return made if earlier <= 0 else [made[0], f"{plural(earlier, 'conclusion')} more", *made[1 - 2 * _MOST :]]


def _alike(scene: Scene, steps: Sequence[Step]) -> list[list[Step]]:
    """Steps in their order; chains of several people that say the same together."""
    found: dict[object, list[Step]] = {}
    for number, step in enumerate(steps):
        chain = step.rule == Rule.CHAIN
        found.setdefault((step.place, _values(scene, step)) if chain else number, []).append(step)
    return [*found.values()]


def _impossible(scene: Scene, labels: Letters, step: Step) -> str:
    here = scene.release(step.place)
    if step.rule == Rule.NOTHING:
        return f"no value is left for {_people(labels, step.people)} in {here}"
    value = scene.name(scene.around.value(step.place, step.other))
    records = plural(int(scene.around.observations[step.place].cell_count[step.other]), "record")
    shows = f"a group of {here} shows {records} of {value}, and"
    if step.rule == Rule.TOO_MANY:
        return f"{shows} {_people(labels, step.people)} would all have to have it"
    left = f"only {_people(labels, step.people)}" if step.people else "nobody"
    return f"{shows} {left} {_is(len(step.people) or 1)} left for it"


def _group(scene: Scene, proof: Proof) -> str:
    """What the person's group shows."""
    groups = scene.around.groups(proof.person, proof.place)
    counts = scene.counts(proof.place, groups)
    values = [f"{scene.name(value)} {counts[value]:,}" for value in sorted(counts, key=lambda one: (-counts[one], one))]
    more = f" and {len(values) - _VALUES} other values" if len(values) > _VALUES else ""
    where = "This person's group" if len(groups) == 1 else f"The {len(groups)} groups that this person fits"
    shows = "shows" if len(groups) == 1 else "show"
    look = _look(scene, proof.place, groups)
    return f"{where} in {scene.release(proof.place)}{look} {shows} {', '.join(values[:_VALUES])}{more}."


def likely_link(scene: Scene, person: int, place: int, value: int) -> Link:
    """What a release says by itself, and what all of them say together."""
    groups = scene.around.groups(person, place)
    counts, chances = scene.counts(place, groups), scene.chances(person, place)
    size = sum(counts.values())
    where = f"a group of {plural(size, 'record')}" if len(groups) == 1 else f"{len(groups)} groups that the person fits"
    certain = len([one for one in chances.values() if one > 0]) == 1
    return Link(
        _known(scene),
        scene.numbers[place],
        scene.name(value),
        f"it shows {plural(len(counts), 'value')} in {where}{_look(scene, place, groups)}",
        counts.get(value, 0) / max(size, 1),
        tuple(_reasons(scene, person, place, value)),
        1.0 if certain else min(chances.get(value, 0.0), 1 - 1e-9),
        scene.limit,
    )


def _reasons(scene: Scene, person: int, place: int, value: int) -> list[str]:
    """Why all releases together say something else."""
    groups, sentences = scene.around.groups(person, place), list[str]()
    counts, chances = scene.counts(place, groups), scene.chances(person, place)
    gone = sum(not chances.get(one) for one in counts)
    if gone:
        sentences.append(
            f"Of these values {gone:,} cannot be the person's: no way to fill all groups of all releases does."
        )
    members = scene.around.members((place, groups[0])) if len(groups) == 1 else []
    if members and all(len(scene.around.groups(one, place)) == 1 for one in members):
        others = len(members) - 1
        taken = expected_of_others(scene, person, (place, groups[0]), value)
        hold = "1 other person" if others == 1 else f"{others:,} other people"
        sentences.append(
            f"Solved for everyone at once, the {hold} of the group would hold {_amount(taken)} of its "
            f"{plural(counts.get(value, 0), 'record')} of {scene.name(value)}."
        )
    else:
        sentences.append(
            "All groups of all releases are solved for everyone at once, so that each shows its own counts."
        )
    if scene.posterior.shares_estimated:
        sentences.append(
            "Groups were made by value: what newcomers and counterfeits tend to have was estimated from the solution."
        )
    if scene.posterior.departures_differ:
        sentences.append(_leaving(scene, person, value))
    if scene.learns:
        sentences.append(
            "Which values people tend to have who have similar quasi-identifiers, arrived together or stayed as long, "
            "was estimated too: for each person from other people's groups only."
        )
    return sentences


def _leaving(scene: Scene, person: int, value: int) -> str:
    """How soon people with a value leave, and what became of this one."""
    leaving, last = scene.posterior.departures, max(scene.places(person))
    if leaving is None:
        return ""
    here, all_people = float(leaving.rates[value]), float((leaving.rates * leaving.often).sum())
    stays = last + 1 == len(scene.numbers)
    fate = "is in the last release" if stays else f"is not in {scene.release(last + 1)} any more"
    how = "is known" if leaving.known else "was estimated from the solution"
    if 1 / _DIFFER < here / all_people < _DIFFER:
        return f"How soon people with each value leave {how}; those with {scene.name(value)} leave about as others do."
    return (
        f"How soon people leave {how}: of those with {scene.name(value)} {percent(here)} are "
        f"gone in the next release, of all people {percent(all_people)}. This person {fate}."
    )


def _amount(records: float) -> str:
    """How many records are expected, roughly."""
    return "less than 0.01" if records < 0.01 else f"{records:.2g}" if records < 100 else f"{records:,.0f}"


def _known(scene: Scene) -> str:
    observations = scene.around.observations
    insiders = any(len(seen.known_person) for seen in observations)
    totals = (
        " How many people have each value is known too." if any(len(seen.counterfeits) for seen in observations) else ""
    )
    if scene.knowledge == "groups":
        return (
            "The adversary knows who is in which group of which release, this person and the others alike, and what "
            f"each group shows; {'of values only those of their own records' if insiders else _NOBODY}.{totals}"
        )
    return (
        "The adversary has a register of who is in which release, with exact quasi-identifiers: that says which "
        f"published groups each person fits, this person and the others alike.{totals}"
    )


def _look(scene: Scene, place: int, groups: Sequence[int]) -> str:
    shown = scene.shown(place, groups[0]) if len(groups) == 1 else {}
    return f" ({in_words(shown)})" if shown else ""


def _certain(scene: Scene, proof: Proof) -> str:
    counts = scene.counts(proof.place, scene.around.groups(proof.person, proof.place))
    share = counts.get(proof.value, 0) / max(sum(counts.values()), 1)
    here, name, total = scene.release(proof.place), scene.name(proof.value), len(proof.equations)
    these = "This group leaves" if total == 1 else f"These {total} groups, each an equation, leave"
    return (
        f"{these} only {name} for this person in {here}: it is certain. By itself, {here} says {percent(share)}; "
        f"the limit is {percent(scene.limit)}."
    )


# --- conclusions -----------------------------------------------------------------------------------------------------


def _merged(scene: Scene, steps: Sequence[Step]) -> list[list[Step]]:
    """Chains that rest on nothing else come first, those that say the same about several people together."""
    first: dict[object, list[Step]] = {}
    for step in steps:
        if step.rule == Rule.CHAIN and not step.rests:
            first.setdefault((step.place, step.other, _values(scene, step)), []).append(step)
    return [*first.values(), *([step] for step in steps if step.rule != Rule.CHAIN or step.rests)]


def _values(scene: Scene, step: Step) -> tuple[int, ...]:
    """The values that a step rules out."""
    return tuple(sorted({scene.around.value(step.place, slot) for _, _, slot in step.closed}))


def _conclusion(scene: Scene, proof: Proof, labels: Letters, steps: Sequence[Step]) -> str:
    step = steps[0]
    people = [one for some in steps for one in some.people]
    if step.rule == Rule.CHAIN:
        return _chain(scene, labels, step, people)
    value, here = scene.name(scene.around.value(step.place, step.other)), scene.release(step.place)
    count = int(scene.around.observations[step.place].cell_count[step.other])
    records = f"the only record of {value}" if count == 1 else f"all {count:,} records of {value}"
    whose = _people(labels, people, "'s")
    own = step.place == proof.place and _group_of(scene, step) in scene.around.groups(proof.person, proof.place)
    where = (
        f"in {here}" if own else f"in another group of {here}" if step.place == proof.place else f"in a group of {here}"
    )
    if step.rule == Rule.FULL:
        return f"So {records} {where} {_is(count)} {whose}: nobody else there has it."
    return f"For {records} {where} nobody else is left: {'it is' if count == 1 else 'they are'} {whose}."


def _group_of(scene: Scene, step: Step) -> int:
    return int(scene.around.observations[step.place].cell_group[step.other])


def _chain(scene: Scene, labels: Letters, step: Step, people: Sequence[int]) -> str:
    here, other, who = scene.release(step.place), scene.release(step.other), _people(labels, people)
    values, them = _listed(scene, _values(scene, step)), "them" if len(people) > 1 else "that person"
    shows = f"what is left for {them} in {other}" if step.rests else f"what {other} shows for {them}"
    if scene.around.model.steps is None:
        why = f"values do not change, and {values} is not in {shows}"
    elif step.other > step.place:
        why = f"{shows} cannot have come from {values}"
    else:
        why = f"{shows} cannot become {values}"
    start = f"{who[0].upper()}{who[1:]} {_is(len(people))} in both {here} and {other}"
    return f"{start}; {why}: so {'none of them had' if len(people) > 1 else 'that person did not have'} it in {here}."


def _listed(scene: Scene, values: Sequence[int]) -> str:
    names = sorted(scene.name(value) for value in values)
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) <= _NAMED else f"any of {len(names)} values"


def _people(labels: Letters, people: Sequence[int], ending: str = "") -> str:
    names = [f"{labels[one]}{ending}" for one in people if one in labels]
    if len(names) < len(people) or len(names) > 2 * _NAMED:
        return f"{len(people):,} people{chr(39) if ending else ''}"
    return listed(names)


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
