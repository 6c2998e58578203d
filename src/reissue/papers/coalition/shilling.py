"""Shilling (Rani 2014, section I): an adversary invents records so that the method singles somebody out.

Whoever can give records to a common table (providers, users of a site) can invent some, under accounts made for this.
The adversary knows quasi-identifiers and invents records that look like one person's, with values that go round. The
method groups the person with them; the adversary takes its own records out, and what is left of the group does not meet
the requirement. Where others of the person's group would be too few without it, half of the invented records look like
those others, so that the method may leave them to themselves. m-privacy covers it where all the accounts together are
at most m providers, since invented records are the adversary's own. A method that does not know providers cannot tell
them from others.

For every person that is tried the method runs again with 1, 2, 3, 5, 8, ... invented records, until the person is
exposed: O(people x numbers x two runs). What it finds is a demonstration. That it finds nothing proves nothing: records
elsewhere, or another choice of values, may do.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, attack
from reissue.attacks.stories import Case, case
from reissue.counting.cells import Domain
from reissue.data.table import Table
from reissue.errors import CannotRunError
from reissue.papers.coalition.attack import exposed, requirement_to_break
from reissue.papers.coalition.contributions import Contributions
from reissue.papers.coalition.records import groups_seen
from reissue.papers.mechanism.again import made_again, runner
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.release.recode import boxes_of
from reissue.release.release import Draft, Release
from reissue.requirements import Requirement, by_column
from reissue.words import plural

__all__ = ["Shilled", "exposed_rows", "shilling", "with_invented"]

NAME = "shilling"
_CELLS = 2_000_000
"""Rows times runs, at most: what a minute or so allows."""
_RUNS = 1_000
"""Runs of the method, at most."""
_ACCOUNT = "an invented account"


@dataclass(frozen=True, eq=False)
class Shilled:
    """How many invented records expose each of some people."""

    needed: Ints
    """Person to the fewest records of those tried that expose this person; 0 if none did."""
    tried: tuple[int, ...]
    """The numbers of records."""
    others: int
    """How many people there are to expose."""
    accounts: int
    before: int
    """How many more a coalition exposes without inventing any."""

    @property
    def exposed(self) -> int:
        """How many of the people were exposed."""
        return int((self.needed > 0).sum())

    @property
    def fewest(self) -> int | None:
        """The fewest records that exposed somebody."""
        return int(self.needed[self.needed > 0].min()) if self.exposed else None


@attack(
    NAME,
    "Invents records that look like one person's, so that the method puts them together.",
    per_release=True,
    accepts=Accepts.COALITIONS,
    needs=(
        "the algorithm, its requirement and the original table (`--knowledge algorithm=NAME`, "
        "`--knowledge requirement=...`, `--knowledge population=FILE`); of our own releases all are known"
    ),
    story=(
        "Someone who can add records to the table before it is published invents some that look like one person's, "
        "under accounts made for this. The method groups the person with them. Then the inventor crosses out all "
        "invented records, and few others are left beside the person."
    ),
    prevention=(
        (
            "Publish with the method `providers`, with an `m` of at least the number of accounts that one adversary "
            "can make: whatever they invent, the requirement then holds without it."
        ),
        "Make accounts hard to get, and check records before they enter the table.",
    ),
    command=(
        "reissue anonymize data.csv --schema schema.toml --method providers --option m=2 --require k=5 "
        "--out release.csv"
    ),
)
def shilling(series: Series, knowledge: Knowledge) -> Finding:
    """Invent records before every release of our own, and report the one that needs fewest."""
    accounts = 1 if knowledge.m is None else knowledge.m
    found = [_of_release(release, series, knowledge, accounts) for release in series.releases]
    place = min(range(len(found)), key=lambda one: (found[one][0].fewest or np.inf, -found[one][0].exposed))
    worst, most = found[place]
    return Finding(
        NAME,
        Status.EXPOSED if worst.exposed else Status.WITHSTOOD,
        _sentence(series.numbers[place], worst, most),
        series.numbers,
        people=worst.exposed,
        population=len(worst.needed),
        measure="records that may be invented",
        worst=most if worst.fewest is None else worst.fewest - 1,
        limit=most,
        at_least=True,
        details={
            "fewest": worst.fewest,
            "tried": len(worst.needed),
            "others": worst.others,
            "accounts": worst.accounts,
            "before": worst.before,
            "release": series.numbers[place],
            "case": _case(worst, most),
        },
    )


def _of_release(release: PublishedRelease, series: Series, knowledge: Knowledge, accounts: int) -> tuple[Shilled, int]:
    """How many records it takes in one release, and the number that must not be enough."""
    requirement = requirement_to_break(release, series, knowledge)
    source = release.source or made_again(release, series, knowledge, requirement)
    table = source.table
    if table.people is not None:
        raise CannotRunError("people have several records, and each invented one would have to be somebody's.")
    needs = max((part.least for part in requirement.parts()), default=1)
    most = int(series.limits.get(NAME, 2 * max(needs, 1)))
    tried = tuple(_numbers(most))
    again = runner(source, str(knowledge.algorithm or source.method), dict(knowledge.options), np.random.default_rng(0))
    own = np.zeros(table.rows, np.bool_)
    if knowledge.coalition and table.providers is not None:
        own = table.providers.cast(pl.String).is_in(list(knowledge.coalition)).to_numpy()
    names = list(knowledge.coalition) or [f"{_ACCOUNT} {number + 1}" for number in range(accounts)]
    before = exposed_rows(table, source.draft, requirement, own)
    people = np.flatnonzero(~own & ~before & (source.draft.groups >= 0))
    runs = min(_RUNS, _CELLS // max(table.rows, 1))
    some = runs // max(2 * len(tried), 1)
    if some < 1:
        raise CannotRunError(f"a table of {table.rows:,} rows is too large to run the method again.", too_large=True)
    chosen = people
    if len(people) > some:
        chosen = np.sort(np.random.default_rng(0).choice(people, some, replace=False))
    needed = np.zeros(len(chosen), np.int64)
    for place, row in enumerate(chosen.tolist()):
        needed[place] = _needed(table, row, _beside(source, row), own, names, requirement, again, tried)
        knowledge.progress((place + 1) / len(chosen))
    return Shilled(needed, tried, len(people), len(names), int(before.sum())), most


def _numbers(most: int) -> Iterator[int]:
    """1, 2, 3, 5, 8, ... up to a number, and this number."""
    one, two = 1, 2
    while one < most:
        yield one
        one, two = two, one + two
    if most > 0:
        yield most


def _beside(source: Release, row: int) -> Ints:
    """A row for each look of other people in somebody's published group; the person's own if there is none."""
    group, codes = source.draft.groups, source.table.codes
    inside = np.flatnonzero((group == group[row]) & (codes != codes[:, [row]]).any(axis=0))
    if group[row] < 0 or not len(inside):
        return np.array([row])
    return inside[np.unique(codes[:, inside], axis=1, return_index=True)[1]]


def _needed(
    table: Table,
    row: int,
    others: Ints,
    own: Bools,
    names: Sequence[str],
    requirement: Requirement,
    again: Callable[[Table], Draft | None],
    tried: Sequence[int],
) -> int:
    """The fewest invented records of those tried that expose a person; 0 if none do.

    `others` are rows of the person's group that look different, or the person's own where there are none.
    """
    for number in tried:
        mine = np.append(own, np.ones(number, np.bool_))
        alike = np.full(number, row)
        around = np.where(np.arange(number) % 2, others[np.arange(number) // 2 % len(others)], row)
        for looks in (alike, around) if number > 1 and (others != row).any() else (alike,):
            larger = with_invented(table, looks, names)
            draft = again(larger)
            if draft is not None and exposed_rows(larger, draft, requirement, mine)[row]:
                return number
    return 0


def with_invented(table: Table, looks: Ints, names: Sequence[str]) -> Table:
    """The table with an invented record for each of some rows, that looks like it: accounts and values go round."""
    number = len(looks)
    frequent = np.argsort(-table.domain.totals, kind="stable")
    values = frequent[table.domain.totals[frequent] > 0]
    sensitive = np.append(table.sensitive, values[np.arange(number) % len(values)]).astype(np.int32)
    more = table.frame[looks.tolist()]
    given = table.schema.provider
    frame = table.frame
    if given is not None:
        frame = frame.with_columns(pl.col(given).cast(pl.String))
        more = more.with_columns(pl.Series(given, [names[place % len(names)] for place in range(number)], pl.String))
    return replace(
        table,
        codes=np.concatenate([table.codes, table.codes[:, looks]], axis=1),
        sensitive=sensitive,
        domain=Domain(np.bincount(sensitive, minlength=table.domain.size), table.domain.taxonomy),
        frame=pl.concat([frame, more]),
        draw=None,
    )


def exposed_rows(table: Table, draft: Draft, requirement: Requirement, own: Bools) -> Bools:
    """Whose groups, without the adversary's own records, do not meet the requirement; nobody's of its own."""
    groups = groups_seen(table, draft, boxes_of(table, draft))
    values: Codes = table.sensitive if draft.sensitive is None else draft.sensitive
    domain = Domain(np.bincount(values[groups >= 0], minlength=table.domain.size), table.domain.taxonomy)
    given = Contributions.of_rows(groups, own.astype(np.int64), values, domain)
    judged = by_column(requirement, table.margins, domain)
    broken = np.append(exposed(given, judged, [1]), False)
    return np.asarray(broken[groups] & ~own, np.bool_)


# --- telling ---------------------------------------------------------------------------------------------------------


def _who(accounts: int) -> str:
    return "one account" if accounts == 1 else f"{accounts} accounts"


def _sentence(number: int, found: Shilled, most: int) -> str:
    of = f"{len(found.needed):,} people tried" if len(found.needed) < found.others else f"{found.others:,} people"
    if not found.exposed:
        return (
            f"None of the {of} in release {number} is exposed by up to {plural(most, 'invented record')} "
            f"given by {_who(found.accounts)}. This is a search, not a proof."
        )
    are = "is" if found.exposed == 1 else "are"
    return (
        f"{found.exposed:,} of the {of} in release {number} {are} exposed by at most "
        f"{plural(most, 'invented record')} given by {_who(found.accounts)}; the fewest that "
        f"are enough are {found.fewest}."
    )


def _case(found: Shilled, most: int) -> Case:
    by_number = [int(((found.needed > 0) & (found.needed <= number)).sum()) for number in found.tried]
    steps = [
        f"The adversary can add records under {_who(found.accounts)}, and knows one person's quasi-identifiers.",
        "It invents records that look like this person's. Their sensitive values go round.",
        "The method runs as always. The adversary takes its own records out of the person's group.",
        f"{plural(most, 'invented record')} expose {found.exposed:,} of {len(found.needed):,} people tried.",
    ]
    return case(
        steps,
        {
            "kind": "bars",
            "labels": [str(number) for number in found.tried],
            "series": {"people exposed": by_number},
            "unit": "people exposed, by the number of invented records",
            "limit": None,
        },
    )
