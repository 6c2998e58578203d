"""Randomized values in a series: what is drawn for a table, and what the next release needs to know.

Values are drawn for the whole table before it is grouped. So groups follow from quasi-identifiers and published values
alone, and whoever is suppressed afterwards counts as published all the same: an adversary who does not see the row
knows less on average than one who does, and the second is within the limits.

Several sensitive columns are taken together: a value is then a combination, and every combination and every single
value is protected. Values that nobody named at the start are never published (see `_codes`).
"""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.data.table import Table
from reissue.errors import DataError, InputError, InternalError, SchemaError
from reissue.methods import find, registered
from reissue.methods.registry import Trait
from reissue.publishing.after_exact import ExactReleases
from reissue.publishing.assumed import (
    adversaries_of,
    assumed_changes,
    capped,
    events_of,
    how_drawn,
    mechanism_for,
    with_priors,
)
from reissue.publishing.drawn_states import ShownValues, ValuesState
from reissue.publishing.value_lists import codes_of, places_of, scale_of, texts_of, values_and_changes
from reissue.randomization import RandomizedSettings, holds_amounts
from reissue.randomized import (
    CLASS,
    Mechanism,
    Randomized,
    Remembered,
    StartingBeliefs,
    TrueValues,
    grow_classes,
    mechanism,
    noisy_counts,
    publish,
    remembered_from,
    side_table,
)
from reissue.randomized.draws import pick, uniform
from reissue.release.release import SIDE, Boxes, DrawnValues, Release
from reissue.schema import Schema

__all__ = ["Drawn", "draw_values", "refuse_method", "with_side_table"]

_STRANGER = 9
"""The purpose of the draws that stand for values nobody named; the others are those of `randomized.series`."""
_REFIT = 2.0
"""Priors of newcomers, and their matrices, are made anew when so many times as many newcomers are counted."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A table whose values have been drawn."""

    table: Table
    """With published values in place of true ones."""
    people: Ints
    values: DrawnValues
    """Row by row."""
    made: Mechanism
    release: Randomized
    state: ValuesState
    """What the next release needs."""
    shown: ShownValues
    strangers: int
    """Rows whose true value was not named at the start: it cannot be published."""
    changed: float | None
    """The share of people of the release before whose value has changed; None where there are none."""

    @cached_property
    def known(self) -> Bools:
        """Row to whether its true value is one of those that may be published."""
        return self.values.true >= 0

    def of_rows(self, rows: Ints) -> DrawnValues:
        """What was drawn for some rows of the table."""
        return replace(self.values, true=self.values.true[rows], published=self.values.published[rows])

    def side_of(self, rows: Ints, classes: Ints) -> pl.DataFrame:
        """The side table of some rows, whose classes follow from what is published of them."""
        state, published, last = self.state, self.values.published[rows], len(self.made.views) - 1
        belief, prior = self.release.belief(last)[rows], self.release.prior(last)[rows]
        words, number = _definitions(state, self.table.schema), len(state.classes)
        # A prior that is the same for all classes comes from elsewhere, or is that of people taken for alike.
        worth = float(np.ptp(self.made.views[last].adversary.prior, axis=0).any())
        made = side_table(
            published, belief, prior, classes, number, worth=worth, values=state.values, definitions=words
        )
        return made.frame()

    def classes_of(self, boxes: Boxes) -> Ints:
        """The class of each published box."""
        places = places_of(self.state.scales, self.table.codings)
        ends = [
            np.stack([place[own] for place, own in zip(places, codes, strict=True)]) for codes in (boxes.lo, boxes.hi)
        ]
        return self.state.classes.of_boxes(*ends)


def draw_values(
    table: Table,
    people: Ints,
    settings: RandomizedSettings,
    before: ValuesState | None,
    *,
    key: bytes,
    number: int = 1,
    exact: ExactReleases | None = None,
    margin: float | None = None,
) -> Drawn:
    """Draw the published values of a table.

    Parameters
    ----------
    table
        With its true values.
    people
        The pseudonym of each row.
    settings
        How values are randomized, and against whom; limits are those of the schema's policy.
    before
        What the release before left; None for a first one.
    key
        16 secret bytes. The same key, table and state give the same values.
    number
        Of the release in its series.
    exact
        The exact releases with which the series began, if it did.
    margin
        Of values of people who were in them: by which factor odds stay below those of the limits; by default as the
        settings say.

    Raises
    ------
    InputError
        If the table cannot be randomized, or the settings are not those of the series.
    """
    _refuse_table(table)
    asked = _asked(table.schema)
    if before is None:
        before = _begun(table, settings, asked, exact)
    elif before.asked != asked:
        raise InputError(
            "The limits, [policy.randomized] or [updates] are not those that this series of randomized values began "
            "with: what its releases tell of people's values was computed by those. Change them back (`reissue ledger "
            "amend`), or begin a new series."
        )
    settings = RandomizedSettings(**json.loads(before.settings))
    places = places_of(before.scales, table.codings)
    classes = before.classes.of(np.stack([place[own] for place, own in zip(places, table.codes, strict=True)]))
    state, made, true, known = _prepared(table, people, classes, settings, before, key, number)
    made = replace(made, known=settings.margin if margin is None else margin)
    rows = TrueValues(people, true, classes)
    remembered = before.remembered if len(before.releases) else None
    if remembered is None and len(before.known.pseudonyms):
        remembered = remembered_from(made, before.known, key=key)
    release = publish(made, remembered, len(before.releases), rows, key=key)
    state = replace(state, remembered=release.remembered)
    drawn = DrawnValues(before.values, np.where(known, true, -1), release.published)
    published = table.with_sensitive(before.values[release.published])
    shown = _shown(people, release, classes + len(before.classes) * int(state.epochs[-1]))
    changed = _changed(before.remembered, release.remembered, people) if len(before.releases) else None
    return Drawn(published, people, drawn, made, release, state, shown, int((~known).sum()), changed)


def with_side_table(release: Release, drawn: Drawn, rows: Ints) -> Release:
    """A release with the classes of its rows and its side table; `rows` are those of the drawn table that it is of.

    The class of a row follows from its published quasi-identifiers, so it tells nothing that these do not.
    """
    if release.draft.form.numbered or release.counterfeits or release.order is None:
        raise InternalError(
            "Randomized values were grouped by a method that does not go with them. Please report this."
        )
    if CLASS in release.tables["release"].columns:
        raise SchemaError(
            f"A release of randomized values has a column '{CLASS}' of its own. Rename the data's column."
        )
    of_group = drawn.classes_of(release.boxes)
    kept = np.flatnonzero(release.draft.groups >= 0)
    classes = of_group[release.draft.groups[kept]]
    main = release.tables["release"]
    column = pl.Series(CLASS, of_group[release.draft.groups[release.order]] + 1, dtype=pl.Int64)
    tables = {**release.tables, "release": main.with_columns(column), SIDE: drawn.side_of(rows[kept], classes)}
    return replace(release, tables=tables, drawn=drawn.of_rows(rows))


def _definitions(state: ValuesState, schema: Schema) -> list[str]:
    """Each class in words: where in the order of the first table's values its records lie."""
    return [
        " and ".join(
            f"{schema.quasi[attribute]} {_span(state.scales[attribute], first, last)}"
            for attribute, (first, last) in sorted(cell.items())
        )
        or "all records"
        for cell in state.classes.cells()
    ]


def _span(scale: pl.DataFrame, first: int | None, last: int | None) -> str:
    names = scale["value"].cast(pl.String).fill_null("missing").to_list()
    if first is None:
        return f"up to {names[min(last or 0, len(names) - 1)]}"
    start = names[min(first, len(names) - 1)]
    return f"from {start}" if last is None else f"from {start} to {names[min(last, len(names) - 1)]}"


# --- what is refused -------------------------------------------------------------------------------------------------


def refuse_method(name: str) -> None:
    """Stop at a method that does not group quasi-identifiers alone."""
    chosen = find(name)
    if chosen.stateful or Trait.BLIND not in chosen.traits:
        fitting = sorted(other for other, one in registered().items() if Trait.BLIND in one.traits and not one.stateful)
        raise InputError(
            f"The method '{name}' does not go with randomized values: they need one that groups quasi-identifiers and "
            f"looks at values through the requirement alone: {', '.join(fitting)}."
        )


def _refuse_table(table: Table) -> None:
    """Stop where values cannot be randomized."""
    schema = table.schema
    if CLASS in schema.columns:
        raise SchemaError(
            f"A release of randomized values has a column '{CLASS}' of its own. Rename the data's column."
        )
    if not schema.sensitive:
        raise SchemaError("Randomized values need a sensitive column, and the schema names none.")
    if table.people is not None:
        raise SchemaError("Randomized values need one record per person: a person with several has several draws.")
    for name in schema.sensitive:
        if holds_amounts(table.kinds[name], table.secrets[schema.sensitive.index(name)].taxonomy.size):
            raise DataError(
                f"The sensitive column '{name}' holds amounts. A randomized value is drawn among the values of other "
                "people, so it needs a list of values: publish the amounts in ranges, as text (low, middle, high)."
            )


def _asked(schema: Schema) -> str:
    keys = ("randomized", "limit", "gain", "sensitive_values", "harmless_values", "missing_is_sensitive", "average")
    limits = {key: schema.policy[key] for key in keys if key in schema.policy}
    said = {"policy": limits, "updates": dict(schema.updates)}
    return json.dumps(said, sort_keys=True, default=str)


# --- the beginning of a series ---------------------------------------------------------------------------------------


def _begun(table: Table, settings: RandomizedSettings, asked: str, exact: ExactReleases | None) -> ValuesState:
    """A series before its first release: which values there are, and classes of people."""
    scales = tuple(scale_of(coding) for coding in table.codings)
    size = min(settings.class_size, table.rows)
    places = places_of(scales, table.codings)
    codes = np.stack([place[own] for place, own in zip(places, table.codes, strict=True)])
    classes = grow_classes(codes, size)
    values, change = values_and_changes(table, exact.names if exact is not None else ())
    known = exact.known(texts_of(values)) if exact is not None else StartingBeliefs.nobody()
    none, nothing = np.empty(0, np.int64), np.zeros((len(classes), values.height))
    people = Remembered(-1, none, none, none, none, none, _no_beliefs(values.height))
    priors, first = np.empty((0, 0, len(classes), values.height)), np.empty((0, 0, 0))
    counted = nothing, nothing, 0.0, 1.0
    said = json.dumps(settings.as_json())
    return ValuesState(asked, said, values, scales, classes, people, *counted, priors, change, first, none, none, known)


def _no_beliefs(size: int) -> Any:
    from reissue.randomized.beliefs import PublicBeliefs

    return PublicBeliefs(np.empty((0, 1, size)), np.empty((0, 1, size)), ())


# --- every release ---------------------------------------------------------------------------------------------------


def _prepared(
    table: Table,
    people: Ints,
    classes: Ints,
    settings: RandomizedSettings,
    before: ValuesState,
    key: bytes,
    number: int,
) -> tuple[ValuesState, Mechanism, Ints, Bools]:
    """The state with today's newcomers counted, the mechanism, and the codes of true values."""
    true, known = codes_of(table, before.values)
    size, release = before.values.height, len(before.releases)
    new = ~np.isin(people, before.remembered.pseudonyms)
    counted = new & known
    shape = (len(before.classes), size)
    counts = noisy_counts(true[counted], classes[counted], shape, epsilon=settings.epsilon, key=key, release=release)
    state = before
    if release == 0:
        state = replace(state, residents=counts)
        state = state if state.change.size else replace(state, change=assumed_changes(state, settings))
    else:
        state = replace(state, newcomers=before.newcomers + counts)
    many = float(state.newcomers.sum())
    if release < 2 or many >= _REFIT * max(before.fitted, 1.0):
        adversaries = adversaries_of(state, settings, release)
        made, cap = mechanism_for(adversaries, table, settings, state.values)
        own = np.stack([one.prior for one in adversaries])[np.newaxis]
        priors = own if release == 0 else np.concatenate([state.priors, own])
        state = replace(state, fitted=many, priors=priors, first=made.first, cap=cap)
    else:
        adversaries = with_priors(state, settings, list(state.priors[-1]))
        events = capped(events_of(table.schema, settings, state.values), state.cap)
        made = mechanism(adversaries, events, matrices=state.first, **how_drawn(settings, size))
    epoch = len(state.priors) - 1
    state = replace(state, releases=np.append(state.releases, number), epochs=np.append(state.epochs, epoch))
    own_prior = state.priors[-1][-1][classes[~known]]
    true[~known] = pick(own_prior, uniform(key, people[~known], 0, 0, _STRANGER))
    return state, made, true, known


def _shown(people: Ints, release: Randomized, classes: Ints) -> ShownValues:
    chance, row = np.unique(release.chance, axis=0, return_inverse=True)
    return ShownValues(people, release.published, classes, row.reshape(-1).astype(np.int64), chance)


def _changed(before: Remembered, after: Remembered, people: Ints) -> float | None:
    """The share of people of the release before whose true value is another one now."""
    last = before.pseudonyms[before.seen == before.release]
    both = np.intersect1d(last, people)
    if not len(both):
        return None
    then = before.tag[np.searchsorted(before.pseudonyms, both)]
    now = after.tag[np.searchsorted(after.pseudonyms, both)]
    return float((then != now).mean())
