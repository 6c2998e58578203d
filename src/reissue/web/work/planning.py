"""The first release: what a table's columns are, whether a schema fits it, and which protection its series needs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reissue.data.table import Table, unlisted_values
from reissue.errors import TaxonomyError
from reissue.files.dialect import Dialect
from reissue.proposing.column_picture import picture_of
from reissue.proposing.propose import Guess
from reissue.publishing.plan import Limits, Outcome, Plan, plan
from reissue.publishing.plan.beginning import propose_series
from reissue.publishing.plan.plan import Progress
from reissue.publishing.plan.policy_text import policy_toml, with_policy
from reissue.report.plan_page import frontier_chart, plan_html
from reissue.schema import Schema
from reissue.taxonomy.grouping import groups_of
from reissue.web.work import Tell

__all__ = ["plan_series", "propose", "settle"]


def propose(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """A guess for each column, with its reason, and the column at a glance."""
    tell(0.1, "reading")
    waves = [Path(one) for one in given["waves"]]
    frames, guesses = propose_series(waves, dialect=Dialect(given["delimiter"]))
    tell(0.7, "looking at the columns")
    columns = [{**picture_of(frames[0][guess.column]).as_dict(), **_guessed(guess)} for guess in guesses]
    waves_seen = [{"name": path.name, "rows": frame.height} for path, frame in zip(waves, frames, strict=True)]
    return {"waves": waves_seen, "columns": columns, "several": any(guess.several for guess in guesses)}


def _guessed(guess: Guess) -> dict[str, Any]:
    hierarchy = guess.hierarchy
    return {
        "role": str(guess.role),
        "why": guess.why,
        "confirm": guess.confirm,
        "kind": "auto" if hierarchy is None else hierarchy.kind,
        "ranges": "" if hierarchy is None else ", ".join(f"{width:g}" for width in hierarchy.ranges),
        "prefix": "" if hierarchy is None else ", ".join(map(str, hierarchy.prefix)),
        "dates": [] if hierarchy is None else list(hierarchy.dates),
        "groups": {}
        if hierarchy is None
        else {name: " / ".join(path) for name, path in groups_of(hierarchy.tree).items()},
    }


def settle(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """Whether the schema fits the waves; the values that its taxonomies lack, for the holder's own eyes."""
    schema = Schema.load(given["schema"])
    lacking: dict[str, list[str]] = {}
    for number, path in enumerate(given["waves"]):
        tell(number / len(given["waves"]), "reading by the schema")
        try:
            Table.read(path, schema, dialect=Dialect(given["delimiter"]))
        except TaxonomyError:
            found = unlisted_values(path, schema, dialect=Dialect(given["delimiter"]))
            if not found:
                raise
            for name, values in found.items():
                lacking.setdefault(name, []).extend(value for value in values if value not in lacking.get(name, []))
    return {"lacking": lacking, "text": Path(given["schema"]).read_text(encoding="utf-8")}


def plan_series(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """Try every sensible setting on the waves; points appear in the folder as they are computed."""
    path = Path(given["schema"])
    tell(0.01, "reading")
    made = plan(
        [Path(one) for one in given["waves"]],
        Schema.load(path),
        limits=Limits(**given["limits"]),
        budget=given["budget"],
        newcomers=given["newcomers"],
        dialect=Dialect(given["delimiter"]),
        progress=lambda now: _points(now, folder, tell),
    )
    text = path.read_text(encoding="utf-8")
    (folder / "plan.html").write_text(plan_html(made), encoding="utf-8")
    return {
        "sentences": [*made.situation, *made.sentences],
        "guess": made.guess,
        "limit": made.limits.limit,
        "chart": frontier_chart(made),
        "settings": [_row(one, made) for one in made.outcomes],
        "policies": {one.setting.name: _policy(one, made, text) for one in made.outcomes if one.verdict == "withstood"},
    }


def _points(now: Progress, folder: Path, tell: Tell) -> None:
    """What is known so far, whole or not at all: the page may read it any time."""
    beside = folder / "points.part"
    chart = frontier_chart(now.so_far)
    beside.write_text(json.dumps({"chart": chart, "limit": now.so_far.limits.limit}), encoding="utf-8")
    beside.replace(folder / "points.json")
    tell(now.done / max(now.settings, 1), f"setting {min(now.done + 1, now.settings)} of {now.settings}: {now.now}")


def _row(one: Outcome, made: Plan) -> dict[str, Any]:
    best = made.recommended is not None and made.recommended.setting.name == one.setting.name
    return {
        "name": one.setting.name,
        "verdict": str(one.verdict),
        "reason": one.reason,
        "published": one.published,
        "risk": one.risk,
        "loss": one.loss,
        "query_error": one.query_error,
        "counterfeits": one.counterfeits,
        "left_out": one.left_out,
        "best": best,
        "frontier": any(other.setting.name == one.setting.name for other in made.frontier),
    }


def _policy(one: Outcome, made: Plan, schema: str) -> str:
    """The schema file with the policy of one setting."""
    text = policy_toml(replace(made, recommended=one)) or ""
    return with_policy(schema, text, force=True, updates=bool(made.updates))
