"""The BCF-anonymizer: the contract, a twin straight from the definition, and that its releases withstand the attack."""

import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from reissue import Hierarchy
from reissue.attacks.findings import Verdict
from reissue.counting import Counts, Domain
from reissue.errors import DataError, InputError, InternalError, NotMetError, RequirementError
from reissue.papers.correspondence.chains import targets
from reissue.papers.correspondence.histories import recheck
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.release.release import Release
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.testing.releases import check_release, samples
from tests.attacks.brute import (
    CHILDREN,
    LEAVES,
    NODES,
    Chain,
    Record,
    brute_left,
    left_of,
    recoded,
    schema,
    seeded,
    views_of,
)
from tests.effort import examples
from tests.strategies import Case, tables


@pytest.mark.parametrize("requirement", samples())
@examples(8)
@given(case=tables())
def test_contract(requirement: str, case: Case) -> None:
    check_release("correspondence", case.frame, case.schema, requirement)


# --- a twin straight from the definition -----------------------------------------------------------------------------


def left_by(releases: list[list[Record]]) -> dict[tuple[int, Chain], int]:
    views = views_of(releases)
    return left_of(targets(views), views)


def safe(releases: list[list[Record]], k: int) -> bool:
    return all(left == 0 or left >= k for left in left_by(releases).values())


def twin(earlier: list[list[Record]], raw: list[Record], attributes: int, k: int) -> list[tuple[str, ...]] | None:
    """Algorithm 1 without any bookkeeping; None if the most general table is not safe."""
    cuts: list[tuple[str, ...]] = [("*",)] * attributes

    def publish(some: list[tuple[str, ...]]) -> list[Record]:
        return [(recoded(values, some), s) for values, s in raw]

    if not safe([*earlier, publish(cuts)], k):
        return None
    refused: set[tuple[int, str]] = set()
    while True:
        sizes = Counter(box for box, _ in publish(cuts))
        score: dict[tuple[int, str], int] = defaultdict(int)
        for box, size in sizes.items():
            for place, node in enumerate(box):
                if node in CHILDREN and (place, node) not in refused:
                    score[place, node] += size**2
        if not score:
            return cuts
        top = max(score.values())
        ties = [which for which, its in score.items() if its == top]
        place, node = min(ties, key=lambda which: (*_rank(earlier, publish(_finer(cuts, *which)), *which), which[0]))
        finer = _finer(cuts, place, node)
        if safe([*earlier, publish(finer)], k):
            cuts = finer
        else:
            refused.add((place, node))


def _finer(cuts: list[tuple[str, ...]], place: int, node: str) -> list[tuple[str, ...]]:
    cut = tuple(n for some in cuts[place] for n in (CHILDREN[some] if some == node else (some,)))
    return [*cuts[:place], cut, *cuts[place + 1 :]]


def _rank(earlier: list[list[Record]], after: list[Record], place: int, node: str) -> tuple[int, int, int]:
    """Earlier releases that do not specialize the node, the squares that it leaves, its first leaf."""
    lo, hi = NODES[node]
    against = sum(any(NODES[box[place]][0] <= lo and hi <= NODES[box[place]][1] for box, _ in rows) for rows in earlier)
    touched = Counter(box for box, _ in after if lo <= NODES[box[place]][0] and NODES[box[place]][1] <= hi)
    return against, sum(size**2 for size in touched.values()), lo


def random_rows(rng: random.Random, attributes: int, number: int) -> list[Record]:
    return [(tuple(rng.choice(LEAVES) for _ in range(attributes)), rng.choice("xyz")) for _ in range(number)]


def frame_of(rows: list[Record], attributes: int) -> pl.DataFrame:
    names = [*schema(attributes).quasi, "s"]
    return pl.DataFrame([(*values, s) for values, s in rows], schema=dict.fromkeys(names, pl.String), orient="row")


def boxes_in(frame: pl.DataFrame) -> list[Record]:
    return [(tuple(row[:-1]), row[-1]) for row in frame.rows()]


def published_beside_the_twin(rng: random.Random, releases: int) -> tuple[list[pl.DataFrame], bool]:
    """A series in which every release is what the twin makes; and whether it ended because there was none."""
    attributes, k = rng.choice([1, 2, 3]), rng.choice([1, 2, 3, 5])
    rows = random_rows(rng, attributes, rng.randint(5, 14))
    frames: list[pl.DataFrame] = []
    earlier: list[list[Record]] = []
    for _ in range(releases):
        expected = twin(earlier, rows, attributes, k)
        table, plan = frame_of(rows, attributes), schema(attributes)
        if expected is None:
            with pytest.raises(NotMetError, match="binds"):
                anonymize(table, plan, f"k={k}", method="correspondence", after=frames)
            break
        release = anonymize(table, plan, f"k={k}", method="correspondence", after=frames)
        frames.append(release.tables["release"])
        earlier.append(boxes_in(frames[-1]))
        assert Counter(earlier[-1]) == Counter((recoded(values, expected), s) for values, s in rows)
        rows = rows + random_rows(rng, attributes, rng.choice([0, 2, 6, 15]))
    if len(frames) > 1:
        findings = attack(frames, schema(attributes), only="correspondence", limits={"correspondence": k})
        assert findings.verdict == Verdict.WITHSTOOD
    if len(frames) == 2 and len(rows) < 16:
        assert all(left == 0 or left >= k for left in brute_left(earlier).values())
    return frames, len(frames) < releases


def test_it_does_what_the_definition_says() -> None:
    rng = seeded(3)
    made = [published_beside_the_twin(rng, rng.choice([2, 2, 3])) for _ in range(100)]
    assert sum(len(frames) > 1 for frames, _ in made) > 40
    assert sum(refused for _, refused in made) > 8


@pytest.mark.slow
def test_it_does_so_in_longer_series() -> None:
    rng = seeded(12)
    made = [published_beside_the_twin(rng, 6) for _ in range(25)]
    assert sum(len(frames) == 6 for frames, _ in made) > 5


@pytest.mark.parametrize("method", ["topdown", "incognito", "correspondence"])
def test_earlier_releases_may_come_from_any_global_recoding(method: str) -> None:
    rng = seeded(11)
    done = 0
    for _ in range(30):
        rows = random_rows(rng, 2, 24)
        first = anonymize(frame_of(rows[:12], 2), schema(2), "k=2", method=method).frame
        try:
            second = anonymize(frame_of(rows, 2), schema(2), "k=2", method="correspondence", after=[first]).frame
        except NotMetError:
            continue
        assert (
            attack([first, second], schema(2), only="correspondence", limits={"correspondence": 2}).verdict
            == Verdict.WITHSTOOD
        )
        done += 1
    assert done > 15


@pytest.mark.parametrize(
    "requirement",
    ["k=2 & l=2", "k=2 & entropy-l=1.6", "k=2 & recursive=2,2", "k=2 & confidence=0.7", "alpha-k=0.7,2", "k=2 & t=0.6"],
)
def test_what_is_left_meets_other_requirements_too(requirement: str) -> None:
    """Of every possible target, judged one by one, and of the groups themselves."""
    rng, needed = seeded(5), parse(requirement)
    done = 0
    for _ in range(40):
        rows = random_rows(rng, 2, rng.randint(20, 40))
        try:
            first = anonymize(frame_of(rows[:15], 2), schema(2), needed, method="correspondence").frame
            second = anonymize(frame_of(rows, 2), schema(2), needed, method="correspondence", after=[first]).frame
        except (NotMetError, InputError):
            continue
        done += 1
        views = views_of([boxes_in(first), boxes_in(second)])
        totals = Counter(s for _, s in rows)
        domain = Domain(np.array([totals[str(s)] for (s,) in views.values]))
        for part in targets(views):
            for chain in range(part.groups):
                entries = slice(part.starts[chain], part.starts[chain + 1])
                term, value = part.count[entries], part.value[entries]
                if term.sum():
                    counts = Counts(value[term > 0] * 0, value[term > 0], domain, 1, term[term > 0])
                    assert needed.holds(counts)[0]
    assert done > 5


# --- the door --------------------------------------------------------------------------------------------------------

PLAN = Schema.of_columns(
    quasi=["age", "zip"],
    sensitive=["s"],
    taxonomies={"age": Hierarchy("ranges", ranges=(5, 10, 20)), "zip": Hierarchy("prefix", prefix=(3, 1))},
)


def people(rng: random.Random, number: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [rng.randint(20, 79) for _ in range(number)],
            "zip": [f"{rng.randint(530, 549)}{rng.randint(0, 9)}" for _ in range(number)],
            "s": [rng.choice(["flu", "HIV", "cold", None]) for _ in range(number)],
        }
    )


def test_ranges_prefixes_and_missing_values_through_files(tmp_path: Path) -> None:
    rows = people(seeded(1), 900)
    paths: list[str] = []
    for number, end in enumerate([300, 600, 900], start=1):
        release: Release = anonymize(rows[:end], PLAN, "k=5", method="correspondence", after=paths)
        paths += release.write(f"{tmp_path}/{number}.csv")
        assert release.groups > 3
    assert attack(paths, PLAN, only="correspondence", limits={"correspondence": 5}).verdict == Verdict.WITHSTOOD
    assert release.draft.notes["after"] == 2


def test_the_same_data_for_a_second_recipient() -> None:
    rows = people(seeded(2), 400)
    first = anonymize(rows, PLAN, "k=5", method="topdown").frame
    second = anonymize(rows, PLAN, "k=5", method="correspondence", after=[first])
    finding = attack([first, second], PLAN, only="correspondence", limits={"correspondence": 5})["correspondence"]
    assert finding.worst is not None
    assert finding.worst >= 5
    assert finding.details["BA"] == 0
    assert second.groups > 1


def test_it_says_which_release_binds_and_by_how_much() -> None:
    rows = people(seeded(3), 63)
    first = anonymize(rows[:60], PLAN, "k=5", method="correspondence").frame
    with pytest.raises(NotMetError, match=r"only 3 of 5 records .* Release 1 binds. Wait until at least 2 more"):
        anonymize(rows, PLAN, "k=5", method="correspondence", after=[first])
    with pytest.raises(NotMetError, match=r"only 3 of 5 records"):
        anonymize(rows, PLAN, "l=2 & k=5", method="correspondence", after=[first])
    with pytest.raises(NotMetError, match=r"release 1 already leaves only .* Release 1 binds"):
        anonymize(people(seeded(3), 200), PLAN, "k=50", method="correspondence", after=[first])


def test_earlier_releases_that_cannot_be_followed_are_refused() -> None:
    rows = people(seeded(4), 100)
    first = anonymize(rows, PLAN, "k=5", method="correspondence").frame
    with pytest.raises(DataError, match=r"lacks \d+ records that release 1 published"):
        anonymize(rows[:90], PLAN, "k=5", method="correspondence", after=[first])
    with pytest.raises(DataError, match="lacks"):
        anonymize(rows.with_columns(s=pl.lit("other")), PLAN, "k=5", method="correspondence", after=[first])
    local = anonymize(rows, PLAN, "k=5", method="mondrian").frame
    with pytest.raises(DataError, match="no global recoding"):
        anonymize(rows, PLAN, "k=5", method="correspondence", after=[local])
    apart = anonymize(rows, PLAN, "l=2", method="anatomy")
    with pytest.raises(DataError, match="apart"):
        anonymize(rows, PLAN, "k=5", method="correspondence", after=[apart])
    with pytest.raises(InputError, match="must be a list"):
        anonymize(rows, PLAN, "k=5", method="correspondence", after="first.csv")
    with pytest.raises(InputError, match="must be a list"):
        anonymize(rows, PLAN, "k=5", method="correspondence", after=first)
    with pytest.raises(RequirementError, match="all rows in one group"):
        anonymize(rows, PLAN, "m-unique=2", method="correspondence")


def test_ranges_that_cross_earlier_ones_are_left_alone() -> None:
    rows = people(seeded(6), 600)
    first = anonymize(rows[:300], PLAN, "k=20", method="correspondence").frame
    other = Schema(PLAN.columns, {**PLAN.hierarchies, "age": Hierarchy("ranges", ranges=(7, 14, 28))})
    second = anonymize(rows, other, "k=20", method="correspondence", after=[first]).frame
    finding = attack([first, second], PLAN, only="correspondence", limits={"correspondence": 20})["correspondence"]
    assert finding.status == "withstood"


def test_a_release_that_does_not_withstand_the_attack_is_never_returned() -> None:
    rows = people(seeded(7), 306)
    first = anonymize(rows[:300], PLAN, "k=5", method="correspondence").frame
    careless = anonymize(rows, PLAN, "k=5", method="topdown")
    assert (
        attack([first, careless], PLAN, only="correspondence", limits={"correspondence": 5}).verdict == Verdict.EXPOSED
    )
    with pytest.raises(InternalError, match="withstand"):
        recheck(careless, [first])
