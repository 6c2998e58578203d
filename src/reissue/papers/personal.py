"""What the papers' attacks find about each person: private results, for the holder alone.

For every person and release: the disclosure risk (Li and Zhou 2008, definition 8), which is the posterior of the true
value once all releases are out; the re-publication risk (definition 9), the largest disclosure risk that any release
so far gave this value; the posterior of every value; and the smallest e of an equivalence attack (He, Barman and
Naughton 2011, definition 6). For one person: the history, the update graph, and the cut of the equivalence attack.

Groups of different releases are taken for independent evidence, as the paper does; the joint attack does not.
O(releases) passes of the update attack.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.attacks.stories import Case, group_text, value_text
from reissue.counting.texts import MISSING
from reissue.data.identifiers import identifier_texts
from reissue.errors import CannotRunError, InputError
from reissue.papers.equivalence.attack import SmallestSets, domino, smallest_sets
from reissue.papers.equivalence.case import CaseContext, case_of_person
from reissue.papers.tracking.forward_backward import blocks, histories
from reissue.papers.tracking.membership import Membership, PersonHistories, link_people, membership, true_values
from reissue.papers.updates.attack import limit_of
from reissue.papers.updates.case import tell, worst_place
from reissue.people.knowledge import Knowledge
from reissue.protection import TOGETHER
from reissue.published.series import Series
from reissue.updates import UpdateModel, read_updates
from reissue.words import plural

__all__ = ["PRIVATE", "PersonalCase", "PersonalRisks", "personal_results"]

PRIVATE = (
    "PRIVATE: it names people, their values and what could be found out about them. Keep it as safe as the original "
    "table, and never publish it."
)
_ENTRIES = 10**7
"""Posteriors that are kept at a time, about: 80 MB."""


@dataclass(frozen=True)
class PersonalCase:
    """What a series gives away about one person, for one sensitive column."""

    person: str
    column: str
    history: pl.DataFrame
    """A row for each release that the person is in."""
    update_graph: Case
    """The person's update graph, as a picture and step by step."""
    equivalence: Case | None
    """The cut of the smallest equivalence attack that the person is in; None if there is none to show."""
    note: str
    """Why there is no cut."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        history = [
            {**row, "posterior": json.loads(str(row["posterior"])), "published": json.loads(str(row["published"]))}
            for row in self.history.to_dicts()
        ]
        return {
            "private": PRIVATE,
            "person": self.person,
            "column": self.column,
            "history": history,
            "update_graph": self.update_graph,
            "equivalence": self.equivalence,
            "note": self.note,
        }


@dataclass(frozen=True, eq=False, repr=False)
class _Column:
    """One sensitive column, or all of them together."""

    name: str
    series: Series
    linked: PersonHistories
    model: UpdateModel
    members: Membership | None
    limit: int
    smallest: SmallestSets | None
    why_not: str


@dataclass(frozen=True, eq=False, repr=False)
class PersonalRisks:
    """Everybody's risks. Private: it holds identifiers and sensitive values."""

    frame: pl.DataFrame
    """A row for each person, release and sensitive column."""
    knowledge: Knowledge
    columns: Mapping[str, _Column]

    def __repr__(self) -> str:
        """Say how much it is, never what."""
        return f"PersonalRisks of {plural(self.frame['person'].n_unique(), 'person', 'people')}. {PRIVATE}"

    @property
    def people(self) -> list[str]:
        """The identifiers."""
        return self.frame["person"].unique(maintain_order=True).to_list()

    def of(self, person: object, column: str | None = None) -> PersonalCase:
        """Return one person's case.

        Parameters
        ----------
        person
            The identifier.
        column
            The sensitive column, if there are several; by default that of which most is known.

        Raises
        ------
        InputError
            If nobody of that name is in the releases, or there is no such column.

        """
        name = identifier_texts(pl.Series([person]))[0]
        rows = self.frame.filter(pl.col("person") == name)
        if not rows.height:
            raise InputError("Nobody with that identifier is known to be in these releases.")
        if column is None:
            column = str(rows.sort("likeliest", descending=True, nulls_last=True, maintain_order=True)["column"][0])
        if column not in self.columns:
            raise InputError(f"There is no sensitive column of that name: choose one of {', '.join(self.columns)}.")
        own = rows.filter(pl.col("column") == column)
        return _case(self.columns[column], self.knowledge, str(name), own)


def personal_results(series: Series, knowledge: Knowledge) -> PersonalRisks:
    """Return everybody's risks in a series.

    Raises
    ------
    InputError
        If it is not known who is in which group, or people have several records.

    """
    series.schema.refuse_several_rows("Per-person results")
    if any(release.repeats for release in series.releases):
        raise InputError("Per-person results need one record per person, and identifiers repeat in a release.")
    names = series.schema.sensitive
    parts = {name: series.of_sensitive(name) for name in names} if len(names) > 1 else {}
    parts[TOGETHER.join(names)] = series
    columns = {name: _column(name, one, knowledge) for name, one in parts.items()}
    return PersonalRisks(pl.concat([_frame(one, knowledge) for one in columns.values()]), knowledge, columns)


def _column(name: str, series: Series, knowledge: Knowledge) -> _Column:
    try:
        linked = link_people(series, knowledge)
    except CannotRunError as obstacle:
        raise InputError(f"There are no per-person results: {obstacle}") from None
    if not len(linked.table):
        raise InputError("There are no per-person results: nobody's group is known.")
    model = read_updates(series.schema, linked.names)
    try:
        members, limit, smallest = smallest_sets(series, knowledge)
    except CannotRunError as obstacle:
        return _Column(name, series, linked, model, None, 0, None, str(obstacle))
    return _Column(name, series, linked, model, members, limit, smallest, "")


# --- posteriors ------------------------------------------------------------------------------------------------------


def posteriors(linked: PersonHistories, model: UpdateModel) -> Floats:
    """People x releases x values: the posterior of each value; 0 everywhere if the groups contradict the model."""
    shared = histories(linked.table)
    found = np.zeros((*shared.places.shape, len(model.names)))
    for block in blocks(shared.places, linked.places, model):
        at = block.rows[:, np.newaxis, np.newaxis]
        np.add.at(found, (at, block.release[:, :, np.newaxis], block.value), block.posterior)
    return found[shared.of_person]


def _true_risks(linked: PersonHistories, model: UpdateModel, truth: Ints) -> tuple[Floats, Floats]:
    """People x releases: the posterior of the true value after the last release, and the largest after any."""
    now, most = np.full(truth.shape, np.nan), np.full(truth.shape, np.nan)
    for number in range(1, truth.shape[1] + 1):
        rows = np.flatnonzero((linked.table[:, :number] >= 0).any(axis=1))
        found = posteriors(linked.of_first(number), model)
        # A value that no group shows has no posterior.
        value = np.clip(truth[rows, :number], 0, found.shape[2] - 1)
        risk = np.take_along_axis(found, value[:, :, np.newaxis], axis=2)[:, :, 0]
        known = (truth[rows, :number] >= 0) & (linked.table[rows, :number] >= 0)
        risk = np.where(known, np.where(truth[rows, :number] < found.shape[2], risk, 0.0), np.nan)
        most[rows, :number] = np.fmax(most[rows, :number], risk)
        if number == truth.shape[1]:
            now[rows] = risk
    return now, most


def _truth(one: _Column, knowledge: Knowledge) -> Ints:
    """People x releases: the true value's number, -1 where the holder does not know it."""
    truth = np.full(one.linked.table.shape, -1, np.int64)
    if knowledge.members is not None:
        return truth
    members = one.members or membership(one.series, knowledge)
    number = {MISSING if name is None else name: place for place, name in enumerate(one.linked.names)}
    value = np.array([*(number.get(name, len(number)) for name in members.names), len(number)])
    place = {name: row for row, name in enumerate(one.linked.ids.to_list())}
    known = np.flatnonzero(members.real)
    row = np.array([place[name] for name in members.identifiers.gather(known).to_list()], np.int64)
    for release, own in enumerate(true_values(one.series, knowledge, members)):
        truth[row, release] = np.where(own[known] >= 0, value[own[known]], -1)
    return truth


# --- the table -------------------------------------------------------------------------------------------------------


def _frame(one: _Column, knowledge: Knowledge) -> pl.DataFrame:
    """Return a row for each person and release; some people at a time, since every posterior is kept."""
    truth, smallest = _truth(one, knowledge), _smallest(one)
    parts = [
        _rows(replace(one, linked=one.linked.of_people(some)), knowledge, truth[some], smallest.gather(some))
        for some in np.array_split(np.arange(len(truth)), max(1, truth.size * len(one.model.names) // _ENTRIES))
    ]
    return pl.concat(parts)


def _rows(one: _Column, knowledge: Knowledge, truth: Ints, smallest: pl.Series) -> pl.DataFrame:
    linked = one.linked
    now, most = _true_risks(linked, one.model, truth)
    found = posteriors(linked, one.model)
    person, release = np.nonzero(linked.table >= 0)
    believed = found[person, release]
    names = [value_text(name) for name in (*linked.names, "")]
    own = truth[person, release]
    looks = _looks(one, knowledge)
    groups = np.full(len(person), -1) if linked.groups is None else linked.groups[person, release]
    columns = {
        "person": linked.ids.gather(person),
        "column": pl.repeat(one.name, len(person), eager=True),
        "release": pl.Series([one.series.numbers[at] for at in release.tolist()], dtype=pl.Int64),
        "published": pl.Series([looks(*key) for key in zip(release.tolist(), groups.tolist(), strict=True)]),
        "values_shown": pl.Series(linked.places.widths[linked.table[person, release]]),
        "values_left": pl.Series((believed > 0).sum(axis=1)),
        "true_value": pl.Series([names[value] if value >= 0 else None for value in own.tolist()], dtype=pl.String),
        "disclosure_risk": pl.Series(now[person, release]).fill_nan(None).round(9),
        "republication_risk": pl.Series(most[person, release]).fill_nan(None).round(9),
        "likeliest_value": pl.Series([names[value] for value in believed.argmax(axis=1).tolist()], dtype=pl.String),
        "likeliest": pl.Series(believed.max(axis=1)).round(9),
        "smallest_e": smallest.gather(person),
        "posterior": pl.Series([_as_json(row, names) for row in believed], dtype=pl.String),
    }
    return pl.DataFrame(columns)


def _as_json(believed: Floats, names: list[str]) -> str:
    """Return the values that are left, the likeliest first."""
    left = np.flatnonzero(believed)
    order = left[np.argsort(-believed[left], kind="stable")].tolist()
    return json.dumps({names[value]: round(float(believed[value]), 6) for value in order}, ensure_ascii=False)


def _looks(one: _Column, knowledge: Knowledge) -> Any:
    """Return a function from release and group to the published quasi-identifiers as JSON."""
    seen: dict[tuple[int, int], str] = {}

    def look(release: int, group: int) -> str:
        if (release, group) not in seen:
            shown = group_text(one.series, knowledge, release, group) if group >= 0 else {}
            seen[release, group] = json.dumps(shown, ensure_ascii=False)
        return seen[release, group]

    return look


def _smallest(one: _Column) -> pl.Series:
    """Return everybody's smallest e; missing where there is none below the limit, or the attack does not apply."""
    nothing = pl.Series([None] * len(one.linked.table), dtype=pl.Int64)
    if one.smallest is None or one.members is None:
        return nothing
    known = np.flatnonzero(one.members.real)
    least = {
        name: int(e) for name, e in zip(one.members.identifiers.gather(known), one.smallest.least[known], strict=True)
    }
    return pl.Series([least.get(name) or None for name in one.linked.ids.to_list()], dtype=pl.Int64)


# --- one person ------------------------------------------------------------------------------------------------------


def _case(one: _Column, knowledge: Knowledge, name: str, history: pl.DataFrame) -> PersonalCase:
    row = one.linked.ids.to_list().index(name)
    releases = np.flatnonzero(one.linked.table[row] >= 0)
    largest = posteriors(one.linked.of_people(np.array([row])), one.model)[0].max(axis=1)
    try:
        limit = limit_of(one.series, one.linked)
    except CannotRunError:
        limit = 1.0
    worst = worst_place(one.linked, np.full(len(releases), row), releases, largest[releases], limit)
    graph = tell(one.series, knowledge, one.linked, one.model, worst, limit)
    cut, note = _cut(one, knowledge, name)
    return PersonalCase(name, one.name, history, graph, cut, note)


def _cut(one: _Column, knowledge: Knowledge, name: str) -> tuple[Case | None, str]:
    """Return the cut that an equivalence attack uses, or why there is none."""
    if one.members is None or one.smallest is None:
        return None, f"There is no equivalence attack: {one.why_not}"
    member = one.members.identifiers.to_list().index(name)
    e = int(one.smallest.least[member])
    if not e:
        return None, f"The person is in no equivalence attack with e below {one.limit}."
    context = CaseContext(one.series, knowledge, one.members, one.limit, domino(one.members, one.smallest.pairs)[1])
    found = case_of_person(context, member, e, one.smallest.pairs, one.smallest.buckets)
    return found, "" if found else f"Only several groups together show e = {e}: there is no single cut to draw."
