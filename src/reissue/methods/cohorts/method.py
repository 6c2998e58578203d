"""Cohorts: people who enter together stay together, in seats that continue when someone leaves.

A *cohort* is a set of seats, filled by people who enter together. When someone leaves, a counterfeit continues the
seat, and its value follows the update model; a newcomer with the value that the seat then has may take it over. Empty
seats end several at once, with different values. A cohort without people pauses, and ends after some releases. A
release publishes groups of whole cohorts, each of which meets the requirement (docs/concepts/cohorts.md).

**Lemma.** All seats of a cohort that end at the same time are exchangeable: each group of each release contains all of
them or none. So each is linked to a value by the share of that value among them, whatever else is known of groups, now
and later. While they stay, and when they end, no value has more than `share`, as far as the update model can tell.

**By itself** (`by_itself`, always in a panel): each cohort alone meets the requirement, and so do the seats that end
and those that stay, in every release that showed them. Someone who estimates that acute patients leave early then has
as many people and values to choose from as the requirement says, not the two of a pair.

Newcomers are assigned by linear sum assignment (`newcomers`), new cohorts are formed by `pool`, groups by merging
neighbours (`joining`). The cost does not grow with the length of the series.
"""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Domain
from reissue.errors import InputError, InternalError, NotMetError, SchemaError
from reissue.methods.cohorts.bounds import Bounds, companions, met_by, without_collided
from reissue.methods.cohorts.carrying import Arrival, arrive
from reissue.methods.cohorts.ending import split, without_empty
from reissue.methods.cohorts.newcomers import Newcomers, founded_apart, refilled
from reissue.methods.cohorts.seats import CohortState, Departed, Seats, owners_of, without_movers
from reissue.methods.extents import extent_of
from reissue.methods.invariance.plan import FORM, alike, form_of, near
from reissue.methods.joining import joined
from reissue.methods.registry import Job, Option, Suggestion, Trait, algorithm
from reissue.release.release import Counterfeits, Draft
from reissue.requirements import Confidence, Requirement

__all__ = ["cohorts"]

_PATIENCE, _MORE = 10, 1.3
"""Where there would be too many counterfeits, `grow` is raised by this factor up to this many times."""
_ALIKE = 2
"""Rows that show the same ranges if the requirement states no k: nobody is alone."""
_REST = 3
"""Number of releases for which a cohort without people pauses: its seats continue unpublished."""


_USUAL, _BY_ITSELF = {"size": 8, "later": 2}, {"size": 24, "later": 12}
"""Default sizes. In small cohorts that must meet the requirement alone hardly any seat may end, which means more
counterfeits."""


@dataclass(frozen=True)
class _Asked:
    """The validated options."""

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
    "People who enter together stay together; counterfeits continue the seats of those who leave. For values that "
    "change.",
    traits=Trait.SUPPRESSES | Trait.RANDOM,
    options={
        "size": Option(
            default=None, help="Minimum number of people in a cohort of the first release: 8; with `by_itself` 24."
        ),
        "later": Option(
            default=None,
            help="The same for later newcomers who form a cohort of their own: 2; with `by_itself` 12.",
        ),
        "share": Option(default=0.5, help="Maximum share of one value in a cohort, and among seats that end together."),
        "grow": Option(
            default=0.4, help="Maximum cost of a newcomer to a cohort: own loss and what the others lose more."
        ),
        "e": Option(default=1, help="Minimum number of seats of a cohort that are refilled at once."),
        "counterfeits": Option(default=0.1, help="Maximum number of counterfeits, as a share of the records."),
        "by_itself": Option(
            default=False,
            help="Each cohort alone meets the requirement, and so do seats that end or stay; always true for panels.",
            choices=(False, True),
        ),
        "apart": Option(
            default=False,
            help="Cohorts and groups have people of one provider each: a coalition learns no more than anyone else.",
            choices=(False, True),
        ),
        "form": replace(
            FORM,
            choices=("generalized", "boxes", "permuted", "two tables", "panel"),
            help=f"{FORM.help} Or 'boxes': rows are generalized k at a time, more finely than their group, and values "
            "are permuted in the group. Or a panel: generalized, and the column `slot` shows the number of each seat.",
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
    """Make the next release of a series."""
    asked = _Asked.of(job)
    _check_panel(job, memory)
    arrival = arrive(job, memory)
    if len(arrival.refused) > job.spare:
        raise _refusal(len(arrival.refused), job.spare)
    bounds = Bounds.of(job, arrival.model, asked.share)
    arrival = without_collided(arrival, bounds, job.spare, job.requirement if asked.by_itself else None)
    job.progress(0.1)
    seats = _settled(job, arrival, memory, asked, bounds)
    job.progress(0.6)
    groups = _whole_cohorts(job, seats, bounds) if asked.by_itself else _groups(job, seats, bounds)
    return _draft(job, seats, groups, memory, arrival)


def _check_panel(job: Job, memory: CohortState) -> None:
    """Refuse what would make a panel give away more than it promises."""
    panel = job.options["form"] == "panel"
    if memory.release and memory.panel != panel:
        raise InputError(
            f"This series was {'' if memory.panel else 'not '}begun as a panel, and stays so: cohorts of other forms "
            "are smaller, and give each other away where seats have been followed. Begin a new series."
        )
    if panel and job.table.schema.kept:
        raise SchemaError(
            "A panel shows each seat through the series, and a kept column would show when someone else is in it. Drop "
            'the kept columns, or publish another form (form = "generalized").'
        )


def _settled(job: Job, arrival: Arrival, memory: CohortState, asked: _Asked, bounds: Bounds) -> Seats:
    """Seat everyone, raising `grow` while there would be too many counterfeits."""
    most = asked.counterfeits * (job.table.rows - len(arrival.refused))
    own, owner = job.requirement if asked.by_itself else None, owners_of(job)
    grow, seats, left = asked.grow, arrival.seats.inhabited(), arrival.new
    for _ in range(_PATIENCE):
        seats, left = refilled(job.table, seats, left, owner, grow, asked.e)
        rows, names = np.concatenate([arrival.apart, left]), _names(arrival, left)
        fewer, newcomers = without_empty(seats, bounds, own), Newcomers(rows, names, owner[rows])
        size = asked.size if not memory.release else asked.later
        new = founded_apart(job, newcomers, size, bounds.future, own)
        if (~fewer.filled).sum() + (~new.filled).sum() <= most:
            break
        grow = _MORE * grow
    whole = fewer if own is not None else split(job.table, fewer, bounds)
    return _named(whole.beside(new), memory, job.rng)


def _names(arrival: Arrival, left: Ints) -> Ints:
    """Return the seat numbers of newcomers: those who returned keep theirs, the others get one later."""
    return np.concatenate([arrival.apart_name, np.full(len(left), -1)])


def _named(seats: Seats, memory: CohortState, rng: np.random.Generator) -> Seats:
    """Number new seats, in random order because a panel shows the numbers."""
    new, name = seats.name < 0, seats.name.copy()
    name[new] = memory.names + rng.spawn(1)[0].permutation(int(new.sum()))
    family = np.where(seats.family < 0, memory.names + seats.cohort, seats.family)
    return replace(seats, name=name, family=family)


def _groups(job: Job, seats: Seats, bounds: Bounds) -> Ints:
    """Return the group of each seat; where values have collided, a value may exceed its share of a group."""
    try:
        return _joined(job, seats, job.requirement & Confidence(bounds.share))
    except NotMetError:
        return _joined(job, seats, job.requirement & Confidence(bounds.past.likely))


def _joined(job: Job, seats: Seats, requirement: Requirement) -> Ints:
    """Merge neighbouring cohorts of one provider until all groups meet a requirement; return the group of each seat."""
    groups, total = np.empty(len(seats.name), np.int64), 0
    for owner in np.unique(seats.owner).tolist():
        own = seats.owner == owner
        groups[own] = total + _joined_of(job, seats.some(own), requirement)
        total = int(groups[own].max()) + 1
    return groups


def _joined_of(job: Job, seats: Seats, requirement: Requirement) -> Ints:
    table, filled = job.table, seats.filled
    people = extent_of(table.taxonomies, table.codes).pick(seats.row[filled])
    extent = people.merged(seats.cohort[filled], seats.cohorts)
    domain = Domain(np.bincount(seats.value, minlength=table.domain.size), table.domain.taxonomy)
    return joined(extent, seats.cohort, seats.value.astype(np.int64), domain, requirement)[seats.cohort]


def _whole_cohorts(job: Job, seats: Seats, bounds: Bounds) -> Ints:
    """Return the group of each seat if cohorts are published separately."""
    left = job.table.rows - int(seats.filled.sum())
    if left > job.spare:
        raise NotMetError(
            f"{_people(left)} in no cohort that meets the requirement by itself, and {job.spare:,} may be suppressed. "
            "Allow more (`suppress`), ask for less, or publish another form: only a panel needs that of each cohort."
        )
    if not met_by(seats, bounds, job.requirement).all():
        raise InternalError("A cohort of a panel does not meet the requirement. Please report this.")
    return seats.cohort


def _draft(job: Job, seats: Seats, groups: Ints, memory: CohortState, arrival: Arrival) -> Draft:
    filled = seats.filled
    of_row = np.full(job.table.rows, -1, np.int32)
    of_row[seats.row[filled]] = groups[filled]
    names = np.full(job.table.rows, -1, np.int64)
    names[seats.row[filled]] = seats.name[filled]
    empty = np.flatnonzero(~filled)
    fakes = None
    if len(empty):
        mates = near(job.rng, groups[empty].astype(np.int32), of_row)
        fakes = Counterfeits(groups[empty].astype(np.int32), job.table.codes[:, mates], seats.value[empty])
    notes = {
        "cohorts": seats.cohorts,
        "stayed": arrival.stayed,
        "new": len(arrival.new) + len(arrival.apart),
        "left_out": job.table.rows - int(filled.sum()),
    }
    return Draft(
        of_row,
        form=form_of(job),
        looks=_boxes(job, of_row, fakes) if job.options["form"] == "boxes" else None,
        counterfeits=fakes,
        slots=np.concatenate([names, seats.name[empty]]),
        state=_after(job, seats, memory, arrival),
        notes=notes,
    )


def _boxes(job: Job, groups: Codes, fakes: Counterfeits | None) -> Codes:
    """Number rows, then counterfeits, by the ranges that they show: at least k alike."""
    published = np.flatnonzero(groups >= 0)
    none = np.empty((len(job.table.codes), 0), np.int32)
    some = replace(job, table=job.table.some(published))
    shown = alike(some, none if fakes is None else fakes.codes, max(job.requirement.group_size or 0, _ALIKE))
    looks = np.full(len(groups), -1, np.int32)
    looks[published] = shown[: len(published)]
    return np.concatenate([looks, shown[len(published) :]])


def _after(job: Job, seats: Seats, memory: CohortState, arrival: Arrival) -> CohortState:
    """Return the state after this release."""
    if job.people is None or job.stable_code is None:
        raise InternalError("A method that remembers was run without people. Please report this.")
    resting = arrival.seats.resting(_REST)
    resting = replace(resting, rested=resting.rested + 1)
    kept = seats.shown().beside(resting)
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
    """Return everyone who was present before and is absent now."""
    before, held = memory.departed, memory.slots.filled
    order = np.argsort(memory.slots.row[held])
    people = np.concatenate([before.people, memory.people])
    seat = np.concatenate([before.slot, memory.slots.name[held][order]])
    release = np.concatenate([before.release, np.full(len(memory.people), memory.release)])
    family = np.concatenate([before.family, memory.slots.family[held][order]])
    owner = np.concatenate([before.owner, memory.slots.owner[held][order]])
    away = ~np.isin(people, here)
    sort = np.argsort(people[away])
    return Departed(*(one[away][sort] for one in (people, seat, release, family, owner)))


def _people(number: int) -> str:
    return "1 person is" if number == 1 else f"{number:,} people are"


def _refusal(number: int, spare: int) -> NotMetError:
    return NotMetError(
        f"{_people(number)} back after an absence and cannot be shown: someone else has the seat, it was shown without "
        f"them (a panel), or it cannot have become the value. {spare:,} may be suppressed. Allow more (`suppress`), or "
        "give them new identifiers only if nobody can know that they were there before."
    )
