"""Where the records of a release go: divide, balance, raise, assign. What m-invariance and e-equivalence share."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.errors import DataError, InputError, InternalError, RequirementError
from reissue.methods.invariance.buckets import (
    Assignments,
    Ineligible,
    Signatures,
    assign,
    assign_rows,
    drawable,
    fill,
    lacks,
)
from reissue.methods.invariance.register import Recall, Register, RegisterState
from reissue.methods.registry import Job, Option, find
from reissue.release.form import Form
from reissue.requirements import KAnonymity

__all__ = [
    "FORM",
    "INELIGIBLE",
    "KEEPS_VALUES",
    "MOST_VALUES",
    "Draws",
    "Situation",
    "alike",
    "codes_of",
    "form_of",
    "m_of",
    "near",
    "same_parameters",
    "value_names",
]

INELIGIBLE = Option(
    default="refuse",
    help="What to do when one value is in more than 1/m of the new records: refuse, or add counterfeits.",
    choices=("refuse", "counterfeits"),
)

KEEPS_VALUES = "a person's possible values stay the same through the series"
"""Why m-invariance and what is built on it prevents attacks that follow people."""
MOST_VALUES = 2_000
"""Work grows with the cube of the number of sensitive values: this many take seconds, a few times as many hours."""


FORM = Option(
    default="generalized",
    help="Generalized quasi-identifiers; or exact ones, which show who is in the release, and the values permuted in "
    "their group or in a second table.",
    choices=("generalized", "permuted", "two tables"),
)


def form_of(job: Job) -> Form:
    """How the draft is published, by the option `form`."""
    label = job.options["form"]
    return {"generalized": Form.NUMBERED, "boxes": Form.PERMUTED}.get(label) or Form.called(label)


def alike(job: Job, fakes: Codes, k: int) -> Codes:
    """Number rows, then counterfeits, by the box that they show: at least k alike, by quasi-identifiers alone."""
    pool = find("pool")
    everyone = np.concatenate([np.arange(job.table.rows), np.zeros(fakes.shape[1], np.int64)])
    table = replace(job.table.some(everyone), codes=np.hstack([job.table.codes, fakes]))
    return pool.run(replace(job, table=table, requirement=KAnonymity(k), suppress=0.0, options=pool.settle({}))).groups


def m_of(job: Job, method: str, names: Sequence[str] = ("m-unique", "simple-l")) -> int:
    """The m that the requirement asks for, which must be one of those that the method is made for."""
    parts = job.requirement.parts()
    m = parts[0].invariant_m
    if len(parts) != 1 or parts[0].name not in names or m is None:
        raise RequirementError(
            f"The method '{method}' is made for one requirement, such as {names[0]}=10, and no other."
        )
    if m < 2:
        raise RequirementError(f"The method '{method}' needs m to be 2 or more.")
    return m


def same_parameters(job: Job, **now: int) -> None:
    """Refuse a memory that was left with other parameters."""
    other = [] if job.state is None else [name for name, value in now.items() if getattr(job.state, name) != value]
    if other:
        given = ", ".join(f"{name} = {getattr(job.state, name)}" for name in other)
        raise InputError(f"This series was begun with {given}. A series keeps its parameters.")


@dataclass(frozen=True, eq=False)
class Situation:
    """A new table against what was remembered."""

    job: Job
    register: Register
    signatures: Signatures
    values: Codes
    """Row to its stable value."""
    recall: Recall

    @classmethod
    def of(cls, job: Job) -> "Situation":
        """Divide the rows: whose signature is known, who is new, who has left."""
        if job.people is None or job.stable_code is None:
            raise InternalError("A method that remembers was run without people. Please report this.")
        past: RegisterState | None = job.state
        register = Register.none() if past is None else past.register
        width = int(job.stable_code.max()) + 1
        if width > MOST_VALUES:
            raise _too_many(job, width)
        signatures = Signatures(np.zeros((0, width), np.bool_) if past is None else past.signatures).widen(width)
        values = job.stable_code[job.table.sensitive].astype(np.int32)
        return cls(job, register, signatures, values, register.recall(job.people, values))

    @property
    def width(self) -> int:
        """How many sensitive values there have been."""
        return int(self.signatures.member.shape[1])

    @cached_property
    def new(self) -> Ints:
        """The rows of new people."""
        return np.flatnonzero(self.recall.signature < 0)

    def count(self, signature: Codes, value: Codes) -> Ints:
        """Records by signature and value."""
        cells = signature.astype(np.int64) * self.width + value
        shape = self.signatures.member.shape
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)

    def survivors(self) -> Ints:
        """Known people in this table, by signature and value."""
        known = np.flatnonzero(self.recall.signature >= 0)
        return self.count(self.recall.signature[known], self.values[known])

    def publish(self, signature: Codes) -> Register:
        """The register after this release."""
        if self.job.people is None:  # pragma: no cover
            raise InternalError("A method that remembers was run without people. Please report this.")
        return self.register.publish(self.job.people, signature, self.values, self.recall)


def _too_many(job: Job, values: int) -> DataError:
    """Refuse before the work starts."""
    columns = ", ".join(f"'{name}'" for name in job.table.schema.sensitive)
    return DataError(
        f"The sensitive column {columns} has had {values:,} different values in this series, and this method can take "
        f"{MOST_VALUES:,}: it looks for sets of values that stay together, and with more it would hardly end. Write "
        "fewer, coarser values before publishing, such as chapters instead of codes or ranges instead of amounts."
    )


@dataclass
class Draws:
    """New records drawn for buckets stage by stage, each a count by signature and value."""

    situation: Situation
    m: int
    signatures: Signatures = field(init=False)
    left: Ints = field(init=False)
    """How many new records of each value are not placed yet; the last of them may be counterfeits."""
    stand: Ints = field(init=False)
    """Records that stand in buckets from before, by signature and value."""
    stages: list[Ints] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with all new records."""
        self.signatures = self.situation.signatures
        rows = self.situation.new
        self.left = np.bincount(self.situation.values[rows], minlength=self.situation.width)
        self.stand = self.situation.survivors()

    def balance(self, *, counterfeits: bool) -> Ints:
        """Draw what buckets lack to have all their values equally often; returns what is still lacking."""
        wanted = lacks(self.stand, self.signatures)
        total = wanted.sum(axis=0)
        try:
            drawn = drawable(self.left, total, self.m)
        except Ineligible as problem:
            if not counterfeits:
                raise self._refusal(problem) from None
            drawn = np.minimum(self.left, total)
            self.left = self.left + self._makeweight(self.left - drawn)
        return self._draw(wanted, drawn)

    def lacking(self, wanted: Ints) -> Ints:
        """What drawing would leave lacking."""
        return wanted - fill(wanted, drawable(self.left, wanted.sum(axis=0), self.m))

    def draw(self, wanted: Ints) -> Ints:
        """Draw what is wanted, while what remains is m-eligible; returns what is lacking."""
        return self._draw(wanted, drawable(self.left, wanted.sum(axis=0), self.m))

    def _draw(self, wanted: Ints, drawn: Ints) -> Ints:
        given = fill(wanted, drawn)
        self.stages.append(given)
        self.left = self.left - given.sum(axis=0)
        return wanted - given

    def assign(self) -> None:
        """Place all that is left."""
        self.signatures, batches = assign(self.left, self.signatures, self.m, self.stand + self.drawn())
        self.stages.append(batches[:, np.newaxis] * self.signatures.member)
        self.left = np.zeros_like(self.left)

    def drawn(self) -> Ints:
        """All that has been placed so far, by signature and value."""
        return np.asarray(np.sum([self._padded(stage) for stage in self.stages], axis=0))

    def places(self) -> Assignments:
        """Every new row with its bucket, and the counterfeits that made the new records m-eligible."""
        takes = np.stack([self._padded(stage) for stage in self.stages])
        return assign_rows(self.situation.new, self.situation.values, takes)

    def _padded(self, stage: Ints) -> Ints:
        return np.pad(stage, ((0, len(self.signatures.member) - len(stage)), (0, 0)))

    def _makeweight(self, rest: Ints) -> Ints:
        """Counterfeits by value that make a rest m-eligible: rare values first, none above the most frequent one."""
        most = int(rest.max())
        short = m_short = self.m * most - int(rest.sum())
        if len(rest) < self.m:
            raise DataError(
                f"This series has had {len(rest)} different sensitive values so far, and every group needs {self.m}."
            )
        extra = np.zeros_like(rest)
        for value in np.argsort(rest, kind="stable"):
            extra[value] = min(most - int(rest[value]), short)
            short -= int(extra[value])
        if short:
            raise InternalError(f"{m_short} counterfeits were not enough. Please report this.")
        return extra

    def _refusal(self, problem: Ineligible) -> DataError:
        """Names the value by rows that have it: messages hold no values."""
        rows = self.situation.new
        having = rows[self.situation.values[rows] == problem.value]
        first = ", ".join(str(row + 1) for row in having[:5].tolist())
        return DataError(
            f"The new records are not {self.m}-eligible: besides what earlier buckets can take, {problem.number} of "
            f"them have one and the same sensitive value (the one in rows {first}), {problem.number - problem.most} "
            f"more than the {problem.most} that may be, 1/{self.m} of the others together. Publish them later, choose "
            'a smaller m, or allow counterfeits with the option  ineligible = "counterfeits".'
        )


def near(rng: np.random.Generator, group: Codes, real: Codes, rows: Ints | None = None) -> Ints:
    """For counterfeits in these groups a random real row of the same group each, else of any.

    `real` gives the group of each real row; with `rows` only those rows are looked at.
    """
    rows = np.arange(len(real)) if rows is None else rows
    order = rows[np.argsort(real[rows], kind="stable")]
    first = np.searchsorted(real[order], group)
    number = np.searchsorted(real[order], group, "right") - first
    place = first + (rng.random(len(group)) * number).astype(np.int64)
    anyone = rng.integers(0, len(order), len(group))
    return np.asarray(order[np.where(number > 0, np.minimum(place, len(order) - 1), anyone)])


def codes_of(job: Job, values: Codes) -> Codes:
    """The table's sensitive codes of stable values."""
    if job.stable_code is None:  # pragma: no cover
        raise InternalError("A method that remembers was run without values. Please report this.")
    seen = np.flatnonzero(job.stable_code >= 0)
    code = np.empty(len(seen), np.int32)
    code[job.stable_code[seen]] = seen
    return code[values]


def value_names(job: Job, values: int) -> list[str | None]:
    """The texts of the lasting values 0, 1, ...; those of several columns are joined."""
    texts = job.table.decode(codes_of(job, np.arange(values, dtype=np.int32))).select(pl.all().cast(pl.String))
    if texts.width == 1:
        return texts.to_series().to_list()
    return texts.select(pl.concat_str(pl.all().fill_null("\0"), separator="\1")).to_series().to_list()
