"""anonymize: one table, one release."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from reissue.data.draws import draw_key, with_draws
from reissue.data.frames import is_spark
from reissue.data.table import Table
from reissue.engines.base import InBatches
from reissue.engines.registry import SPARK, choose
from reissue.errors import InputError, InternalError, SchemaError
from reissue.methods import Algorithm, Job, find
from reissue.methods.several_rows import run_method
from reissue.release.memory import Memory, MethodState, SeriesTable, enter, keep
from reissue.release.release import Release
from reissue.requirements import Requirement, by_column, parse
from reissue.schema import Schema
from reissue.verify.recheck import make_release

__all__ = ["BOXES", "DEFAULT_METHOD", "anonymize", "refuse_memory"]

DEFAULT_METHOD = "pool"
BOXES = ("nodes", "tight")


def anonymize(
    data: Any,
    schema: Schema | Mapping[str, Any] | str | Path,
    requirement: Requirement | str,
    *,
    method: str = DEFAULT_METHOD,
    suppress: float = 0.0,
    seed: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
    memory: Memory | None = None,
    newcomers: bool = False,
    boxes: str = BOXES[0],
    **options: Any,
) -> Release:
    """Make one release of a table that meets a requirement.

    Parameters
    ----------
    data
        A dataframe, a path or a Table.
    schema
        The roles of the columns: a Schema, a mapping of columns to roles, or a path.
    requirement
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
    boxes
        "nodes" publishes nodes of the taxonomies; "tight" publishes ranges between people's own values: less is lost,
        but every end of a range is somebody's value.
    **options
        Options of the method.

    Returns
    -------
    Release
        The release, of the same kind of dataframe as the input in `.frame`. Of a Spark DataFrame, a `ReleaseFrame`
        whose rows stay on the cluster, unless the method looks at all rows at once.

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
    requirement = parse(requirement) if isinstance(requirement, str) else requirement
    schema, chosen = Schema.read(schema), find(method)
    settled = chosen.settle(options)
    if not 0 <= suppress < 1:
        raise InputError("`suppress` must be a share of the rows, at least 0 and below 1.")
    if boxes not in BOXES:
        raise InputError('`boxes` must be "nodes" or "tight".')
    if is_spark(data) and not _needs_rows(chosen, requirement, settled, suppress, schema):
        known: dict[str, Any] = {"suppress": suppress, "seed": seed, "boxes": boxes, "progress": progress, **options}
        return _by_spark(data, schema, requirement, memory, {"method": method, **known})
    table = _read(data, schema, memory)
    table = table.with_boxes(tight=boxes == "tight")
    if requirement.sensitive and not table.schema.sensitive:
        raise SchemaError(
            f"The requirement {requirement} looks at sensitive values, but the schema names no such column."
        )
    asked = by_column(requirement, table.margins, table.domain)
    chosen.refuse_several_rows(asked, table)
    rng = np.random.default_rng(seed)
    job = Job(table, asked, rng, suppress, settled, progress)
    if chosen.state is not None:
        entry = enter(table, memory, method, chosen.state, newcomers=newcomers)
        return _continue(job, requirement, chosen, entry, tight=boxes == "tight")
    refuse_memory(memory, method)
    chosen.refuse_impossible(asked, table, suppress)
    if chosen.draws(settled):
        table = with_draws(table, draw_key(rng))
    draft = run_method(chosen, replace(job, table=table))
    progress(1.0)
    release = make_release(table, draft, requirement, method, rng)
    state = chosen.recheck(release, settled) if chosen.recheck else None
    return replace(release, draft=replace(release.draft, state=state))


def refuse_memory(memory: object | None, method: str) -> None:
    """Stop where a memory is given to a method that remembers nothing."""
    if memory is not None:
        raise InputError(f"The method '{method}' makes releases one at a time: it has no use for a memory.")


def _needs_rows(
    chosen: Algorithm, requirement: Requirement, options: Mapping[str, Any], suppress: float, schema: Schema
) -> bool:
    """Whether a table that lies elsewhere must be seen row by row."""
    from reissue.publishing.larger.asked import why_all_rows

    return bool(why_all_rows(chosen, requirement, options, suppress, schema))


def _by_spark(
    data: Any, schema: Schema, requirement: Requirement, memory: Memory | None, known: dict[str, Any]
) -> Release:
    """A ReleaseFrame: what a Spark DataFrame becomes. It is no Release, and is typed as `anonymize_frame`."""
    from reissue.publishing.larger.anonymize import anonymize_frame

    refuse_memory(memory, known["method"])
    made: Any = anonymize_frame(data, schema, requirement, **known)
    return cast("Release", made)


def _read(data: Any, schema: Schema, memory: Memory | None) -> Table:
    """A table; of a Spark DataFrame the codes come here."""
    if isinstance(data, Table):
        return data
    if not is_spark(data):
        return Table.read(data, schema)
    from reissue.publishing.larger.codes import table_by_codes

    source = choose(SPARK, data).open(data)
    assert isinstance(source, InBatches)  # noqa: S101  # it was asked for by name
    return table_by_codes(source, schema, memory)


def _continue(job: Job, requirement: Requirement, chosen: Algorithm, entry: SeriesTable, *, tight: bool) -> Release:
    """The next release of a series; its draft carries the memory for the one after."""
    entry = replace(entry, table=entry.table.with_boxes(tight=tight))
    asked = by_column(requirement, entry.table.margins, entry.table.domain)
    known: dict[str, Any] = {"state": entry.state, "people": entry.people, "stable_code": entry.stable_code}
    draft = chosen.run(replace(job, table=entry.table, requirement=asked, **known))
    job.progress(1.0)
    if not isinstance(draft.state, MethodState):
        raise InternalError(f"The method '{chosen.name}' left no state for the next release. Please report this.")
    draft = replace(draft, memory=keep(entry, draft.state, chosen.name))
    return make_release(entry.table, draft, requirement, chosen.name, job.rng)
