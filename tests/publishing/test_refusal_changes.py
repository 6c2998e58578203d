"""Changes of a policy that a refusal offers: each makes the policy safer or gives it more room, and is a policy."""

from dataclasses import replace

import pytest

from reissue.policy import Policy
from reissue.publishing.changes import safer_changes
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
