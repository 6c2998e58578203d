"""What every requirement must keep: on small random groups, and against every coalition of a few providers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from reissue._arrays import Ints
from reissue.counting.cells import Counts, Domain
from reissue.data.table import Table
from reissue.errors import RequirementError
from reissue.papers.coalition.contributions import Contributions, private
from reissue.papers.coalition.exact import worst_coalition
from reissue.papers.coalition.search import Group
from reissue.requirements import Requirement, parse, registered
from reissue.testing.contract import expect
from reissue.testing.tables import small_tables

__all__ = ["check_requirement"]


def check_requirement(name: str, *texts: str, groups: int = 150, seed: int = 0) -> None:
    """Check a registered requirement: its text, its verdict on groups, and all that it says of itself.

    `texts` are ways to write it that small groups sometimes meet; by default its own examples.
    """
    kind = registered()[name]
    for text in texts or kind.example.split(" or "):
        requirement = parse(text)
        expect(isinstance(requirement, kind), "a requirement is registered under its name")
        expect(parse(str(requirement)) == requirement, "its text reads back")
        expect(hash(requirement) == hash(parse(text)), "it is frozen")
        expect(not requirement.growing or requirement.monotone, "what grows unharmed can be joined unharmed")
        some = list(_groups(requirement, groups, seed))
        expect(some, "it can judge sensitive values of some kind")
        for one in some:
            _check_verdict(requirement, one)
            _check_unions(requirement, one)
            _check_words(requirement, one)
        for one in some[: groups // 5]:
            _check_coalitions(requirement, one)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Two small groups of one table: the sensitive codes of each."""

    domain: Domain
    first: tuple[int, ...]
    second: tuple[int, ...]

    def counts(self, *groups: Sequence[int]) -> Counts:
        number = np.repeat(np.arange(len(groups)), [len(group) for group in groups]).astype(np.int32)
        return Counts(
            number, np.array([code for group in groups for code in group], np.int32), self.domain, len(groups)
        )

    def meets(self, requirement: Requirement, group: Sequence[int]) -> bool:
        return bool(requirement.holds(self.counts(group))[0])


def _groups(requirement: Requirement, count: int, seed: int) -> Iterator[_Groups]:
    rng = np.random.default_rng(seed)
    for frame, schema in small_tables(count, seed):
        table = Table.read(frame, schema)
        try:
            requirement.fits(table.domain)
        except RequirementError:
            continue
        few = np.flatnonzero(table.domain.totals)[:4]
        drawn = (tuple(rng.choice(few, size=int(rng.integers(1, 7))).tolist()) for _ in range(2))
        yield _Groups(table.domain, *drawn)


def _check_verdict(requirement: Requirement, one: _Groups) -> None:
    """A group is judged by its own counts, beside whatever others there are, in any order."""
    held = requirement.holds(one.counts(one.first, one.second))
    expect(held.shape == (2,) and held.dtype == np.bool_, "it judges every group, yes or no")
    alone = [one.meets(requirement, group) for group in (one.first, one.second)]
    expect(held.tolist() == alone, "a group is judged by itself")
    turned = requirement.holds(one.counts(one.second, one.first[::-1]))
    expect(turned.tolist() == alone[::-1], "the order of groups and records does not matter")


def _check_unions(requirement: Requirement, one: _Groups) -> None:
    first, second = (one.meets(requirement, group) for group in (one.first, one.second))
    both = one.meets(requirement, one.first + one.second)
    expect(not (requirement.monotone and first and second) or both, "it says that unions keep it, and one does not")
    expect(not (requirement.growing and first) or both, "it says that adding records keeps it, and it does not")
    if not requirement.sensitive:
        same = one.meets(requirement, one.first[:1] * len(one.first))
        expect(same == first, "it says that it does not look at sensitive values, and it does")


def _check_words(requirement: Requirement, one: _Groups) -> None:
    """Sizes, numbers of values, caps and fitness that it names."""
    group, met = one.first, one.meets(requirement, one.first)
    expect(not met or len(group) >= requirement.least, "a smaller group than its `least` meets it")
    expect(not met or len(set(group)) >= requirement.fewest_values, "fewer values than its `fewest_values` meet it")
    expect(not requirement.by_size or met == (len(group) >= requirement.least), "`by_size`: `least` rows decide")
    expect(not requirement.by_values or met == (len(set(group)) >= requirement.least), "`by_values`: `least` decides")
    if requirement.capped and not requirement.named_values:
        cap = int(requirement.cap(np.array([len(group)]))[0])
        fine = max(map(group.count, group)) <= cap and len(group) >= requirement.least
        expect(met == fine, "`capped`: `cap` and `least` decide")
    score = requirement.fitness(one.counts(group))
    expect(np.isfinite(score).all() and (not met or score[0] >= 1 - 1e-9), "fitness is 1 or more where it is met")


def _check_coalitions(requirement: Requirement, one: _Groups) -> None:
    """Against every coalition of three providers: never called private where some look breaks it."""
    codes = np.array(one.first + one.second)
    providers = np.arange(len(codes)) % 3
    values, column = np.unique(codes, return_inverse=True)
    counts = np.zeros((int(providers.max()) + 1, len(values)), np.int64)
    np.add.at(counts, (providers, column), 1)
    group = Group(counts, values, one.domain)
    broken = any(_breaks(requirement, one, group, some) for some in combinations(range(len(counts)), 1))
    verdict = worst_coalition(group, requirement, 1)
    expect(verdict.coalition is not None or not broken, "a coalition that breaks it is not found")
    expect(verdict.coalition is None or broken or not verdict.exact, "a coalition is found that does not break it")
    contributions = Contributions.of_rows(np.zeros(len(codes), np.int64), providers, codes, one.domain)
    expect(not (private(contributions, requirement, 1)[0] and broken), "`surely_kept` is wrong")


def _breaks(requirement: Requirement, one: _Groups, group: Group, members: Sequence[int]) -> bool:
    """Whether something that a coalition can look at does not meet it, each look judged by itself."""
    rest: Ints = np.delete(group.counts, list(members), axis=0).sum(axis=0)
    if not rest.any():
        return False
    ranges = [range(few, many + 1) for few, many in zip(rest.tolist(), group.whole.tolist(), strict=True)]
    looks = (
        [code for code, n in zip(group.values.tolist(), x, strict=True) for _ in range(n)] for x in product(*ranges)
    )
    return any(look and not one.meets(requirement, look) for look in looks)
