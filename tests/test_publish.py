"""publish: every method, replay, refusals, recipients, and silence about people."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from reissue import Hierarchy, synth
from reissue.attacks.findings import Finding
from reissue.errors import DataError, InputError
from reissue.ledger import Ledger
from reissue.ledger.ledger import Recorded
from reissue.policy import Policy
from reissue.publishing.adopt import adopt
from reissue.publishing.attack import attack
from reissue.publishing.gate import held_together
from reissue.publishing.publish import publish, publish_next
from reissue.publishing.refusal import RefusedError
from reissue.schema import Schema
from tests.attacks.carrying import assert_same
from tests.ledger.series import FREE, HARMLESS, INVARIANCE, JUDGED, MONTHS, POOL, UNJUDGED, schema

GROWING = [pl.concat(MONTHS[: number + 1]).unique("patient", keep="first", maintain_order=True) for number in range(3)]
METHODS: Mapping[str, tuple[list[pl.DataFrame], Mapping[str, Any]]] = {
    "pool": (MONTHS, POOL),
    "mondrian": (MONTHS, {**POOL, "method": "mondrian", "suppress": 0.05}),
    "topdown": (MONTHS, {**POOL, "method": "topdown"}),
    "anatomy": (MONTHS, {**POOL, "method": "anatomy", "require": "simple-l=2"}),
    "mask": (
        MONTHS,
        {"method": "mask", "require": "k=5 & simple-l=2", "attacks": ["minimality"], "alone": True},
    ),
    "providers": (
        MONTHS,
        {**FREE, "method": "providers", "require": "k=4", "attacks": ["coalition"], "alone": True},
    ),
    "correspondence": (
        GROWING,
        {**FREE, "method": "correspondence", "require": "k=5", "attacks": ["correspondence"]},
    ),
    "invariance": (MONTHS, INVARIANCE),
    "distinct": (MONTHS, {**FREE, "method": "distinct", "require": "m-unique=3", "attacks": ["updates"]}),
    "equivalence": (
        MONTHS,
        {
            "method": "equivalence",
            "require": "simple-l=3",
            "options": {"e": 3},
            "attacks": ["updates", "equivalence"],
            **FREE,
        },
    ),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "x.ledger"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_publishes_and_replays(method: str, place: Path, tmp_path: Path) -> None:
    months, policy = METHODS[method]
    with Ledger.create(place, schema(policy)) as ledger:
        made = [publish_next(month, ledger) for month in months[:3]]
        assert [one.number for one in made] == [1, 2, 3]
        assert all(one.release.method == method for one in made)
        assert ledger.verify() == []
        last = publish_next(months[2], ledger)
        assert last.again
        assert {name: frame.to_dict() for name, frame in last.release.tables.items()}
        assert ledger.tables(ledger.release(3)).keys() == last.release.tables.keys()
    key = place.with_name("x.ledger.key")
    with Ledger.create(tmp_path / "y.ledger", schema(policy), key=key, head=tmp_path / "y.head") as other:
        for number, month in enumerate(months[:3], start=1):
            publish(month, other)
            assert other.release(number).record.csv == made_csv(place, number)


def made_csv(place: Path, number: int) -> Any:
    with Ledger.open(place) as ledger:
        return ledger.release(number).record.csv


def test_without_the_key_nobody_gets_the_same_release(tmp_path: Path) -> None:
    texts = []
    for name in ("x", "y"):
        with Ledger.create(tmp_path / name, schema(POOL)) as ledger:
            texts.append(publish(MONTHS[0], ledger).frame.write_csv())
    assert texts[0] != texts[1]


def test_a_seed_decides_the_rest(tmp_path: Path) -> None:
    texts = []
    for name in ("x", "y"):
        with Ledger.create(tmp_path / name, schema(POOL)) as ledger:
            texts.append(publish(MONTHS[0], ledger, seed=3).frame.write_csv())
    assert texts[0] == texts[1]


def test_the_users_kind_of_frame_comes_back(place: Path) -> None:
    with Ledger.create(place, schema(POOL)) as ledger:
        frame = publish(MONTHS[0].to_pandas(), ledger).frame
        assert type(frame).__module__.startswith("pandas")


def test_identifiers_and_left_out_records_are_nowhere(
    place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    months = [
        month.with_columns(
            pl.format("Xanthippe-{}", "patient").alias("patient"),
            # One person whom no group takes in: everything about it is its own.
            pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("Z9777")).otherwise("zip").alias("zip"),
        )
        for month in MONTHS[:3]
    ]
    policy = {**JUDGED, "method": "incognito", "suppress": 0.2}
    policy |= {"not_run": "allow"}
    text = ""
    with Ledger.create(place, schema({**policy, **HARMLESS})) as ledger:
        releases = [publish(month, ledger) for month in months]
        assert any(release.suppressed for release in releases)
        ledger.amend(schema(policy))
        with pytest.raises(RefusedError) as refused:
            publish(MONTHS[3].with_columns(pl.format("Xanthippe-{}", "patient").alias("patient")), ledger)
        text += refused.value.report.text + str(refused.value.report.as_dict())
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    frames = [pl.read_parquet(path) for path in place.rglob("*.parquet")]
    seen = "".join(frame.write_csv() for frame in frames)
    written = capsys.readouterr()
    everything = kept.decode("latin1") + seen + text + caplog.text + written.out + written.err
    assert "Xanthippe" not in everything
    assert all("Z9777" not in part for part in (seen, text)) or not any(r.draft.groups[0] < 0 for r in releases)


def test_who_is_left_out_below_a_limit_is_nowhere(place: Path, tmp_path: Path) -> None:
    """Exact quasi-identifiers go out here, another zip code for everybody each month; not of those who are left out."""
    synth.updates().write_csv(tmp_path / "updates.csv")
    policy: dict[str, Any] = {
        "require": "m-unique=3",
        "method": "distinct",
        "attacks": ["updates"],
        "limits": {"updates": 0.7},
    }
    policy |= {"options": {"risk": 0.7, "ineligible": "counterfeits", "form": "permuted"}, "suppress": 0.05, **UNJUDGED}
    flat = {**synth.schema().hierarchies, "zip": Hierarchy("flat")}
    plan = replace(schema(policy), hierarchies=flat, updates={"file": "updates.csv"}, folder=tmp_path)
    gone, there = [], []
    with Ledger.create(place, plan) as ledger:
        for number, month in enumerate(synth.Population(seed=4, people=1_500).months(5)):
            frame = month.with_columns(pl.format("Z{}m{}z", "patient", pl.lit(number)).alias("zip"))
            left = publish(frame, ledger).draft.groups < 0
            gone += frame["zip"].filter(left).to_list()
            there += frame["zip"].filter(~left).head(1).to_list()
    seen = "".join(pl.read_parquet(path).write_csv() for path in place.rglob("*.parquet"))
    kept = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file()).decode("latin1")
    assert len(gone) > 1
    assert all(zip_code in seen for zip_code in there)
    assert not any(zip_code in seen + kept for zip_code in gone)


def test_exact_values_of_left_out_records_are_not_kept(place: Path) -> None:
    ages = [20, 21, 22, 23, 24] * 8
    frame = pl.DataFrame(
        {
            "p": [f"Xanthippe {number}" for number in range(41)],
            "age": [*ages, 97],
            "town": ["Hull"] * 40 + ["Xanadu"],
            "ill": ["flu", "burn"] * 20 + ["flu"],
        }
    )
    text = '[columns]\np="identifier"\nage="quasi"\ntown="quasi"\nill="sensitive"\n[taxonomy.town]\nflat=true\n'
    text += '[policy]\nrequire="k=5"\nmethod="incognito"\nsuppress=0.1\nattacks=["updates"]\n'
    plan = Schema.loads(text + 'sensitive_values=["none of these"]\n')
    with Ledger.create(place, plan) as ledger:
        release = publish(frame, ledger)
        assert release.draft.groups[40] < 0, "the last one is left out"
    kept = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file()).decode("latin1")
    seen = "".join(pl.read_parquet(path).write_csv() for path in place.rglob("*.parquet"))
    assert "Xanadu" not in kept + seen
    assert ",97," not in seen
    assert "Xanthippe" not in kept + seen


def test_a_refusal_says_what_leaked_and_what_would_help(place: Path) -> None:
    with Ledger.create(place, schema({**JUDGED})) as ledger:
        publish(MONTHS[0], ledger)
        before = ledger.entries()
        with pytest.raises(RefusedError) as caught:
            publish(MONTHS[1], ledger)
        report = caught.value.report
        assert report.release == 2
        assert report.problems[0].startswith("updates: The values of ")
        assert any("invariance" in line for line in report.advice)
        assert any("k=10" in line and "instead of k=5" in line for line in report.advice)
        assert len(report.advice) == 3
        assert not any("distinct" in line for line in report.advice), "the joint attack breaks it"
        assert ledger.entries() == before
        assert ledger.verify() == []


def test_a_refusal_by_a_papers_measure_alone_says_that_the_probability_is_fine(place: Path) -> None:
    policy = {"attacks": ["joint", "updates"], "limits": {"updates": 0.2}, "require": "k=5 & l=3", "limit": 0.95}
    with Ledger.create(place, schema(policy)) as ledger:
        with pytest.raises(RefusedError) as caught:
            publish(MONTHS[0], ledger)
        assert any("'updates' is a measure, no probability" in line for line in caught.value.report.advice)


def test_a_kept_column_that_is_as_good_as_a_pseudonym_is_said(place: Path) -> None:
    kept = schema({**FREE, "require": "k=5", "method": "pool", "attacks": ["joint"]}).with_roles({"record": "keep"})
    said = []
    for number, values in enumerate((pl.int_range(pl.len()), pl.int_range(pl.len()) % 9)):
        with Ledger.create(f"{place}-{number}", kept) as ledger:
            made = publish_next(MONTHS[0].with_columns(record=values), ledger)
            said.append([line for line in made.warnings if "their rows are linked" in line])
    assert len(said[0]) == 1
    assert "'record'" in said[0][0]
    assert said[1] == []


def test_a_policy_that_names_no_attacks_is_told_so(place: Path) -> None:
    policy = {key: value for key, value in FREE.items() if key != "attacks"} | {"require": "simple-l=2"}
    alone = schema({**policy, "method": "anatomy"}).with_roles({"hospital": "drop"})
    with Ledger.create(place, alone) as ledger:
        with pytest.raises(RefusedError) as caught:
            publish(MONTHS[0], ledger)
        report = caught.value.report
        assert any("names no attacks, so all are asked for" in line for line in report.problems)
        assert any("`attacks` in the policy" in line for line in report.advice)


def test_what_was_not_run_blocks_unless_the_policy_says_otherwise(place: Path, tmp_path: Path) -> None:
    policy = {**FREE, "require": "simple-l=2", "method": "anatomy", "attacks": ["correspondence"]}
    with Ledger.create(place, schema(policy)) as ledger:
        publish(MONTHS[0], ledger)
        with pytest.raises(RefusedError, match="The policy asks for this attack"):
            publish(MONTHS[1], ledger)
        more = {"attacks": ["correspondence", "updates"], **HARMLESS}
        ledger.amend(schema({**policy, **more, "not_run": ["correspondence"]}))
        publish(MONTHS[1], ledger)


@pytest.mark.parametrize(
    "blind",
    [
        {"attacks": []},
        {"attacks": ["minimality"]},
        {"attacks": ["correspondence"], "not_run": "allow"},
        {"attacks": ["correspondence"], "not_run": ["correspondence"]},
        {"attacks": ["correspondence"], "not_run": "allow", "look_back": 1},
        {"attacks": ["correspondence"], "not_run": "allow", "collude": [["a", "b"]]},
    ],
)
def test_a_release_that_nothing_was_compared_with_is_refused(blind: dict[str, Any], place: Path) -> None:
    """Twelve people of one age, then one more: the difference of the two is the newcomer's value."""
    values = ["flu", "asthma", "gout"] * 4 + ["HIV"]
    people = pl.DataFrame({"age": [40] * 13, "ill": values})
    plan = Schema.of_columns(quasi=["age"], sensitive=["ill"])
    plan = replace(plan, policy={"require": "k=5 & l=2", "method": "anatomy", **blind})
    if "minimality" in blind["attacks"]:
        plan = replace(plan, policy={**plan.policy, "method": "mondrian"})
    else:
        plan = replace(plan, policy={**plan.policy, "require": "simple-l=2"})
    with Ledger.create(place, plan) as ledger:
        publish(people.head(12), ledger, recipients=["a"])
        before = ledger.entries()
        with pytest.raises(RefusedError, match="No attack compared it with release 1") as refused:
            publish(people, ledger, recipients=["b"])
        assert {"'correspondence'", "'equivalence'"} <= set(refused.value.report.advice[0].replace(",", " ").split())
        assert "alone = true" in refused.value.report.advice[0]
        assert ledger.entries() == before


@pytest.mark.parametrize("attacks", [[], ["minimality"]])
def test_where_people_have_names_the_joint_attack_always_compares(attacks: list[str], place: Path) -> None:
    people = pl.DataFrame({"p": range(13), "age": [40] * 13, "ill": ["flu", "asthma", "gout"] * 4 + ["HIV"]})
    plan = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="p")
    plan = replace(plan, policy={"require": "k=5 & l=2", "method": "mondrian", "attacks": attacks})
    with Ledger.create(place, plan) as ledger:
        publish(people.head(12), ledger)
        with pytest.raises(RefusedError, match=r"joint: 1 of 13 people .* the value of 1 is certain"):
            publish(people, ledger)
        assert len(ledger.releases) == 1


def test_a_release_that_is_too_large_for_the_joint_attack_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for it by name, yet the verdict rests on it."""
    asked = {**JUDGED, "limit": 0.75, "not_run": "refuse", "sensitive_values": ["none of these"]}
    with Ledger.create(place, schema(asked)) as ledger:
        publish(MONTHS[0], ledger)
        monkeypatch.setattr("reissue.attacks.joint.sight._LARGEST", 1)
        with pytest.raises(RefusedError, match="too many to follow"):
            publish(MONTHS[1], ledger)


def test_an_older_release_is_compared_though_the_last_ones_are_others(place: Path) -> None:
    """Looking back one release is one that the recipient holds, not just the last one."""
    policy = {**POOL, "collude": [], "look_back": 1}
    with Ledger.create(place, schema(policy)) as ledger:
        publish(MONTHS[0], ledger, recipients=["ministry"])
        publish(MONTHS[1], ledger, recipients=["institute"])
        made = publish_next(MONTHS[2], ledger, recipients=["ministry"])
        assert made.findings["updates"].releases == (1, 3)


def test_releases_that_never_meet_go_out_with_a_warning(place: Path) -> None:
    policy = {**FREE, "require": "k=5", "attacks": [], "alone": True}
    with Ledger.create(place, schema(policy)) as ledger:
        for month in MONTHS[:2]:
            made = publish_next(month, ledger)
            assert "nobody ever holds two releases" in made.warnings[0]
            assert ledger.release(made.number).record.warnings == made.warnings
        assert publish_next(MONTHS[1], ledger).warnings == made.warnings
        ledger.amend(schema({**policy, "alone": False, "limit": 0.5, "harmless_values": []}))
        with pytest.raises(RefusedError, match="joint: "):
            publish(MONTHS[2], ledger)


def test_too_many_counterfeits_are_refused(place: Path) -> None:
    with Ledger.create(place, schema({**INVARIANCE, "counterfeits": 0.0})) as ledger:
        publish(MONTHS[0], ledger)
        few = MONTHS[0].filter(pl.int_range(pl.len()) % 3 > 0)
        with pytest.raises(RefusedError, match=r"beside .* of people, a share of .*; the policy allows 0") as refused:
            publish(few, ledger)
        (advice,) = refused.value.report.advice
        assert "a smaller m or e in a new series" in advice
        share = float(advice.partition("`counterfeits = ")[2].partition("`")[0])
        assert 0 < share <= 1
        ledger.amend(schema({**INVARIANCE, "counterfeits": share}))
        release = publish(few, ledger)
        assert 0 < release.counterfeits <= share * few.height


def test_a_tenth_of_counterfeits_is_the_most_by_default(place: Path) -> None:
    default = {key: value for key, value in INVARIANCE.items() if key != "counterfeits"}
    with Ledger.create(place, schema(default)) as ledger:
        publish(MONTHS[0], ledger)
        with pytest.raises(RefusedError, match=r"the policy allows 0\.1\."):
            publish(MONTHS[0].filter(pl.int_range(pl.len()) % 3 > 0), ledger)


def test_a_table_that_does_not_continue_the_series_is_refused(place: Path) -> None:
    with Ledger.create(place, schema(POOL)) as ledger:
        publish(MONTHS[0], ledger, date="2026-01-31")
        with pytest.raises(InputError, match="'age' must hold numbers"):
            publish(MONTHS[1].with_columns(age=pl.lit("about ") + pl.col("age").cast(pl.String)), ledger)
        with pytest.raises(DataError, match="must be later"):
            publish(MONTHS[1], ledger, date="2026-01-31")
        with pytest.raises(DataError, match="not unique"):
            publish(pl.concat([MONTHS[1], MONTHS[1].head(1)]), ledger)
        publish(MONTHS[1], ledger, date="2026-02-28")
        assert [one.date for one in ledger.releases] == ["2026-01-31", "2026-02-28"]


def test_a_dry_run_shows_all_and_records_nothing(place: Path) -> None:
    with Ledger.create(place, schema(INVARIANCE)) as ledger:
        publish(MONTHS[0], ledger)
        before = ledger.entries()
        dry = publish_next(MONTHS[1], ledger, dry_run=True)
        assert not dry.recorded
        assert [one.attack for one in dry.findings] == ["joint", "updates", "equivalence"]
        assert ledger.entries() == before
        real = publish_next(MONTHS[1], ledger)
        assert real.recorded
        assert real.release.frame.equals(dry.release.frame)


def recorded(*recipients: tuple[str, ...]) -> list[Recorded]:
    return [
        Recorded(number, None, SimpleNamespace(recipients=names))  # type: ignore[arg-type]
        for number, names in enumerate(recipients, start=1)
    ]


@pytest.mark.parametrize(
    ("collude", "getting", "held"),
    [
        (None, ("a",), [[1, 2, 3, 4]]),
        ([], ("a",), [[1, 4]]),
        ([], ("b", "c"), [[2, 4], [3, 4]]),
        ([["a", "b"]], ("a",), [[1, 2, 4]]),
        ([["a", "b"]], ("c",), [[3, 4]]),
        ([["a", "b"]], (), [[1, 2, 4], [3, 4]]),
    ],
)
def test_who_may_hold_what(collude: Any, getting: tuple[str, ...], held: list[list[int]]) -> None:
    section = {"require": "k=5", **({} if collude is None else {"collude": collude})}
    earlier = recorded(("a",), ("b",), ("c",), ())
    found = held_together(earlier, getting, Policy.of(schema(section)))
    assert [[one.number for one in some] for some in found] == held


def test_recipients_who_do_not_collude_are_not_added_up(place: Path) -> None:
    with Ledger.create(place, schema({**JUDGED, "collude": []})) as ledger:
        publish(MONTHS[0], ledger, recipients=["ministry"])
        publish(MONTHS[1], ledger, recipients=["institute"])
        assert ledger.release(2).record.findings["findings"][0]["releases"] == [2]
        with pytest.raises(RefusedError):
            publish(MONTHS[2], ledger, recipients=["ministry"])


def test_a_recipients_first_release_has_nothing_to_be_compared_with(place: Path) -> None:
    """Attacks that compare releases do not apply to somebody who gets a first one: no reason to refuse it."""
    plan = schema({**JUDGED, "collude": [], "attacks": ["correspondence"]})
    with Ledger.create(place, plan) as ledger:
        publish(MONTHS[0], ledger, recipients=["ministry"])
        publish(MONTHS[1], ledger, recipients=["institute"])
        found = {one["attack"]: one for one in ledger.release(2).record.findings["findings"]}
        assert found["joint"]["releases"] == [2]
        assert (found["correspondence"]["status"], found["correspondence"]["releases"]) == ("not_run", [2])


def test_a_private_copy_is_adopted_without_its_names(place: Path) -> None:
    plan = schema(POOL)
    texts = MONTHS[0].with_columns(pl.lit("*").alias("zip"), pl.lit("[0-99]").alias("age"), pl.lit("*").alias("job"))
    with Ledger.create(place, plan) as ledger:
        assert adopt(ledger, [texts.with_columns(pl.format("Xanthippe-{}", "patient").alias("patient"))]) == 1
        assert "patient" not in ledger.tables(ledger.release(1))["release"].columns
        assert "roster" in ledger.release(1).files
        named = MONTHS[1].with_columns(pl.format("Xanthippe-{}", "patient").alias("patient"))
        findings = publish_next(named, ledger, dry_run=True).findings
        assert findings["updates"].releases == (1, 2)
        assert ledger.verify() == []
    kept = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())
    assert b"Xanthippe" not in kept


def test_looking_back_is_bounded_where_the_policy_says_so(place: Path) -> None:
    policy = {**INVARIANCE, "look_back": 1, "attacks": ["updates", "composition"], "not_run": "allow"}
    with Ledger.create(place, schema(policy)) as ledger:
        for month in MONTHS[:3]:
            made = publish_next(month, ledger)
        found = {one["attack"]: one["releases"] for one in ledger.release(3).record.findings["findings"]}
    assert found["composition"] == [2, 3], "it reads releases again"
    assert found["updates"] == [2, 3], "so does every attack but the one that goes on from a state"
    assert found["joint"] == [1, 2, 3], "it goes on, and sees all"
    assert "release 1 may be unseen" in made.warnings[0]


def test_what_is_carried_on_is_what_all_releases_tell(place: Path) -> None:
    """After each release, and after a change of policy, which makes attacks begin anew."""
    policy = INVARIANCE
    allowing = {**policy, "limits": {"equivalence": 1, "updates": 0.99}, "not_run": "allow"}
    with Ledger.create(place, schema(allowing)) as ledger:
        for number, month in enumerate(MONTHS[:3]):
            if number == 2:
                ledger.amend(schema({**allowing, "counterfeits": 0.9}))
            publish(month, ledger)
            assert_whole(ledger)
        ledger.amend(schema(policy))
        try:
            found = publish_next(MONTHS[3], ledger, dry_run=True).findings
        except RefusedError as refused:
            found = refused.report.findings
            assert "case" in found["updates"].details
            assert "right" not in found["updates"].details, "the ledger does not know who had which value"
        assert found["updates"].population == pl.concat(MONTHS).n_unique("patient")


def assert_whole(ledger: Ledger) -> None:
    """The last release's findings are those of the whole attack on all releases."""
    last = ledger.releases[-1].record
    published = [ledger.published(one, ledger.schema) for one in ledger.releases]
    for own in (one for one in last.findings["findings"] if one["attack"] != "joint"):
        found = Finding(**{**own, "releases": tuple(own["releases"])})
        limits = dict(ledger.policy.limits)
        assert_same(found, attack(published, ledger.schema, only=own["attack"], limits=limits)[own["attack"]])


def test_a_lost_state_is_made_again(place: Path) -> None:
    with Ledger.create(place, schema({**INVARIANCE, "attacks": ["joint"]})) as ledger:
        for month in MONTHS[:2]:
            publish(month, ledger)
        before = publish_next(MONTHS[2], ledger, dry_run=True).findings["joint"]
        (place / "files" / ledger.release(2).files["state.joint"]).unlink()
        assert "state.joint" in ledger.verify()[0]
        assert publish_next(MONTHS[2], ledger, dry_run=True).findings["joint"] == before


def test_what_csv_lacks_is_said(place: Path) -> None:
    frame = MONTHS[0].with_columns(note=pl.lit([1, 2]))
    with Ledger.create(place, schema(POOL).with_roles({"note": "keep"})) as ledger:
        with pytest.raises(DataError, match="not plain values"):
            publish(frame, ledger)
        assert not ledger.releases


def test_progress_goes_on_while_attacking(place: Path) -> None:
    told: list[float] = []
    with Ledger.create(place, schema(INVARIANCE)) as ledger:
        for month in MONTHS[:2]:
            told.clear()
            publish_next(month, ledger, progress=told.append)
    assert told == sorted(told)
    assert len([share for share in told if share > 0.5]) >= len(INVARIANCE["attacks"])
    assert told[-1] == pytest.approx(1)
