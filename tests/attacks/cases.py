"""What every attack's worst case must be like: small, plain, deterministic, and made of published values only."""

import json
from collections.abc import Iterable
from typing import Any

from reissue.attacks.findings import Finding

__all__ = ["sound"]

FIELDS = {
    "candidates": {"bars", "limit", "unit"},
    "paths": {"columns", "edges", "limit"},
    "history": {"nodes", "edges", "limit"},
    "matrix": {"rows", "columns", "values", "unit", "limit"},
    "histogram": {"edges", "counts", "limit", "unit", "of"},
    "bars": {"labels", "series", "unit", "limit"},
    "equations": {"groups", "total", "limit"},
}
"""The kinds of pictures, and what each one holds beside its kind."""


def sound(finding: Finding, *, secrets: Iterable[str] = (), published: Iterable[str | None] | None = None) -> Any:
    """The case of a finding, after a look at what holds for all: none of the secrets is in it.

    Every published quasi-identifier in it is among those given.
    """
    case = finding.details["case"]
    text = json.dumps(case, allow_nan=False, ensure_ascii=False)
    assert json.loads(text) == case, "only plain JSON types"
    assert len(text.encode()) < 20_000
    assert set(case) == {"steps", "picture"}
    assert 3 <= len(case["steps"]) <= 6
    assert all(step[0].isupper() or step[0].isdigit() for step in case["steps"]), case["steps"]
    assert all(step.endswith(".") for step in case["steps"]), case["steps"]
    picture = case["picture"]
    more = {"across", "sentence"} if picture["kind"] == "bars" else set()
    assert set(picture) - more == FIELDS[picture["kind"]] | {"kind"}
    for secret in secrets:
        assert len(secret) >= 4, "too short to be told from other words"
        assert secret not in text
    if published is not None:
        known = set(published)
        shown = [one.get("published", {}) for part in ("bars", "columns", "groups") for one in picture.get(part, ())]
        assert {value for look in shown for value in look.values()} <= known
    return case
