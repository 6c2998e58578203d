"""check: what published columns satisfy, counted from the columns themselves.

Two independent answers: what a method promises is counted again here from what goes out, by code that shares no
arithmetic with the requirements' own (`groups` counts, `measures` judges). The same code says what any published file
satisfies; it only needs to know which columns are quasi-identifiers and which are sensitive.

Rows are grouped once (one integer per row, sorted); everything else is read from the counts by group and value. Where
an engine does the counting, it hands over the distinct rows with their multiplicities.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import polars as pl

from reissue._notebook import notebook
from reissue._renamed import renamed
from reissue.engines.registry import AUTO, MEMORY, choose
from reissue.errors import DataError, InputError, NotMetError, SchemaError, nearest, nearest_column
from reissue.files.dialect import FOUND, Dialect
from reissue.protection import TOGETHER
from reissue.published import Form, PublishedRelease, read_published
from reissue.published.counted import open_counted
from reissue.release.form import DEFAULT_FORM
from reissue.release.release import Release
from reissue.requirements import Requirement, parse
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding
from reissue.verify.groups import CheckedGroups, read_columns
from reissue.verify.measures import (
    distance,
    effective,
    gain,
    judge_columns,
    lacking,
    largest_share,
    log_ratio,
    spread,
    tail_ratio,
    worst_odds,
)
from reissue.verify.people import measures_of_people, people_of
from reissue.verify.risk import GroupRisk, Preset, Risk, RiskInputs, find_preset, measure_people, measure_risk
from reissue.words import plural

__all__ = ["Check", "CheckResult", "Measure", "check", "meets", "read_for_check", "refuse_records", "unmet"]

_SPARED = (
    " {} records have a sensitive value that needs no protection: where any value counts, each of them counts as a "
    "value of its own."
)
_LESS_IS_WORSE = {"k", "l", "entropy-l", "simple-l", "m-unique", "k-e"}
"""Measures whose smallest value is the worst."""


@dataclass(frozen=True)
class Measure:
    """A measure: its worst value over all groups."""

    name: str
    """The requirement that the value belongs to, as written."""
    value: float | None
    """None if no finite value would do."""
    sentence: str
    column: str = ""
    """The sensitive column in which it is worst, if there are several; all names for their combination."""


@dataclass(frozen=True)
class CheckResult:
    """The verdict on one requirement, and the groups that violate it."""

    requirement: str
    met: bool
    groups: int
    """Number of groups that violate it."""
    rows: int
    """Number of rows, or people, in those groups."""
    unit: str = "rows"
    columns: tuple[str, ...] = ()
    """The sensitive columns in which it is violated, if there are several; all names for their combination."""

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.met:
            return f"{self.requirement} is met."
        where = f" {' and '.join(map(_where, self.columns))}" if self.columns else ""
        short = f"{self.groups:,} groups with {self.rows:,} {self.unit} fall short"
        return f"{self.requirement} is not met{where}: {short}."


def _where(column: str) -> str:
    return "in the sensitive columns taken together" if TOGETHER in column else f"in the column '{column}'"


@dataclass(frozen=True, repr=False)
class Check:
    """What a published table satisfies.

    `check` returns one. `met` says whether the requirement is met, `measures` has every measure, `risk` the risk of
    re-identification; `raise_if_not_met` makes an error of a requirement that is not met.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> found = ri.check(ri.anonymize(patients, schema(), "k=5", seed=1), schema(), "k=5")
    >>> found.met, found.rows
    (True, 200)
    >>> found.risk["prosecutor"].largest <= 1 / 5
    True
    """

    rows: int
    groups: int
    measures: tuple[Measure, ...]
    verdicts: tuple[CheckResult, ...] = ()
    form: Form = DEFAULT_FORM
    """The form in which the table was taken to be published."""
    risk: Risk | None = None
    """The risk of re-identification."""
    people: int | None = None
    """Number of different people, if people have repeated records; then people are counted instead of rows."""
    columns: Mapping[str, tuple[Measure, ...]] = field(default_factory=dict)
    """With several sensitive columns: the measures of each, and of their combination under all names."""
    unprotected: int = 0
    """Number of records (or people) with an unprotected sensitive value in any column."""

    @property
    def first(self) -> str:
        """The size of the table, and what counted as a group."""
        whose = "" if self.people is None else f" of {self.people:,} people"
        spared = _SPARED.format(f"{self.unprotected:,}") if self.unprotected else ""
        return f"{self.rows:,} rows{whose} in {self.groups:,} groups{self.form.counted_as}{spared}"

    @property
    def by_column(self) -> tuple[str, ...]:
        """One sentence for each of several sensitive columns."""
        told = []
        for column, measures in self.columns.items():
            known = {one.name: one.value for one in measures}
            where = _where(column)
            told.append(
                f"{where[0].upper()}{where[1:]}, l = {known['l']:g}, and a value can be inferred with confidence "
                f"{known['confidence']:.4g}."
            )
        return tuple(told)

    @property
    def met(self) -> bool:
        """Whether the whole requirement is met."""
        return all(verdict.met for verdict in self.verdicts)

    def __getitem__(self, name: str) -> float | None:
        """The value of a measure."""
        values = {measure.name: measure.value for measure in self.measures}
        if name not in values:
            raise KeyError(f"'{name}' was not measured." + nearest(name, values))
        return values[name]

    def __str__(self) -> str:
        """Everything in words, one sentence per line."""
        risk = () if self.risk is None else self.risk.sentences
        parts = (m.sentence for m in self.measures), self.by_column, risk, (v.sentence for v in self.verdicts)
        return "\n".join([self.first, *(sentence for part in parts for sentence in part)])

    def __repr__(self) -> str:
        """The verdict, or the size of groups, in one sentence."""
        said = " ".join(verdict.sentence for verdict in self.verdicts) or self.first
        return f"Check of {plural(self.rows, 'row')}: {said}"

    def _repr_html_(self) -> str:
        """For a notebook."""
        return notebook(self)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "form": self.form.label, "met": self.met}

    def raise_if_not_met(self) -> None:
        """Turn a requirement that is not met into an error."""
        failed = [verdict.sentence for verdict in self.verdicts if not verdict.met]
        if failed:
            raise NotMetError("What was published does not do. " + " ".join(failed))


def meets(published: Any, schema: Schema, requirement: Requirement, secrets: Sequence[Coding] = ()) -> bool:
    """Whether a release meets a requirement, counted from its published columns.

    `secrets` are the holder's codings of the sensitive columns. Distances are measured from the distribution in the
    published table, which is all that recipients see.
    """
    return not unmet(published, schema, requirement, secrets)


def unmet(
    published: Any, schema: Schema, requirement: Requirement, secrets: Sequence[Coding] = ()
) -> tuple[CheckResult, ...]:
    """Return the parts of a requirement that a release violates; for the arguments see `meets`."""
    release = read_published(published, schema, as_text=False)
    if not release.consistent:
        return (CheckResult(str(requirement), met=False, groups=release.groups, rows=release.values.height),)
    columns = read_columns(release, secrets=secrets, sensitive=requirement.sensitive, people=people_of(release))
    judged = (_verdict(part, columns) for part in requirement.parts())
    return tuple(one for one in judged if not one.met)


@renamed(requirement="require")
def check(
    published: Any,
    schema: Schema | Mapping[str, Any] | str | Path,
    require: Requirement | str | None = None,
    *,
    by: str | None = None,
    dialect: Dialect = FOUND,
    engine: str = AUTO,
    population: Any = None,
    sampling: float | None = None,
    weights: str | None = None,
    household: str | None = None,
    threshold: float | None = None,
    known: int | None = None,
    preset: str | None = None,
) -> Check:
    """Measure what a published table satisfies, and whether it meets a requirement.

    Parameters
    ----------
    published
        A dataframe, a path or a Release. A release in two tables is a pair, or a mapping with "quasi" and
        "sensitive".
    schema
        The roles of the columns. With a taxonomy of the sensitive column, distances that use it are measured too.
    require
        What every group should meet, such as "k=5 & l=3".
    by
        A column that numbers the groups. By default the column `group` of our own releases, else records with equal
        quasi-identifiers are a group.
    dialect
        How the cells of a text file are written; what is not given is detected.
    engine
        Who counts: "memory", "stream" for Parquet larger than memory, or "auto" by the size.
    population
        A table of the population with exact quasi-identifiers, for the risk that a journalist finds somebody.
    sampling
        The share of the population that is in the release, where there is no such table.
    weights
        The column that says how many people of the population a record stands for.
    household
        The column that names each record's household.
    threshold
        The risk above which records are counted; one in five by default.
    known
        How many quasi-identifiers someone knows, any of them; two by default.
    preset
        A threshold by name, which is judged as well.

    Returns
    -------
    Check
        Measures, verdicts on each part of the requirement, and `.risk`, the risk of re-identification.

    Raises
    ------
    InputError
        If the table lacks columns of the schema, or cannot be read.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> release = ri.anonymize(patients, schema(), "k=5 & l=3", seed=1)
    >>> ri.check(release, schema(), "k=5 & l=3").met
    True
    >>> ri.check(release, schema(), "k=500").met
    False
    """
    asked = None if preset is None else find_preset(preset)
    largest = threshold if threshold is not None or asked is None else asked.largest
    inputs = RiskInputs(population, sampling, weights, household, largest, known, dialect)
    requirement = None if require is None else parse(require)
    schema = Schema.read(schema)
    if not schema.quasi:
        raise SchemaError("The schema names no quasi-identifier: there is nothing that groups records.")
    release = read_for_check(published, schema, by=by, dialect=dialect, engine=engine)
    _refuse(release, by)
    refuse_records(release, inputs)
    if requirement is not None and requirement.sensitive and not schema.sensitive:
        raise SchemaError(
            f"The requirement {requirement} looks at sensitive values, but the schema names no such column."
        )
    people = people_of(release)
    columns = read_columns(release, by=by, people=people)
    groups = columns[-1]
    if requirement is not None and people is not None:
        _refuse_several_rows(requirement, columns)
    parts = () if requirement is None else requirement.parts()
    form = release.form if by is None else Form.PERMUTED
    sizes = groups.size.cast(pl.Int64).to_numpy()
    risk, of_groups = measure_risk(release, by, sizes, inputs) if people is None else measure_people(sizes, inputs)
    verdicts = [_verdict(part, columns) for part in parts]
    if asked is not None:
        verdicts.append(_kept(asked, of_groups, groups))
    rows, different = (int(sizes.sum()), None) if people is None else (len(people), people.n_unique())
    measures = {one.column: _measures(one, schema, form) for one in columns}
    several = measures if len(columns) > 1 else {}
    worst = _worst(several) if several else measures[groups.column]
    spared = 0 if groups.harmless is None else _unprotected(columns)
    return Check(rows, groups.total, worst, tuple(verdicts), form, risk, different, several, spared)


def _refuse(release: PublishedRelease, by: str | None) -> None:
    """Refuse tables that cannot be counted."""
    for frame, needed in (
        (release.main, (*release.schema.quasi, *([by] if by else []))),
        (release.values, release.schema.sensitive),
    ):
        absent = [column for column in needed if column not in frame.columns]
        if absent:
            raise SchemaError(
                f"The published table lacks columns: {', '.join(absent)}." + nearest_column(absent[0], frame.columns)
            )
        if not frame.height:
            raise DataError("The published table has no rows.")
    if not release.consistent:
        raise DataError("The two tables do not belong together: the sizes of their groups differ.")


def _refuse_several_rows(requirement: Requirement, columns: Sequence[CheckedGroups]) -> None:
    """Refuse a table with repeated records if a part of the requirement is not defined for it."""
    for part in requirement.parts():
        for groups, _ in judge_columns(part, columns) if part.by_people else [(columns[-1], None)]:
            part.refuse_several_rows(groups.domain)


def _verdict(requirement: Requirement, columns: Sequence[CheckedGroups]) -> CheckResult:
    """Whether every column meets a requirement by itself, and all of them together."""
    judged = judge_columns(requirement, columns)
    failed = ~reduce(and_, (met for _, met in judged))
    found = _short(str(requirement), columns[-1], failed, int(columns[-1].size.filter(failed).sum()))
    if len(columns) == 1 or not requirement.sensitive:
        return found
    return replace(found, columns=tuple(groups.column for groups, met in judged if not met.all()))


def _kept(preset: Preset, risk: GroupRisk, groups: CheckedGroups) -> CheckResult:
    """The verdict on a preset: no record's risk may exceed it."""
    failed = risk.risk > preset.largest
    words = f"preset {preset.name}: the {risk.attacker}'s risk at most 1 in {preset.people}"
    return _short(words, groups, pl.Series(failed), int(risk.records[failed].sum()))


def _short(words: str, groups: CheckedGroups, failed: pl.Series, rows: int) -> CheckResult:
    """The verdict on the groups that violate a requirement, with their rows; or their people, each counted once."""
    met, number = not failed.any(), int(failed.sum())
    if groups.members is None:
        return CheckResult(words, met, number, rows)
    people = groups.members.filter(failed.gather(groups.members["group"]))["person"].n_unique()
    return CheckResult(words, met, number, people, "people")


def _unprotected(columns: Sequence[CheckedGroups]) -> int:
    """The largest number of unprotected records in a column."""
    each = []
    for groups in columns:
        if groups.harmless is not None:
            free = groups.harmless.gather(groups.runs["value"])
            each.append(int(groups.runs["count"].filter(free).sum()))
    return max(each, default=0)


# --- measures in words -----------------------------------------------------------------------------------------------


def _worst(columns: Mapping[str, tuple[Measure, ...]]) -> tuple[Measure, ...]:
    """The worst value of each measure over all columns, with the column's name."""
    found: dict[str, Measure] = {}
    for column, measures in columns.items():
        for one in measures:
            if one.name == "k":
                found[one.name] = one
                continue
            where = _where(column)
            named = replace(one, column=column, sentence=f"{where[0].upper()}{where[1:]}: {one.sentence}")
            best = found.setdefault(one.name, named)
            found[one.name] = named if _badness(named) > _badness(best) else best
    return tuple(found.values())


def _badness(measure: Measure) -> float:
    """How bad a value is: larger is worse."""
    if measure.value is None:
        return math.inf
    return -measure.value if measure.name in _LESS_IS_WORSE else measure.value


def _measures(groups: CheckedGroups, schema: Schema, form: Form) -> tuple[Measure, ...]:
    free = groups.spared
    if groups.members is not None:
        return tuple(Measure(*one) for one in measures_of_people(free, sensitive=bool(schema.sensitive)))
    if not schema.sensitive:
        return (_k(groups, form),)
    taxonomy = groups.domain.taxonomy
    found = [_k(groups, form), _l(free), _entropy(free), _recursive(free, 2), _recursive(free, 3)]
    found += [_simple(free), _confidence(free), _alpha_k(free), _t(groups, "equal")]
    if taxonomy is not None and taxonomy.ordered:
        found += [_t(groups, "ordered"), _k_e(groups)]
    # Ranges that nobody chose say nothing about distances between values.
    if taxonomy is not None and taxonomy.height > 1 and schema.hierarchy(groups.column).kind != "auto":
        found += [_t(groups, "hierarchical")]
    return (*found, _beta(groups), _delta(groups), _c_k(free), _m_unique(free))


def _least(values: pl.Series) -> float:
    return float(values.min())  # type: ignore[arg-type]


def _most(values: pl.Series) -> float:
    return float(values.max())  # type: ignore[arg-type]


def _k(groups: CheckedGroups, form: Form) -> Measure:
    k, shared = int(_least(groups.size)), "quasi-identifiers" if form.boxes else "group"
    if k == 1:
        alone = int((groups.size == 1).sum())
        return Measure("k", 1, f"{alone:,} records are alone with their {shared} (k = 1).")
    return Measure("k", k, f"Every record shares its {shared} with at least {k - 1:,} others (k = {k:,}).")


def _l(groups: CheckedGroups) -> Measure:
    distinct = int(_least(groups.distinct))
    if distinct == 1:
        rows = int(groups.size.filter(groups.distinct == 1).sum())
        return Measure("l", 1, f"{rows:,} records are in groups with one sensitive value only: it is known (l = 1).")
    return Measure("l", distinct, f"Every group has at least {distinct} different sensitive values (l = {distinct}).")


def _entropy(groups: CheckedGroups) -> Measure:
    value = _least(effective(groups))
    words = f"The most uneven group is as diverse as {value:.4g} equally frequent values (entropy l = {value:.4g})."
    return Measure("entropy-l", value, words)


def _recursive(groups: CheckedGroups, rank: int) -> Measure:
    name, ratio = f"recursive:l={rank}", _most(tail_ratio(groups, rank))
    if math.isinf(ratio):
        words = f"Some group has fewer than {rank} sensitive values, so no c makes it recursive (c,{rank})-diverse."
        return Measure(name, None, words)
    return Measure(name, ratio, f"Recursive (c,{rank})-diversity holds for every c above {ratio:.4g}.")


def _simple(groups: CheckedGroups) -> Measure:
    value = 1 / _most(largest_share(groups))
    return Measure("simple-l", value, f"No value makes up more than 1/{value:.4g} of a group (simplified l-diversity).")


def _confidence(groups: CheckedGroups) -> Measure:
    value = _most(largest_share(groups))
    words = f"In the worst group a sensitive value can be inferred with confidence {value:.4g}."
    return Measure("confidence", value, words)


def _alpha_k(groups: CheckedGroups) -> Measure:
    value, k = _most(largest_share(groups)), int(_least(groups.size))
    return Measure("alpha-k", value, f"(alpha,k)-anonymity holds for alpha = {value:.4g} and k = {k:,}.")


def _t(groups: CheckedGroups, kind: str) -> Measure:
    value = _most(distance(groups, kind))
    name = "t" if kind == "equal" else f"t:{kind}"
    words = f"Every group's distribution is within {value:.4g} of the whole table's ({kind} distance, t = {value:.4g})."
    return Measure(name, value, words)


def _beta(groups: CheckedGroups) -> Measure:
    value = _most(gain(groups))
    words = f"No value's share in a group exceeds that in the table by more than {value:.4g} times (beta-likeness)."
    return Measure("beta", value, words)


def _delta(groups: CheckedGroups) -> Measure:
    value, without = _most(log_ratio(groups)), int(lacking(groups).sum())
    if without:
        words = f"{without:,} groups lack a value of the table, so no delta makes it delta-disclosure private"
        return Measure("delta-disclosure", None, f"{words} (of the values that they have: {value:.4g}).")
    return Measure("delta-disclosure", value, f"It is delta-disclosure private for every delta above {value:.4g}.")


def _k_e(groups: CheckedGroups) -> Measure:
    distinct, reach, _ = spread(groups)
    k, e = int(_least(distinct)), _least(reach)
    words = (
        f"Every group has at least {k} different sensitive numbers over a range of at least {e:g} ((k,e)-anonymity)."
    )
    return Measure("k-e", e, words)


def _c_k(groups: CheckedGroups) -> Measure:
    value = 1 / (1 + float(worst_odds(groups, 1).min()))
    words = (
        "Someone who knows one fact of the kind 'if she has this, so does he' can infer a value with probability "
        f"{value:.4g} at most ((c,1)-safety)."
    )
    return Measure("c-k:k=1", value, words)


def _m_unique(groups: CheckedGroups) -> Measure:
    repeated = int((groups.largest > 1).sum())
    if repeated:
        return Measure("m-unique", 0, f"{repeated:,} groups have some sensitive value twice, so they are not m-unique.")
    m = int(_least(groups.size))
    return Measure("m-unique", m, f"No group has a sensitive value twice; the table is {m}-unique.")


def read_for_check(
    published: Any, schema: Schema, *, by: str | None = None, dialect: Dialect = FOUND, engine: str = AUTO
) -> PublishedRelease:
    """Read a release for `check`: all rows, or distinct rows with their counts if an engine counts them.

    `by` is a column that numbers groups.
    """
    known = isinstance(published, PublishedRelease | Release)
    chosen = choose(MEMORY if known and engine == AUTO else engine, published)
    if chosen.name == MEMORY:
        return read_published(published, schema, dialect=dialect, as_text=False)
    if schema.several_rows:
        raise InputError(f"The engine '{chosen.name}' counts rows, not people who have several: use engine memory.")
    return open_counted(chosen, published, schema, by=by)


def refuse_records(release: PublishedRelease, inputs: RiskInputs) -> None:
    """Refuse risk figures that need every record, if equal ones were counted together."""
    if release.tables.times is not None and inputs.by_record:
        raise InputError(
            "A register, weights and households are matched with single records, and this engine counts equal ones "
            "together: use engine memory."
        )
