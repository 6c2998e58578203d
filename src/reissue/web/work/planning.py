"""The first release: what a table's columns are, whether a schema fits it, and which protection its series needs."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from reissue.cleaning import SHEET_DEFECTS, CleanRecipe, Defect
from reissue.data.frames import first_rows
from reissue.data.table import Table, unlisted_values
from reissue.errors import InputError, ReadingNote, TaxonomyError
from reissue.files.dialect import Dialect
from reissue.files.tables import detect_dialect
from reissue.language import text
from reissue.ledger.pack import plain
from reissue.outcome.plan import frontier_of
from reissue.outcome.utility import computed_of
from reissue.proposing.clean import Cleaning, clean, common_recipe
from reissue.proposing.column_form import picture_of
from reissue.proposing.from_table import Guess
from reissue.publishing.plan import Limits, Plan, Progress, Setting, plan, propose_series, try_setting
from reissue.report import plan_html
from reissue.report.charts import frontier_chart, interval_chart
from reissue.schema import Schema
from reissue.taxonomy.paths import groups_of
from reissue.utility import compare, paired_rows
from reissue.utility.tabulation import suggested_model
from reissue.web.work import Tell
from reissue.web.work.wording import for_page

__all__ = ["compare_tables", "plan_series", "propose", "settle", "try_own"]


def propose(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """A guess for each column, with its reason, and the column at a glance."""
    tell(0.1, text("reading"))
    waves = [Path(one) for one in given["waves"]]
    dialect = Dialect(given["delimiter"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ReadingNote)
        cleanings = [clean(path, dialect=dialect) for path in waves]
        recipe = _recipe(cleanings, given.get("repairs"))
        frames = [one.repaired_frame(recipe) for one in cleanings]
        if given.get("keep"):
            waves, frames = _one_row_each(waves, frames, given["keep"])
        frames, guesses = propose_series(frames, dialect=dialect)
    found = {path.name: detect_dialect(path, dialect).sentence for path in waves}
    reading = [
        text("{file}: read with {how}.", file=name, how=sentence) for name, sentence in found.items() if sentence
    ]
    reading += [one.message.fact for one in said if isinstance(one.message, ReadingNote)]
    tell(0.7, text("looking at the columns"))
    columns = [{**_pictured(frames, guess.column), **_guessed(guess)} for guess in guesses]
    waves_seen = [
        {"name": path.name, "rows": frame.height, "first": first_rows(frame)}
        for path, frame in zip(waves, frames, strict=True)
    ]
    several = any(guess.several for guess in guesses)
    repairs = {"defects": _defects(cleanings, recipe), "clean": recipe.as_section()}
    paths = [str(path) for path in waves]
    return {"waves": waves_seen, "columns": columns, "several": several, "reading": reading, "paths": paths, **repairs}


def _recipe(cleanings: Sequence[Cleaning], names: Sequence[str] | None) -> CleanRecipe:
    """The repairs that were ticked; those that are recommended as long as nobody has looked."""
    if names is None:
        return common_recipe(cleanings)
    recipe = CleanRecipe()
    for one in cleanings:
        recipe |= one.apply([name for name in map(_name, one.defects) if name in names]).recipe
    return recipe


def _name(defect: Defect) -> str:
    return f"{defect.name}:{defect.column}" if defect.column else defect.name


def _defects(cleanings: Sequence[Cleaning], recipe: CleanRecipe) -> list[dict[str, Any]]:
    """What is wrong with the tables, and whether it is repaired; what takes a table out of its sheet always is."""
    found: dict[str, dict[str, Any]] = {}
    for table in cleanings:
        for one in table.defects:
            always = one.name in SHEET_DEFECTS
            made = always or one.column in recipe.settings.get(one.name, {})
            entry = found.setdefault(_name(one), {"name": _name(one), "always": always, "made": made, "sentences": []})
            entry["sentences"].append(f"{table.name}: {one.sentence}" if len(cleanings) > 1 else one.sentence)
    return list(found.values())


def _one_row_each(
    waves: Sequence[Path], frames: Sequence[pl.DataFrame], keep: Mapping[str, Any]
) -> tuple[list[Path], list[pl.DataFrame]]:
    """The same tables with one row for each person, the first or the last, beside those that were uploaded."""
    made = [one.unique(subset=[keep["column"]], keep=keep["which"], maintain_order=True) for one in frames]
    paths = [path.with_name(f"{path.name.partition('.')[0]}.one-row.parquet") for path in waves]
    for path, frame in zip(paths, made, strict=True):
        frame.write_parquet(path)
    return paths, made


def _pictured(frames: Sequence[pl.DataFrame], name: str) -> dict[str, Any]:
    """The first wave's column at a glance, with the values of all waves."""
    waves = [picture_of(frame[name]) for frame in frames if name in frame.columns]
    listed = all(one.values or not one.distinct for one in waves)
    values = sorted({value for one in waves for value in one.values}) if listed else []
    return {**waves[0].as_dict(), "values": values}


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


def settle(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """Whether the schema fits the waves, or why not; the values that its taxonomies lack, for the holder's own eyes."""
    text = Path(given["schema"]).read_text(encoding="utf-8")
    try:
        return {**_read_by_schema(given, tell), "problem": "", "text": text}
    except InputError as mistake:
        problem = for_page(str(mistake), folder.parent)
        return {"lacking": {}, "first": None, "problem": problem, "text": text}


def _read_by_schema(given: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """The values that taxonomies lack, and the first rows of the columns that may go out."""
    schema, lacking, first = Schema.load(given["schema"]), dict[str, list[str]](), None
    shown = {*schema.quasi, *schema.sensitive, *schema.kept}
    for number, path in enumerate(given["waves"]):
        tell(number / len(given["waves"]), text("reading by the schema"))
        try:
            table = Table.read(path, schema, dialect=Dialect(given["delimiter"]))
            columns = [name for name in table.frame.columns if name in shown]
            first = first or first_rows(table.frame.select(columns))
        except TaxonomyError:
            found = unlisted_values(path, schema, dialect=Dialect(given["delimiter"]))
            if not found:
                raise
            for name, values in found.items():
                lacking.setdefault(name, []).extend(value for value in values if value not in lacking.get(name, []))
    return {"lacking": lacking, "first": first}


def plan_series(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """Try every sensible setting on the waves, or why that cannot be; points appear in the folder as they are found."""
    tell(0.01, text("reading"))
    try:
        made = _planned(given, folder, tell)
    except InputError as mistake:
        return {"problem": for_page(str(mistake), folder.parent)}
    (folder / "plan.html").write_text(plan_html(made), encoding="utf-8")
    sentences = [for_page(one, folder.parent) for one in (*made.situation, *made.sentences)]
    return {"plan": made.as_dict(), "sentences": sentences, "problem": ""}


def _planned(given: Mapping[str, Any], folder: Path, tell: Tell) -> Plan:
    return plan(
        [Path(one) for one in given["waves"]],
        Schema.load(given["schema"]),
        **given["limits"],
        budget=given["budget"],
        newcomers=given["newcomers"],
        dialect=Dialect(given["delimiter"]),
        progress=lambda now: _points(now, folder, tell),
    )


def _points(now: Progress, folder: Path, tell: Tell) -> None:
    """What is known so far, whole or not at all: the page may read it any time."""
    beside = folder / "points.part"
    found = frontier_of(now.so_far)
    beside.write_text(json.dumps({"chart": None if found is None else frontier_chart(found)}), encoding="utf-8")
    beside.replace(folder / "points.json")
    # By time where that is known: some settings take much longer than others.
    share = now.done / max(now.settings, 1) if now.left is None else now.seconds / max(now.seconds + now.left, 1e-9)
    tell(
        share,
        text(
            "setting {number} of {count}: {setting}",
            number=min(now.done + 1, now.settings),
            count=now.settings,
            setting=now.now,
        ),
    )


def try_own(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """One setting on the waves; its first release lies in the folder, and is shown beside the table."""
    waves, setting = [Path(one) for one in given["waves"]], Setting(**given["setting"])
    tell(0.02, text("reading"))
    tried = try_setting(
        waves,
        Schema.load(given["schema"]),
        setting,
        limits=Limits(**given["limits"]),
        newcomers=given["newcomers"],
        dialect=Dialect(given["delimiter"]),
        progress=lambda share: tell(
            0.05 + 0.85 * share, text("publishing the waves by {setting}", setting=setting.name)
        ),
    )
    found: dict[str, Any] = {"outcome": tried.outcome.as_dict(), "name": setting.name, "rows": None, "beside": None}
    if tried.release is None:
        return found
    tables = list(tried.release.tables.values())
    tables = tables if tried.release.drawn is None else tables[:1]  # the side table is no part of the rows
    for place, frame in enumerate(tables):
        plain(frame).write_parquet(folder / f"table-{place}.parquet")
    pairs = paired_rows(tried.release)
    found["rows"] = {"before": first_rows(pairs.before), "after": first_rows(pairs.after), "same": pairs.same}
    model = suggested_model(tried.table)
    tell(0.92, text("comparing it with the table"))
    return {
        **found,
        "beside": compare_tables({**given, "folder": str(folder), "model": model, "cross": []}, folder, tell),
    }


def compare_tables(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """A release that was tried beside its table: how values are spread, two columns crossed, an analyst's model."""
    tell(0.3, text("comparing it with the table"))
    schema, published = Schema.load(given["schema"]), sorted(Path(given["folder"]).glob("table-*.parquet"))
    columns = [*schema.quasi, *schema.sensitive]
    cross = tuple(given["cross"]) or (columns[0], columns[-1])
    compared = partial(
        compare,
        Table.read(given["waves"][0], schema, dialect=Dialect(given["delimiter"])),
        published,
        schema,
        queries=0,
        spread=True,
        crosses=[(cross[0], cross[1])],
    )
    problem = ""
    try:
        found = compared(models=[given["model"]] if given["model"] else [])
    except InputError as mistake:
        found, problem = compared(), str(mistake)
    model = computed_of(found.models[0]) if found.models else None
    return {
        "columns": columns,
        "lost": found.loss,
        "sentences": list(found.sentences[: 3 - len(found.models)]),
        "distributions": [one.as_dict() for one in found.distributions],
        "cross": found.crosses[0].as_dict(),
        "model": given["model"],
        "problem": problem,
        "table": None if model is None else asdict(model.table),
        "said": "" if model is None else model.sentence,
        "chart": None if model is None or model.intervals is None else interval_chart(model.intervals),
    }
