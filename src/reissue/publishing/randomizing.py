"""Randomized values in a series: what is drawn for a table, and what the next release needs to know.

Values are drawn for the whole table before it is grouped. So groups follow from quasi-identifiers and published values
alone, and whoever is suppressed afterwards counts as published all the same: an adversary who does not see the row
knows less on average than one who does, and the second is within the limits.

Several sensitive columns are taken together: a value is then a combination, and every combination and every single
value is protected. Values that nobody named at the start are never published (see `_codes`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.texts import MISSING, joined_texts
from reissue.data.table import Table
from reissue.errors import DataError, InputError, InternalError, SchemaError
from reissue.methods import find, registered
from reissue.methods.registry import Trait
from reissue.protection import CERTAIN, Protection, average_of
from reissue.randomization import ALIKE, DEPARTURES, RandomizedSettings, by_text, holds_amounts
from reissue.randomized import (
    CLASS,
    Adversary,
    Mechanism,
    ProtectedEvents,
    Randomized,
    Remembered,
    TrueValues,
    ValueClasses,
    grow_classes,
    mechanism,
    noise_of,
    noisy_counts,
    publish,
    shares_of,
    side_table,
)
from reissue.randomized.adversaries import normalized
from reissue.randomized.draws import pick, uniform
from reissue.release.form import Form
from reissue.release.release import SIDE, Boxes, DrawnValues, Release
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding
from reissue.updates import read_updates

__all__ = ["Drawn", "ShownValues", "ValuesState", "draw_values", "protected_events", "refuse_method", "with_side_table"]

_STRANGER = 9
"""The purpose of the draws that stand for values nobody named; the others are those of `randomized.series`."""
_COMBINATIONS = 256
"""Up to so many combinations of several columns may be published; beyond, only those of the first table."""
_BY_PROGRAM = 40
"""Up to so many values, first matrices are found by linear program; beyond, in closed form."""
_STEPS = 5
"""Halvings of the limit's way to the average."""
_REFIT = 2.0
"""Priors of newcomers, and their matrices, are made anew when so many times as many newcomers are counted."""


@dataclass(frozen=True, eq=False)
class ValuesState:
    """What a series of randomized values keeps: private, replaced by every release."""

    VERSION: ClassVar[int] = 1

    asked: str
    """What the schema says of settings, limits and changes, which stays the same for the whole series, as JSON."""
    settings: str
    """All settings, with the defaults of the version of Reissue that the series began with, as JSON."""
    values: pl.DataFrame
    """The sensitive columns: a row for each value that may be published, whose number is its code."""
    scales: tuple[pl.DataFrame, ...]
    """The values of each quasi-identifier in the first table, in the order by which classes were made."""
    classes: ValueClasses
    remembered: Remembered
    residents: Floats
    """Classes x values: noisy counts of those in the first release."""
    newcomers: Floats
    """The same of everybody who came later, at the first publication."""
    fitted: float
    """How many newcomers the priors of newcomers were made of."""
    cap: float
    """The largest limit by which values are drawn; lower than the policy's where `average` asks for it."""
    priors: Floats
    """Epochs x adversaries x classes x values."""
    change: Floats
    """Values x values: the probabilities of changes from one release to the next."""
    first: Floats
    """Classes x values x values: the first matrices of the last epoch."""
    releases: Ints
    """The numbers of the releases so far."""
    epochs: Ints
    """The epoch of each of them."""


@dataclass(frozen=True, eq=False)
class ShownValues:
    """What a release showed of whom, and what it was drawn from: public, but for the pseudonyms."""

    VERSION: ClassVar[int] = 1

    people: Ints
    published: Ints
    classes: Ints
    """Of each person, had this been the first publication; those of an epoch follow those of the epoch before."""
    row: Ints
    """Person to row of `chance`."""
    chance: Floats
    """Distinct likelihoods of a published value, by true value (`PublicRecord.chance`)."""


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
        places = _places(self.state.scales, self.table.codings)
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

    Raises
    ------
    InputError
        If the table cannot be randomized, or the settings are not those of the series.
    """
    _refuse_table(table)
    asked = _asked(table.schema)
    if before is None:
        before = _begun(table, settings, asked)
    elif before.asked != asked:
        raise InputError(
            "The limits, [policy.randomized] or [updates] are not those that this series of randomized values began "
            "with: what its releases tell of people's values was computed by those. Change them back (`reissue ledger "
            "amend`), or begin a new series."
        )
    settings = RandomizedSettings(**json.loads(before.settings))
    places = _places(before.scales, table.codings)
    classes = before.classes.of(np.stack([place[own] for place, own in zip(places, table.codes, strict=True)]))
    state, made, true, known = _prepared(table, people, classes, settings, before, key, number)
    rows = TrueValues(people, true, classes)
    remembered = before.remembered if len(before.releases) else None
    release = publish(made, remembered, len(before.releases), rows, key=key)
    state = replace(state, remembered=release.remembered)
    drawn = DrawnValues(before.values, np.where(known, true, -1), release.published)
    published = table.with_sensitive(before.values[release.published])
    shown = _shown(people, release, classes + len(before.classes) * int(state.epochs[-1]))
    changed = _changed(before.remembered, release.remembered, people) if remembered is not None else None
    return Drawn(published, people, drawn, made, release, state, shown, int((~known).sum()), changed)


def with_side_table(release: Release, drawn: Drawn, rows: Ints) -> Release:
    """A release with the classes of its rows and its side table; `rows` are those of the drawn table that it is of.

    The class of a row follows from its published quasi-identifiers, so it tells nothing that these do not.
    """
    if release.draft.form != Form.GENERALIZED or release.counterfeits or release.order is None:
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


def _begun(table: Table, settings: RandomizedSettings, asked: str) -> ValuesState:
    """A series before its first release: which values there are, and classes of people."""
    scales = tuple(_scale(coding) for coding in table.codings)
    size = min(settings.class_size, table.rows)
    places = _places(scales, table.codings)
    codes = np.stack([place[own] for place, own in zip(places, table.codes, strict=True)])
    classes = grow_classes(codes, size)
    values, change = _values_and_changes(table)
    none, nothing = np.empty(0, np.int64), np.zeros((len(classes), values.height))
    people = Remembered(-1, none, none, none, none, none, _no_beliefs(values.height))
    priors, first = np.empty((0, 0, len(classes), values.height)), np.empty((0, 0, 0))
    counted = nothing, nothing, 0.0, 1.0
    said = json.dumps(settings.as_json())
    return ValuesState(asked, said, values, scales, classes, people, *counted, priors, change, first, none, none)


def _no_beliefs(size: int) -> Any:
    from reissue.randomized.beliefs import PublicBeliefs

    return PublicBeliefs(np.empty((0, 1, size)), np.empty((0, 1, size)), ())


def _values_and_changes(table: Table) -> tuple[pl.DataFrame, Floats]:
    """All values that may be published, and how likely each becomes another: values that the schema lists count too."""
    schema = table.schema
    values = _listed_values(table)
    texts = _names(values)
    model = read_updates(schema, texts) if schema.updates else None
    if model is not None and len(schema.sensitive) == 1:
        further = [name for name in model.names[len(texts) :] if name is not None]
        more = _as_values(further, values, schema.sensitive[0])
        values = pl.concat([values, more])
        if more.height < len(model.names) - len(texts):  # a missing value that only the model names, or no such value
            model = read_updates(schema, _names(values))
    size = values.height
    if model is None:
        return values, np.empty((0, 0))  # as soon as there are shares
    if model.fixed:
        return values, np.eye(size)
    return values, normalized(model.chance[:size, :size] + 1e-12 * np.eye(size))


def _listed_values(table: Table) -> pl.DataFrame:
    """The values of the table, and those of the hierarchies of sensitive columns."""
    kinds = {name: _plain(table.kinds[name]) for name in table.schema.sensitive}
    if len(table.secrets) == 1:
        return table.decode(np.arange(table.domain.size, dtype=np.int32)).cast(kinds)  # type: ignore[arg-type]
    sizes = [coding.taxonomy.size for coding in table.secrets]
    if np.prod(sizes) > _COMBINATIONS:
        return table.decode(np.flatnonzero(table.domain.totals > 0).astype(np.int32)).cast(kinds)  # type: ignore[arg-type]
    codes = np.array(list(product(*map(range, sizes))), np.int32).T
    columns = zip(table.schema.sensitive, table.secrets, codes, strict=True)
    return pl.DataFrame([coding.decode(own).alias(name).cast(kinds[name]) for name, coding, own in columns])


def _plain(kind: pl.DataType) -> pl.DataType:
    return pl.String() if isinstance(kind, pl.Enum | pl.Categorical) else kind


def _as_values(names: Sequence[str], like: pl.DataFrame, column: str) -> pl.DataFrame:
    """Texts of an update model as values of a column; those that cannot be are left out."""
    kind = like.schema[column]
    return pl.DataFrame([pl.Series(column, names, dtype=pl.String).cast(kind, strict=False).drop_nulls()])


def _names(values: pl.DataFrame) -> list[str | None]:
    """The values as text, as policies and update models name them."""
    texts = joined_texts(values, values.columns).to_list()
    return [None if text == MISSING else text for text in texts] if values.width == 1 else texts


def _scale(coding: Coding) -> pl.DataFrame:
    """The values of a quasi-identifier in the order of their codes, the missing one last."""
    column = coding.decode(np.arange(coding.taxonomy.size, dtype=np.int32)).alias("value")
    return pl.DataFrame([column.cast(_plain(column.dtype))])


def _places(scales: Sequence[pl.DataFrame], codings: Sequence[Coding]) -> list[Ints]:
    """Code of today to its place among the values of the first table; of new values where they would be.

    Numbers and dates have their place by size, other new values are put in the middle: any rule will do that goes by
    nothing but the value.
    """
    found = []
    for scale, coding in zip(scales, codings, strict=True):
        then, now = scale["value"], _scale(coding)["value"]
        known = then.drop_nulls()
        if then.dtype.is_numeric() or then.dtype.is_temporal():
            sorted_ = known.to_physical().to_numpy()
            at = np.searchsorted(sorted_, now.cast(then.dtype).to_physical().fill_null(strategy="zero").to_numpy())
            place = np.minimum(at, max(len(sorted_) - 1, 0)).astype(np.int64)
        else:
            numbered = dict(zip(known.cast(pl.String).to_list(), range(len(known)), strict=True))
            place = np.array([numbered.get(text, len(known) // 2) for text in now.cast(pl.String).to_list()], np.int64)
        place[now.is_null().to_numpy()] = len(known)
        found.append(place)
    return found


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
    true, known = _codes(table, before.values)
    size, release = before.values.height, len(before.releases)
    new = ~np.isin(people, before.remembered.pseudonyms)
    counted = new & known
    shape = (len(before.classes), size)
    counts = noisy_counts(true[counted], classes[counted], shape, epsilon=settings.epsilon, key=key, release=release)
    state = before
    if release == 0:
        state = replace(state, residents=counts)
        state = state if state.change.size else replace(state, change=_changes(state, settings))
    else:
        state = replace(state, newcomers=before.newcomers + counts)
    many = float(state.newcomers.sum())
    if release < 2 or many >= _REFIT * max(before.fitted, 1.0):
        adversaries = _adversaries(state, settings, release)
        made, cap = _mechanism(adversaries, table, settings, state.values)
        own = np.stack([one.prior for one in adversaries])[np.newaxis]
        priors = own if release == 0 else np.concatenate([state.priors, own])
        state = replace(state, fitted=many, priors=priors, first=made.first, cap=cap)
    else:
        adversaries = _with_priors(state, settings, list(state.priors[-1]))
        events = _capped(_protected(table.schema, settings, state.values), state.cap)
        made = mechanism(adversaries, events, matrices=state.first, **_how(settings, size))
    epoch = len(state.priors) - 1
    state = replace(state, releases=np.append(state.releases, number), epochs=np.append(state.epochs, epoch))
    own_prior = state.priors[-1][-1][classes[~known]]
    true[~known] = pick(own_prior, uniform(key, people[~known], 0, 0, _STRANGER))
    return state, made, true, known


def _changes(state: ValuesState, settings: RandomizedSettings) -> Floats:
    """Without an update model: the same share of people change, to values as common as they are among all."""
    shares = _prior_shares(settings, state.values)
    shares = shares_of(state.residents.sum(0, keepdims=True))[0] if shares is None else shares
    return (1 - settings.changes) * np.eye(len(shares)) + settings.changes * shares


def _mechanism(
    adversaries: list[Adversary], table: Table, settings: RandomizedSettings, values: pl.DataFrame
) -> tuple[Mechanism, float]:
    """The most truthful mechanism within the limits, and within the policy's `average` where it has one; and its limit.

    For that the limits are lowered until so many guesses are right on average after a first publication: at most to
    the average itself, with which nobody is guessed better. Two standard errors of a share are left for chance.
    """
    events, how = _protected(table.schema, settings, values), _how(settings, values.height)
    made, average = mechanism(adversaries, events, **how), average_of(table.schema.policy)
    cap = float(events.limit.max())
    if average is None:
        return made, cap
    aim = average - 1 / np.sqrt(table.rows)
    for step in range(_STEPS):
        if cap <= average or _guessed(adversaries, made) <= aim:
            break
        cap = average if step + 1 == _STEPS else (average + cap) / 2
        made = mechanism(adversaries, _capped(events, cap), **how)
    return made, cap


def _capped(events: ProtectedEvents, cap: float) -> ProtectedEvents:
    """The same events with no limit above `cap`."""
    return replace(events, limit=np.minimum(events.limit, cap))


def _guessed(adversaries: Sequence[Adversary], made: Mechanism) -> float:
    """How many guesses are right on average after a first publication, for the adversary who knows most."""
    joint = [(one.prior[:, :, np.newaxis] * made.first).max(1).sum(1).mean() for one in adversaries]
    return float(max(joint))


def _how(settings: RandomizedSettings, size: int) -> dict[str, Any]:
    first = "program" if size <= _BY_PROGRAM else "closed form"
    return {"first": first, "odds": settings.odds, "redraw": settings.redraw}


def _codes(table: Table, values: pl.DataFrame) -> tuple[Ints, Bools]:
    """The code of each row's true value, and whether it has one.

    A value that nobody named at the start has none. Its people are treated as if they had a value that is drawn by a
    prior and the key: what is published of them says nothing about the true one.
    """
    own = table.decode(np.arange(table.domain.size, dtype=np.int32))
    place = {text: code for code, text in enumerate(joined_texts(values, values.columns).to_list())}
    code = np.array([place.get(text, -1) for text in joined_texts(own, values.columns).to_list()], np.int64)
    found = code[table.sensitive]
    return np.where(found >= 0, found, 0), found >= 0


def _prior_shares(settings: RandomizedSettings, values: pl.DataFrame) -> Floats | None:
    """Shares from elsewhere, if the policy gives them."""
    if settings.shares is None:
        return None
    found = np.array(by_text(settings.shares, _names(values), 0.0))
    if not found.sum() > 0:
        raise InputError("[policy.randomized] `shares` has a share above 0 for none of the values of this table.")
    return np.asarray((found + 1e-6) / (found + 1e-6).sum(), np.float64)


def _departures(settings: RandomizedSettings, values: pl.DataFrame) -> Floats | None:
    if settings.departures is None:
        return None
    listed = settings.departures
    return np.array(by_text(listed, _names(values), float(np.mean(list(listed.values())))), np.float64)


def _adversaries(state: ValuesState, settings: RandomizedSettings, release: int) -> list[Adversary]:
    """The adversaries of the policy, from noisy counts, of newcomers from the second release on.

    As many people with a value come as leave, or the register would not be what it is: where newcomers are few, their
    shares are those of residents times departure rates.
    """
    shares = _prior_shares(settings, state.values)
    if shares is not None:
        every = np.repeat(shares[np.newaxis], len(state.residents), axis=0)
        return _with_priors(state, settings, [every] * len(settings.against))
    bases: tuple[Floats | None, Floats | None] = (None, None)
    counts = state.residents
    if release:
        leave = _departures(settings, state.values)
        leave = np.ones(state.values.height) if leave is None else leave + 1e-9
        residents = state.residents
        bases = (
            normalized(shares_of(residents.sum(0, keepdims=True)) * leave),
            normalized(shares_of(residents) * leave),
        )
        counts = state.newcomers
    noise = noise_of(settings.epsilon) * max(release, 1)
    pooled = shares_of(counts.sum(0, keepdims=True), bases[0], noise=noise * len(counts))
    alike, by_class = np.repeat(pooled, len(counts), axis=0), shares_of(counts, bases[1], noise=noise)
    return _with_priors(state, settings, [alike if name == ALIKE else by_class for name in settings.against])


def _with_priors(state: ValuesState, settings: RandomizedSettings, priors: Sequence[Floats]) -> list[Adversary]:
    departs = _departures(settings, state.values)
    return [
        Adversary(name, prior, state.change, departs if name == DEPARTURES else None)
        for name, prior in zip(settings.against, priors, strict=True)
    ]


def _protected(schema: Schema, settings: RandomizedSettings, values: pl.DataFrame) -> ProtectedEvents:
    """What nobody may be too sure of: the protected values of each column, and of all columns together."""
    return protected_events(schema, values, settings.margin)


def protected_events(schema: Schema, values: pl.DataFrame, margin: float = 1.0) -> ProtectedEvents:
    """The protected values of each column, and of all columns together, with the limits of the schema's policy."""
    protection = Protection.of(schema.policy, schema.sensitive)
    member, limit = [], []
    for view in protection.views(_names(values)):
        for label in np.flatnonzero(view.limit < 1 - CERTAIN):
            member.append(view.label == label)
            limit.append(view.limit[label])
    if not member:
        raise InputError(
            "The policy protects no value: its limit is 1, or all values are harmless. Then values need not be "
            'randomized: leave  values = "randomized"  out.'
        )
    return ProtectedEvents(np.array(member), np.array(limit), protection.gain, margin)


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
