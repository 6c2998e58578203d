"""Publish tables of counts through a ledger: judged with everything that was published before, rows or counts.

A table is given as it would go out, or counted from a register (`tabulate`). The register says who is counted; its
identifiers become pseudonyms, and the ledger keeps who is in which class of each margin, and the counts as published.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from datetime import date as day
from importlib.util import find_spec
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue._version import __version__
from reissue.attacks.findings import Findings
from reissue.contingency.cells import CountRules
from reissue.contingency.noise import private_counts
from reissue.contingency.protection import KEYS, cell_keys, errors, protect, protector_from
from reissue.contingency.table import CountTable
from reissue.data.table import to_polars
from reissue.errors import InputError, SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.ledger.counts import KeptCounts
from reissue.ledger.key import Key
from reissue.ledger.ledger import Ledger
from reissue.ledger.pack import ENDINGS, Keep, csv_bytes, pack_frame
from reissue.ledger.recorded import Recorded, ReleaseRecord, releases_of, sent_of
from reissue.people.counts import CountedRegister, margin_presences, telling_margins
from reissue.people.knowledge import Knowledge
from reissue.policy import Policy
from reissue.published import PublishedRelease, Tables, open_counts
from reissue.published.counts_table import linked
from reissue.publishing.attack import attack
from reissue.publishing.gate import Attackable, run_gate
from reissue.publishing.refusal import problems_of, refusal
from reissue.publishing.turn import as_json, day_of, first_schema, turn
from reissue.release.form import DEFAULT_FORM
from reissue.release.presences import Presences
from reissue.release.states import pack_state
from reissue.schema import Schema

__all__ = ["Protected", "TablePublication", "compare_protections", "publish_table", "tabulate", "tabulated"]

_ROUNDING = 1e-9
_METHOD = "table"
"""What a ledger's record says instead of a method."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TablePublication:
    """A table that was published, or would have been."""

    number: int
    frame: pl.DataFrame
    """As it goes out."""
    cells: int
    hidden: int
    findings: Findings
    recorded: bool
    warnings: tuple[str, ...] = ()


def tabulate(register: Any, schema: Schema, by: Sequence[Sequence[str]]) -> tuple[CountTable, ...]:
    """Count a register's people by some columns.

    Parameters
    ----------
    register
        A table of people: a dataframe or a path.
    schema
        Its schema.
    by
        For each table the columns to classify by.

    Returns
    -------
    tuple[CountTable, ...]
        Exact counts of all combinations that the register's values allow, zeros included.

    Examples
    --------
    >>> import polars as pl
    >>> import reissue as ri
    >>> from reissue.publishing.tables import tabulate
    >>> people = pl.DataFrame({"sex": ["f", "m", "f"], "disease": ["flu", "flu", "HIV"]})
    >>> schema = ri.Schema.read({"sex": "quasi", "disease": "sensitive"})
    >>> (table,) = tabulate(people, schema, [["sex", "disease"]])
    >>> table.low.tolist()
    [1, 1, 0, 1]

    """
    frame = to_polars(register, schema)[0]
    made = []
    for names in by:
        absent = [name for name in names if name not in frame.columns]
        if absent or not names or len(set(names)) < len(names):
            raise SchemaError("Tabulate by columns of the table, each once: --by age,sex.")
        texts = frame.select(pl.col(name).cast(pl.String).fill_null("(missing)") for name in names)
        cells = texts.select(names[0]).unique().sort(names[0])
        for name in names[1:]:
            cells = cells.join(texts.select(name).unique().sort(name), how="cross")
        counted = texts.group_by(names).len("\0n")
        counts = cells.join(counted, on=list(names), how="left", maintain_order="left")["\0n"].fill_null(0)
        made.append(CountTable.of("count", cells, counts.to_numpy().astype("int64")))
    return tuple(made)


def tabulated(
    register: Any,
    schema: Schema,
    by: Sequence[Sequence[str]],
    *,
    protection: str | None = None,
    totals: bool = False,
    key: Key | None = None,
) -> tuple[tuple[CountTable, ...], pl.DataFrame]:
    """Tables of a register's people, protected, and as they go out.

    The `key` of a ledger decides what is drawn, so that the same people get the same noise for as long as it lasts.
    """
    tables = tabulate(register, schema, by)
    tables = tuple(with_totals(one) for one in tables) if totals else tables
    if protection is None:
        return tables, shown(tables)
    how = protector_from(protection)
    if how.method == "dp":
        frame = to_polars(register, schema)[0]
        if schema.identifier is not None and frame[schema.identifier].is_duplicated().any():
            raise InputError("Differentially private counts need one row for each person; `reissue clean` makes it.")
        made = private_counts(tables, how.epsilon)
        return made, shown(made)
    keys = list[Ints | None]([None] * len(tables))
    if key is not None and schema.identifier is not None:
        frame = to_polars(register, schema)[0]
        own = np.asarray(key.pseudonyms(frame[schema.identifier]).to_numpy() % KEYS, np.int64)
        texts = frame.select(pl.all().cast(pl.String).fill_null("(missing)"))
        keys = [cell_keys(texts, own, one) for one in tables]
    made = tuple(protect(one, how, mine) for one, mine in zip(tables, keys, strict=True))
    return made, shown(made)


def with_totals(table: CountTable) -> CountTable:
    """The table with totals over every set of its dimensions."""
    cells = table.categories.with_columns(pl.Series("\0n", table.low))
    parts = [cells]
    for size in range(len(table.dimensions)):
        for kept in combinations(table.dimensions, size):
            summed = (
                cells.group_by(kept, maintain_order=True).agg(pl.col("\0n").sum())
                if kept
                else cells.select(pl.col("\0n").sum())
            )
            parts.append(summed)
    joined = pl.concat(parts, how="diagonal")
    return CountTable.of(table.name, joined.select(table.dimensions), joined["\0n"].to_numpy())


@dataclass(frozen=True)
class Protected:
    """What a protection costs over some waves, and whom it leaves exposed."""

    protection: str
    people: int
    """Exposed by all waves together, everyone solved at once."""
    population: int
    error: float
    """Mean absolute error of a published cell; of a hidden one by the middle of its interval."""
    hidden: int

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


COMPARED = ("none", "threshold=5", "random=3", "round=5", "cellkey=2", "cellkey=5", "round=10", "dp=1")
"""Protections that are compared; the last one, with a budget of 1 for each wave, if its extra is installed."""


def compare_protections(
    waves: Sequence[Any], schema: Schema, by: Sequence[Sequence[str]], *, totals: bool = False
) -> tuple[Protected, ...]:
    """Publish waves with several protections, and attack each series: error of published cells against exposure."""
    frames = [to_polars(wave, schema)[0] for wave in waves]
    made, key = [], Key(b"comparison".ljust(32, b"\0"))
    for name in COMPARED if find_spec("opendp") else COMPARED[:-1]:
        how = None if name == "none" else name
        tables = [tabulated(one, schema, by, protection=how, totals=totals, key=key)[0] for one in frames]
        true = [tabulated(one, schema, by, totals=totals)[0] for one in frames]
        releases = [Tables({"release": shown(one)}, counts=one) for one in tables]
        found = attack(releases, schema, only="joint", knowledge=Knowledge(members=frames))["joint"]
        off = np.concatenate([errors(one, other) for one, other in zip(true, tables, strict=True)])
        hidden = sum(one.hidden for wave in tables for one in wave)
        made.append(Protected(name, found.people, found.population, float(off.mean()), hidden))
    return tuple(made)


def publish_table(
    data: Any,
    ledger: Ledger,
    *,
    register: Any = None,
    rules: CountRules | None = None,
    schema: Schema | None = None,
    recipients: Sequence[str] = (),
    date: day | str | None = None,
    dry_run: bool = False,
    dialect: Dialect = FOUND,
    shown: pl.DataFrame | None = None,
    protection: str | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> TablePublication:
    """Judge tables of counts with everything that a ledger published, and record them.

    Parameters
    ----------
    data
        The published table: a path or a dataframe, or `CountTable`s.
    ledger
        An open ledger.
    register
        The people who are counted, with identifiers. Without it only differences of tables are judged.
    rules
        How the counts were protected, where the table does not say it.
    schema
        The schema, for the first release of a series.
    recipients, date, dry_run, dialect
        As for `publish`.
    shown
        How tables that are given as `CountTable`s go out.
    protection
        How they were protected. A budget that it spends is recorded, and that of the whole series is kept.
    progress
        Called with the share of the work that is done.

    Raises
    ------
    RefusedError
        If the table does not withstand the policy's attacks.

    """
    asked = tuple(sorted(set(recipients)))
    with turn(ledger, first_schema(ledger, schema, dry_run=dry_run), dry_run=dry_run) as (entries, writer):
        plan, releases = ledger.schema_of(entries), releases_of(entries)
        number, policy = len(releases) + 1, Policy.of(plan)
        frame, tables = _opened(data, plan, rules, dialect)
        frame = frame if shown is None else shown
        margins = _margins(tables, plan, register, ledger)
        published = PublishedRelease(Tables({"release": frame}, counts=tables, margins=margins), plan, DEFAULT_FORM)
        candidate = Attackable(plan, DEFAULT_FORM, frame.height, policy.require, lambda: published, counts=True)
        found = run_gate(ledger, sent_of(releases), candidate, policy, asked, number, progress)
        epsilon = 0.0 if protection is None else protector_from(protection).epsilon
        problems = problems_of(None, found.findings, policy, found.uncompared) + _overspent(releases, epsilon, policy)
        if problems:
            raise refusal(number, problems, found.findings, policy, None)
        made = TablePublication(
            number=number,
            frame=frame,
            cells=sum(one.cells for one in tables),
            hidden=sum(one.hidden for one in tables),
            findings=found.findings,
            recorded=writer is not None,
        )
        if writer is not None:
            record = _record(made, tables, margins, asked, day_of(date), writer.keep)
            record = replace(record, promises={"epsilon": epsilon} if epsilon else {})
            writer.append("table", record.as_json())
    return replace(made, warnings=(ledger.unwritten,)) if ledger.unwritten and made.recorded else made


def _overspent(releases: Sequence[Recorded], epsilon: float, policy: Policy) -> list[str]:
    """What stands against a release whose budget exceeds what earlier ones have left of that of the policy."""
    if not epsilon:
        return []
    if policy.epsilon is None:
        return ["budget: the policy has no budget for differentially private counts:  epsilon = 4  in [policy]."]
    # Withdrawn releases count: somebody may have them.
    spent = sum(float(one.record.promises.get("epsilon", 0.0)) for one in releases)
    if spent + epsilon <= policy.epsilon + _ROUNDING:
        return []
    left = max(policy.epsilon - spent, 0.0)
    return [
        f"budget: {left:g} is left of the policy's epsilon of {policy.epsilon:g}; this release asks for {epsilon:g}."
    ]


def _opened(
    data: Any, schema: Schema, rules: CountRules | None, dialect: Dialect
) -> tuple[pl.DataFrame, tuple[CountTable, ...]]:
    """The table as it goes out, and its cells."""
    if isinstance(data, tuple | list) and all(isinstance(one, CountTable) for one in data):
        tables = tuple(data)
        return shown(tables), tables
    (opened,) = open_counts([data], schema, rules=rules or CountRules(), dialect=dialect)
    if not isinstance(opened, Tables):
        raise InputError("This is no table of counts: it has no column of counts beside what is counted.")
    return opened.main, tuple(linked(one, schema) for one in opened.counts)


def shown(tables: Sequence[CountTable]) -> pl.DataFrame:
    """Tables as one long table, with a column for each dimension and one of counts."""
    frames = []
    for one in tables:
        counts = pl.Series("count", one.texts())
        frames.append(one.categories.with_columns(pl.col(pl.String).fill_null("Total"), counts))
    wide = pl.concat(frames, how="diagonal")
    return wide.select([name for name in wide.columns if name != "count"] + ["count"])


def _margins(
    tables: Sequence[CountTable], schema: Schema, register: Any, ledger: Ledger
) -> tuple[tuple[CountTable, Presences], ...]:
    """The margins that tell something, with pseudonyms of who is in which class."""
    if register is None:
        return ()
    known = CountedRegister.read(register, schema, complete=True)
    names = ledger.key.pseudonyms(known.names).cast(pl.String)
    known = replace(known, names=names)
    return tuple((one, margin_presences(one, schema, known)) for one in telling_margins(tables, schema))


def _record(
    made: TablePublication,
    tables: Sequence[CountTable],
    margins: Sequence[tuple[CountTable, Presences]],
    recipients: tuple[str, ...],
    dated: str | None,
    keep: Keep,
) -> ReleaseRecord:
    """What the entry says, its files kept."""
    digest = hashlib.sha256(csv_bytes(made.frame)).hexdigest()
    files = {"table.release": keep(pack_frame(made.frame), ".parquet")}
    files["counts"] = keep(pack_state(KeptCounts.of(tables, margins)), ENDINGS["state"])
    return ReleaseRecord(
        adopted=False,
        method=_METHOD,
        requirement="",
        promises={},
        rows=made.frame.height,
        groups=made.cells,
        suppressed=made.hidden,
        counterfeits=0,
        tables=("release",),
        files=files,
        csv={"release": digest},
        recipients=recipients,
        date=dated,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        findings=as_json(made.findings.as_dict()),
        kinds={},
        request=digest,
        reissue=__version__,
        warnings=(),
    )
