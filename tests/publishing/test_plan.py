"""plan: settings tried on waves, the frontier, the recommendation, and the policy that it writes."""

import json
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.attacks.findings import not_run
from reissue.errors import DataError, InputError, SchemaError
from reissue.ledger import Ledger
from reissue.outcome.plan import view_of
from reissue.policy import Policy
from reissue.publishing.plan import (
    Dynamics,
    Limits,
    Outcome,
    Plan,
    Rehearsal,
    RehearsalEnd,
    RehearsedRelease,
    Setting,
    continued,
    plan,
    policy_toml,
    read_waves,
    rehearse,
    sensible_settings,
    try_setting,
    with_policy,
)
from reissue.publishing.plan import planning as plan_module
from reissue.publishing.plan.outcome import recommended_of
from reissue.publishing.plan.planning import _Search
from reissue.publishing.plan.rehearsal import sentence
from reissue.publishing.publish import publish_next
from reissue.report import plan_html
from reissue.schema import Schema

SCHEMA = synth.schema().with_roles({"hospital": "drop"})


def months(people: int = 150, count: int = 3, seed: int = 1) -> list[pl.DataFrame]:
    return list(synth.Population(seed=seed, people=people).months(count))


def still(people: int = 150, count: int = 3) -> list[pl.DataFrame]:
    """Months in which nobody's disease changes."""
    frames = months(people, count)
    first = pl.concat(frames).unique("patient", keep="first", maintain_order=True).select("patient", "disease")
    return [frame.drop("disease").join(first, on="patient", maintain_order="left") for frame in frames]


POOLS = [Setting("pool", "k=5 & l=3"), Setting("pool", "k=30 & simple-l=4"), Setting("pool", "k=60 & simple-l=4")]


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(months(), SCHEMA, settings=[*POOLS, Setting("pool", "k=400")], further=1)


def test_the_cheapest_setting_that_withstands_is_recommended(planned: Plan) -> None:
    best = planned.recommended
    assert best is not None
    assert best.verdict == RehearsalEnd.WITHSTOOD
    assert best.room == 1
    assert all(step.exposed == 0 and step.risk <= 0.75 + 1e-6 for step in best.steps)
    cheaper = [one for one in planned.outcomes if one.steps and one.verdict == RehearsalEnd.WITHSTOOD and one.room]
    assert best.cost == min(one.cost for one in cheaper)
    loose = next(one for one in planned.outcomes if one.setting == POOLS[0])
    assert loose.verdict == RehearsalEnd.EXPOSED
    assert loose.published < 3
    assert loose.exposed > 0


def test_it_says_how_far_someone_gets_who_also_learns(planned: Plan) -> None:
    assert planned.recommended is not None
    waves = read_waves(months(), SCHEMA).with_updates()
    rehearsal = rehearse(Rehearsal.of(planned.recommended.setting, waves, Limits()), waves.tables, lambda: None)
    found = ri.attack(rehearsal.earlier, rehearsal.schema, only="definetti")["definetti"]
    assert planned.learnt == sentence(found)
    assert planned.learnt in planned.sentences
    surely = replace(found, population=192, details={**found.details, "above": {"people": 12, "right": 9}})
    assert "links 12 of 192 people to a value beyond 75%, and is right about 9" in sentence(surely)
    nobody = replace(found, details={**found.details, "above": {"people": 0, "right": 0}})
    assert "links nobody to a value beyond 75% either" in sentence(nobody)
    assert "was not tried: groups are too large." in sentence(not_run("definetti", (1,), "groups are too large."))


def test_what_cannot_be_published_says_why(planned: Plan) -> None:
    impossible = next(one for one in planned.outcomes if one.setting.require == "k=400")
    assert impossible.verdict == RehearsalEnd.IMPOSSIBLE
    assert impossible.reason
    assert not impossible.steps


def test_a_plan_is_plain_json_and_a_page(planned: Plan) -> None:
    told = json.loads(json.dumps(planned.as_dict()))
    assert told["recommended"] == planned.recommended.setting.name  # type: ignore[union-attr]
    assert {one["verdict"] for one in told["outcomes"]} >= {"withstood", "exposed", "impossible"}
    assert all(len(one["releases"]) <= 3 for one in told["outcomes"])
    page = plan_html(planned)
    assert "<script" not in page
    assert page.count("<svg") > 1
    assert planned.recommended.setting.require.replace("&", "&amp;") in page  # type: ignore[union-attr]


def test_the_policy_it_writes_is_read_and_says_why(planned: Plan) -> None:
    text = policy_toml(planned)
    assert text is not None
    assert text.startswith("# Proposed by `reissue plan`. Recommended: pool")
    schema = Schema.loads(with_policy(SCHEMA.dumps(), text, force=False, updates=True))
    policy = Policy.of(schema)
    assert policy.limit == 0.75
    assert policy.attacks == ("joint",)
    assert "chances" in schema.updates
    with pytest.raises(InputError, match="policy already"):
        with_policy(schema.dumps(), text, force=False, updates=True)
    assert Schema.loads(with_policy(schema.dumps(), text, force=True, updates=True)).policy == schema.policy


def test_a_policy_that_is_written_again_replaces_its_comments_and_nobody_elses(planned: Plan) -> None:
    text, remark = policy_toml(planned), "# our own remark\n"
    assert text is not None
    once = with_policy(remark + SCHEMA.dumps() + "\n# and another\n", text, force=False, updates=True)
    assert with_policy(once, text, force=True, updates=True) == once
    assert once.startswith(remark)
    assert "# and another" in once
    short = replace(planned, recommended=None)
    warned = with_policy(once, policy_toml(short) or "", force=True, updates=True)
    assert warned.count("# WARNING: this policy does not suffice") == warned.count("# Proposed by `reissue plan`") == 1
    assert with_policy(warned, text, force=True, updates=True) == once
    kept = with_policy(once, '[policy]\nrequire = "k=5"\n', force=True, updates=False)
    assert "# Proposed by" not in kept
    assert kept.count("# How values changed in these waves") == 1
    assert Schema.loads(kept).updates == Schema.loads(once).updates


@pytest.mark.parametrize("limit", [1.0, 1 - 1e-7, 0.0, -0.5, 2.0, float("nan")])
def test_a_plan_needs_a_limit_that_somebody_can_exceed(limit: float) -> None:
    with pytest.raises(InputError, match="above 0 and below 1"):
        Limits(limit)


def test_a_plan_needs_a_value_to_protect() -> None:
    schema = replace(SCHEMA, policy={"sensitive_values": {"disease": []}})
    with pytest.raises(InputError, match="no sensitive value to protect"):
        plan(months(), schema, settings=POOLS[:1], further=0)
    with pytest.raises(InputError, match="no sensitive value to protect"):
        try_setting(months(), schema, POOLS[0])


def test_what_a_rehearsal_shows_is_what_publish_gives(tmp_path: Path, planned: Plan) -> None:
    text = policy_toml(planned)
    assert text is not None
    schema = Schema.loads(with_policy(SCHEMA.dumps(), text, force=False, updates=True))
    with Ledger.create(tmp_path / "x.ledger", schema) as ledger:
        made = [publish_next(month, ledger, seed=number) for number, month in enumerate(months())]
    steps = planned.recommended.steps  # type: ignore[union-attr]
    assert len(steps) == len(made)
    for step, one in zip(steps, made, strict=True):
        worst = one.findings["joint"].worst or 0.0
        # A rehearsal keeps to a lower limit: what lies between the two is repaired there, and published unchanged here.
        assert worst == pytest.approx(step.risk, abs=0.1) or 0.95 * 0.75 < worst <= 0.75


def test_a_plan_can_be_cancelled_without_loss() -> None:
    seen = []

    def cancel(progress: object) -> None:
        seen.append(progress)
        if len(seen) == 6:
            raise KeyboardInterrupt

    made = plan(months(100, 2), SCHEMA, settings=POOLS, further=1, progress=cancel)
    assert made.stopped.startswith("Cancelled")
    assert made.outcomes
    assert (
        made.untried or any(one.verdict == RehearsalEnd.UNFINISHED for one in made.outcomes) or made.recommended is None
    )


def test_when_the_time_is_up_it_says_what_was_not_tried() -> None:
    made = plan(months(100, 2), SCHEMA, settings=POOLS, budget=1e-9)
    assert made.recommended is None
    assert [setting.name for setting in made.untried] == [setting.name for setting in POOLS]
    assert f"before {len(POOLS)} settings had been tried" in made.stopped


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_is_a_number_of_seconds(budget: Any) -> None:
    with pytest.raises(InputError, match="number of seconds"):
        plan(months(100, 2), SCHEMA, budget=budget)


def test_with_one_wave_everything_is_marked_as_a_guess() -> None:
    made = plan(months(120, 1), SCHEMA, settings=[POOLS[1]], come=0.05, go=0.05, change=0.1, further=1)
    assert made.guess
    assert made.waves == 5
    assert made.sentences[0].startswith("This is a guess")
    assert "A guess" in plan_html(made)
    with pytest.raises(InputError, match="single wave"):
        plan(months(50, 2), SCHEMA, come=0.1)
    with pytest.raises(InputError, match="below 1"):
        Dynamics(come=1.5)


def test_settings_fit_the_situation() -> None:
    changing = {one.method for one in sensible_settings(read_waves(months(), SCHEMA))}
    assert {"pool", "distinct"} <= changing
    assert not changing & {"invariance", "equivalence", "correspondence", "providers"}
    staying = {one.method for one in sensible_settings(read_waves(still(), SCHEMA))}
    assert {"pool", "invariance", "equivalence"} <= staying
    assert "distinct" not in staying
    first = still(150, 1)[0]
    more = first.with_columns(pl.col("patient") + 10_000)
    growing = {one.method for one in sensible_settings(read_waves([first, pl.concat([first, more])], SCHEMA))}
    assert "correspondence" in growing
    with_hospitals = {one.method for one in sensible_settings(read_waves(still(), synth.schema()))}
    assert "providers" in with_hospitals


def test_cohorts_of_one_provider_each_are_tried_where_there_are_several() -> None:
    alone, several = (sensible_settings(read_waves(months(), schema)) for schema in (SCHEMA, synth.schema()))
    alone, several = ([one for one in some if not one.randomized] for some in (alone, several))
    assert not any(one.keeps_providers_apart for one in alone)
    assert [one.method for one in several if one.keeps_providers_apart] == ["cohorts"]
    assert len(alone) == len(several)


def test_what_keeps_providers_apart_is_named_beside_what_is_recommended() -> None:
    tight, apart = (
        Setting("pool", "k=10 & simple-l=2"),
        Setting("cohorts", "k=12 & l=4", {"apart": True, "counterfeits": 0.3}),
    )
    costly: dict[str, Any] = {"limit": 0.99, "counterfeits": 0.4, "suppress": 0.2}
    made = plan(months(150, 2), synth.schema(), settings=[tight, apart], **costly, further=0)
    assert made.recommended is not None
    assert made.recommended.setting == tight
    assert f"each other's people: {apart.words}, at" in " ".join(made.sentences)
    only = plan(months(150, 2), synth.schema(), settings=[apart], **costly, further=0)
    assert "each other's people" not in " ".join(only.sentences)


def test_for_readers_who_learn_cohorts_by_themselves_are_tried_and_judged() -> None:
    """What withstands does so both ways, and the policy goes on to judge both ways."""
    limits = Limits(prior="learned", counterfeits=0.3)
    assert any(one.options.get("by_itself") for one in sensible_settings(read_waves(months(), SCHEMA), limits))
    assert not any(
        "by_itself" in one.options for one in sensible_settings(read_waves(months(), SCHEMA), Limits(prior="common"))
    )
    made = plan(months(150, 2), SCHEMA, settings=[POOLS[2]], prior="learned", counterfeits=0.3, further=1)
    written = policy_toml(made)
    assert written is not None
    assert 'prior = "learned"' in written
    assert "to learn which people tend to have which value" in " ".join(made.sentences)
    with pytest.raises(SchemaError, match="prior"):
        plan(months(120, 2), SCHEMA, settings=[POOLS[2]], prior="wild", further=0)


def test_no_setting_asks_for_more_values_than_the_waves_have() -> None:
    """Where one value is most of a wave, no share can be asked for."""
    frames = [frame.with_columns(disease=pl.lit("flu")) for frame in months(80, 2)]
    assert all("l=" not in one.require for one in sensible_settings(read_waves(frames, SCHEMA)) if one.method == "pool")


def test_where_one_value_is_frequent_a_share_below_the_limit_is_asked_for() -> None:
    rng = np.random.default_rng(0)
    frames = [
        frame.with_columns(disease=pl.Series(rng.choice(["flu", "ulcer", "HIV"], frame.height, p=[0.45, 0.35, 0.2])))
        for frame in months(100, 2)
    ]
    assert "k=10 & confidence=0.6" in {one.require for one in sensible_settings(read_waves(frames, SCHEMA))}
    others = sensible_settings(read_waves(months(), SCHEMA), Limits(prior="common"))
    assert not any("confidence" in one.require for one in others)


def test_a_continuation_is_like_the_waves() -> None:
    waves = read_waves(months(600, 3), SCHEMA)
    longer = continued(waves, 3, np.random.default_rng(0))
    assert len(longer.tables) == 6
    assert all(400 < table.rows < 800 for table in longer.tables)
    more = replace(longer, tables=longer.tables[2:])
    assert more.gone == pytest.approx(waves.gone, abs=0.05)
    assert more.come == pytest.approx(waves.come, abs=0.05)
    assert more.changed == pytest.approx(waves.changed, abs=0.03)
    stated = continued(replace(waves, tables=waves.tables[:1]), 4, np.random.default_rng(0), Dynamics(0.2, 0.1, 0.3))
    assert stated.come == pytest.approx(0.2, abs=0.05)
    assert stated.gone == pytest.approx(0.1, abs=0.03)
    assert stated.changed == pytest.approx(0.3, abs=0.05)


def test_bad_waves_are_refused() -> None:
    frame = months(60, 1)[0]
    with pytest.raises(InputError, match="list of tables"):
        plan([], SCHEMA)
    with pytest.raises(SchemaError, match="identifier and a sensitive"):
        plan([frame], Schema.of_columns(quasi=["age"], sensitive=["disease"]))
    strangers = frame.with_columns(pl.col("patient") + 5000)
    with pytest.raises(DataError, match="newcomers"):
        plan([frame, strangers], SCHEMA)
    with pytest.raises(DataError, match="wave 2"):
        plan([frame, frame.with_columns(sex=pl.lit(True))], SCHEMA)


def made_up(
    name: str, cost: float, ended: RehearsalEnd = RehearsalEnd.WITHSTOOD, *, randomized: bool = False, **more: Any
) -> Outcome:
    """One release that loses `cost`, whose queries are off by as much."""
    step = RehearsedRelease(100, 100, cost, cost, 0.0, 0, 0, 0, int(ended == "exposed"), 0.5, "register", 0.0)
    values = "randomized" if randomized else "exact"
    return Outcome(Setting("pool", name, values=values), (step,), ended, **more)


@pytest.mark.parametrize(
    ("outcomes", "best", "said"),
    [
        (
            [made_up("k=5", 0.1, room=3), made_up("k=5", 0.2, randomized=True, room=3)],
            "exact",
            "need not all be true, if estimates correct for it: pool k=5, randomized values; half of the queries",
        ),
        (
            [made_up("k=5", 0.1, room=1), made_up("k=5", 0.2, randomized=True, room=3)],
            "randomized",
            "must be true: pool k=5, for 1 of 3 further releases only; half of the queries",
        ),
        (
            [made_up("k=5", 0.1, RehearsalEnd.EXPOSED), made_up("k=5", 0.2, randomized=True, room=3)],
            "randomized",
            "could publish all waves. pool k=5 came nearest: 0 of 1 waves could be published; release 1 would have",
        ),
        ([made_up("k=5", 0.1, room=1)], "exact", "1 of 3 further releases could be published; then `reissue publish`"),
        ([made_up("k=5", 0.1, RehearsalEnd.EXPOSED)], None, "No setting that was tried stays below the limit"),
    ],
)
def test_what_lasts_is_recommended_and_the_other_way_to_publish_is_shown(
    outcomes: list[Outcome], best: str | None, said: str
) -> None:
    found = recommended_of(outcomes, 3)
    assert (None if found is None else found.setting.values) == best
    made = Plan(Limits(), (), 1, tuple(outcomes), found, 3)
    assert said in " ".join(made.sentences)
    assert repr(made) == f"Plan: {made.sentences[0]}"
    view = view_of(made)
    assert len(view.worlds.rows) == len(outcomes)
    assert [row[0] == ">" for row in view.worlds.rows].count(True) == (best is not None)
    assert ("Two ways to publish" in plan_html(made)) == bool(outcomes)


def test_the_frontier_holds_what_no_other_setting_beats() -> None:
    def outcome(
        name: str, loss: float, risk: float, out: int = 0, *, ended: RehearsalEnd = RehearsalEnd.WITHSTOOD
    ) -> Outcome:
        step = RehearsedRelease(100, 100, loss, 0.0, 0.0, 0, out, 0, 0, risk, "register", 0.0)
        return Outcome(Setting("pool", name), (step,), ended)

    some = (
        outcome("a", 0.1, 0.5),
        outcome("b", 0.2, 0.2),
        outcome("c", 0.3, 0.2),
        outcome("d", 0.05, 0.7, 9),
        outcome("given up", 0.01, 0.1, ended=RehearsalEnd.TOO_COSTLY),
    )
    made = Plan(Limits(), (), 1, some, None, 1)
    assert {one.setting.require for one in made.frontier} == {"a", "b", "d"}


def test_it_is_a_door_of_the_library() -> None:
    assert {ri.plan, ri.Plan} == {plan_module.plan, Plan}


@dataclass(eq=False)
class Scripted(_Search):
    """A search whose rehearsals are written down: what a setting costs, whether it needs repair, and has room."""

    script: dict[str, tuple[float, bool, bool]] = field(default_factory=dict)

    def _order(self) -> None:
        self.losses = dict.fromkeys(self.script, 0.1)

    def _try(self, setting: Setting, *, repaired: bool) -> None:
        cost, broken, _ = self.script[setting.name]
        fine = repaired or not broken
        step = RehearsedRelease(100, 100, cost, 0.0, 0.0, 0, 0, 0, 0, 0.5, "register", 0.0)
        self.outcomes[setting.name] = Outcome(
            setting, (step,), RehearsalEnd.WITHSTOOD if fine else RehearsalEnd.EXPOSED
        )
        if fine:
            self.withstood[setting.name] = Rehearsal.of(setting, self.waves, self.limits)
        else:
            self.unrepaired.append(setting)

    def _continue(self, setting: Setting, rehearsal: Rehearsal) -> None:
        assert rehearsal.setting == setting
        self.outcomes[setting.name] = replace(self.outcomes[setting.name], room=int(self.script[setting.name][2]))


def test_what_was_not_mended_is_once_more_where_it_may_cost_less_than_what_has_room() -> None:
    first, second, third = POOLS
    script = {first.name: (0.06, False, False), second.name: (0.05, True, True), third.name: (0.11, False, True)}
    waves = read_waves(months(100, 2), SCHEMA)
    search = Scripted(waves, Limits(), None, lambda _: None, further=(waves.tables[:1],), script=script)
    assert not search.run(POOLS)
    assert search.unrepaired == [second]
    assert search.recommended is not None
    assert search.recommended.setting == second


def test_a_plan_is_read_again_and_judged_by_another_limit(planned: Plan) -> None:
    again = Plan.of(json.loads(json.dumps(planned.as_dict())))
    assert again.as_dict()["outcomes"] == planned.as_dict()["outcomes"]
    assert again.at(planned.limits.limit) is again
    risks = [one.risk or 0.0 for one in planned.outcomes if one.verdict == "withstood"]
    low = again.at(min(risks) * 0.99)
    assert not [one for one in low.outcomes if one.verdict == "withstood"]
    assert low.recommended is None
    for limit in (*risks, 0.999):
        found = again.at(limit)
        for before, one in zip(again.outcomes, found.outcomes, strict=True):
            if one.verdict == "withstood":
                assert (one.risk or 0.0) <= limit
            if before.verdict == "withstood":
                assert (one.verdict == "withstood") == ((before.risk or 0.0) <= limit)
            assert before.verdict != "exposed" or one.verdict in {"exposed", "unfinished"}
        assert found.recommended is None or found.recommended.verdict == "withstood"


def test_a_setting_of_ones_own_is_what_a_plan_would_find(planned: Plan) -> None:
    setting = Setting.parse("pool k=5 & l=3")
    tried = try_setting(months(), SCHEMA, setting)
    (own,) = [one for one in planned.outcomes if one.setting == setting]
    assert (tried.outcome.verdict, tried.outcome.loss, tried.outcome.risk) == (own.verdict, own.loss, own.risk)
    assert tried.release is not None
    assert tried.release.table.rows <= tried.table.rows
    assert planned.with_more([tried.outcome]).recommended == planned.recommended
    with pytest.raises(InputError, match="a method and what it must meet"):
        Setting.parse("pool")


def test_a_policy_is_replaced_wherever_it_stands() -> None:
    """Above other sections, with tables of its own, after remarks, and with arrays over several lines."""
    policy = '[policy]\n# why\nrequire = "k=5"\ncollude = [\n  ["a", "b"],\n]\n[policy.options]\ne = 3\n'
    columns = '[columns]\nid = "identifier"\n'
    for text in (columns + policy, policy + "\n# of the columns\n" + columns, columns + policy.replace("\n  [", " [")):
        found = with_policy(text, '[policy]\nrequire = "k=9"\n', force=True, updates=False)
        assert tomllib.loads(found) == tomllib.loads(columns) | {"policy": {"require": "k=9"}}
        assert found.count("[policy") == 1
    above = policy.replace('collude = [\n  ["a", "b"],\n]\n', "") + "\n# of the columns\n" + columns
    found = with_policy(above, '[policy]\nrequire = "k=9"\n', force=True, updates=False)
    assert "# of the columns\n[columns]" in found
    assert "# why" not in found


def test_randomized_values_are_tried_beside_true_ones_and_compared_by_the_error_of_queries() -> None:
    drawn, true = Setting.parse("pool k=5, randomized values"), Setting.parse("pool k=40 & simple-l=4")
    made = plan(months(400, 3), SCHEMA, settings=[drawn, true], further=1)
    by_name = {one.setting.name: one for one in made.outcomes}
    one = by_name[drawn.name]
    assert (one.verdict, one.exposed, one.room) == ("withstood", 0, 1)
    assert (one.risk or 1.0) <= 0.75
    assert 0 < (one.average or 0.0) < (one.risk or 0.0)
    assert 0 < (one.true or 0.0) < 1
    assert made.recommended is not None
    better = min(made.frontier, key=lambda other: other.query_error or 0.0)
    assert made.recommended.setting == better.setting
    assert 'values = "randomized"' in str(policy_toml(made)) or not made.recommended.setting.randomized
    assert Plan.of(json.loads(json.dumps(made.as_dict()))).recommended == made.recommended
    only = sensible_settings(read_waves(months(400, 3), SCHEMA), Limits(values="randomized"))
    assert only
    assert all(setting.randomized for setting in only)
    with pytest.raises(InputError, match="exact"):
        Limits(values="wrong")
