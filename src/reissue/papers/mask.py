"""MASK, "minimality attack safe k-anonymity" (Wong, Fu, Wang, Pei 2009, algorithm 1).

1. Make the table k-anonymous without a look at sensitive values, by any method, local or global.
2. V are the groups that break the rest of the requirement; L the (m-1)|V| groups that meet it and have the highest
   proportions of the sensitive value set. Too few of those: the table cannot be published, and the method says so.
3. and 4. Each group of V draws a group of L, and its sensitive values are changed until its proportions are the same.

Groups say nothing about values then, so nothing can be learnt from what was generalized (theorem 4), and m - 1 honest
groups look like each changed one. The price is distortion: published values that nobody has. It is counted and noted.
What MASK does not promise is in docs/concepts/minimality.md: someone who knows that it was used learns a little.

Proportions of named sets of values are matched set by set, and a changed record gets a value that the drawn group has
outside the set; without named sets the whole histogram is matched. Numbers of records are rounded at random, without
bias, and drawn anew where the rounding breaks the requirement. O(rows) beyond the method underneath.

A table of more than a million rows is split into regions first, as Mondrian splits it for k, and each is worked on by
itself: a changed group looks like m - 1 others of its region. So it is the same release wherever the table lies. Where
values are compared with the whole table's, and by a method that decides on cuts, it stays one region.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.errors import InputError, NotMetError, RequirementError
from reissue.methods.partition.regions import REGION, in_regions
from reissue.methods.registry import ByRegions, Job, Option, Trait, algorithm, find
from reissue.release.form import Form
from reissue.release.release import Draft
from reissue.requirements import Requirement, SimpleLDiversity, by_column
from reissue.requirements._values import read_sets
from reissue.schema import Options

__all__ = ["asked_for", "mask"]

_TRIES = 50
"""This many draws of a group and a rounding before a group counts as one that cannot be changed."""
BY_CUTS = ("topdown", "incognito")
UNDER = ("pool", "mondrian", *BY_CUTS)


def asked_for(requirement: Requirement, options: Options) -> tuple[Requirement, Requirement, int]:
    """What the groups must meet by their size, what their values must meet, and m."""
    parts = requirement.parts()
    blind = [part for part in parts if not part.sensitive]
    goal = [part for part in parts if part.sensitive]
    if not blind:
        raise RequirementError("The method 'mask' needs a k: write for example k=5 & simple-l=2.")
    given = options["m"]
    if given is not None and (not isinstance(given, int) or given < 2):
        raise InputError("The option 'm' must be a whole number, at least 2.")
    if given is not None:
        values = str(options["sensitive_values"])
        goal.append(SimpleLDiversity(given, values=read_sets(values) if values else ()))
    if not goal:
        raise RequirementError("The method 'mask' needs to know what to protect: add simple-l=2, or the option m=2.")
    wanted = reduce(lambda a, b: a & b, goal)
    return reduce(lambda a, b: a & b, blind), wanted, given or max(_m(part.written) for part in goal)


def _needs_all(options: Options) -> str:
    if options["under"] in BY_CUTS:
        return f"the method '{options['under']}' underneath decides on all rows; take under=pool or under=mondrian"
    return "two tables are published" if options["tables"] == 2 else ""


def _shifting(requirement: Requirement, _: float) -> str:
    if not requirement.relative:
        return ""
    return f"{requirement} compares with the values that are published, which the method 'mask' changes"


_BY_REGIONS = ByRegions(_needs_all, lambda asked, options, *_: asked_for(asked, options)[0], _shifting, any_order=True)


@algorithm(
    "mask",
    "k-anonymity that does not look at sensitive values, then changes some of them: nothing to learn from the groups.",
    traits=Trait.SUPPRESSES | Trait.CHANGES_VALUES | Trait.RANDOM,
    options={
        "under": Option(default="pool", help="The method that makes the table k-anonymous.", choices=UNDER),
        "tables": Option(default=1, help="One generalized table, or two: exact QI and values apart.", choices=(1, 2)),
        "m": Option(default=None, help="Nobody is linked to a sensitive value with more than 1/m; else from simple-l."),
        "sensitive_values": Option(
            default="", help="With m: the sensitive values or {sets, of them}; by default every value."
        ),
        "region": REGION,
    },
    by_regions=_BY_REGIONS,
    draws=lambda _: True,
    unforced="the method forms groups without a look at sensitive values",
    remedies={
        "minimality": "its groups say nothing about where the requirement was broken",
        "mechanism": "its groups do not depend on sensitive values",
    },
)
def mask(job: Job) -> Draft:
    """Group the rows by quasi-identifiers alone and change what breaks the requirement; see the module's docstring."""
    blind, goal, m = asked_for(job.requirement, job.options)
    goal = by_column(goal, job.table.margins, job.table.domain)
    for part in goal.parts():
        part.fits(job.table.domain)
    one = bool(_BY_REGIONS.one(goal, job.suppress) or _BY_REGIONS.refusal(job.options))
    draft = in_regions(job, lambda part: _region(part, blind, goal, m), judged=blind, one=one)
    before, changed = job.table.sensitive, draft.sensitive
    distortion = 0.0 if changed is None else _lost(before, changed, job.table.domain) / job.table.rows
    return replace(draft, notes={**draft.notes, "distortion": distortion})


def _region(job: Job, blind: Requirement, goal: Requirement, m: int) -> Draft:
    """A region by itself: (m-1) groups of it look like each of those that are changed."""
    under = find(str(job.options["under"]))
    same = {name: job.options[name] for name in under.options if name in job.options}
    draft = under.run(replace(job, requirement=blind, options=under.settle(same)))
    total = int(draft.groups.max(initial=-1)) + 1
    kept = np.flatnonzero(draft.groups >= 0)
    counts = Counts(draft.groups[kept], job.table.sensitive[kept], job.table.domain, total)
    fine = goal.holds(counts)
    breaking, alike = _choose(counts, fine, goal, m)
    changed = _change(job, draft.groups, breaking, alike, goal)
    _refuse_shifted(goal, draft.groups[kept], changed[kept], job.table.domain)
    counted = {"breaking": len(breaking), "alike": len(alike), "changed": int((job.table.sensitive != changed).sum())}
    return replace(
        draft,
        sensitive=changed if len(breaking) else None,
        form=Form.TWO_TABLES if job.options["tables"] == 2 else Form.GENERALIZED,
        cuts=None if job.options["tables"] == 2 else draft.cuts,
        notes={**draft.notes, **counted},
    )


def _refuse_shifted(goal: Requirement, groups: Codes, changed: Codes, domain: Domain) -> None:
    """Stop where changed values moved the whole table's distribution so far that other groups are too far from it."""
    published = replace(domain, totals=np.bincount(changed, minlength=domain.size))
    if not goal.holds(Counts(groups, changed, published)).all():
        raise NotMetError(
            f"Changed values shift the distribution of the whole table, from which {goal} is measured, too far. "
            "Nothing was published. Take a larger k, or a requirement that looks at each group alone, such as simple-l."
        )


def _m(part: Requirement) -> int:
    """The m of a requirement: its l, or one over its bound on shares."""
    bound = getattr(part, "alpha", getattr(part, "bound", None))
    return max(2, int(getattr(part, "l", 2)) if bound is None else ceil(1 / max(float(bound), 1e-9) - 1e-9))


def _choose(counts: Counts, fine: Bools, goal: Requirement, m: int) -> tuple[Ints, Ints]:
    """V and L: the groups that break the requirement, and those with the highest proportions that meet it."""
    breaking, meeting = np.flatnonzero(~fine & (counts.sizes > 0)), np.flatnonzero(fine & (counts.sizes > 0))
    wanted = (m - 1) * len(breaking)
    if wanted > len(meeting):
        raise NotMetError(
            f"{len(breaking):,} groups break {goal}, and only {len(meeting):,} meet it: not the (m-1) times as many, "
            f"{wanted:,}, that changed groups must look like. Nothing was published. Take a larger k, so that fewer "
            "groups break it, or a smaller m."
        )
    columns = _columns(goal, counts.domain)[:-1]
    most = counts.largest.astype(np.float64)
    if len(columns):
        each = [counts.sum(np.where(column[counts.value], counts.count, 0)) for column in columns]
        most = np.maximum.reduce(each)
    share = most[meeting] / counts.sizes[meeting]
    return breaking, meeting[np.argsort(-share, kind="stable")][:wanted]


def _columns(goal: Requirement, domain: Domain) -> list[Bools]:
    """The parts that named sets cut the values into, what no set holds last; only that one where none is named."""
    named = [masked for part in goal.parts() if len(masked := part.named_masks(domain))]
    if not named:
        return [np.ones(domain.size, np.bool_)]
    patterns, column = np.unique(np.concatenate(named), axis=1, return_inverse=True)
    inside = [column.reshape(-1) == number for number in range(patterns.shape[1]) if patterns[:, number].any()]
    return [*inside, ~np.logical_or.reduce(inside)]


def _change(job: Job, groups: Codes, breaking: Ints, alike: Ints, goal: Requirement) -> Codes:
    """The published sensitive code of every row."""
    changed = job.table.sensitive.copy()
    columns = _columns(goal, job.table.domain)
    if len(columns) == 1:
        columns = list(np.eye(job.table.domain.size, dtype=np.bool_))
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(int(groups.max(initial=-1)) + 2))
    task = _Task(job.table.domain, columns, goal, job.rng)
    of_group = {int(group): order[starts[group] : starts[group + 1]] for group in [*breaking, *alike]}
    models = [job.table.sensitive[of_group[int(group)]] for group in alike]
    for group in breaking.tolist():
        changed[of_group[group]] = task.disguise(changed[of_group[group]], models)
    return changed


@dataclass(frozen=True, eq=False)
class _Task:
    """What it takes to make one group look like another."""

    domain: Domain
    columns: Sequence[Bools]
    goal: Requirement
    rng: np.random.Generator

    def disguise(self, own: Codes, models: Sequence[Codes]) -> Codes:
        """A group's codes with as few changed as make its proportions those of a group drawn from the models."""
        for _ in range(_TRIES):
            changed = self._like(own, models[int(self.rng.integers(len(models)))])
            counts = Counts(np.zeros(len(own), np.int32), changed, self.domain, 1)
            if self.goal.holds(counts)[0]:
                return changed
        raise NotMetError(
            f"A group of {len(own):,} rows is too small to take over the proportions of another and still meet "
            f"{self.goal}. Nothing was published. Take a larger k."
        )

    def _like(self, own: Codes, model: Codes) -> Codes:
        of_code = np.argmax(np.stack(self.columns), axis=0)
        have = np.bincount(of_code[own], minlength=len(self.columns))
        shares = np.bincount(of_code[model], minlength=len(self.columns)) / len(model)
        want = _rounded(shares * len(own), self.rng)
        changed = own.copy()
        spare = np.concatenate(
            [
                self.rng.permutation(np.flatnonzero(of_code[own] == place))[: max(int(excess), 0)]
                for place, excess in enumerate(have - want)
            ]
        )
        lacking = np.repeat(np.arange(len(want)), np.maximum(want - have, 0))
        changed[spare] = [self.rng.choice(model[of_code[model] == place]) for place in lacking.tolist()]
        return changed


def _rounded(expected: Floats, rng: np.random.Generator) -> Ints:
    """Whole numbers with the same sum and these expectations, in a random order of places."""
    order = rng.permutation(len(expected))
    ends = np.floor(np.round(np.cumsum(expected[order]), 9) + rng.random())
    ends[-1] = round(float(expected.sum()))
    result = np.empty(len(expected), np.int64)
    result[order] = np.diff(np.minimum(ends, ends[-1]), prepend=0).astype(np.int64)
    return result


def _lost(before: Codes, changed: Codes, domain: Domain) -> float:
    """The distortion (definition 7) of all rows together."""
    moved = np.flatnonzero(before != changed)
    if domain.taxonomy is None or not len(moved):
        return float(len(moved))
    a, b = np.minimum(before[moved], changed[moved]), np.maximum(before[moved], changed[moved])
    level = domain.taxonomy.lowest(a, b)
    width = np.stack([each.hi - each.lo for each in domain.taxonomy.levels])[level, a]
    return float(width.sum()) / max(domain.taxonomy.size - 1, 1)
