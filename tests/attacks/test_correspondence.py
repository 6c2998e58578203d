"""The attack against its definition, on thousands of tiny series, and what it makes of other releases."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reissue import Hierarchy
from reissue.attacks import CannotRunError, Knowledge
from reissue.attacks.findings import Finding, Status, Verdict
from reissue.counting import segments as segments_module
from reissue.errors import DataError, InputError, SchemaError, TaxonomyError
from reissue.papers.correspondence import chains as chains_module
from reissue.papers.correspondence.attack import crack_sizes
from reissue.papers.correspondence.chains import solve, targets, varying
from reissue.published.boxes import read_counts
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.schema import Schema
from tests.attacks.brute import (
    CHILDREN,
    Chain,
    History,
    brute_left,
    chain_of,
    left_of,
    random_history,
    schema,
    seeded,
    views_of,
)

Left = dict[tuple[int, Chain], int]


def line_of(history: History) -> Left:
    views = views_of(history.releases)
    return left_of(targets(views), views)


def exact_of(history: History) -> Left:
    views = views_of(history.releases)
    solved = solve(list(targets(views)), views.releases)
    assert solved.too_large == 0
    return left_of(solved.targets, views)


def complete(ours: Left, truth: Left) -> Left:
    """A chain that the attack does not list has nothing left."""
    assert ours.keys() <= truth.keys()
    return {key: ours.get(key, 0) for key in truth}


@pytest.mark.parametrize("attributes", [1, 2, 3])
def test_two_releases_are_exact(attributes: int) -> None:
    rng = seeded(attributes)
    for _ in range(1000):
        history = random_history(rng, 2, attributes, 8, 2)
        truth = brute_left(history.releases)
        assert complete(line_of(history), truth) == truth


@pytest.mark.parametrize("releases", [3, 4])
def test_one_attribute_is_exact(releases: int) -> None:
    rng = seeded(releases)
    for _ in range(200):
        history = random_history(rng, releases, 1, 7, 2)
        truth = brute_left(history.releases)
        assert complete(line_of(history), truth) == truth


def test_attributes_that_all_releases_cut_alike_do_not_matter() -> None:
    rng = seeded(77)
    for _ in range(60):
        drawn = random_history(rng, rng.choice([3, 4]), 2, 7, 1)
        history = History(drawn.arrivals, tuple((cuts[0], drawn.cuts[0][1]) for cuts in drawn.cuts))
        truth = brute_left(history.releases)
        assert complete(line_of(history), truth) == truth
        assert varying(read_counts(history.frames(), schema(2))) <= 1


def check_line_and_exact(rng: random.Random, releases: int, attributes: int, cases: int) -> None:
    for _ in range(cases):
        history = random_history(rng, releases, attributes, 6, 1)
        truth = brute_left(history.releases)
        line = complete(line_of(history), truth)
        assert all(line[key] >= left for key, left in truth.items())
        assert complete(exact_of(history), truth) == truth


@pytest.mark.parametrize(("releases", "attributes", "cases"), [(3, 2, 200), (4, 2, 50), (3, 3, 40)])
def test_the_line_is_never_below_the_truth_and_exact_is_the_truth(releases: int, attributes: int, cases: int) -> None:
    check_line_and_exact(seeded(10 * releases + attributes), releases, attributes, cases)


@pytest.mark.slow
@pytest.mark.parametrize(("releases", "attributes", "cases"), [(3, 2, 1500), (4, 2, 300), (3, 3, 300)])
def test_the_line_and_exact_on_thousands(releases: int, attributes: int, cases: int) -> None:
    check_line_and_exact(seeded(releases - attributes), releases, attributes, cases)


TOO_MANY = History(
    (((("d", "c"), "x"), (("d", "a"), "x")), ((("b", "c"), "x"),), ((("d", "b"), "x"),)),
    (
        (("A", "c", "d"), ("*",)),
        (("*",), ("a", "b", "B")),
        (("A", "c", "d"), ("a", "b", "B")),
    ),
)
"""Who arrived at release 2 with [*, a] there and [d, a] in release 3: the line leaves 1, but nobody can be there."""
NOBODY = 1, (("*", "a"), ("d", "a"))


def test_the_line_may_leave_too_many_and_exact_does_not() -> None:
    assert brute_left(TOO_MANY.releases)[NOBODY] == 0
    assert line_of(TOO_MANY)[NOBODY] == 1
    assert exact_of(TOO_MANY)[NOBODY] == 0


def test_exact_says_how_many_components_it_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = TOO_MANY.frames()
    line = attack(frames, schema(2), only="correspondence")["correspondence"]
    assert line.details["exact"] is False
    exact = attack(frames, schema(2), only="correspondence", exact=True)["correspondence"]
    assert exact.details["exact"] is True
    assert exact.details["components"] == {"solved": 2, "bounded": 0}
    monkeypatch.setattr(chains_module, "MOST_VARIABLES", 1)
    bounded = attack(frames, schema(2), only="correspondence", exact=True)["correspondence"]
    assert bounded.details["exact"] is False
    assert bounded.details["components"]["bounded"] == 1
    assert bounded.details["left"] == line.details["left"]
    monkeypatch.setattr(chains_module, "MOST_VARIABLES", 2000)
    monkeypatch.setattr(chains_module, "MOST_PROGRAMS", 1)
    assert attack(frames, schema(2), exact=True)["correspondence"].details["components"]["bounded"] == 2


def test_two_releases_are_exact_without_being_asked() -> None:
    two = attack(TOO_MANY.frames()[:2], schema(2))["correspondence"]
    assert two.details["exact"] is True
    assert "components" not in two.details


def test_what_is_left_of_a_person_only_shrinks_when_cuts_become_finer() -> None:
    rng = seeded(4)
    for _ in range(300):
        history = random_history(rng, rng.choice([2, 3]), 2, 9, 2)
        last = list(history.cuts[-1])
        place = rng.randrange(2)
        last[place] = tuple(n for node in last[place] for n in CHILDREN.get(node, (node,)))
        finer = History(history.arrivals, (*history.cuts[:-1], tuple(last)))
        before, after = line_of(history), line_of(finer)
        for arrived, some in enumerate(history.arrivals):
            for values, _ in some:
                assert (
                    before[arrived, chain_of(values, arrived, history.cuts)]
                    >= after[arrived, chain_of(values, arrived, finer.cuts)]
                    >= 1
                )


def test_frames_give_what_their_codes_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "_PIECE", 3)
    rng = seeded(8)
    for _ in range(60):
        history = random_history(rng, rng.choice([2, 3, 4]), 2, 12, 3)
        finding = attack(history.frames(), schema(2), only="correspondence", limits={"correspondence": 3})[
            "correspondence"
        ]
        left = line_of(history)
        for arrived, least in enumerate(finding.details["left"]):
            assert least == min((x for (at, _), x in left.items() if at == arrived and x), default=0)
        assert finding.worst == min(x for x in left.values() if x)
        assert (finding.status == Status.EXPOSED) == (finding.worst < 3)
        assert finding.details["targets"] == sum(0 < x < 3 for x in left.values())
        assert finding.people <= finding.population == len(history.releases[-1])
        # Nobody really exposed is missing from the count.
        exposed = sum(
            left[arrived, chain_of(values, arrived, history.cuts)] < 3
            for arrived, some in enumerate(history.arrivals)
            for values, _ in some
        )
        assert exposed <= finding.people


def test_many_possible_values_are_searched_for_instead_of_tabled() -> None:
    rng = seeded(9)
    for _ in range(30):
        views = views_of(random_history(rng, 3, 2, 12, 3).releases)
        sparse = replace(views, values=views.values + (("never",),) * 200_000)
        assert left_of(targets(sparse), sparse) == left_of(targets(views), views)


# --- the finding -----------------------------------------------------------------------------------------------------

WHOLE = pl.DataFrame({"age": ["[20, 39]"] * 4 + ["[40, 59]"] * 4, "s": list("xxyyxxyy")})
HALVES = pl.DataFrame({"age": ["[20, 29]"] * 2 + ["[30, 39]"] * 2 + ["[40, 59]"] * 4, "s": list("xyxyxxyy")})
AGES = Schema.of_columns(quasi=["age"], sensitive=["s"])


def found(*frames: pl.DataFrame, schema: Schema = AGES, **options: object) -> Finding:
    return attack(list(frames), schema, only="correspondence", **options)["correspondence"]  # type: ignore[arg-type]


def test_the_same_data_for_two_recipients() -> None:
    finding = found(WHOLE, HALVES)
    assert finding.status == Status.WITHSTOOD
    assert finding.limit == 2
    assert finding.details["left"] == [2, 0], "nobody came in between"
    assert found(WHOLE, HALVES, limits={"correspondence": 3}).status == Status.EXPOSED


def test_two_recipients_who_each_hold_a_safe_release_find_one_record_together() -> None:
    quasi = {"age": Hierarchy("tree", tree={"old": ["60s", "70s"], "young": ["20s", "30s"]}), "sex": Hierarchy("flat")}
    plan = Schema.of_columns(quasi=["age", "sex"], sensitive=["s"], taxonomies=quasi)
    people = [("60s", "f", "x"), ("70s", "f", "y"), ("60s", "m", "y"), ("70s", "m", "x")]
    by_sex = pl.DataFrame([("old", sex, s) for _, sex, s in people], schema=["age", "sex", "s"], orient="row")
    by_age = pl.DataFrame([(age, "*", s) for age, _, s in people], schema=["age", "sex", "s"], orient="row")
    assert found(by_sex, by_sex, schema=plan).worst == 2
    assert found(by_sex, by_age, schema=plan).worst == 2
    people[0], people[2] = ("60s", "f", "z"), ("60s", "m", "w")
    by_sex = pl.DataFrame([("old", sex, s) for _, sex, s in people], schema=["age", "sex", "s"], orient="row")
    by_age = pl.DataFrame([(age, "*", s) for age, _, s in people], schema=["age", "sex", "s"], orient="row")
    finding = found(by_sex, by_age, schema=plan)
    assert finding.status == Status.EXPOSED
    assert (finding.worst, finding.limit) == (1, 2)
    assert finding.details["BA"] == 0


def test_the_limit_comes_from_the_caller_then_the_policy_then_the_smallest_group() -> None:
    assert found(WHOLE, HALVES).limit == 2
    policy = Schema(AGES.columns, policy={"require": "k=3 & l=2"})
    assert found(WHOLE, HALVES, schema=policy).limit == 3
    assert found(WHOLE, HALVES, schema=policy, limits={"correspondence": 4}).limit == 4


def test_of_our_own_releases_the_promise_is_known() -> None:
    raw = pl.DataFrame({"age": [21, 25, 33, 38, 41, 47, 52, 55], "s": list("xxyyxxyy")})
    plan = Schema.of_columns(quasi=["age"], sensitive=["s"])
    one, two = (anonymize(raw, plan, f"k={k}", method="correspondence") for k in (4, 3))
    assert attack([one, two], plan, only="correspondence")["correspondence"].limit == 3
    assert attack([one, two.frame], plan, only="correspondence")["correspondence"].limit == 8


def test_the_sentence_is_plain_and_holds_no_cell_value() -> None:
    finding = found(WHOLE, HALVES, limits={"correspondence": 3})
    assert finding.sentence == (
        "Holding releases 1 and 2 together, 2 records that look alike are only 2 for someone who is in release 1; "
        "the limit is 3, and up to 4 of 8 people get less."
    )
    assert found(WHOLE, HALVES).sentence == (
        "Holding releases 1 and 2 together, anyone still has at least 2 records to hide among; the limit is 2."
    )


def test_the_worst_target_is_told_as_published() -> None:
    target = found(WHOLE, HALVES, limits={"correspondence": 3}).details["worst_target"]
    assert target["arrived"] == 1
    assert [group["published"]["age"] for group in target["groups"]] == ["[20, 39]", "[20, 29]"]
    assert [(group["size"], group["cracked"]) for group in target["groups"]] == [(4, 2), (2, 0)]


def test_an_adversary_may_hold_some_releases_only() -> None:
    finding = found(HALVES, WHOLE, HALVES, knowledge=Knowledge(holds=(3, 2)), limits={"correspondence": 3})
    assert finding.releases == (2, 3)
    assert finding.details["worst_target"]["arrived"] == 2
    assert "releases 2 and 3" in finding.sentence
    with pytest.raises(InputError, match="only 2"):
        found(WHOLE, HALVES, knowledge=Knowledge(holds=(1, 3)))
    with pytest.raises(InputError, match="holds"):
        Knowledge(holds=())


# --- releases of other kinds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([WHOLE], "only one"),
        ([WHOLE, HALVES[:7]], "lacks records"),
        ([HALVES, WHOLE.with_columns(s=pl.lit("x"))], "lacks records"),
        (
            [WHOLE, HALVES.with_columns(age=pl.Series(["[20, 29]", "[20, 39]"] + ["[30, 39]"] * 2 + ["*"] * 4))],
            "no global",
        ),
        (
            [WHOLE, HALVES.with_columns(age=pl.Series(["[20, 34]"] * 2 + ["[35, 44]"] * 2 + ["[45, 59]"] * 4))],
            "no cuts",
        ),
        ([WHOLE.with_columns(group=1), WHOLE], "apart"),
    ],
)
def test_what_does_not_apply_is_not_run(frames: list[pl.DataFrame], reason: str) -> None:
    finding = found(*frames, limits={"correspondence": 2})
    assert finding.status == Status.NOT_RUN
    assert reason in str(finding.reason)
    assert finding.sentence == f"Not run: {finding.reason}"


def test_values_that_change_are_another_attacks_case() -> None:
    changing = Schema(AGES.columns, updates={"file": "updates.csv"})
    assert "change" in str(found(WHOLE, HALVES, schema=changing).reason)


def test_sets_that_are_no_interval_are_not_run() -> None:
    jobs = Schema.of_columns(quasi=["job"], sensitive=["s"])
    frames = [
        pl.DataFrame({"job": ["{a, c}", "b"], "s": ["x", "y"]}),
        pl.DataFrame({"job": ["*", "*"], "s": ["x", "y"]}),
    ]
    assert "sets" in str(found(*frames, schema=jobs).reason)


def test_local_recodings_expose_those_who_must_be_there() -> None:
    """Overlapping ages make release 2 no global recoding; all four of [20, 39] must be in its first two groups."""
    plan = Schema.of_columns(quasi=["age", "sex"], sensitive=["s"])
    one = pl.DataFrame({"age": ["[20, 39]"] * 4, "sex": ["f"] * 4, "s": list("xxyz")})
    two = pl.DataFrame(
        {
            "age": ["[20, 29]"] * 4 + ["[30, 39]"] * 4 + ["[20, 39]"] * 4,
            "sex": ["f"] * 8 + ["m"] * 4,
            "s": list("xxuuyzuuxyzu"),
        }
    )
    finding = found(one, two, schema=plan)
    assert finding.status == Status.EXPOSED
    assert (finding.worst, finding.limit, finding.people) == (2, 4, 4)
    assert finding.details["exact"] is False
    assert "no global" in finding.details["partial"]
    assert found(one, two, schema=plan, limits={"correspondence": 2}).status == Status.NOT_RUN


def test_too_many_chains_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains_module, "_MOST", 3)
    assert "too many chains" in str(found(WHOLE, HALVES, HALVES).reason)


def test_releases_that_no_history_explains_are_not_run() -> None:
    views = views_of([[(("a",), "x")], [(("*",), "x")]])
    some = list(targets(views))
    view = views.releases[1]
    broken = [views.releases[0], replace(view, count=np.array([3]))]
    with pytest.raises(CannotRunError, match="no history"):
        solve(some[:1], broken)


@pytest.mark.parametrize(
    ("one", "two", "hierarchy"),
    [
        (["20-39"] * 4, ["20-29"] * 2 + ["30-39"] * 2, Hierarchy()),
        (["[20, 40)"] * 4, ["[20, 30)"] * 2 + ["[30, 40)"] * 2, Hierarchy()),
        (["{a, b}"] * 4, ["a"] * 2 + ["b"] * 2, Hierarchy()),
        (["53***"] * 4, ["5371*"] * 2 + ["5370*"] * 2, Hierarchy("prefix", prefix=(4, 2))),
        (["2024"] * 4, ["2024-Q1"] * 2 + ["2024-05"] * 2, Hierarchy("dates")),
        (["*"] * 4, ["5"] * 2 + ["7"] * 2, Hierarchy()),
        (["*"] * 4, ["*"] * 4, Hierarchy("ranges", ranges=(5, 10))),
        (["*"] * 4, ["*"] * 4, Hierarchy("dates")),
        ([None] * 4, [None] * 4, Hierarchy()),
    ],
)
def test_other_tools_notations(one: list[str | None], two: list[str | None], hierarchy: Hierarchy) -> None:
    plan = Schema.of_columns(quasi=["q"], sensitive=["s"], taxonomies={"q": hierarchy})
    text = {"q": pl.String, "s": pl.String}
    first = pl.DataFrame({"q": one, "s": list("xxyy")}, schema=text)
    second = pl.DataFrame({"q": two, "s": list("xyxy")}, schema=text)
    finding = found(first, second, schema=plan)
    assert finding.status == Status.WITHSTOOD
    assert finding.worst == (4 if one == two else 2)


def test_files_frames_and_other_kinds_of_frames_are_the_same(tmp_path: Path) -> None:
    frames = [frame.with_columns(s=pl.col("s").replace_strict({"x": 1, "y": 2})) for frame in (WHOLE, HALVES)]
    frames[0].write_csv(tmp_path / "one.csv")
    frames[1].write_parquet(tmp_path / "two.parquet")
    files: list[object] = [tmp_path / "one.csv", str(tmp_path / "two.parquet")]
    expected = found(*frames, limits={"correspondence": 3})
    for releases in (files, [frame.to_pandas().astype({"s": float}) for frame in frames], [f.lazy() for f in frames]):
        assert attack(releases, AGES, only="correspondence", limits={"correspondence": 3}).findings == (expected,)


def test_bad_input_is_told() -> None:
    with pytest.raises(SchemaError, match="lacks columns"):
        found(WHOLE.rename({"age": "Age"}), HALVES)
    with pytest.raises(DataError, match="no rows"):
        found(WHOLE, HALVES[:0])
    with pytest.raises(InputError, match="list"):
        attack("one.csv", AGES)
    with pytest.raises(InputError, match="Did you mean 'correspondence'"):
        attack([WHOLE], AGES, only="correspondance")
    with pytest.raises(InputError, match="no attack"):
        attack([WHOLE], AGES, limits={"nothing": 3})
    jobs = Schema.of_columns(quasi=["age"], sensitive=["s"], taxonomies={"age": Hierarchy("tree", tree={"A": ["a"]})})
    with pytest.raises(TaxonomyError, match="cannot place"):
        found(WHOLE, HALVES, schema=jobs)
    with pytest.raises(InputError, match="exactly two"):
        crack_sizes([WHOLE], AGES)
    with pytest.raises(InputError, match="no crack sizes"):
        crack_sizes([WHOLE, HALVES[:7]], AGES)


def test_without_sensitive_columns_records_are_followed_by_their_values_alone() -> None:
    plan = Schema.of_columns(quasi=["age"])
    finding = found(WHOLE.drop("s"), HALVES.drop("s"), schema=plan)
    assert finding.worst == 2


def test_many_attributes_do_not_fit_one_integer() -> None:
    names = [f"q{place}" for place in range(40)]
    plan = Schema.of_columns(quasi=names, sensitive=["s"])
    one = pl.DataFrame({**{name: ["a", "b", "c", "c"] for name in names}, "s": list("xyxy")})
    two = one.with_columns(pl.lit("*").alias(name) for name in names[20:])
    assert found(one, two, schema=plan).worst == 1
    assert attack([one, two], plan, only="correspondence").verdict == Verdict.WITHSTOOD
