"""What counterfeits show: cells of real records, so that no column, format or missing value gives them away.

A counterfeit copies its kept columns from one real record of its group, and its sensitive cells from a record that has
the value which the method decided. Where the sensitive value stands in the same row, only kept values are copied that
several records have: a value of its own, seen twice, would show that one of the two rows is nobody. If most records
have values of their own, there is no release.
"""

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.keys import pack
from reissue.data.table import Table
from reissue.errors import SchemaError
from reissue.release.release import Counterfeits, Draft

__all__ = ["counterfeit_cells"]


def counterfeit_cells(
    table: Table, draft: Draft, fakes: Counterfeits, rng: np.random.Generator
) -> dict[str, pl.Series]:
    """The kept and sensitive cells of the counterfeits, each from a real record that is published."""
    real = np.flatnonzero(draft.groups >= 0)
    cells = _sensitive(table, draft, fakes, real, rng)
    if table.schema.kept:
        apart = not draft.form.boxes
        models = _models(table, draft, fakes, real if apart else _shared(table, real), rng)
        cells |= {name: table.frame[name].gather(models) for name in table.schema.kept}
    return cells


def _sensitive(
    table: Table, draft: Draft, fakes: Counterfeits, real: Ints, rng: np.random.Generator
) -> dict[str, pl.Series]:
    """Sensitive cells as real records with the same value write them; decoded where nobody has it in this release."""
    decoded = {column.name: column for column in table.decode(fakes.sensitive)}
    if draft.sensitive is not None:
        return decoded
    models = _pick(rng, fakes.sensitive, table.sensitive, real)
    found = pl.Series(models >= 0)
    copied = {name: table.frame[name].gather(np.maximum(models, 0)).cast(table.kinds[name]) for name in decoded}
    return {name: copied[name].zip_with(found, column) for name, column in decoded.items()}


def _shared(table: Table, rows: Ints) -> Ints:
    """Those of the rows whose kept values another of them has too; these must be the rule, not the exception."""
    shared: Ints = rows[table.frame[rows].select(table.schema.kept).is_duplicated().to_numpy()]
    if 2 * len(shared) < len(rows):
        raise _recognizable(table)
    return shared


def _models(table: Table, draft: Draft, fakes: Counterfeits, rows: Ints, rng: np.random.Generator) -> Ints:
    """The record that each counterfeit copies: of its group, with its quasi-identifiers if there is one.

    Only where the group has none of the allowed rows is it one with the same quasi-identifiers, or any. A counterfeit
    that stays for several releases keeps its model as long as that is there.
    """
    columns = np.vstack([np.append(draft.groups, fakes.groups)[np.newaxis], np.hstack([table.codes, fakes.codes])])
    sizes = (int(columns[0].max()) + 1, *table.sizes)
    places = np.full(len(fakes.groups), -1, np.int64)
    number = len(columns)
    for chosen in (range(number), range(1), range(1, number)):
        keys, _ = pack([columns[place] for place in chosen], [sizes[place] for place in chosen])
        found = _pick(rng, keys[table.rows :], keys[: table.rows], rows)
        places = np.where(places < 0, found, places)
    return np.where(places < 0, rng.choice(rows, len(places)), places)


def _pick(rng: np.random.Generator, wanted: Ints | Codes, keys: Ints | Codes, rows: Ints) -> Ints:
    """For each wanted key a random one of the rows that have it, -1 where none has."""
    order = rows[np.argsort(keys[rows], kind="stable")]
    first = np.searchsorted(keys[order], wanted)
    number = np.searchsorted(keys[order], wanted, "right") - first
    place = first + (rng.random(len(wanted)) * number).astype(np.int64)
    return np.where(number > 0, order[np.minimum(place, len(order) - 1)], -1)


def _recognizable(table: Table) -> SchemaError:
    names = ", ".join(f"'{name}'" for name in table.schema.kept)
    return SchemaError(
        f"This release needs counterfeits, and most records have values of their own in the kept columns ({names}): "
        "a counterfeit with a copy of them would be recognized. Drop these columns, make them coarser, or publish "
        'exact quasi-identifiers apart from the values (form = "permuted" or "two tables").'
    )
