"""m-Distinct and m-Distinct* (Li and Zhou 2008, definitions 12 to 15, algorithms 1 to 3): values that change.

People come, go and come back, and their sensitive values change, within what the schema's update model says; without
one, within what has been seen in the series, which can only become more. Every
release is m-unique, and the values of a person's new group are a *legal update instance* of those of the group before:
as many, each in the candidate update set of one of them, and none of these sets without a value. So nobody who follows
a person through the groups can rule a value out, now or in the past. m-Distinct* moreover begins with groups whose
candidate update sets are disjoint (option `star`).

Neither bounds the *probability* of a value: the paper's lemma 4, 1/m for m-Distinct*, needs all paths through the
groups to be equally likely. The option `risk` is a limit on the computed posterior; see `risk`.

Three phases: buckets by update set signature; records to buckets (`plan`), counterfeits where there are none; then
every bucket is cut into pieces (`parts`) and split into groups with little generalization
(`methods.invariance.split`). O(attributes x records x log(largest bucket)), and a little for every bucket.
"""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.errors import DataError, InputError, InternalError, NotMetError, SchemaError
from reissue.methods.invariance.plan import (
    FORM,
    INELIGIBLE,
    codes_of,
    form_of,
    m_of,
    near,
    same_parameters,
    value_names,
)
from reissue.methods.invariance.register import Recall, Register
from reissue.methods.invariance.regroup import Kinds, regroup
from reissue.methods.invariance.split import split
from reissue.methods.registry import Job, Option, Suggestion, Trait, algorithm
from reissue.papers.distinct.buckets import pieces
from reissue.papers.distinct.plan import DistinctPlan, IneligibleUnits
from reissue.papers.distinct.risk import DistinctState, Exposed, Formed, RiskLimit, RiskOutcome, multisets
from reissue.release.release import Counterfeits, Draft
from reissue.updates import UpdateModel, read_updates

__all__ = ["distinct"]


@algorithm(
    "distinct",
    "m-Distinct for series in which values change too: no group of a person ever rules a value out.",
    traits=Trait.SUPPRESSES | Trait.RANDOM | Trait.GROUPS_BY_VALUE,
    options={
        "star": Option(
            default=False,
            help="m-Distinct*: values of a person's first group can never become the same.",
            choices=(True, False),
        ),
        "risk": Option(default=None, help="A limit on how likely any value of anyone may be, such as 0.3."),
        "form": FORM,
        "ineligible": INELIGIBLE,
    },
    state=DistinctState,
    m_requirement="m-unique",
    suggestion=Suggestion(
        suits=lambda answers: answers["changes"],
        rank=1,
        why="it keeps a person's possible values apart although they change; [updates] may say how, else it is seen",
        require="m-unique=5",
        options='{ risk = 0.7, ineligible = "counterfeits", form = "generalized" }',
        attacks=("joint",),
        limits={"updates": 0.7},
        suppress=0.1,
        counterfeits=0.5,
    ),
    whole_table="it follows people through a series and exchanges records between all groups",
)
def distinct(job: Job) -> Draft:
    """Group the rows of the next table of a series; see the module's docstring.

    People whom no place keeps below the limit are left out, while so many may be, and the others grouped anew.
    """
    m = m_of(job, "distinct")
    same_parameters(job, m=m, star=int(job.options["star"]))
    kept = np.arange(job.table.rows)
    refused: NotMetError | None = None
    while True:
        try:
            draft = _grouped(job if len(kept) == job.table.rows else _of_some(job, kept), m)
            groups = np.full(job.table.rows, -1, np.int32)
            groups[kept] = draft.groups
            return replace(draft, groups=groups)
        except Exposed as problem:
            left = np.setdiff1d(np.arange(job.table.rows), np.delete(kept, problem.rows))
            refused = problem.limit.refusal(left, job.spare)
            if len(left) > job.spare:
                raise refused from None
            kept = np.delete(kept, problem.rows)
        except DataError:
            # Without those who are left out it is not eligible: row numbers are not the table's then.
            if refused is None:
                raise
            raise refused from None


def _of_some(job: Job, rows: Ints) -> Job:
    """The same without the other rows."""
    people = None if job.people is None else job.people[rows]
    return replace(job, table=job.table.some(rows), people=people)


def _grouped(job: Job, m: int) -> Draft:
    """All rows of a table; raises Exposed where some are above the limit."""
    scene = _Scene.of(job)
    limit = RiskLimit.of(job, scene.model, m)
    plan = scene.plan(m, star=job.options["star"])
    plan.balance()
    try:
        extra = plan.settle(counterfeits=job.options["ineligible"] == "counterfeits")
    except IneligibleUnits as problem:
        raise scene.refusal(problem, plan.unit, m) from None
    plan.complete()
    plan.fresh(extra)
    job.progress(0.3)
    formed = _form(scene, plan, _lay_out(scene, plan))
    job.progress(0.7)
    formed, outcome = limit.keep_to(formed, scene.people, job.rng, job.spare)
    return _draft(scene, plan, formed, limit, outcome)


@dataclass(frozen=True, eq=False)
class _Scene:
    """A new table against what was remembered, in stable values."""

    job: Job
    model: UpdateModel
    register: Register
    recall: Recall
    people: Ints
    values: Codes
    """Row to its stable value."""
    width: int
    """How many sensitive values there have been."""
    signatures: list[tuple[int, ...]]
    """Update set signatures: a value for each candidate update set."""

    @classmethod
    def of(cls, job: Job) -> "_Scene":
        if job.people is None or job.stable_code is None:
            raise InternalError("A method that remembers was run without people. Please report this.")
        width = int(job.stable_code.max()) + 1
        past: DistinctState | None = job.state
        register = Register.none() if past is None else past.register
        values = job.stable_code[job.table.sensitive].astype(np.int32)
        recall = register.recall(job.people, values, changing=True)
        known = np.flatnonzero(recall.value >= 0)
        model = _model(job, width, recall.value[known], values[known])
        wrong = known[~model.can[recall.value[known], values[known]]]
        if len(wrong):
            raise _impossible(wrong)
        kept = [] if past is None else past.signatures.tolist()
        signatures = [tuple(value for value in row if value >= 0) for row in kept]
        return cls(job, model, register, recall, job.people, values, width, signatures)

    @property
    def can(self) -> Bools:
        """The updates among values that there have been."""
        return self.model.can[: self.width, : self.width]

    @property
    def new(self) -> Ints:
        """The rows of new people."""
        return np.flatnonzero(self.recall.signature < 0)

    def plan(self, m: int, *, star: bool) -> DistinctPlan:
        """Phase 1: the survivors in their buckets."""
        kinds = self.model.kinds[: self.width]
        _, place, of_value = np.unique(kinds, return_index=True, return_inverse=True)
        unit = _overlapping(self.model.can)[: self.width] if star else np.arange(self.width)
        unit = np.unique(unit, return_inverse=True)[1].reshape(-1)
        stock = np.bincount(self.values[self.new], minlength=self.width)
        plan = DistinctPlan(self.can, place[of_value.reshape(-1)], unit, m, stock)
        known = np.flatnonzero(self.recall.signature >= 0)
        used, dense = np.unique(self.recall.signature[known], return_inverse=True)
        counts = np.bincount(dense.reshape(-1) * self.width + self.values[known], minlength=len(used) * self.width)
        plan.divide(self.signatures, used.tolist(), counts.reshape(len(used), self.width))
        return plan

    def refusal(self, problem: IneligibleUnits, unit: Ints, m: int) -> DataError:
        """Names the value by rows that have it: messages hold no values."""
        if problem.units < m:
            remedy = "Choose a smaller m, or do without `star`." if self.job.options["star"] else "Choose a smaller m."
            return DataError(
                f"This series has had {problem.units} sensitive values so far that may stand together in a new group, "
                f"and every group needs {m}. {remedy}"
            )
        rows = self.new
        having = rows[unit[self.values[rows]] == problem.unit]
        first = ", ".join(str(row + 1) for row in having[:5].tolist())
        return DataError(
            f"The new records are not {m}-eligible: besides what earlier buckets can take, {problem.number} of them "
            f"have the same sensitive value, or values that can become the same (the one in rows {first}), more than "
            f"1/{m} of the others together. Publish them later, choose a smaller m, or allow counterfeits with the "
            'option  ineligible = "counterfeits".'
        )


def _model(job: Job, width: int, before: Codes, now: Codes) -> UpdateModel:
    """The schema's update model over stable values; the same one throughout a series. Without one: what was seen."""
    names = value_names(job, width)
    kept = None if job.state is None else job.state.updates
    if not job.table.schema.updates:
        return _seen(names, kept, before, now)
    model = read_updates(job.table.schema, names)
    if not model.stays:
        raise SchemaError("The method 'distinct' needs an update model in which every value can stay what it is.")
    if kept is not None and not np.array_equal(kept, model.can[: len(kept), : len(kept)]):
        raise InputError("This series was begun with another update model. A series keeps its update model.")
    return model


def _seen(names: list[str | None], kept: Bools | None, before: Codes, now: Codes) -> UpdateModel:
    """What became of values so far, this table among it, in one step or several; every value can stay."""
    can = np.eye(len(names), dtype=np.bool_)
    if kept is not None:
        can[: len(kept), : len(kept)] |= kept
    can[before, now] = True
    return UpdateModel.evenly(names, can).closed()


def _impossible(rows: Ints) -> DataError:
    first = ", ".join(str(row + 1) for row in rows[:5].tolist())
    return DataError(
        f"{len(rows)} people have a sensitive value that their earlier one cannot become, says the schema's update "
        f"model (first rows: {first}). Extend the model and begin the series anew, or, if these are corrections, give "
        "the people new identifiers."
    )


def _overlapping(can: Bools) -> Ints:
    """Value to its component: values whose candidate update sets overlap, directly or over others, share one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(csr_array(can), directed=False)[1], np.int64)


# --- from counts to rows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Layout:
    """Every record's piece and entry: the rows of the table first, then counterfeits."""

    piece: Codes
    entry: Codes
    values: Codes
    bucket: Codes
    """Record to its bucket."""


def _lay_out(scene: _Scene, plan: DistinctPlan) -> _Layout:
    """Rows and counterfeits to the pieces of their buckets; records of a bucket with one value are interchangeable."""
    wanted = _wanted(plan)
    fakes = np.stack([bucket.fakes for bucket in plan.buckets])
    if (fakes < 0).any():
        raise InternalError("The method 'distinct' lost records. Please report this.")
    fake_bucket, fake_value = np.nonzero(fakes)
    repeat = fakes[fake_bucket, fake_value]
    bucket = np.concatenate([_buckets_of_rows(scene, plan), np.repeat(fake_bucket, repeat)])
    values = np.concatenate([scene.values, np.repeat(fake_value, repeat)]).astype(np.int32)
    # Records that look alike side by side, so that they come to the same pieces; counterfeits after them.
    rank = np.arange(len(values))
    rank[np.lexsort(scene.job.table.codes[::-1])] = np.arange(scene.job.table.rows)
    items = np.lexsort((rank, bucket * scene.width + values))
    if int(wanted[4].sum()) != len(items):
        raise InternalError("The method 'distinct' miscounted. Please report this.")
    piece, entry = np.empty((2, len(items)), np.int32)
    piece[items] = np.repeat(wanted[2], wanted[4])
    entry[items] = np.repeat(wanted[3], wanted[4])
    return _Layout(piece, entry, values, bucket.astype(np.int32))


def _wanted(plan: DistinctPlan) -> Ints:
    """What the pieces take, in columns: bucket, value, piece, entry, number; sorted by bucket and value."""
    columns, number = [], 0
    for place, bucket in enumerate(plan.buckets):
        for piece in pieces(bucket.placed, plan.first):
            entry, value = np.nonzero(piece)
            same = np.ones_like(entry)
            columns.append(np.stack([same * place, value, same * number, entry, piece[entry, value]]))
            number += 1
    together = np.concatenate(columns, axis=1)
    return np.asarray(together[:, np.lexsort((together[2], together[1], together[0]))])


def _buckets_of_rows(scene: _Scene, plan: DistinctPlan) -> Ints:
    """Row to its bucket; new rows in the order of their values."""
    bucket = np.full(len(scene.values), -1, np.int64)
    if plan.home:
        home = np.full(max(plan.home) + 1, -1, np.int64)
        home[list(plan.home)] = list(plan.home.values())
        known = np.flatnonzero(scene.recall.signature >= 0)
        bucket[known] = home[scene.recall.signature[known]]
    drawn = np.stack([one.drawn for one in plan.buckets]).T
    order = scene.new[np.lexsort((*scene.job.table.codes[:, scene.new], scene.values[scene.new]))]
    value, place = np.nonzero(drawn)
    bucket[order] = np.repeat(place, drawn[value, place])
    return bucket


def _form(scene: _Scene, plan: DistinctPlan, layout: _Layout) -> Formed:
    """Phase 3: split the pieces into groups."""
    table, rows = scene.job.table, scene.job.table.rows
    codes = table.codes
    if len(layout.values) > rows:
        codes = np.hstack([codes, codes[:, near(scene.job.rng, layout.piece[rows:], layout.piece[:rows])]])
    groups = split(codes, layout.piece, layout.entry, table.taxonomies)
    groups, bucket = regroup(codes, groups, Kinds(layout.bucket, layout.values, scene.new, rows), table.taxonomies)
    return Formed(groups, layout.values, bucket, [one.entries for one in plan.buckets], rows)


def _draft(scene: _Scene, plan: DistinctPlan, formed: Formed, limit: RiskLimit, outcome: RiskOutcome | None) -> Draft:
    """The groups with their counterfeits, and what is remembered."""
    job, rows = scene.job, scene.job.table.rows
    number, listed = multisets(formed.groups, plan.first[formed.values])
    register = scene.register.publish(
        scene.people,
        (number[formed.groups[:rows]] + len(scene.signatures)).astype(np.int32),
        scene.values,
        scene.recall,
    )
    register, signatures = _renumbered(register, [*scene.signatures, *map(tuple, listed)])
    past = limit.after(outcome, scene.people)
    state = DistinctState(register, signatures, plan.m, int(job.options["star"]), scene.can, past)
    notes = {
        "buckets": len(plan.buckets),
        "intersected": plan.joined,
        "new": len(scene.new),
        "left": len(scene.recall.left.people),
        **({} if outcome is None else {"risk": outcome.risk}),
    }
    return Draft(
        formed.groups[:rows], form=form_of(job), counterfeits=_counterfeits(scene, formed), state=state, notes=notes
    )


def _renumbered(register: Register, signatures: list[tuple[int, ...]]) -> tuple[Register, Ints]:
    """The register, and the signatures that somebody has, each once; -1 beyond the last value of one."""
    used = np.unique(np.concatenate([register.live.signature, register.gone.signature]))
    numbers: dict[tuple[int, ...], int] = {}
    again = np.full(len(signatures), -1, np.int32)
    for one in used.tolist():
        again[one] = numbers.setdefault(signatures[one], len(numbers))
    live, gone = (replace(people, signature=again[people.signature]) for people in (register.live, register.gone))
    longest = max(map(len, numbers), default=0)
    table = np.full((len(numbers), longest), -1, np.int64)
    for row, key in zip(table, numbers, strict=True):
        row[: len(key)] = key
    return replace(register, live=live, gone=gone), table


def _counterfeits(scene: _Scene, formed: Formed) -> Counterfeits | None:
    """The counterfeits, each with the quasi-identifiers of a record of its group."""
    table, rows = scene.job.table, formed.rows
    if len(formed.groups) == rows:
        return None
    groups = formed.groups[rows:]
    mates = near(scene.job.rng, groups, formed.groups[:rows])
    return Counterfeits(groups, table.codes[:, mates], codes_of(scene.job, formed.values[rows:]))
