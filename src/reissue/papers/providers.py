"""Provider-aware partitioning for m-privacy (Rani 2014, algorithm 2), and provider-blind Mondrian as its baseline.

Top-down, like Mondrian, with one dimension more: who gave the record. Providers are ordered by how many records they
gave, most first, and cut at the median record. Both halves of a split must be m-private. A half with fewer providers is
easier to keep m-private (a coalition that owns a whole group attacks nobody), so a provider split often opens the way
for more splits of quasi-identifiers.

Which dimension is split, of those that allow it (`choose`):

- `last`: the widest quasi-identifier, and providers only where none allows it. Up to there it is the baseline, so every
  published group lies inside one of the baseline's: no information loss that shrinks with the boxes is above it.
- `first`: providers as long as possible, so mostly one to a group, whatever m; then the widest quasi-identifier.
  Better where m is large: then groups of many providers have to be very large.
- `best` (default): both, and what loses less information is kept. So it never loses more than the baseline.
- `fitness`: the paper's choice. All splits are tried, and the one whose worse half has the higher fitness score is
  taken; the wider attribute where scores are equal.

Groups that come out with the same box are one group to whoever reads the release. For growing requirements (k, l, k-e)
their union is private too. For the others it need not be (a member of the coalition may own one of them and leave in
what it likes; the paper's theorem 2.1 overlooks that), so published groups are judged again and joined with a
neighbour until all are private.

A table of more than a million rows is split into regions first, as the baseline would split it, and each is worked on
by itself, providers in the order of what they gave to the region. So it is the same release wherever the table lies.
Where a union need not be private, and by `fitness`, the table stays one region.

All groups of a round are judged at once, in flat arrays: O(attributes x rows) a round, and a search for the few groups
that bounds leave open (see `papers.coalition.contributions`). The paper verifies every group by search and adapts the
strategy to its fitness; here bounds come first, and what they leave open is searched one by one or binary. With the
option `verify` one of the paper's strategies searches every group instead: the release is the same, it takes longer.

**m-privacy as a requirement** that any top-down method can take, provider-blind ones too. Counts know groups
and sensitive codes, nothing of providers. So the table handed to the method has *joint* codes,
provider times number of values plus value, and this requirement takes them apart again.
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import ClassVar, NoReturn

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.counting.keys import pack, rank
from reissue.data.table import Table
from reissue.errors import DataError, InputError, InternalError, RequirementError, SchemaError
from reissue.methods.partition.frontier import Frontier, Layout, work_off
from reissue.methods.partition.halves import after_cuts, both_hold, halved, median_cuts
from reissue.methods.partition.mondrian import mondrian
from reissue.methods.partition.regions import REGION, in_regions
from reissue.methods.registry import ByRegions, Job, Option, Suggestion, algorithm
from reissue.papers.coalition.contributions import Contributions, private
from reissue.papers.coalition.search import STRATEGIES, Search
from reissue.release.recode import boxes_of
from reissue.release.release import Draft
from reissue.requirements import Requirement
from reissue.requirements._base import fitness
from reissue.schema import Options
from reissue.taxonomy.codings import Coding, Hierarchy
from reissue.taxonomy.forest import Forest
from reissue.taxonomy.tree import ROOT, Level, Taxonomy
from reissue.words import listed

__all__ = ["MPrivate", "judged", "providers", "with_providers"]


@dataclass(frozen=True, eq=False)
class MPrivate(Requirement):
    """What remains of a group without records of any m of its providers still meets a requirement."""

    name: ClassVar[str] = "m-private"
    m: int
    inner: Requirement
    domain: Domain
    """Of the sensitive values alone."""
    providers: int
    """How many providers there are."""
    alpha: float | None = None
    """The weight of values in the fitness of groups."""
    search: Search | None = None
    """The strategy that verifies every group; None: bounds first."""

    @property
    def growing(self) -> bool:  # type: ignore[override]
        """Adding records never breaks it if that never breaks the requirement."""
        return self.inner.growing

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """A union of private groups is private if the requirement is growing, else a member may own one of them."""
        return self.inner.growing

    @property
    def least(self) -> int:
        """What the requirement needs at least: what others gave may be as little, and one provider's own group."""
        return max(part.least for part in self.inner.parts())

    def holds(self, counts: Counts) -> Bools:
        """Which groups are m-private; most fail for their size already, which needs no look at values."""
        if self.search is not None:
            return private(Contributions.of_counts(counts, self.domain), self.inner, self.m, self.search)
        sizes = counts.rolled(self._provider, self.providers)
        fine: Bools = (_without_largest(sizes, self.m) >= self.least) | (counts.sizes == 0)
        others = [part for part in self.inner.parts() if not part.by_size]
        if others and fine.any():
            left = counts if fine.all() else counts.only(fine)
            fine[fine] = private(Contributions.of_counts(left, self.domain), reduce(and_, others), self.m)
        return fine

    @property
    def _provider(self) -> Ints:
        """Joint code to provider."""
        return np.repeat(np.arange(self.providers), self.domain.size)

    def fitness(self, counts: Counts) -> Floats:
        """How far each group is above the requirement, whoever gave the records."""
        return fitness(self.inner, Contributions.of_counts(counts, self.domain).whole, self.alpha)

    @classmethod
    def parse(cls, argument: str) -> NoReturn:
        """It belongs to one table, so it is never read from text."""
        raise InternalError(f"m-privacy is asked for by an option, not as '{cls.name}={argument}'.")

    def __str__(self) -> str:
        """For messages."""
        return f"{self.inner} against any {self.m} of its providers"


def with_providers(table: Table, providers: Codes, total: int) -> Table:
    """The same table with joint codes of provider and sensitive value."""
    size = table.domain.size
    joint = (providers.astype(np.int64) * size + table.sensitive).astype(np.int32)
    return replace(table, sensitive=joint, domain=Domain(np.bincount(joint, minlength=total * size)))


def _without_largest(sizes: Ints, m: int) -> Ints:
    """Rows of each group (a row of providers each) without its m largest contributors, or all but the smallest."""
    providers = sizes.shape[1]
    few = min(m, providers - 1)
    smaller: Ints = np.partition(sizes, providers - few - 1, axis=1)[:, : providers - few].sum(axis=1)
    smallest: Ints = np.where(sizes > 0, sizes, np.iinfo(np.int64).max).min(axis=1)
    return np.where(np.count_nonzero(sizes, axis=1) > few, smaller, smallest)


BOUNDS = "bounds"
_WIDTHS = {"last": 1e-9, "first": 1e9, "fitness": 1e-9}
"""How wide one provider is beside a quasi-identifier that covers its whole domain (1): the widest is tried first."""


def judged(requirement: Requirement, options: Options, domain: Domain, count: int) -> MPrivate:
    """What groups and regions must meet, where there are so many providers."""
    m = options.get("m", 1)
    if not isinstance(m, int) or isinstance(m, bool) or m < 0:
        raise InputError("The option 'm' must be a whole number of providers, at least 0.")
    alphas = [_weight(options, name) for name in ("alpha", "verify_alpha")]
    way = options.get("verify", BOUNDS)
    return MPrivate(m, requirement, domain, count, alphas[0], None if way == BOUNDS else Search(str(way), alphas[1]))


def _weight(options: Options, name: str) -> float | None:
    """A weight between 0 and 1, or none."""
    given = options.get(name)
    if given is not None and (isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1):
        raise InputError(f"The option '{name}' must be a number between 0 and 1.")
    return given


def _together(requirement: Requirement, _: float) -> str:
    """Why groups of all regions must be seen together."""
    if requirement.growing:
        return ""
    return (
        f"groups that look alike are one to a reader, and for {requirement} they must be judged again together, in "
        "whichever region they are"
    )


_BY_REGIONS = ByRegions(
    lambda options: "splits by the fitness score look at all rows" if options["choose"] == "fitness" else "",
    judged,
    _together,
    any_order=True,
    by_provider=True,
)


@algorithm(
    "providers",
    "For data of several providers: no m of them can take their own records out and break the requirement.",
    options={
        "m": Option(default=1, help="How many providers may collude."),
        "choose": Option(
            default="best",
            help="When to split on providers: last, first, the better of both, or by the paper's fitness score.",
            choices=("best", "last", "first", "fitness"),
        ),
        "alpha": Option(
            default=None,
            help="With choose=fitness: the weight of l beside k in the score of a split; by default equal weights.",
        ),
        "verify": Option(
            default=BOUNDS,
            help="How groups are verified: by bounds that leave few to search, or each by one search: "
            f"{listed([*STRATEGIES], 'or')}.",
            choices=(BOUNDS, *STRATEGIES),
        ),
        "verify_alpha": Option(
            default=None, help="With a search: the weight of l beside k in the score that orders providers."
        ),
        "aware": Option(
            default=True, help="Split on providers too; false is the provider-blind baseline.", choices=(True, False)
        ),
        "region": REGION,
    },
    by_regions=_BY_REGIONS,
    remedies={"coalition": "no m providers can then break the requirement by taking their own records out"},
    suggestion=Suggestion(
        suits=lambda answers: answers["providers"] and not answers["removed"],
        rank=2,
        why="no party can take its own records out and find somebody in what is left",
        require="k=5",
        options="{ m = 1 }",
        attacks=("coalition", "correspondence"),
        unminded=("correspondence",),
    ),
)
def providers(job: Job) -> Draft:
    """Group the rows of a table top-down; see the module's docstring."""
    named = _by_name(job.table)
    count = int(named.max()) + 1
    judge = judged(job.requirement, job.options, job.table.domain, count)
    asked = replace(job, table=with_providers(job.table, named, count), requirement=judge)
    if not judge.holds(asked.table.whole())[0]:
        raise RequirementError(
            f"Even all rows in one group do not meet {judge}. Lower m or the requirement: the attack 'coalition' says "
            "how far a release gets."
        )
    one = not judge.growing or job.options.get("choose") == "fitness"
    return in_regions(asked, lambda part: _region(part, judge), one=one)


def _region(part: Job, judge: MPrivate) -> Draft:
    """The rows of one region: the better of the ways that are asked for."""
    size = judge.domain.size
    named, value = part.table.sensitive // size, (part.table.sensitive % size).astype(np.int32)
    codes, table = _most_first(named), replace(part.table, sensitive=value, domain=judge.domain)
    judge = replace(judge, providers=int(codes.max()) + 1)
    asked = replace(part, table=with_providers(table, codes, judge.providers), requirement=judge)
    choose = part.options.get("choose", "best") if part.options.get("aware", True) else "never"
    ways: tuple[str, ...] = (choose,)
    if choose == "best":
        # Joining groups may cost what provider splits gained: then the baseline is one of those to choose from.
        ways = ("last", "first") if judge.growing else ("last", "first", "never")
    drafts = [_settled(table, _draft(asked, codes, judge, way), codes, judge) for way in ways]
    return min(drafts, key=lambda draft: _loss(table, draft))


def _most_first(named: Codes) -> Codes:
    """The same with another code: who gave most records comes first; of those who gave as many, as before."""
    given = np.bincount(named)
    place = np.empty(len(given), np.int32)
    place[np.argsort(-given, kind="stable")] = np.arange(len(given))
    return np.asarray(place[named])


def _draft(asked: Job, codes: Codes, judge: MPrivate, way: str) -> Draft:
    """The partition with providers as one more dimension, unless never split."""
    if way == "never":
        return mondrian(asked)
    asked = replace(asked, table=_with_dimension(asked.table, codes, _WIDTHS[way]))
    if way == "fitness":
        taxonomies = Forest.of(asked.table.taxonomies)
        draft = work_off(asked, lambda frontier: _advance(frontier, taxonomies, judge))
    else:
        draft = mondrian(asked)
    return replace(draft, notes={**draft.notes, "providers": way})


def _loss(table: Table, draft: Draft) -> float:
    """The mean share of the domains that a record's box covers."""
    boxes = boxes_of(table, draft)
    widths = [t.loss(lo, hi) @ boxes.sizes for t, lo, hi in zip(table.taxonomies, boxes.lo, boxes.hi, strict=True)]
    # Rounded: the order in which rows lie must not decide between two that lose the same.
    return round(float(sum(widths)) / table.rows, 9)


def _by_name(table: Table) -> Codes:
    """A code for each row's provider, in the order of their names."""
    given = table.providers
    if given is None:
        raise SchemaError('This needs to know who gave each record: name the column in the schema, as  x = "provider".')
    if given.null_count():
        raise DataError(f"The provider is missing in {given.null_count()} rows.")
    if given.n_unique() > 1:
        table.schema.refuse_unidentified("The method 'providers'")
    return given.cast(pl.String).rank("dense").to_numpy().astype(np.int32) - np.int32(1)


def _with_dimension(table: Table, codes: Codes, width: float) -> Table:
    """The table with providers as one more ordered attribute, one provider `width` away from the next."""
    total = int(codes.max()) + 1
    # One leaf that never occurs sets the scale: widths are shares of the way from the first leaf to the last.
    positions = np.append(np.arange(total, dtype=np.float64), 1 / width)
    leaves = Level(np.arange(total + 1, dtype=np.int32), tuple(str(code) for code in range(total + 1)))
    root = Level(np.zeros(total + 1, np.int32), (ROOT,))
    taxonomy = Taxonomy((leaves, root), positions, ordered=True, missing=False, runs=True)
    coding = Coding(Hierarchy("flat"), taxonomy, pl.Series([], dtype=pl.String))
    return replace(table, codes=np.vstack([table.codes, codes]), codings=(*table.codings, coding))


def _advance(frontier: Frontier, taxonomies: Forest, judge: MPrivate) -> tuple[Layout, Bools]:
    """Split every group where its worse half is fittest; returns the halves, and which groups are done."""
    groups = len(frontier.sizes)
    best: tuple[Floats, Floats] = (np.full(groups, -np.inf), np.full(groups, -np.inf))
    upper = np.zeros(len(frontier.rows), np.bool_)
    chosen = np.zeros(groups, np.int64)
    for place, taxonomy in enumerate(taxonomies.trees):
        everywhere = np.full(groups, place)
        every = frontier.chosen(everywhere)
        above = every.codes >= median_cuts(every, everywhere, taxonomies)[frontier.of_row]
        width = taxonomy.lost(every.lo, every.hi)
        works = both_hold(frontier, above, judge) & (width > 0)
        counts = frontier.counts(2 * frontier.of_row + above, 2 * groups)
        score = np.round(judge.fitness(counts).reshape(groups, 2).min(axis=1), 9)
        better = works & ((score > best[0]) | ((score == best[0]) & (width > best[1])))
        best = (np.where(better, score, best[0]), np.where(better, width, best[1]))
        chosen[better] = place
        upper = np.where(better[frontier.of_row], above, upper)
    found = best[0] > -np.inf
    none = np.zeros(groups, np.bool_)
    return halved(frontier, upper, found, none, after_cuts(frontier.most, chosen, found, none)), ~found


def _settled(table: Table, draft: Draft, codes: Codes, judge: MPrivate) -> Draft:
    """The draft, where needed with groups of one box as one, joined with neighbours until each of them is private."""
    if judge.growing:
        return draft
    groups, joins = draft.groups, 0
    while True:
        groups = _by_box(table, replace(draft, groups=groups))
        given = Contributions.of_rows(groups, codes, table.sensitive, table.domain)
        bad = ~private(given, judge.inner, judge.m, judge.search)
        if not bad.any() or len(bad) == 1:
            return replace(draft, groups=groups, notes={**draft.notes, "joined": joins})
        # In the order of boxes every bad group goes to the next one, the last one to the one before.
        to = np.arange(len(bad))
        to[bad] += 1
        to[-1] -= 2 * (to[-1] == len(bad))
        joins += int(bad.sum())
        groups = rank(_followed(to)[groups])[0].astype(np.int32)


def _followed(to: Ints) -> Ints:
    """Where everybody ends who goes on from place to place; two who go to each other stay with the first."""
    here = np.arange(len(to))
    to = np.where((to[to] == here) & (to > here), here, to)
    while (to[to] != to).any():
        to = to[to]
    return to


def _by_box(table: Table, draft: Draft) -> Codes:
    """Groups numbered by their published boxes, in the order of the boxes."""
    boxes = boxes_of(table, draft)
    sizes = [size for size in table.sizes for _ in range(2)]
    columns = [ends[place] for place in range(len(table.sizes)) for ends in (boxes.lo, boxes.hi)]
    return rank(pack(columns, sizes)[0])[0].astype(np.int32)[draft.groups]
