"""Cohorts: people who stay together, in slots that live on when someone leaves (see the concept page "Cohorts").

A *cohort* is a set of slots, made of people who enter together. Whoever is in a cohort stays in it. When someone
leaves, a counterfeit carries the slot on, and its value moves by the update model; a newcomer may take over a slot that
then has the newcomer's value. Slots are let go several at once, of different values; a cohort that nobody is in rests,
and ends after some releases. A release publishes groups of whole cohorts, each of which meets the requirement.

**Lemma.** All slots of a cohort that go at the same time are alike to a reader: their chains of values are
exchangeable, and every group of every release holds all of them or none. So each is linked to a value by the share that
the value has among them, whatever else is known of groups, now and later. When they go, and while they stay, no value
has more than `share`, as far as the update model lets one see to it.

**By itself** (`by_itself`, and always in a panel) each cohort meets the requirement, and so do the slots that it lets
go and those that stay, whenever they were shown: who learns that the acutely ill leave soon has then as many people and
values to choose from as the requirement says, not the two of a pair.

One pass over the slots for carrying them on; refills are assignment problems (`refilling`), new cohorts are made by
`pool`, groups by joining neighbours (`joining`). The cost does not grow with the length of the series.
"""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Domain
from reissue.errors import InputError, InternalError, NotMetError, SchemaError
from reissue.methods.cohorts.carrying import Arrival, arrive
from reissue.methods.cohorts.founding import Newcomers, founded_apart
from reissue.methods.cohorts.leaving_out import companions, met_by, without_collided
from reissue.methods.cohorts.letting_go import without_empty
from reissue.methods.cohorts.owners import owners_of, without_movers
from reissue.methods.cohorts.parts import Bounds
from reissue.methods.cohorts.refilling import refilled
from reissue.methods.cohorts.slots import CohortState, Departed, Slots
from reissue.methods.cohorts.splitting import split
from reissue.methods.extents import extent_of
from reissue.methods.invariance.plan import FORM, alike, form_of, near
from reissue.methods.joining import joined
from reissue.methods.registry import Job, Option, Suggestion, Trait, algorithm
from reissue.release.release import Counterfeits, Draft
from reissue.requirements import Confidence, Requirement

__all__ = ["cohorts"]

_PATIENCE, _MORE = 10, 1.3
"""So often refills may cost so many times as much, where there would be too many counterfeits."""
_ALIKE = 2
"""How many rows show the same box where no k is required: nobody is alone in one."""
_REST = 3
"""For so many releases a cohort that nobody is in may come back: its slots are carried on, and not published."""


_USUAL, _BY_ITSELF = {"size": 8, "later": 2}, {"size": 24, "later": 12}
"""How many people found a cohort. Of small cohorts that meet the requirement by themselves hardly any slots may go:
there would be more counterfeits."""


@dataclass(frozen=True)
class _Asked:
    """The options, checked."""

    size: int
    later: int
    share: float
    grow: float
    e: int
    counterfeits: float
    by_itself: bool
    form: str

    @classmethod
    def of(cls, job: Job) -> "_Asked":
        given = {name: job.options[name] for name in cls.__dataclass_fields__}
        given["by_itself"] |= given["form"] == "panel"
        usual = _BY_ITSELF if given["by_itself"] else _USUAL
        given |= {name: number for name, number in usual.items() if given[name] is None}
        for name, value in given.items():
            if name in {"by_itself", "form"}:
                continue
            whole = name in {"size", "later", "e"}
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise InputError(f"The option '{name}' must be a {'whole ' if whole else ''}number.")
        asked = cls(**given)
        if asked.size < 2 or asked.later < 2 or asked.e < 1:
            raise InputError("The options 'size' and 'later' must be 2 or more, and 'e' 1 or more.")
        if not 0.5 <= asked.share < 1 or asked.grow < 0 or not asked.counterfeits >= 0:
            raise InputError(
                "The option 'share' must be at least 0.5 and below 1; 'grow' and 'counterfeits' 0 or more."
            )
        return asked


@algorithm(
    "cohorts",
    "People who enter together stay together; slots of those who leave are carried on. For values that change.",
    traits=Trait.SUPPRESSES | Trait.RANDOM,
    options={
        "size": Option(
            default=None, help="How many people a cohort of the first release has at least: 8; by itself 24."
        ),
        "later": Option(
            default=None,
            help="The same for people who come later and found a cohort of their own: 2; by itself 12.",
        ),
        "share": Option(
            default=0.5, help="The largest share of one value in a cohort, and among slots that it lets go."
        ),
        "grow": Option(default=0.4, help="What a newcomer may cost a cohort: its own loss and what others lose more."),
        "e": Option(default=1, help="So many slots of a cohort are refilled at once, or none."),
        "counterfeits": Option(default=0.1, help="How many counterfeits there may be, as a share of the records."),
        "by_itself": Option(
            default=False,
            help="Each cohort, and slots that go or stay, meet the requirement by themselves; always so in a panel.",
            choices=(False, True),
        ),
        "apart": Option(
            default=False,
            help="Cohorts and groups of one provider's people each: no coalition of providers sees more than a reader.",
            choices=(False, True),
        ),
        "form": replace(
            FORM,
            choices=("generalized", "boxes", "permuted", "two tables", "panel"),
            help=f"{FORM.help} Or 'boxes': rows are generalized k at a time, more finely than their group, and values "
            "are permuted in the group. Or a panel: generalized, and rows carry a slot that lasts over the series.",
        ),
    },
    left_out_with=companions,
    state=CohortState,
    remedies={
        "joint": "people who enter together stay together through the series",
        "coalition": "with the option `apart` each group holds one provider's people, also while values change",
    },
    suggestion=Suggestion(
        suits=lambda answers: answers["changes"],
        rank=0,
        why="people who enter together stay together, while values change; [updates] may say how, else it is seen",
        require="k=5 & l=3 & confidence=0.5",
        skewed="k=5 & l=3",
        options="{ by_itself = true, counterfeits = 0.1 }",
        for_providers="{ by_itself = true, counterfeits = 0.1, apart = true }",
        attacks=("joint",),
        counterfeits=0.15,
    ),
    whole_table="it follows people through a series and looks for neighbours among all of them",
)
def cohorts(job: Job) -> Draft:
    """Group the rows of the next table of a series; see the module's docstring."""
    memory = job.state or CohortState.none()
    return without_movers(job, memory, lambda some: _next(some, memory)) if job.options["apart"] else _next(job, memory)


def _next(job: Job, memory: CohortState) -> Draft:
    """The next release of a series."""
    asked = _Asked.of(job)
    _check_panel(job, memory)
    arrival = arrive(job, memory)
    if len(arrival.refused) > job.spare:
        raise _refusal(len(arrival.refused), job.spare)
    bounds = Bounds.of(job, arrival.model, asked.share)
    arrival = without_collided(arrival, bounds, job.spare, job.requirement if asked.by_itself else None)
    job.progress(0.1)
    slots = _settled(job, arrival, memory, asked, bounds)
    job.progress(0.6)
    groups = _whole_cohorts(job, slots, bounds) if asked.by_itself else _groups(job, slots, bounds)
    return _draft(job, slots, groups, memory, arrival)


def _check_panel(job: Job, memory: CohortState) -> None:
    """Stop where a panel would give more away than it promises."""
    panel = job.options["form"] == "panel"
    if memory.release and memory.panel != panel:
        raise InputError(
            f"This series was {'' if memory.panel else 'not '}begun as a panel, and stays so: cohorts of other forms "
            "are smaller, and give each other away where slots have been followed. Begin a new series."
        )
    if panel and job.table.schema.kept:
        raise SchemaError(
            "A panel shows each slot through the series, and a kept column would show when someone else is in it. Drop "
            'the kept columns, or publish another form (form = "generalized").'
        )


def _settled(job: Job, arrival: Arrival, memory: CohortState, asked: _Asked, bounds: Bounds) -> Slots:
    """Everyone in a slot; refills may cost more where there would be too many counterfeits."""
    most = asked.counterfeits * (job.table.rows - len(arrival.refused))
    own, owner = job.requirement if asked.by_itself else None, owners_of(job)
    grow, slots, left = asked.grow, arrival.slots.inhabited(), arrival.new
    for _ in range(_PATIENCE):
        slots, left = refilled(job.table, slots, left, owner, grow, asked.e)
        rows, names = np.concatenate([arrival.apart, left]), _names(arrival, left)
        fewer, newcomers = without_empty(slots, bounds, own), Newcomers(rows, names, owner[rows])
        size = asked.size if not memory.release else asked.later
        new = founded_apart(job, newcomers, size, bounds.future, own)
        if (~fewer.filled).sum() + (~new.filled).sum() <= most:
            break
        grow = _MORE * grow
    whole = fewer if own is not None else split(job.table, fewer, bounds)
    return _named(whole.beside(new), memory, job.rng)


def _names(arrival: Arrival, left: Ints) -> Ints:
    """Those who are back bring the name of their slot along; the others get one later."""
    return np.concatenate([arrival.apart_name, np.full(len(left), -1)])


def _named(slots: Slots, memory: CohortState, rng: np.random.Generator) -> Slots:
    """With names for new slots, in random order: a panel shows them."""
    new, name = slots.name < 0, slots.name.copy()
    name[new] = memory.names + rng.spawn(1)[0].permutation(int(new.sum()))
    family = np.where(slots.family < 0, memory.names + slots.cohort, slots.family)
    return replace(slots, name=name, family=family)


def _groups(job: Job, slots: Slots, bounds: Bounds) -> Ints:
    """Slot to its published group. Where values have collided, a value may have more of a group than its share."""
    try:
        return _joined(job, slots, job.requirement & Confidence(bounds.share))
    except NotMetError:
        return _joined(job, slots, job.requirement & Confidence(bounds.past.likely))


def _joined(job: Job, slots: Slots, requirement: Requirement) -> Ints:
    """Slot to its group, of cohorts of one provider that join until all groups meet a requirement."""
    groups, total = np.empty(len(slots.name), np.int64), 0
    for owner in np.unique(slots.owner).tolist():
        own = slots.owner == owner
        groups[own] = total + _joined_of(job, slots.some(own), requirement)
        total = int(groups[own].max()) + 1
    return groups


def _joined_of(job: Job, slots: Slots, requirement: Requirement) -> Ints:
    table, filled = job.table, slots.filled
    people = extent_of(table.taxonomies, table.codes).pick(slots.row[filled])
    extent = people.merged(slots.cohort[filled], slots.cohorts)
    domain = Domain(np.bincount(slots.value, minlength=table.domain.size), table.domain.taxonomy)
    return joined(extent, slots.cohort, slots.value.astype(np.int64), domain, requirement)[slots.cohort]


def _whole_cohorts(job: Job, slots: Slots, bounds: Bounds) -> Ints:
    """Slot to its published group, in a panel: its cohort, which meets the requirement by itself."""
    left = job.table.rows - int(slots.filled.sum())
    if left > job.spare:
        raise NotMetError(
            f"{_people(left)} in no cohort that meets the requirement by itself, and {job.spare:,} may be left out. "
            "Allow more (`suppress`), ask for less, or publish another form: only a panel needs that of each cohort."
        )
    if not met_by(slots, bounds, job.requirement).all():
        raise InternalError("A cohort of a panel does not meet the requirement. Please report this.")
    return slots.cohort


def _draft(job: Job, slots: Slots, groups: Ints, memory: CohortState, arrival: Arrival) -> Draft:
    filled = slots.filled
    of_row = np.full(job.table.rows, -1, np.int32)
    of_row[slots.row[filled]] = groups[filled]
    names = np.full(job.table.rows, -1, np.int64)
    names[slots.row[filled]] = slots.name[filled]
    empty = np.flatnonzero(~filled)
    fakes = None
    if len(empty):
        mates = near(job.rng, groups[empty].astype(np.int32), of_row)
        fakes = Counterfeits(groups[empty].astype(np.int32), job.table.codes[:, mates], slots.value[empty])
    notes = {
        "cohorts": slots.cohorts,
        "stayed": arrival.stayed,
        "new": len(arrival.new) + len(arrival.apart),
        "left_out": job.table.rows - int(filled.sum()),
    }
    return Draft(
        of_row,
        form=form_of(job),
        looks=_boxes(job, of_row, fakes) if job.options["form"] == "boxes" else None,
        counterfeits=fakes,
        slots=np.concatenate([names, slots.name[empty]]),
        state=_after(job, slots, memory, arrival),
        notes=notes,
    )


def _boxes(job: Job, groups: Codes, fakes: Counterfeits | None) -> Codes:
    """Row, then counterfeit, to the box that it shows; as many are alike as the requirement asks of a group."""
    published = np.flatnonzero(groups >= 0)
    none = np.empty((len(job.table.codes), 0), np.int32)
    some = replace(job, table=job.table.some(published))
    shown = alike(some, none if fakes is None else fakes.codes, max(job.requirement.group_size or 0, _ALIKE))
    looks = np.full(len(groups), -1, np.int32)
    looks[published] = shown[: len(published)]
    return np.concatenate([looks, shown[len(published) :]])


def _after(job: Job, slots: Slots, memory: CohortState, arrival: Arrival) -> CohortState:
    """What is remembered after this release."""
    if job.people is None or job.stable_code is None:
        raise InternalError("A method that remembers was run without people. Please report this.")
    resting = arrival.slots.resting(_REST)
    resting = replace(resting, rested=resting.rested + 1)
    kept = slots.shown().beside(resting)
    filled = kept.filled
    lasting: Codes = np.append(job.stable_code, -1).astype(np.int32)
    people = job.people[kept.row[filled]]
    order = np.argsort(people)
    row = np.full(len(filled), -1, np.int64)
    row[np.flatnonzero(filled)[order]] = np.arange(len(order))
    return CohortState(
        replace(kept, value=lasting[kept.value], history=lasting[kept.history], row=row),
        people[order],
        _departed(memory, people[order]),
        arrival.changes.counted,
        memory.release + 1,
        max(memory.names, int(kept.name.max()) + 1, int(kept.family.max()) + 1),
        job.options["form"] == "panel",
    )


def _departed(memory: CohortState, here: Ints) -> Departed:
    """Everyone who was there once and is not now."""
    before, held = memory.departed, memory.slots.filled
    order = np.argsort(memory.slots.row[held])
    people = np.concatenate([before.people, memory.people])
    slot = np.concatenate([before.slot, memory.slots.name[held][order]])
    release = np.concatenate([before.release, np.full(len(memory.people), memory.release)])
    family = np.concatenate([before.family, memory.slots.family[held][order]])
    owner = np.concatenate([before.owner, memory.slots.owner[held][order]])
    away = ~np.isin(people, here)
    sort = np.argsort(people[away])
    return Departed(*(one[away][sort] for one in (people, slot, release, family, owner)))


def _people(number: int) -> str:
    return "1 person is" if number == 1 else f"{number:,} people are"


def _refusal(number: int, spare: int) -> NotMetError:
    return NotMetError(
        f"{_people(number)} back after an absence and cannot be shown: someone else has the slot, it was shown without "
        f"them (a panel), or it cannot have become the value. {spare:,} may be left out. Allow more (`suppress`), or "
        "give them new identifiers only if nobody can know that they were there before."
    )
