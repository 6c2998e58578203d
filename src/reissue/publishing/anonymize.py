"""`anonymize`: one table, one release."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from reissue._renamed import renamed
from reissue.data.draws import draw_key, with_draws
from reissue.data.frames import SparkFrame, is_spark
from reissue.data.table import Table
from reissue.errors import InternalError
from reissue.methods import Job
from reissue.methods.several_rows import run_method
from reissue.publishing.recipe import BOXES, DEFAULT_METHOD, Recipe
from reissue.randomization import EXACT, RANDOMIZED, RandomizedSettings, values_of
from reissue.release.memory import Memory, MethodState, SeriesTable, enter, keep
from reissue.release.release import Release
from reissue.requirements import Requirement, by_column
from reissue.schema import Schema
from reissue.verify.recheck import make_release

if TYPE_CHECKING:
    from reissue.publishing.by_regions import ReleaseFrame

__all__ = ["anonymize"]


@overload
def anonymize(
    data: SparkFrame,
    schema: Schema | Mapping[str, Any] | str | Path,
    require: Requirement | str,
    *,
    method: str = ...,
    suppress: float = ...,
    seed: int | None = ...,
    boxes: str = ...,
    memory: Memory | None = ...,
    newcomers: bool = ...,
    values: str = ...,
    progress: Callable[[float], None] = ...,
    **options: Any,
) -> "Release | ReleaseFrame": ...


@overload
def anonymize(
    data: object,
    schema: Schema | Mapping[str, Any] | str | Path,
    require: Requirement | str,
    *,
    method: str = ...,
    suppress: float = ...,
    seed: int | None = ...,
    boxes: str = ...,
    memory: Memory | None = ...,
    newcomers: bool = ...,
    values: str = ...,
    progress: Callable[[float], None] = ...,
    **options: Any,
) -> Release: ...


@renamed(requirement="require")
def anonymize(
    data: object,
    schema: Schema | Mapping[str, Any] | str | Path,
    require: Requirement | str,
    *,
    method: str = DEFAULT_METHOD,
    suppress: float = 0.0,
    seed: int | None = None,
    boxes: str = BOXES[0],
    memory: Memory | None = None,
    newcomers: bool = False,
    values: str = EXACT,
    progress: Callable[[float], None] = lambda _: None,
    **options: Any,
) -> "Release | ReleaseFrame":
    """Make one release of a table that meets a requirement.

    Parameters
    ----------
    data
        A dataframe, a path or a Table.
    schema
        The roles of the columns: a Schema, a mapping of columns to roles, or a path.
    require
        What every group must meet: text such as "k=5 & l=3", or requirements joined with `&`.
    method
        How groups are formed.
    suppress
        The share of records that may be suppressed; a share of people where people have repeated records.
    seed
        The seed of all random choices. The same data, options and seed give the same release. Whoever knows the seed
        can undo the shuffling of records, so by default one is drawn and forgotten.
    progress
        Called with the share of the work that is done.
    memory
        For methods that follow people through a series: what the release before left in its draft.
    newcomers
        Whether it is right that hardly anybody of the release before returns.
    values
        "exact" publishes sensitive values as they are; "randomized" publishes values that are each true with a chosen
        probability, and a side table to estimate from. Limits and settings are those of the schema's policy. For a
        series use `publish`, which keeps what was drawn.
    boxes
        "nodes" publishes nodes of the taxonomies; "tight" publishes ranges between people's own values: less is lost,
        but every end of a range is somebody's value.
    **options
        Options of the method.

    Returns
    -------
    Release
        The release, of the same kind of dataframe as the input in `.frame`. Given a Spark DataFrame, a `ReleaseFrame`
        whose rows stay on the cluster (`anonymize_frame`), unless the method looks at all rows at once: then the
        codes of these come to the driver, and the frames of the Release are Spark's.

    Raises
    ------
    NotMetError
        If no release meets the requirement.
    InputError
        If the table does not fit the schema, or an option is not one of the method.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> release = ri.anonymize(patients, schema(), "k=5 & l=3", seed=1)
    >>> release.frame.shape
    (200, 5)
    """
    recipe, schema = Recipe.of(method, require, suppress, boxes, options), Schema.read(schema)
    recipe.refuse_memory(memory)
    drawn = values_of({"values": values}) == RANDOMIZED
    if is_spark(data):
        from reissue.publishing.by_regions import frame_of
        from reissue.publishing.coding import spark_table

        if not drawn and not recipe.why_all_rows(schema):
            return frame_of(data, schema, recipe, seed=seed, progress=progress)
        data = spark_table(data, schema, memory)
    table = data if isinstance(data, Table) else Table.read(data, schema)
    recipe.refuse_schema(table.schema)
    if drawn:
        return _randomized(table.with_boxes(tight=recipe.tight), recipe, seed, progress)
    return _of_table(table.with_boxes(tight=recipe.tight), recipe, seed, memory, progress, newcomers=newcomers)


def _randomized(table: Table, recipe: Recipe, seed: int | None, progress: Callable[[float], None]) -> Release:
    """A single release of randomized values: without a ledger nothing is kept for a next one."""
    from reissue.publishing.randomizing import draw_values, refuse_method, with_side_table

    refuse_method(recipe.method)
    key = secrets.token_bytes(16) if seed is None else hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
    everyone = np.arange(table.rows)
    drawn = draw_values(table, everyone, RandomizedSettings.of(table.schema), None, key=key)
    release = _of_table(drawn.table, recipe, seed, None, progress, newcomers=False)
    return with_side_table(release, drawn, everyone)


def _of_table(
    table: Table,
    recipe: Recipe,
    seed: int | None,
    memory: Memory | None,
    progress: Callable[[float], None],
    *,
    newcomers: bool,
) -> Release:
    """The release of a table whose rows are here, as codes at least."""
    chosen, rng = recipe.algorithm, np.random.default_rng(seed)
    asked = by_column(recipe.requirement, table.margins, table.domain)
    chosen.refuse_several_rows(asked, table)
    job = Job(table, asked, rng, recipe.suppress, recipe.options, progress)
    if chosen.state is not None:
        entry = enter(table, memory, recipe.method, chosen.state, newcomers=newcomers)
        return _next_of_series(job, recipe, entry)
    chosen.refuse_impossible(asked, table, recipe.suppress)
    if chosen.draws(recipe.options):
        table = with_draws(table, draw_key(rng))
    draft = run_method(chosen, replace(job, table=table))
    progress(1.0)
    release = make_release(table, draft, recipe.requirement, recipe.method, rng)
    if chosen.recheck is not None:
        chosen.recheck(release, recipe.options)
    return release


def _next_of_series(job: Job, recipe: Recipe, entry: SeriesTable) -> Release:
    """The next release of a series; its draft carries the memory for the one after."""
    table = entry.table.with_boxes(tight=recipe.tight)
    asked = by_column(recipe.requirement, table.margins, table.domain)
    known: dict[str, Any] = {"state": entry.state, "people": entry.people, "stable_code": entry.stable_code}
    draft = recipe.algorithm.run(replace(job, table=table, requirement=asked, **known))
    job.progress(1.0)
    if not isinstance(draft.state, MethodState):
        raise InternalError(f"The method '{recipe.method}' left no state for the next release. Please report this.")
    draft = replace(draft, memory=keep(replace(entry, table=table), draft.state, recipe.method))
    return make_release(table, draft, recipe.requirement, recipe.method, job.rng)
