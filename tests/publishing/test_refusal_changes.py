"""Changes of a policy that a refusal offers: each makes the policy safer or gives it more room, and is a policy."""

from dataclasses import replace

import pytest

from reissue.attacks.findings import Finding, Findings, Status, not_run
from reissue.errors import Why
from reissue.policy import Policy
from reissue.publishing.changes import safer_changes
from reissue.publishing.refusal import refusal
from reissue.synth import schema


@pytest.mark.parametrize(
    ("policy", "offered"),
    [
        ({"require": "k=5"}, [{"suppress": 0.03}, {"require": "k=10"}, {"repair": 0.25}]),
        ({"require": "k=5 & l=3", "suppress": 0.19}, [{"suppress": 0.2}, {"require": "k=10 & l=3"}, {"repair": 0.25}]),
        ({"require": "m-unique=3", "method": "invariance"}, []),
        ({"require": "k=20", "suppress": 0.2}, [{"require": "k=40"}, {"repair": 0.25}]),
    ],
)
def test_what_a_refusal_offers_can_be_put_into_the_policy(
    policy: dict[str, object], offered: list[dict[str, object]]
) -> None:
    found = safer_changes(Policy.of(replace(schema(), policy=policy)))
    assert [dict(one.sections["policy"]) for one in found] == offered
    for one in found:
        Policy.of(replace(schema(), policy={**policy, **one.sections["policy"]}))
        assert one.sentence


@pytest.mark.parametrize("exposing", [False, True])
def test_larger_groups_are_not_offered_against_attacks_that_were_not_run(exposing: bool) -> None:
    policy = Policy.of(replace(schema(), policy={"require": "k=5"}))
    unrun = not_run("coalition", (1,), "It needs providers.", why=Why.NEEDS_INPUT)
    found = Finding(attack="joint", status=Status.EXPOSED, sentence="Somebody is exposed.", releases=(1,))
    findings = Findings((unrun, found) if exposing else (unrun,))
    problems = [f"{one.attack}: {one.sentence}" for one in findings]
    assert refusal(1, problems, findings, policy, None).report.only_not_run is not exposing
