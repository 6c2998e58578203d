"""The demo in two acts: twelve months of invented patients, published month by month, and through a ledger.

Act one is common practice: every month is made k-anonymous and diverse by itself. Act two publishes the same months
through a ledger. Both are attacked and measured in the same way; the adversary knows who was in hospital when, and in
which group everyone is. The results depend only on the seeds.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from reissue import synth
from reissue.attacks.findings import FIRST, Finding, Findings, Point
from reissue.errors import InputError
from reissue.files.staging import remove_leftovers
from reissue.files.tables import write_file, write_private, write_text
from reissue.people.knowledge import Knowledge
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.publishing.plan.waves import read_waves
from reissue.publishing.publish import publish_next
from reissue.publishing.series import anonymize_series
from reissue.release.release import Release
from reissue.schema import Schema, Section
from reissue.utility import Utility, measure

__all__ = [
    "COHORTS",
    "HOSPITALS",
    "JUDGE",
    "LEFT_OUT",
    "LIMIT",
    "MONTHS",
    "PEOPLE",
    "POLICY",
    "REQUIREMENT",
    "THEIRS",
    "THEIR_REQUIREMENT",
    "Act",
    "Story",
    "cost_of",
    "play",
]

PEOPLE, HOSPITALS, MONTHS, SEED = 3_000, 3, 12, 1
REQUIREMENT = "k=5 & l=3"
"""The requirement of every month in act one."""
LIMIT = 0.75
"""The largest allowed posterior of a disease; every single month of act one stays below it too."""
DEPARTURES = "departures.csv"
POLICY: Section = {
    "require": "k=5",
    "method": "pool",
    "limit": LIMIT,
    "values": "randomized",
    "randomized": {"against": ["people alike", "departure rates"], "departures": DEPARTURES},
}
"""The policy of act two: published diseases are true with a chosen probability. The adversary links all rows."""
JUDGE = "posterior"
"""The attack that judges act two."""
COHORTS: Section = {
    "require": "k=5 & l=4 & confidence=0.4",
    "method": "cohorts",
    "options": {"by_itself": True, "form": "boxes"},
    "limit": LIMIT,
    "suppress": 0.04,
    "counterfeits": 0.15,
    "knowledge": "groups",
    "attacks": [FIRST],
}
"""The policy beside it, whose published diseases are all true: the adversary knows everyone's group."""
THEIRS, THEIR_REQUIREMENT = "distinct", "m-unique=7"
"""The papers' method for that; their others need diseases that stay, or people who never leave."""
_THEIR_OPTIONS: dict[str, Any] = {"risk": LIMIT, "ineligible": "counterfeits"}
LEFT_OUT: Mapping[str, str] = {
    "mechanism": "it makes every release thousands of times over, which takes minutes",
    "shilling": "it makes every release again for everyone it tries, which takes minutes",
}
"""Attacks that the demo omits, and why."""
_README = "Written by `reissue demo`"
_KEY = "the demo's key is no secret: its people are invented"
_QUERIES = 500
"""Number of random queries by which the releases' errors are measured."""
_FOLDERS = ("original", "who", "act-one", "act-two", "ledger", "cohorts")
_ABOUT_FILE = "README.txt"
_FILES = (
    _ABOUT_FILE,
    "schema.toml",
    "ledger.toml",
    "updates.csv",
    DEPARTURES,
    "ledger.key",
    "ledger.head",
    "act-one.html",
    "act-two.html",
)
_ABOUT = f"""{_README}: all people are invented. `reissue demo --force` replaces these files.

original/      the hospitals' register at the end of each month; never published
who/           what a neighbour knows: who was in hospital in which month, with age, zip, sex and job
act-one.html   what attacks find in act one, for people; act-two.html in act two
act-one/       each month anonymized by itself, so that it meets {REQUIREMENT}
act-two/       the same months published through a ledger
cohorts/       the ledger of the same months published by cohorts, beside act two
ledger/        the ledger of act two; ledger.key is its key, ledger.head its last entry
schema.toml    which column is what; ledger.toml is the same with the policy of act two
updates.csv    which disease can become which within a month, and how likely
departures.csv how likely people with each disease are to be gone in the next month, in another hospital

Try it yourself, with the files alone:
reissue attack act-one/*.csv --schema schema.toml --members who --limit updates={LIMIT}
"""


@dataclass(frozen=True, eq=False)
class Act:
    """Twelve releases, what attacks find in them together, and the information loss."""

    folder: Path
    releases: tuple[Release, ...]
    findings: Findings
    utility: tuple[Utility, ...]
    report: Path
    """The page that shows it."""
    rows: int
    """Number of rows of the months' tables; suppressed people are missing in a release's own table."""

    @property
    def cost(self) -> dict[str, float]:
        """The losses over all months."""
        cost = cost_of(self.utility)
        return {**cost, "rows": self.rows, "suppressed": cost["suppressed"] + self.rows - cost["rows"]}

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and dictionaries."""
        files = {"folder": str(self.folder), "report": str(self.report)}
        return {**files, **self.findings.as_dict(), "cost": self.cost}


@dataclass(frozen=True, eq=False)
class Story:
    """Both acts."""

    out: Path
    people: int
    """Number of people in hospital in any month."""
    one: Act
    two: Act
    cohorts: tuple[Utility, ...]
    """The utility of cohorts, whose published values are all true, as far as they could be published."""
    cohorts_found: Finding
    """What the joint attack finds in the last of these releases."""
    theirs: tuple[Utility, ...]
    """The utility of the papers' method."""
    theirs_found: Finding
    """What the joint attack finds in its releases if groups are known."""

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and dictionaries."""
        return {
            "folder": str(self.out),
            "months": MONTHS,
            "people": self.people,
            "act_one": self.one.as_dict(),
            "act_two": self.two.as_dict(),
            "cohorts": {"cost": cost_of(self.cohorts), FIRST: self.cohorts_found.as_dict()},
            THEIRS: {"cost": cost_of(self.theirs), FIRST: self.theirs_found.as_dict()},
            "left_out": dict(LEFT_OUT),
        }


def cost_of(utility: Sequence[Utility]) -> dict[str, float]:
    """The losses over all months: mean shares, and total numbers of records."""
    return {
        "loss": fmean(one.loss for one in utility),
        "query_error": fmean(one.queries.median for one in utility if one.queries is not None),
        "suppressed": sum(one.suppressed for one in utility),
        "counterfeits": sum(one.added for one in utility),
        "rows": sum(one.rows for one in utility),
    }


def play(out: str | Path, *, force: bool = False, progress: Callable[[float], None] = lambda _: None) -> Story:
    """Play both acts and write everything into a folder, which must be new, empty or of an earlier demo."""
    out = Path(out)
    _clear(out, force=force)
    months = list(synth.Population(seed=SEED, people=PEOPLE, hospitals=HOSPITALS).months(MONTHS))
    schema = _prepare(out, months)
    one = [anonymize(month, schema, REQUIREMENT, seed=number) for number, month in enumerate(months)]
    progress(0.1)
    rows = sum(month.height for month in months)
    first = _act(out / "act-one", one, schema, rows, lambda share: progress(0.1 + 0.4 * share))
    write_private(f"{_KEY}\n".encode(), out / "ledger.key")
    two, judged = _published(out / "ledger", replace(schema, policy=POLICY), months)
    progress(0.6)
    second = _judged_act(out / "act-two", two, judged, rows)
    (out / "cohorts").mkdir()
    write_private(f"{_KEY}\n".encode(), out / "cohorts" / "ledger.key")
    cohorts, seen = _published(out / "cohorts" / "ledger", replace(schema, policy=COHORTS), months, second=False)
    progress(0.8)
    beside = _measured(cohorts)
    progress(0.9)
    theirs = anonymize_series(months, schema, THEIR_REQUIREMENT, method=THEIRS, seed=0, **_THEIR_OPTIONS)
    found = attack(theirs, schema, only=FIRST, knowledge=Knowledge(groups=True), limits={FIRST: LIMIT})[FIRST]
    everyone = pl.concat(month["patient"] for month in months).n_unique()
    story = Story(out, everyone, first, second, beside, seen[-1], _measured(theirs), found)
    _report(story)
    progress(1.0)
    return story


def _clear(out: Path, *, force: bool) -> None:
    """Empty a folder; of an earlier demo only its own files are removed."""
    from reissue.ledger.head import SecondHeads
    from reissue.ledger.store import address_of

    if out.exists() and not out.is_dir():
        raise InputError(f"'{out}' is a file. Choose another name for the folder.")
    if out.is_dir():
        remove_leftovers(out)
    if out.is_dir() and any(out.iterdir()):
        if not force:
            raise InputError(f"The folder '{out}' is not empty. Choose another one, or force=True to replace a demo.")
        about = out / _ABOUT_FILE
        if not (about.is_file() and about.read_text(encoding="utf-8", errors="replace").startswith(_README)):
            raise InputError(f"The folder '{out}' holds other files than a demo's: --force does not replace them.")
        heads = SecondHeads.of(address_of(out / "ledger"))
        if heads is not None:
            heads.forget()  # the new ledger has the same place and the same key, which is no secret
        for name in _FOLDERS:
            shutil.rmtree(out / name, ignore_errors=True)
        for name in _FILES:
            if name != _ABOUT_FILE:  # marks the folder as ours, for a restart after a crash
                (out / name).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)


def _prepare(out: Path, months: Sequence[pl.DataFrame]) -> Schema:
    """Write the files that exist before publishing; return the schema."""
    write_text(_ABOUT, out / _ABOUT_FILE, force=True)
    for name in ("original", "who", "act-one", "act-two"):
        (out / name).mkdir()
    write_file(synth.updates(), out / "updates.csv")
    write_file(_departures(), out / DEPARTURES)
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=out)
    write_text(schema.dumps(), out / "schema.toml")
    write_text(replace(schema, policy=POLICY).dumps(), out / "ledger.toml")
    for number, month in enumerate(months, start=1):
        write_file(month, out / "original" / _file(number))
        write_file(month.select("patient", *schema.quasi), out / "who" / _file(number))
    return schema


def _departures() -> pl.DataFrame:
    """Departure rates as somebody knows them who has seen another hospital."""
    other = list(synth.Population(seed=SEED + 1, people=PEOPLE).months(4))
    rates = read_waves(other, synth.schema().with_roles({"hospital": "drop"})).departures
    return pl.DataFrame({"disease": list(rates), "leaves": list(rates.values())})


def _file(number: int) -> str:
    return f"month-{number:02d}.csv"


def _published(
    place: Path, schema: Schema, months: Sequence[pl.DataFrame], *, second: bool = True
) -> tuple[list[Release], list[Finding]]:
    """Publish the months through a ledger, each judged with all earlier ones before it is recorded."""
    from reissue.ledger import Ledger

    releases, judged = [], []
    with Ledger.create(place, schema, second=second) as ledger:
        for number, month in enumerate(months):
            published = publish_next(month, ledger, seed=number)
            releases.append(published.release)
            judged.append(next(iter(published.findings)))
    return releases, judged


def _act(
    folder: Path,
    releases: Sequence[Release],
    schema: Schema,
    rows: int,
    progress: Callable[[float], None],
) -> Act:
    """Write releases, attack them together and measure them."""
    _write(releases, folder)
    findings = attack(
        releases,
        schema,
        limits={FIRST: LIMIT, "updates": LIMIT},
        timeline=True,
        progress=lambda share: progress(0.8 * share),
    )
    utility = _measured(releases)
    progress(1.0)
    return Act(folder, tuple(releases), findings, utility, folder.with_suffix(".html"), rows)


def _judged_act(folder: Path, releases: Sequence[Release], judged: Sequence[Finding], rows: int) -> Act:
    """Write releases and measure them; they were judged before they went out."""
    _write(releases, folder)
    points = tuple(Point(one.releases[-1], one.people, one.population, one.worst) for one in judged)
    findings = Findings((judged[-1],), timeline={JUDGE: points})
    return Act(folder, tuple(releases), findings, _measured(releases), folder.with_suffix(".html"), rows)


def _write(releases: Sequence[Release], folder: Path) -> None:
    for number, release in enumerate(releases, start=1):
        release.write(str(folder / _file(number)))


def _measured(releases: Sequence[Release]) -> tuple[Utility, ...]:
    return tuple(measure(release, queries=_QUERIES, seed=0) for release in releases)


def _report(story: Story) -> None:
    """Write a page for each act, both with the losses of both."""
    from reissue.report import write_report

    costs = {
        "each month by itself": story.one.utility,
        "randomized values": story.two.utility,
        "cohorts": story.cohorts,
        f"by the papers' method ({THEIRS})": story.theirs,
    }
    write_report(story.one.findings, story.one.report, title="Act one: each month by itself", utility=costs)
    write_report(story.two.findings, story.two.report, title="Act two: through the ledger", utility=costs)
