"""Attack by mechanism (Wong, Fu, Wang, Pei 2009, section 5.2): the adversary knows the algorithm itself.

The general attack takes any deterministic anonymizer, one of ours by name or a function from a table to what it would
publish, and keeps the worlds (assignments of sensitive values to people that the release allows) that it sends to the
very same release: the same rows, in whatever order. The adversary knows in which group each person stands (for a
function, which shows rows and not people, that has to follow from the quasi-identifiers). Worlds are enumerated when
they are few and sampled when they are many; the posterior of a sample comes with its error. For a method that draws
random numbers worlds are sampled, and one is kept if a run with fresh numbers gives the release.

The paper's three examples need no run of the algorithm: what it preferred must have failed (see `refusals`). For
monotone requirements that gives the same posterior as running it, thousands of times faster. Mondrian's refusals
mostly touch one group each, so its releases can be attacked at any size (`by_components`), and by default they are.

Each run of the algorithm counts against a budget; a sample that keeps fewer than 30 worlds says nothing. None is drawn
where the worlds that differ least from the release (two people of a group have each other's value) lead elsewhere, and
one that keeps none of its first 256 is given up: the attack was then not run. It takes longer than all other attacks
together, so it is run only where it is asked for by name. O(worlds x one run of the algorithm).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.attacks.findings import Finding, Status, not_run
from reissue.attacks.registry import attack
from reissue.attacks.stories import Case, Link, box_text, histogram, in_words, set_text, story_of
from reissue.counting.cells import Domain
from reissue.data.table import Table
from reissue.errors import CannotRunError, Why
from reissue.methods.registry import Trait, find
from reissue.papers.mechanism.again import made_again, runner
from reissue.papers.mechanism.possible import (
    Belief,
    Possible,
    frame_signature,
    interval,
    signature,
    walk,
    weigh,
)
from reissue.papers.mechanism.refusals import Refusal, by_components, full_domain, median_splits
from reissue.papers.minimality.attack import requirement_of
from reissue.papers.minimality.rules import limit_of, value_sets
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease, read_published
from reissue.published.series import Series
from reissue.release.release import Release
from reissue.requirements import Requirement, by_column
from reissue.schema import Options

__all__ = [
    "Belief",
    "Linked",
    "Ready",
    "Way",
    "by_running",
    "by_walking",
    "keeps",
    "mechanism",
    "possible_worlds",
    "ready_for",
    "refusals_of",
]


def _case(place: int, outcome: "Linked", ready: Sequence["Ready"], series: Series, knowledge: Knowledge) -> Case:
    """The worst case of a release."""
    source, tried = ready[place].source, outcome.parts.tried
    asked = value_sets(ready[place].requirement, source.table.domain, knowledge.values, source.table.margins)
    worlds = f"{outcome.parts.kept:,} of {tried:,}" if tried else "all that it allows"
    believed, shares, known, limit = outcome.believed, outcome.shares, outcome.known, outcome.limit
    most = np.where(known, believed.max(axis=1, initial=0.0), -1.0)
    gain = np.where(known, (believed - shares).max(axis=1, initial=0.0), -1.0)
    person = int(np.lexsort((-np.round(gain, 9), -np.round(most, 9)))[0])
    column = int(believed[person].argmax())
    kept = source.draft.groups >= 0
    groups = source.draft.groups[kept]
    published = (source.table.sensitive if source.draft.sensitive is None else source.draft.sensitive)[kept]
    inside = published[groups == groups[person]]
    # A method that changes values may have hidden what is believed.
    values = np.unique(inside[asked[column][inside]])
    value = set_text(source.table.domain, values if len(values) else np.flatnonzero(asked[column]))
    look = box_text(source, int(groups[person]))
    where = f" ({in_words(look)})" if look else ""
    unknown = int((~known).sum())
    more = [f"About {unknown:,} people too few tables remain to say anything; they are not drawn."] if unknown else []
    counted = np.ones(int(known.sum()), np.int64)
    link = Link(
        "The adversary knows everyone's quasi-identifiers and group, the algorithm, and what it was asked for.",
        series.numbers[place],
        value,
        f"the group{where} has {len(inside):,} records",
        float(shares[person, column]),
        (f"The adversary tries which tables lead to this very release: {worlds}.",),
        float(believed[person, column]),
        limit,
    )
    return story_of(link, histogram(believed[known].max(axis=1, initial=0.0), counted, limit, "posterior"), more)


NAME = "mechanism"
BUDGET = 2_000
"""Runs of the algorithm."""
_CELLS = 2_000_000
"""Rows times runs, at most: what a minute or so allows."""
_TRIED = 20
"""Exchanges of two values that are tried before a walk begins."""
_LEAST = 200
"""With fewer runs there is no point in starting."""
Anonymizer = Callable[[pl.DataFrame], pl.DataFrame | Mapping[str, pl.DataFrame]]


@attack(
    NAME,
    "Runs the algorithm on every possible table and keeps those that give the same release.",
    per_release=True,
    needs=(
        "the algorithm, its requirement and the original table (`--knowledge algorithm=NAME`, "
        "`--knowledge requirement=...`, `--knowledge population=FILE`); of our own releases all are known"
    ),
    story=(
        "Someone has the software itself and runs it on every table that the release allows. Tables that would have "
        "given another release cannot be the original; what those that remain agree on is known."
    ),
    prevention=(
        (
            "Use a requirement that does not look at sensitive values (`k` alone), or the method `anatomy`, which "
            "draws its groups by chance."
        ),
        "With other methods ask for more than you need, and look at this attack again.",
    ),
)
def mechanism(series: Series, knowledge: Knowledge) -> Finding:
    """Attack every release of our own, and report the worst."""
    # Whatever stands in the way of one release stops the attack before any worlds are gone through.
    ready = [ready_for(release, series, knowledge) for release in series.releases]
    outcomes = [_outcome(one, series, knowledge) for one in ready]
    worst = max(outcomes, key=lambda outcome: (outcome.people, outcome.posterior))
    gaps = [outcome for outcome in outcomes if not outcome.known.all()]
    details = worst.details() | {"releases": [outcome.details() for outcome in outcomes]}
    if gaps and not worst.people:
        return not_run(NAME, series.numbers, gaps[0].reason(), details, why=Why.TOO_LARGE)
    return Finding(
        NAME,
        Status.EXPOSED if worst.people else Status.WITHSTOOD,
        worst.sentence(),
        tuple(series.numbers),
        people=worst.people,
        population=len(worst.believed),
        measure="posterior: the probability of a sensitive value for a person, to someone who knows the algorithm",
        worst=worst.posterior,
        limit=worst.limit,
        details=details | {"case": _case(outcomes.index(worst), worst, ready, series, knowledge)},
    )


def possible_worlds(release: Release, *, free: bool | None = None) -> Possible:
    """The worlds that one of our releases allows; `free` where the method may have changed values."""
    draft, table = release.draft, release.table
    if draft.counterfeits is not None:
        raise CannotRunError("the release holds counterfeits, so what its groups show is not the people's own.")
    published = table.sensitive if draft.sensitive is None else draft.sensitive
    kept = draft.groups >= 0
    domain = Domain(np.bincount(published[kept], minlength=table.domain.size), table.domain.taxonomy)
    free = Trait.CHANGES_VALUES in find(release.method).traits if free is None else free
    return Possible(draft.groups.astype(np.int64), published, domain, free)


def by_running(
    release: Release,
    algorithm: str | Anonymizer | None = None,
    *,
    options: Options | None = None,
    budget: int = BUDGET,
    sample: bool | None = None,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Belief:
    """What is believed when the algorithm must give this release: by default the release's own method.

    `sample` says whether worlds are sampled; by default if there are more than the budget, or the method is random.
    """
    rng = rng or np.random.default_rng(0)
    algorithm = algorithm or release.method
    possible = possible_worlds(release)
    keep = keeps(release, algorithm, options or {}, rng)
    random = isinstance(algorithm, str) and Trait.RANDOM in find(algorithm).traits
    sample = True if sample is None and random else sample
    return weigh(possible, keep, budget=budget, sample=sample, rng=rng, progress=progress)


def by_walking(
    release: Release,
    algorithm: str | Anonymizer | None = None,
    *,
    options: Options | None = None,
    budget: int = BUDGET,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Belief | None:
    """What is believed among the tables that exchanges of values within groups reach from the original.

    None where the method draws random numbers or changes values, or no single exchange leads to the release.
    """
    rng = rng or np.random.default_rng(0)
    algorithm = algorithm or release.method
    possible = possible_worlds(release)
    if possible.free or (isinstance(algorithm, str) and Trait.RANDOM in find(algorithm).traits):
        return None
    keep = keeps(release, algorithm, options or {}, rng)
    if not keep(possible.nearest(_TRIED, rng)).any():
        return None
    return walk(possible, keep, budget=budget, rng=rng, progress=progress)


def keeps(
    release: Release, algorithm: str | Anonymizer, options: Options, rng: np.random.Generator
) -> Callable[[Codes], Bools]:
    """Return whether worlds lead to the release by a function, or by one of our methods, as the original must."""
    if callable(algorithm):
        return _same_frames(release, algorithm)
    again = runner(release, algorithm, options, rng)
    target = signature(release.table, release.draft)

    def fits(world: Codes) -> bool:
        table = _with(release.table, world)
        draft = again(table)
        return draft is not None and signature(table, draft) == target

    return lambda worlds: np.array([fits(world) for world in worlds], np.bool_)


def _with(table: Table, world: Codes) -> Table:
    """The same people with other sensitive values; algorithms see codes only, so the frame stays as it is."""
    totals = np.bincount(world, minlength=table.domain.size)
    return replace(table, sensitive=world, domain=Domain(totals, table.domain.taxonomy))


def _same_frames(release: Release, function: Anonymizer) -> Callable[[Codes], Bools]:
    """Whether anyone's function sends worlds to the release."""
    schema = release.schema
    target = frame_signature(read_published(release, schema))

    def run(world: Codes) -> bool:
        values = {column.name: column for column in release.table.decode(world)}
        published = function(release.table.frame.with_columns(**values))
        return frame_signature(read_published(published, schema)) == target

    return lambda worlds: np.array([run(world) for world in worlds], np.bool_)


# --- the finding -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Linked:
    """What knowing the algorithm tells about one release."""

    parts: Belief
    believed: Floats
    """People x sensitive value sets."""
    shares: Floats
    """The same, as the release alone tells."""
    limit: float

    @property
    def known(self) -> Bools:
        """Person to whether anything can be said."""
        return self.parts.known

    def _low(self, tests: int) -> Floats:
        low, _ = interval(self.believed, self.parts.support[:, np.newaxis], tests)
        return np.where(self.parts.support[:, np.newaxis] < 0, self.believed, low)

    @property
    def people(self) -> int:
        """How many people are certainly linked with a probability above the limit."""
        least = self._low(self.believed.size).max(axis=1, initial=0.0)
        return int(((least > self.limit + 1e-9) & self.known).sum())

    @property
    def posterior(self) -> float:
        """The largest posterior."""
        return float(self.believed[self.known].max(initial=0.0))

    @property
    def error(self) -> float:
        """Half the width of its 95% interval, for the person with that posterior about whom most is known."""
        most = np.where(self.known[:, np.newaxis], self.believed, -1.0).max(axis=1, initial=-1.0)
        support = self.parts.support[most >= self.posterior - 1e-12]
        if not len(support) or (support < 0).any():
            return 0.0
        low, high = interval(np.array([self.posterior]), int(support.max()))
        return float(high[0] - low[0]) / 2

    def details(self) -> dict[str, Any]:
        """For the finding."""
        worlds = self.parts.worlds
        return {
            "posterior": self.posterior,
            "error": self.error,
            "worlds": worlds if worlds < 10**15 else float(f"{worlds:.3e}") if worlds < 10**300 else 1e300,
            "tried": self.parts.tried,
            "kept": self.parts.kept,
            "sampled": self.parts.sampled,
            "walked": self.parts.walked,
            "unknown": int((~self.known).sum()),
        }

    def reason(self) -> str:
        """Why it was not run."""
        return (
            f"of {self.parts.tried:,} worlds only {self.parts.kept:,} gave the same release, too few to say anything "
            f"about {int((~self.known).sum()):,} people. Try a part of the table."
        )

    def sentence(self) -> str:
        """In plain words."""
        left = f"Of {self.parts.tried:,} worlds that were tried {self.parts.kept:,} lead to this very release"
        if self.parts.walked:
            left = (
                f"Of {self.parts.tried:,} exchanges of values, each from a world that leads to this very release, "
                f"{self.parts.kept:,} lead there too; worlds that no such steps reach were not seen"
            )
        if not self.parts.tried:
            left = "Every world that the release allows leads to it"
        surest = f"{self.posterior:.3g}" + (f" ± {self.error:.2g}" if self.error else "")
        if self.people:
            return (
                f"{left}; who knows the algorithm links {self.people:,} of {len(self.believed):,} people to a "
                f"sensitive value with more than {self.limit:.3g}, the surest with {surest}."
            )
        return (
            f"{left}; nobody is linked to a sensitive value with more than {self.limit:.3g}, the surest with {surest}."
        )


class Way(Enum):
    """How the worlds of a release are gone through."""

    BLIND = "whatever the values are, the same release comes out"
    REFUSALS = "by what Mondrian refused, component by component, at any size"
    LATTICE = "by what the full-domain search refused, where worlds are too many to run it on each"
    AGAIN = "by running the algorithm again, everyone at once"


@dataclass(frozen=True, eq=False)
class Ready:
    """A release that can be attacked."""

    source: Release
    requirement: Requirement
    way: Way
    budget: int


def ready_for(release: PublishedRelease, series: Series, knowledge: Knowledge) -> Ready:
    """The holder's release and how to attack it; CannotRunError where that is known to be impossible."""
    requirement = requirement_of(release, series, knowledge)
    source = release.source or made_again(release, series, knowledge, requirement)
    requirement = by_column(requirement, source.table.margins, source.table.domain)
    more, rng = 10 if series.exact else 1, np.random.default_rng(0)
    possible_worlds(source)
    method = knowledge.algorithm or source.method
    plain = method == source.method and requirement.monotone and not knowledge.options and source.suppressed == 0
    if not knowledge.algorithm and Trait.BLIND in find(source.method).traits and not requirement.sensitive:
        return Ready(source, requirement, Way.BLIND, BUDGET)
    if plain and method == "mondrian":
        keeps(source, "mondrian", {}, rng)
        return Ready(source, requirement, Way.REFUSALS, 10 * BUDGET * more)
    if plain and method == "incognito" and possible_worlds(source).number_up_to(BUDGET) >= BUDGET:
        keeps(source, "incognito", {}, rng)
        return Ready(source, requirement, Way.LATTICE, more * min(10 * BUDGET, 10 * _CELLS // source.table.rows))
    budget = more * min(BUDGET, _CELLS // max(source.table.rows, 1))
    if budget < _LEAST:
        raise CannotRunError(
            f"a table of {source.table.rows:,} rows is too large to run the algorithm on it {_LEAST:,} times and more.",
            too_large=True,
        )
    keeps(source, knowledge.algorithm or source.method, knowledge.options, rng)
    return Ready(source, requirement, Way.AGAIN, budget)


def _outcome(ready: Ready, series: Series, knowledge: Knowledge) -> Linked:
    """Attack one release."""
    source, requirement = ready.source, ready.requirement
    if ready.way == Way.AGAIN:
        parts = _run_again(source, knowledge, ready.budget)
    else:
        parts = by_components(possible_worlds(source), refusals_of(ready), requirement, budget=ready.budget)
    kept = source.draft.groups >= 0
    asked = value_sets(requirement, source.table.domain, knowledge.values, source.table.margins)
    believed, shares = _believed(parts.posterior, source, asked, kept)
    limit = series.limits.get(NAME, limit_of(requirement))
    limit = float(shares.max(initial=0.0)) if limit is None else float(limit)
    parts = replace(parts, posterior=parts.posterior[kept], support=parts.support[kept], known=parts.known[kept])
    return Linked(parts, believed, shares[source.draft.groups[kept]], limit)


def refusals_of(ready: Ready) -> list[Refusal]:
    """What the algorithm refused before it made the release; nothing where that is not how its worlds are judged."""
    if ready.way == Way.REFUSALS:
        return median_splits(ready.source.table, ready.source.draft.groups.astype(np.int64))
    return full_domain(ready.source) if ready.way == Way.LATTICE else []


def _run_again(source: Release, knowledge: Knowledge, budget: int) -> Belief:
    """All people at once, by running the algorithm; by a random walk where hardly any world drawn leads there."""
    belief = by_running(
        source, knowledge.algorithm, options=knowledge.options, budget=budget, progress=knowledge.progress
    )
    if belief.sampled and not belief.known.all():
        walked = by_walking(
            source, knowledge.algorithm, options=knowledge.options, budget=budget, progress=knowledge.progress
        )
        return belief if walked is None else walked
    return belief


def _believed(posterior: Floats, release: Release, asked: Bools, kept: Bools) -> tuple[Floats, Floats]:
    """People x sensitive value sets: what is believed, and what the release alone tells."""
    groups: Ints = release.draft.groups[kept].astype(np.int64)
    published = (release.table.sensitive if release.draft.sensitive is None else release.draft.sensitive)[kept]
    rows = np.bincount(groups)
    shares = np.stack([np.bincount(groups, mask[published]) / np.maximum(rows, 1) for mask in asked], axis=1)
    return posterior[kept] @ asked.T, shares
