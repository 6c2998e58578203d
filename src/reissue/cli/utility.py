"""`reissue utility`: how much a published table still says."""

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import DelimiterOption, JsonOption, SchemaOption, delimiter_of, options_of


@app.command()
def utility(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The table as it was.")],
    published: Annotated[
        list[Path],
        typer.Argument(metavar="PUBLISHED", help="What was published of it: one table, or two with groups and counts."),
    ],
    schema: SchemaOption,
    workload: Annotated[
        str, typer.Option(metavar="NAME", help="Which count queries: ranges, or one of the papers' own workloads.")
    ] = "ranges",
    queries: Annotated[
        int | None, typer.Option(min=0, help="How many random count queries; 0 for none. Default: the workload's own.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which random queries.")] = 0,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=NUMBER", help="How much a column's loss counts, 1 if not given; may be repeated."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Group sizes are also shown in multiples of this k.")
    ] = None,
    delimiter: DelimiterOption = ",",
    as_json: JsonOption = False,
) -> None:
    """Compare a published table with the original: information loss, group sizes, errors of count queries."""
    from reissue.schema import Schema
    from reissue.utility import compare

    outcome = compare(
        original,
        published,
        Schema.load(schema),
        k=k,
        weights=options_of(weight or []),
        queries=queries,
        workload=workload,
        seed=seed,
        delimiter=delimiter_of(delimiter),
    )
    if as_json:
        _render.show_json(outcome.as_dict())
    else:
        _render.say(*outcome.sentences)
