"""The policy: every key, and what is wrong with a bad one."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reissue.errors import InputError, SchemaError
from reissue.policy import _KEYS, Policy
from reissue.publishing.attack import attack
from reissue.schema import Schema

ROOT = Path(__file__).parent.parent
COLUMNS = '[columns]\np = "identifier"\nage = "quasi"\nill = "sensitive"\n[policy]\n'


def policy(lines: str) -> Policy:
    return Policy.of(Schema.loads(COLUMNS + lines))


def test_a_requirement_is_enough() -> None:
    read = policy('require = "k=5"')
    assert str(read.require) == "k=5"
    assert (read.method, dict(read.options), read.suppress, read.counterfeits) == ("pool", {}, 0.0, 0.1)
    assert (read.attacks, dict(read.limits), read.not_run) == (None, {}, False)
    assert (read.exact, read.look_back, read.collude, read.alone) == (False, None, None, False)


def test_everything_can_be_said() -> None:
    read = policy(
        'require = "simple-l=3"\nmethod = "equivalence"\noptions = { e = 4 }\nsuppress = 0.05\ncounterfeits = 0.1\n'
        'attacks = ["updates", "equivalence"]\nlimits = { updates = 0.4, equivalence = 3 }\n'
        'prior = "learned"\n'
        'not_run = ["mechanism"]\nexact = true\nlook_back = 12\ncollude = [["ministry", "institute"], ["press"]]\n'
    )
    assert (read.method, dict(read.options)) == ("equivalence", {"e": 4})
    assert (read.suppress, read.counterfeits) == (0.05, 0.1)
    assert read.attacks == ("updates", "equivalence")
    assert dict(read.limits) == {"updates": 0.4, "equivalence": 3}
    assert (read.not_run, read.exact, read.look_back) == (("mechanism",), True, 12)
    assert read.collude == (("ministry", "institute"), ("press",))
    assert (read.prior, policy('require = "k=5"').prior) == ("learned", "leaving")


@pytest.mark.parametrize(("word", "meaning"), [('"allow"', True), ('"refuse"', False), ("[]", ())])
def test_what_not_run_means(word: str, meaning: Any) -> None:
    assert policy(f'require = "k=5"\nnot_run = {word}').not_run == meaning


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "The schema has no policy: `reissue plan` finds one"),
        ("require = 5", "must say what every release must meet"),
        ('require = "q=5"', "require: There is no requirement"),
        ('require = "k=5"\nmehtod = "pool"', "Did you mean 'method'"),
        ('require = "k=5"\nmethod = 3', "the name of a method"),
        ('require = "k=5"\nmethod = "mondrain"', "Did you mean 'mondrian'"),
        ('require = "k=5"\nprior = "uniform"', "`prior` must be"),
        ('require = "k=5"\noptions = 3', "a table of the method's options"),
        ('require = "k=5"\noptions = { e = 3 }', "no option 'e'"),
        ('require = "k=5"\nsuppress = 1.0', "from 0 to below 1"),
        ('require = "k=5"\nsuppress = true', "from 0 to below 1"),
        ('require = "k=5"\ncounterfeits = -1', "from 0 to 1"),
        ('require = "k=5"\nattacks = "updates"', "a list of attacks"),
        ('require = "k=5"\nattacks = ["update"]', "Did you mean 'updates'"),
        ('require = "k=5"\nlimits = { update = 1 }', "Did you mean 'updates'"),
        ('require = "k=5"\nlimits = { updates = 0 }', "a number above 0"),
        ('require = "k=5"\nlimits = { updates = "x" }', "a number above 0"),
        ('require = "k=5"\nlimits = 3', "a table of attacks"),
        ('require = "k=5"\nalone = "yes"', "true or false"),
        ('require = "k=5"\nalone = true\nattacks = ["correspondence"]', "Leave one of the two out"),
        ('require = "k=5"\nnot_run = "perhaps"', '"refuse", "allow", or a list'),
        ('require = "k=5"\nnot_run = ["update"]', "Did you mean 'updates'"),
        ('require = "k=5"\nexact = 1', "true or false"),
        ('require = "k=5"\nlook_back = 0', "1 or more"),
        ('require = "k=5"\ncollude = "some"', "a list of groups"),
        ('require = "k=5"\ncollude = ["a", "b"]', "a list of groups"),
    ],
)
def test_mistakes_are_explained(line: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        policy(line)


def test_keys_of_earlier_versions_are_read_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="`ceilings` is called `limits` now"):
        read = policy('require = "k=5"\nceilings = { equivalence = 3 }')
    assert dict(read.limits) == {"equivalence": 3}
    with pytest.warns(UserWarning, match="limits = { updates = N }"):
        read = policy('require = "k=5"\nrisk = 0.3\nlimits = { equivalence = 3 }')
    assert dict(read.limits) == {"updates": 0.3, "equivalence": 3}
    with pytest.warns(UserWarning, match="updates"), pytest.raises(SchemaError, match="a probability"):
        policy('require = "k=5"\nrisk = 2')
    with pytest.warns(UserWarning, match="updates"), pytest.raises(InputError, match="a table of attacks"):
        policy('require = "k=5"\nrisk = 0.3\nlimits = 3')


def test_an_attack_outside_a_ledger_keeps_to_the_policys_limit() -> None:
    frame = pl.DataFrame({"id": range(4), "q": ["a"] * 4, "s": ["x", "x", "x", "y"]})
    for line, limit in (("limits = { updates = 0.6 }", 0.6), ("limits = { updates = 0.8 }", 0.8), ("risk = 0.6", 0.6)):
        text = '[columns]\nid = "identifier"\nq = "quasi"\ns = "sensitive"\n[policy]\nrequire = "k=2"\n' + line
        found = attack([frame, frame], Schema.loads(text), only="updates")["updates"]
        assert found.limit == limit


def test_most_mistakes_are_the_schemas() -> None:
    with pytest.raises(SchemaError):
        policy('require = "k=5"\nattacks = ["update"]')


def test_every_key_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "policy.md").read_text()
    assert all(f"| `{key}` |" in page for key in _KEYS)
