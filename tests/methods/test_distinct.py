"""m-Distinct: every produced series is m-Distinct by the independent check, on streams of all kinds of updates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from reissue import anonymize, synth
from reissue._arrays import Bools, Ints
from reissue.attacks.findings import Status
from reissue.errors import DataError, InputError, NotMetError, RequirementError, SchemaError
from reissue.papers.distinct.buckets import intersection, pieces, survey
from reissue.papers.series_check import check_series, legal
from reissue.publishing.attack import attack
from reissue.publishing.series import anonymize_series
from reissue.release.memory import load_memory, save_memory
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates
from reissue.utility import measure
from tests.effort import examples
from tests.papers.test_updates import SCHEMA as HOSPITAL
from tests.papers.test_updates import TABLE_3

VALUES = [f"v{number}" for number in range(6)]
MODELS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "branches": {"tree": True},
    "order": {"order": VALUES},
    "nested": {"file": "nested.csv"},
}


def schema(kind: str, folder: Path) -> Schema:
    roles = {"id": "identifier", "q": "quasi", "r": "quasi", "s": "sensitive"}
    if kind == "branches":
        pairs = [(a, b) for branch in (VALUES[:3], VALUES[3:]) for a in branch for b in branch]
    elif kind == "nested":
        pairs = [("v0", "v1"), ("v0", "v2"), ("v1", "v2"), ("v3", "v4"), ("v4", "v3")]
    else:
        updates = {"order": VALUES} if kind == "order" else {}
        return Schema(roles, updates=updates)  # type: ignore[arg-type]
    (folder / "u.csv").write_text("from,to\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    return Schema(roles, updates={"file": "u.csv"}, folder=folder)  # type: ignore[arg-type]


def stream(seed: int, model: UpdateModel, releases: int = 4, size: int = 16) -> list[pl.DataFrame]:
    """People come, leave and come back; quasi-identifiers and sensitive values change within the model."""
    rng = np.random.default_rng(seed)
    model = model.aligned(VALUES)
    state: dict[int, list[int]] = {}
    live: list[int] = []
    frames = []
    for release in range(releases):
        for one in live:
            state[one][0] += int(rng.integers(3))
            if rng.random() < 0.3:
                state[one][2] = int(rng.choice(np.flatnonzero(model.can[state[one][2]])))
        fresh = range(len(state), len(state) + (size if not release else int(rng.integers(1, size // 2))))
        for one in fresh:
            state[one] = [int(rng.integers(20)), int(rng.integers(3)), one % 6 if one < 12 else int(rng.integers(6))]
        back = [one for one in state if one not in live and one not in fresh and rng.random() < 0.3]
        live = [one for one in live if rng.random() < 0.75] + back + list(fresh)
        rows = [(one, *state[one]) for one in rng.permutation(live).tolist()]
        ids, q, r, s = zip(*rows, strict=True)
        frames.append(pl.DataFrame({"id": ids, "q": q, "r": ["xyz"[x] for x in r], "s": [VALUES[x] for x in s]}))
    return frames


def publish(
    frames: list[pl.DataFrame], plan: Schema, m: int, before: Sequence[Release] = (), **options: Any
) -> list[Release]:
    releases = list(before)
    for frame in frames:
        memory = releases[-1].draft.memory if releases else None
        options = {"ineligible": "counterfeits", **options}
        release = anonymize(frame, plan, f"m-unique={m}", method="distinct", memory=memory, seed=3, **options)
        releases.append(release)
    return releases[len(before) :]


@given(st.integers(0, 10**6), st.sampled_from(list(MODELS)), st.integers(2, 3))
@examples(60)
def test_every_series_is_m_distinct(tmp_path_factory: pytest.TempPathFactory, seed: int, kind: str, m: int) -> None:
    plan = schema(kind, tmp_path_factory.mktemp("updates"))
    frames = stream(seed, read_updates(plan, VALUES))
    releases = publish(frames, plan, m)
    outcome = check_series(releases, plan)
    assert outcome.distinct >= m
    assert outcome.certain == 0
    for frame, release in zip(frames, releases, strict=True):
        assert release.tables["release"].height == frame.height + release.counterfeits
        assert release.suppressed == 0


@given(st.integers(0, 10**6), st.sampled_from(["none", "branches", "nested"]))
@examples(30)
def test_star_begins_with_disjoint_sets(tmp_path_factory: pytest.TempPathFactory, seed: int, kind: str) -> None:
    plan = schema(kind, tmp_path_factory.mktemp("updates"))
    releases = publish(stream(seed, read_updates(plan, VALUES)), plan, 2, star=True)
    outcome = check_series(releases, plan)
    assert outcome.star >= 2
    if kind != "nested":  # branches of one size, all updates equally likely: here lemma 4 holds
        assert outcome.risk == pytest.approx(0.5)


@given(st.integers(0, 10**6), st.sampled_from(["branches", "nested", "order"]), st.sampled_from([0.5, 0.6, 0.75]))
@examples(40)
def test_nobody_is_above_the_limit(tmp_path_factory: pytest.TempPathFactory, seed: int, kind: str, risk: float) -> None:
    plan = schema(kind, tmp_path_factory.mktemp("updates"))
    frames = stream(seed, read_updates(plan, VALUES), releases=3)
    releases: list[Release] = []
    for frame in frames:
        try:
            releases = [*releases, *publish([frame], plan, 2, releases, risk=risk)]
        except NotMetError:
            break
    outcome = check_series(releases, plan)
    assert outcome.risk <= risk + 1e-9
    assert outcome.distinct >= 2
    assert max(release.draft.notes["risk"] for release in releases) == pytest.approx(outcome.risk)


def test_the_running_example() -> None:
    """Tables I and II: our releases are 2-Distinct, as III and V are; ours need no counterfeit."""
    first = pl.DataFrame(
        {
            "name": TABLE_3["name"],
            "zip": [14, 16, 24, 26, 29, 31],
            "hours": [20, 23, 32, 35, 17, 19],
            "disease": TABLE_3["disease"],
        }
    )
    second = pl.DataFrame(
        {
            "name": ["Ken", "Julia", "Tom", "Harry", "Lily", "Ben"],
            "zip": [14, 18, 15, 23, 12, 26],
            "hours": [20, 31, 27, 32, 17, 35],
            "disease": ["Dyspepsia", "Lung Cancer", "Pneumonia", "Dyspepsia", "Glaucoma", "Pneumonia"],
        }
    )
    releases = publish([first, second], HOSPITAL, 2)
    outcome = check_series(releases, HOSPITAL)
    assert (outcome.distinct, outcome.certain) == (2, 0)


def test_a_hospital_that_lives(tmp_path: Path) -> None:
    synth.updates().write_csv(tmp_path / "u.csv")
    base = synth.schema()
    plan = Schema(base.columns, base.hierarchies, updates={"file": "u.csv"}, folder=tmp_path)
    releases = publish(list(synth.Population(seed=4, people=800).months(4)), plan, 3)
    outcome = check_series(releases, plan)
    assert outcome.distinct >= 3
    assert outcome.certain == 0
    finding = attack(releases, plan, only="updates", limits={"updates": 0.999})["updates"]
    assert finding.details["certains"] == [0, 0, 0, 0]


def test_memory_goes_through_a_file(tmp_path: Path) -> None:
    plan = schema("nested", tmp_path)
    frames = stream(5, read_updates(plan, VALUES))
    memory = None
    releases = []
    for number, frame in enumerate(frames):
        options: dict[str, Any] = {"ineligible": "counterfeits", "risk": 1}
        releases.append(anonymize(frame, plan, "m-unique=2", method="distinct", memory=memory, seed=1, **options))
        assert releases[-1].draft.memory is not None
        save_memory(releases[-1].draft.memory, tmp_path / f"{number}.memory")
        memory = load_memory(tmp_path / f"{number}.memory")
    assert check_series(releases, plan).distinct >= 2


def test_what_is_refused(tmp_path: Path) -> None:
    plan = schema("order", tmp_path)
    frame = pl.DataFrame({"id": range(6), "q": range(6), "r": list("xyzxyz"), "s": VALUES})
    release = anonymize(frame, plan, "m-unique=2", method="distinct", seed=1)
    lower = frame.with_columns(s=pl.Series([*VALUES[:5], "v0"]))
    with pytest.raises(
        DataError, match=r"1 people have a sensitive value that their earlier one cannot become.*rows: 6"
    ):
        anonymize(lower, plan, "m-unique=2", method="distinct", memory=release.draft.memory)
    other = schema("branches", tmp_path)
    with pytest.raises(InputError, match="another update model"):
        anonymize(frame, other, "m-unique=2", method="distinct", memory=release.draft.memory)
    with pytest.raises(InputError, match="begun with m = 2"):
        anonymize(frame, plan, "m-unique=3", method="distinct", memory=release.draft.memory)
    with pytest.raises(InputError, match="without a limit"):
        anonymize(frame, plan, "m-unique=2", method="distinct", memory=release.draft.memory, risk=0.9)
    with pytest.raises(InputError, match="cannot be kept by groups of 2"):
        anonymize(frame, plan, "m-unique=2", method="distinct", risk=0.4)
    with pytest.raises(RequirementError, match="made for one requirement"):
        anonymize(frame, plan, "k=2", method="distinct")
    with pytest.raises(DataError, match="1 sensitive values so far that may stand together"):
        anonymize(frame, plan, "m-unique=2", method="distinct", star=True)
    same = frame.with_columns(s=pl.lit("v1"))
    with pytest.raises(DataError, match=r"not 2-eligible|every group needs 2"):
        anonymize(same, plan, "m-unique=2", method="distinct")
    (tmp_path / "u.csv").write_text("from,to,probability\nv0,v1,1\n")
    with pytest.raises(SchemaError, match="can stay what it is"):
        anonymize(frame, other, "m-unique=2", method="distinct")


def test_a_limit_that_no_grouping_keeps(tmp_path: Path) -> None:
    """The counter-example to lemma 4: whoever is with a or b has a posterior of 2/3 after two releases."""
    (tmp_path / "u.csv").write_text("from,to\nb,c\n")
    plan = Schema(
        {"id": "identifier", "q": "quasi", "s": "sensitive"},  # type: ignore[dict-item]
        updates={"file": "u.csv"},
        folder=tmp_path,
    )
    frame = pl.DataFrame({"id": range(4), "q": range(4), "s": ["a", "b", "a", "b"]})
    first = anonymize(frame, plan, "m-unique=2", method="distinct", risk=0.6, seed=1, star=True)
    with pytest.raises(NotMetError, match=r"The values of 4 people would be more likely than 0\.6"):
        anonymize(frame, plan, "m-unique=2", method="distinct", risk=0.6, memory=first.draft.memory, star=True)
    options: dict[str, Any] = {"memory": first.draft.memory, "star": True, "seed": 1}
    second = anonymize(frame, plan, "m-unique=2", method="distinct", risk=0.7, **options)
    outcome = check_series([first, second], plan)
    assert outcome.star == 2
    assert outcome.risk == pytest.approx(2 / 3)


def test_people_above_the_limit_are_left_out_where_that_is_allowed(tmp_path: Path) -> None:
    """What is refused without goes out without them; they are remembered, and may be in the next."""
    synth.updates().write_csv(tmp_path / "u.csv")
    plan = replace(synth.schema(), updates={"file": "u.csv"}, folder=tmp_path)
    months = list(synth.Population(seed=4, people=1_500).months(5))
    options: dict[str, Any] = {"method": "distinct", "seed": 1, "ineligible": "counterfeits", "risk": 0.7}
    releases: list[Release] = []
    for month in months:
        memory = releases[-1].draft.memory if releases else None
        releases.append(anonymize(month, plan, "m-unique=3", memory=memory, suppress=0.05, **options))
        if releases[-1].suppressed:
            with pytest.raises(NotMetError, match=r"\(first rows: .*\), and none may be left out"):
                anonymize(month, plan, "m-unique=3", memory=memory, **options)
    left = [release.suppressed for release in releases]
    assert max(left) > 1
    assert all(number <= 0.05 * month.height for number, month in zip(left, months, strict=True))
    outcome = check_series(releases, plan)
    assert (outcome.distinct, outcome.certain) == (3, 0)
    assert outcome.risk <= 0.7 + 1e-9
    finding = attack(releases, plan, only="updates", limits={"updates": 0.7})["updates"]
    assert (finding.people, finding.status) == (0, Status.WITHSTOOD)
    most = left.index(max(left))
    fewer = (left[most] - 1) / months[most].height
    with pytest.raises(NotMetError, match=f"more than the {left[most] - 1} that may be left out"):
        anonymize(months[most], plan, "m-unique=3", memory=releases[most - 1].draft.memory, suppress=fewer, **options)


# --- the machinery ---------------------------------------------------------------------------------------------------


@st.composite
def buckets(draw: st.DrawFn) -> tuple[Ints, Bools]:
    """Survivors by value and entries, as a closed model and a group before give them."""
    kind = draw(st.sampled_from(["order", "branches", "nested"]))
    model = {
        "order": UpdateModel.never_lower(VALUES),
        "branches": UpdateModel.in_branches(VALUES, np.array([0, 0, 0, 1, 1, 1])),
        "nested": UpdateModel.of_pairs(["v0", "v0", "v1"], ["v1", "v2", "v2"], None).aligned(VALUES),
    }[kind]
    group = draw(st.lists(st.integers(0, 5), min_size=2, max_size=4, unique=True))
    entries = model.can[group]
    possible = np.flatnonzero(entries.any(axis=0))
    number = np.zeros(6, np.int64)
    for value in possible:
        number[value] = draw(st.integers(0, 9))
    number[possible[0]] += not number.any()
    return number, entries


@given(buckets())
def test_buckets_are_completed_and_cut(case: tuple[Ints, Bools]) -> None:
    number, entries = case
    bucket = survey(number, entries)
    assert bucket is not None
    bucket.complete()
    assert (bucket.placed.sum(axis=1) == bucket.depth).all()
    assert (bucket.placed.sum(axis=0) <= bucket.depth).all()
    assert (bucket.placed[~entries] == 0).all()
    assert (bucket.fakes >= 0).all()
    kind = np.array([0, 0, 1, 1, 2, 2])
    cut = pieces(bucket.placed, kind)
    assert (np.sum(cut, axis=0) == bucket.placed).all()
    for piece in cut:
        assert (piece.sum(axis=1) == piece[0].sum()).all()
        assert ((piece > 0).sum(axis=0) <= 1).all()
        for entry in piece:
            assert len(set(kind[np.flatnonzero(entry)].tolist())) == 1


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=2, max_size=2), st.integers(0, 999))
def test_intersections_match_entries_one_by_one(rows: list[list[bool]], seed: int) -> None:
    one = np.array(rows)
    other = np.random.default_rng(seed).random((2, 4)) < 0.5
    found = intersection(one, other)
    common = one.astype(int) @ other.T.astype(int)
    a, b = linear_sum_assignment(common > 0, maximize=True)
    assert (found is None) == (not (common[a, b] > 0).all())
    if found is not None:
        assert found.any(axis=1).all()


def test_legal_update_instances() -> None:
    model = UpdateModel.in_branches(["a", "b", "c", "d"], np.array([0, 0, 1, 1]))
    assert legal([0, 2], [1, 3], model)
    assert not legal([0, 2], [0, 1], model)
    assert not legal([0, 2], [0, 2, 3], model)


@pytest.mark.parametrize("form", ["permuted", "two tables"])
def test_values_apart_keep_quasi_identifiers_and_give_nothing_more_away(form: str, tmp_path: Path) -> None:
    """The same groups, published with exact quasi-identifiers: who follows people learns the same."""
    months = list(synth.Population(seed=5, people=400).months(3))
    synth.updates().write_csv(tmp_path / "updates.csv")
    plan = replace(synth.schema(), updates={"file": "updates.csv"}, folder=tmp_path)
    series = {
        one: anonymize_series(
            months, plan, "m-unique=5", seed=1, method="distinct", ineligible="counterfeits", form=one
        )
        for one in ("generalized", form)
    }
    risks = [attack(some, plan, only="updates")["updates"].details["risks"] for some in series.values()]
    assert risks[0] == risks[1]
    quasi = list(plan.quasi)
    for month, release in zip(months, series[form], strict=True):
        shown = release.tables["release" if form == "permuted" else "quasi"].select(quasi).cast(pl.String)
        assert month.select(quasi).cast(pl.String).join(shown, on=quasi, how="anti").is_empty()
        assert measure(release).covered == 0
        assert 0 < measure(release).loss <= measure(series["generalized"][0]).loss


@pytest.mark.parametrize("star", [False, True])
def test_too_few_values_are_told_without_advice_that_does_not_apply(star: bool) -> None:
    frame = pl.DataFrame({"owner": range(12), "q": range(12), "s": ["a", "b", "c"] * 4})
    plan = replace(Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="owner"), updates={"none": True})
    with pytest.raises(DataError, match=r"every group needs 5\. Choose a smaller m") as told:
        anonymize(frame, plan, "m-unique=5", method="distinct", star=star, ineligible="counterfeits")
    assert ("star" in str(told.value)) == star
