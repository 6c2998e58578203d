"""What attacks found, in words: the verdict, a line for each attack, and how the risk grew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from reissue.attacks import look_up
from reissue.attacks.findings import FIRST, Finding, Findings, Point, Status, Verdict
from reissue.attacks.run import is_of_published
from reissue.attacks.stories import Bars, IntervalCounts, Picture
from reissue.errors import Why
from reissue.language import counted, localized, text
from reissue.outcome.view import BAD, GOOD, UNSURE, Headline, TableView, table
from reissue.publishing.changes import Advice
from reissue.words import listed, number, percent, plural

__all__ = [
    "INPUTS",
    "FindingView",
    "FindingsView",
    "GrowthLine",
    "NeededInput",
    "RiskGrowth",
    "gravity",
    "growth_of",
    "headline_of",
    "line_of",
    "not_tried",
    "refused",
    "tried",
    "view_of",
    "withstood",
]

_MOST = 3
"""Pieces of advice, at most: the first help most."""
HEADINGS = ("attack", "outcome", "people exposed#", "worst#", "must be")
"""Of the table with a line for each attack."""
_SHARES = ("posterior", "credibility", "accuracy")
"""Measures that are shares or probabilities, by their first word."""
_KNOWLEDGE = {
    "groups": "(everyone's group known)",
    "register": "(with a register of people)",
    "files": "(from the files alone)",
}
_ASIDE = (
    "Not counted in the verdict: `{first}` judged the same releases for everyone at once. A limit of its own makes it "
    "count (`--limit {name}={limit}`)."
)
_REGISTER = "Give a register of people or membership lists to learn who is exposed."


@dataclass(frozen=True)
class NeededInput:
    """Something that an attack may need: what it is called, and the option that gives it."""

    short: str
    words: str
    option: str


INPUTS: Mapping[str, NeededInput] = {
    "people": NeededInput("a register", "a register: people and what others may know about them", "--population FILE"),
    "members": NeededInput("membership lists", "who was in each release, a table each", "--members FOLDER"),
    "requirement": NeededInput(
        "the requirement", "the requirement that the releases were made to meet", "--knowledge requirement=..."
    ),
    "algorithm": NeededInput("the method", "the method by which they were made", "--knowledge algorithm=METHOD"),
    "providers": NeededInput("the provider column", "a column that says who contributed it", "--providers COLUMN"),
    "identifier": NeededInput("an identifier", "a column that says who it is", "--identifier COLUMN"),
    "updates": NeededInput(
        "an update model", "how values change: `[updates]` in a schema file", "[updates] in a schema"
    ),
    "values": NeededInput("values", "which values nobody should be linked to", "--knowledge values=..."),
    "taxonomy": NeededInput(
        "a taxonomy",
        "what the texts of a column mean: `[taxonomy]` in a schema file",
        "[taxonomy] in a schema, for a column cannot be read; --json says which",
    ),
}
"""What attacks need, by the names that findings use."""


@dataclass(frozen=True)
class FindingView:
    """One attack: how it ended, and what it says."""

    attack: str
    mark: str
    outcome: str
    """In a few words."""
    people: str
    """`3 of 9`."""
    worst: str
    limit: str
    """`at most 75%`."""
    sentence: str
    """What it found, or why it was not run."""
    notes: tuple[str, ...]
    """More about it: a place, what was measured, and why it is not counted."""
    about: str
    """What such an adversary does."""
    needs: tuple[str, ...]
    """The inputs that would let it run, by their names in `INPUTS`."""
    needed: str
    """The same in words; empty where nothing is needed."""
    steps: tuple[str, ...] = ()
    picture: Picture | None = None
    calibration: Picture | None = None
    """How claims compare with what is right, where that is known."""


@dataclass(frozen=True)
class GrowthLine:
    """How many people one attack exposes, release by release."""

    attack: str
    points: tuple[tuple[int, int], ...]
    """Release and people."""
    joined: bool
    """Whether the points build on each other; an attack on single releases has no line."""


@dataclass(frozen=True)
class RiskGrowth:
    """How the risk grew with the releases."""

    lines: tuple[GrowthLine, ...]
    releases: tuple[int, ...]
    sentence: str
    table: TableView


@dataclass(frozen=True)
class FindingsView:
    """What all attacks found."""

    title: str
    headline: Headline
    figures: tuple[tuple[str, str], ...]
    """The few numbers beside the headline: what, how much."""
    ran: tuple[FindingView, ...]
    """The attacks that ran, the most important first."""
    lacking: tuple[FindingView, ...]
    """Those that could be run."""
    apart: tuple[FindingView, ...]
    """Those that are not about releases like these."""
    summary: TableView
    """A line for each attack that ran."""
    releases: TableView
    """What a recipient counts."""
    growth: RiskGrowth | None
    """None where nobody is exposed and it is known how sure somebody can be of each person."""
    spread: IntervalCounts | None
    """How many people can be linked to a value with which probability."""
    todo: tuple[Advice, ...]
    """What would prevent what was found, the most important first; three at most."""
    assumed: tuple[str, ...]
    waiting: str
    """Which attacks need more releases than there are."""


def view_of(findings: Findings, headline: Headline | None = None) -> FindingsView:
    """Return the view of what attacks found; with another headline where it is about more than that."""
    lines = [line_of(one) for one in sorted(findings, key=gravity)]
    why = {one.attack: one.why for one in findings}
    ran = tuple(one for one in lines if why[one.attack] is None)
    spread = _spread(findings)
    rows = [(one.attack, one.outcome, one.people, one.worst, one.limit) for one in ran]
    title = text("What this release gives away")
    return FindingsView(
        title if len(findings.releases) == 1 else text("What these releases give away together"),
        headline or headline_of(findings),
        tuple(_figures(findings)),
        ran,
        tuple(one for one in lines if why[one.attack] not in {None, Why.DOES_NOT_APPLY}),
        tuple(one for one in lines if why[one.attack] == Why.DOES_NOT_APPLY),
        table([text(one) for one in HEADINGS], rows),
        _releases(findings),
        None if spread is not None and not findings.exposing else growth_of(findings),
        spread,
        tuple(_todo([one.attack for one in lines if one.mark == BAD])),
        findings.assumptions,
        _waiting(findings),
    )


def gravity(finding: Finding) -> tuple[bool, int, bool, bool, int]:
    """Sort findings: first the one that is the verdict, then those who expose people, the most first, then bounds."""
    ran = finding.status != Status.NOT_RUN
    place = list(Status).index(finding.status)
    return (finding.attack != FIRST or not ran, place, not finding.decides, finding.bounded, -finding.people)


def line_of(finding: Finding) -> FindingView:
    """Return the view of one finding."""
    about = look_up(finding.attack)
    case: Mapping[str, Any] = finding.details.get("case") or {}
    return FindingView(
        finding.attack,
        finding.mark,
        _outcome(finding),
        _people(finding),
        _amount(finding, finding.worst),
        _limit(finding),
        finding.reason or finding.sentence,
        tuple(_notes(finding)),
        "" if about is None else text(about.story or about.summary),
        finding.needs,
        "" if about is None or finding.status != Status.NOT_RUN else text(about.needs),
        tuple(case.get("steps", ())),
        case.get("picture"),
        _calibration(finding.details.get("calibration") or ()),
    )


def _spread(findings: Findings) -> IntervalCounts | None:
    """How sure somebody can be of each person's value, by the attack that is the verdict."""
    first = next((one for one in findings if one.attack == FIRST and one.details.get("spread")), None)
    if first is None or first.limit is None:
        return None
    known = first.details["spread"]
    return {
        "kind": "histogram",
        "edges": known["edges"],
        "counts": known["counts"],
        "limit": first.limit,
        "unit": text("the probability of the likeliest value of a person"),
        "of": text("people"),
    }


def _todo(exposing: Sequence[str]) -> list[Advice]:
    """What would prevent what attacks found, with its command: first what helps against each."""
    about = [one for one in map(look_up, exposing) if one is not None]
    pairs = [list(zip_longest(one.prevention, one.command.splitlines(), fillvalue="")) for one in about]
    inturn = [pair for turn in zip_longest(*pairs) for pair in turn if pair is not None and pair[0]]
    found = {sentence: Advice(text(sentence), command=command) for sentence, command in reversed(inturn)}
    return list(reversed(found.values()))[:_MOST]


def _outcome(finding: Finding) -> str:
    """How an attack ended, in a few words."""
    if not finding.decides:
        return text("not counted")
    if finding.why is None:
        return text(str(finding.status))
    if finding.why == Why.NEEDS_INPUT and finding.needs:
        return text("needs {inputs}", inputs=listed([_short(need) for need in finding.needs], "or"))
    return text("needs input" if finding.why == Why.NEEDS_INPUT else str(finding.why).replace("_", " "))


def _short(need: str) -> str:
    return text(INPUTS[need].short) if need in INPUTS else need


def _people(finding: Finding) -> str:
    if finding.status == Status.NOT_RUN:
        return "–"
    return text("{part} of {whole}", part=number(finding.people), whole=number(finding.population))


def _amount(finding: Finding, value: float | None) -> str:
    share = (finding.measure or "").startswith(_SHARES)
    return percent(value) if share and value is not None and 0 <= value <= 1 else number(value)


def _limit(finding: Finding) -> str:
    """What the measure must keep to: `at most 75%`, or `at least 5`."""
    if finding.limit is None:
        return "–"
    return text("at least {limit}" if finding.at_least else "at most {limit}", limit=_amount(finding, finding.limit))


def _notes(finding: Finding) -> list[str]:
    notes = [str(finding.details["place"])] if finding.details.get("place") else []
    if finding.measure and None not in {finding.worst, finding.limit}:
        words = finding.measure.partition(": ")[2] or finding.measure  # without its technical name
        words = text(words)
        found = f"{words[0].upper()}{words[1:]}"
        worst = _amount(finding, finding.worst)
        notes.append(
            text("{measure}: {worst} at worst. It must be {limit}.", measure=found, worst=worst, limit=_limit(finding))
        )
    if finding.details.get("published_values"):
        notes.append("Not counted in the verdict, which is about true values: `posterior` judges those.")
    elif not finding.decides:
        notes.append(text(_ASIDE, first=FIRST, name=finding.attack, limit=f"{finding.limit:g}"))
    return notes


def _calibration(tenths: Sequence[Mapping[str, float]]) -> Bars | None:
    """Claims in tenths beside the share of them that is right."""
    if not tenths:
        return None
    return {
        "kind": "bars",
        "labels": [f"{one['from']:.1f}" for one in tenths],
        "series": {
            text("claimed"): [one["claim"] for one in tenths],
            text("right"): [one["right"] for one in tenths],
        },
        "sentence": text("How many guesses are right, by their probability."),
        "unit": text("share of people"),
        "across": text("probabilities from"),
        "limit": None,
    }


# --- the verdict -----------------------------------------------------------------------------------------------------


def refused(number: int) -> Headline:
    """Return the headline of a release that was refused."""
    said = "Release {number} was refused. Nothing was published and nothing was recorded."
    return Headline(BAD, text("Refused"), text(said, number=number))


def headline_of(findings: Findings) -> Headline:
    """Return the verdict."""
    if findings.verdict == Verdict.EXPOSED:
        return _exposed(findings)
    ran = [one for one in findings if one.status != Status.NOT_RUN]
    if not ran:
        nothing = "No attack could be run on {releases}, so nothing was shown."
        return Headline(UNSURE, text("Nothing shown"), text(nothing, releases=_attacked(findings, together=None)))
    by, names = _attacked(findings, together=any(one.compares for one in ran)), tried(findings)
    if findings.verdict == Verdict.WITHSTOOD:
        said = text("Nobody is exposed by {releases}. Tried: {attacks}.", releases=by, attacks=names)
        return Headline(GOOD, text("Withstood"), said + not_tried(findings))
    lacking = sum(one.why != Why.DOES_NOT_APPLY for one in findings.of(Status.NOT_RUN))
    said = text("Nobody is exposed by {releases}, as far as was tried: {attacks}.", releases=by, attacks=names)
    if lacking:
        one, many = (
            "{count} other attack could not be run and has shown nothing.",
            "{count} other attacks could not be run and have shown nothing.",
        )
        said += f" {counted(lacking, one, many)}"
    if not findings.tested:
        said += " " + text("Nothing compared the releases: what they give away together is not known.")
    return Headline(UNSURE, text("Incomplete"), said)


def _exposed(findings: Findings) -> Headline:
    """That people are exposed, by the attack that comes first."""
    worst = min(findings.exposing, key=gravity)
    alone = not worst.compares and _many(findings) > 1
    by = (
        text("one of these {count} releases by itself", count=number(_many(findings))) if alone else _attacked(findings)
    )
    about, word = look_up(worst.attack), text("Exposed")
    advice = text(about.prevention[0]) if about is not None and about.prevention else ""
    if not worst.people:
        return Headline(BAD, word, text("More is given away than the limit allows by {releases}.", releases=by), advice)
    if worst.bounded:
        said = "Up to {part} of {whole} people may be exposed by {releases}. The files alone do not say who is in them."
        found = text(said, part=number(worst.people), whole=number(worst.population), releases=by)
        return Headline(BAD, word, found, text(_REGISTER), ("people", "members"))
    one, many = (
        "{count} of {whole} people is exposed by {releases}.",
        "{count} of {whole} people are exposed by {releases}.",
    )
    return Headline(BAD, word, counted(worst.people, one, many, whole=number(worst.population), releases=by), advice)


def _many(findings: Findings) -> int:
    """How many releases were looked at together; 0 where nobody says."""
    return len(findings.releases) or max((len(one.releases) for one in findings), default=0)


def _attacked(findings: Findings, *, together: bool | None = True) -> str:
    """What was attacked, and whether releases were compared; None: nothing was."""
    many = _many(findings)
    if many < 2:
        return text("this release" if many else "these releases")
    how = {
        True: "these {count} releases together",
        False: "these {count} releases, each by itself",
        None: "these {count} releases",
    }[together]
    return text(how, count=number(many))


def tried(findings: Findings) -> str:
    """Return what was run, and with which knowledge: `joint (with a register of people) and updates`."""
    ran = sorted((one for one in findings if one.status != Status.NOT_RUN), key=gravity)
    names = [f"{one.attack}{_knowing(one)}" for one in ran]
    return listed(names) or text("nothing")


def _knowing(finding: Finding) -> str:
    known = _KNOWLEDGE.get(finding.details.get("knowledge", ""), "")
    return f" {text(known)}" if known else ""


def not_tried(findings: Findings) -> str:
    """Return a sentence on what was not run, which has shown nothing; empty where all was."""
    names = sorted(one.attack for one in findings.of(Status.NOT_RUN))
    one, many = (
        "Not run: {attacks}, which has shown nothing.",
        "Not run: {attacks}, which have shown nothing.",
    )
    return f" {counted(len(names), one, many, attacks=listed(names))}" if names else ""


def withstood(findings: Findings) -> str:
    """Return what a publication withstood, with which releases, and what was not run."""
    told = sorted((one for one in findings.of(Status.WITHSTOOD) if not is_of_published(one)), key=gravity)
    names = [f"{one.attack}{_knowing(one)}" for one in told]
    if not names:
        return f" {text('No attack was run on it.')}{not_tried(findings)}"
    several = any(len(one.releases) > 1 and one.reason is None for one in findings)
    said = "It withstands {attacks}, together with earlier releases." if several else "It withstands {attacks}."
    return f" {text(said, attacks=listed(names))}{not_tried(findings)}"


def _waiting(findings: Findings) -> str:
    """Which attacks a second release would let run."""
    idle = (look_up(one.attack) for one in findings.of(Status.NOT_RUN))
    names = [one.name for one in idle if one is not None and one.fewest > 1]
    if len(findings.releases) != 1 or not names:
        return ""
    return text("There is one release only: {attacks} could only be run on two or more.", attacks=listed(names))


# --- figures and tables ----------------------------------------------------------------------------------------------


def _figures(findings: Findings) -> list[tuple[str, str]]:
    shown = []
    exposing, not_run = findings.exposing, findings.of(Status.NOT_RUN)
    if len(findings):
        ended = [text("{part} of {whole} expose people", part=len(exposing), whole=len(findings) - len(not_run))]
        lacking = sum(one.why != Why.DOES_NOT_APPLY for one in not_run)
        ended += [text("{count} could not be run", count=lacking)] if lacking else []
        shown.append((text("Attacks"), ", ".join(ended)))
    certain = max((int(one.details.get("sure", 0)) for one in findings), default=0)
    highest = _highest(findings)
    if certain:
        shown.append((text("People whose value is certain"), number(certain)))
    elif highest is not None:
        shown.append((text("Highest probability of a value"), percent(highest)))
    if findings.releases:
        rows = sum(one.rows for one in findings.releases)
        shown.append((text("Read"), f"{plural(len(findings.releases), 'release')}, {plural(rows, 'row')}"))
        smallest = min(one.smallest for one in findings.releases)
        shown.append((text("Smallest group in any release"), plural(smallest, "row")))
    return shown


def _highest(findings: Findings) -> float | None:
    """The highest posterior: by the attack that is the verdict, or else by any that has one."""
    said = [one for one in findings if one.worst is not None and (one.measure or "").startswith("posterior")]
    said = [one for one in said if one.attack == FIRST] or said
    return max((one.worst or 0.0 for one in said), default=None)


def _releases(findings: Findings) -> TableView:
    headings = ("release#", "file", "rows#", "groups#", "rows a group#", "smallest group#", "unique rows#")
    rows = [
        (
            f"{one.number}",
            one.name,
            number(one.rows),
            number(one.groups),
            localized(f"{one.rows / one.groups:,.1f}") if one.groups else "–",
            number(one.smallest),
            number(one.unique),
            "–" if one.share is None else percent(one.share),
        )
        for one in findings.releases
    ]
    shown = [text(one) for one in (*headings, "most common value#")]
    return table(shown, rows, text("What a recipient counts"))


# --- how the risk grew -----------------------------------------------------------------------------------------------


def growth_of(findings: Findings) -> RiskGrowth | None:
    """Return how the risk grew; None where there is nothing to show.

    Attacks that expose nobody are not shown, unless none exposes anybody. A paper's measure that does not decide is
    not shown without the attack that does.
    """
    every = {name: points for name, points in findings.timeline.items() if points}
    aside = {one.attack for one in findings if not one.decides}
    shown = {name: points for name, points in every.items() if any(point.people for point in points)}
    if shown.keys() <= aside:
        shown = {name: points for name, points in every.items() if name in shown or name == FIRST} or every
    releases = tuple(sorted({point.release for points in shown.values() for point in points}))
    if len(releases) < 2:
        return None
    alone = {one.name for one in map(look_up, shown) if one is not None and one.per_release}
    called = {name: f"{name} ({text('not counted')})" if name in aside else name for name in shown}
    lines = tuple(
        GrowthLine(called[name], tuple((one.release, one.people) for one in points), name not in alone)
        for name, points in shown.items()
    )
    sentences = [text("How many people each attack exposes once the releases up to this one are out.")]
    sentences += [text("Hollow marks without a line: attacks that judge each release by itself.")] if alone else []
    sentences += [text("Attacks that expose nobody are not shown.")] if len(shown) < len(findings.timeline) else []
    sentences.append(_course(lines, shown.values(), releases))
    by_release = [dict(line.points) for line in lines]
    rows = [(f"{one}", *(number(points.get(one)) for points in by_release)) for one in releases]
    headings = (text("after release#"), *(f"{line.attack}#" for line in lines))
    return RiskGrowth(lines, releases, " ".join(sentences), table(headings, rows, text("People exposed, as a table")))


def _course(lines: Sequence[GrowthLine], points: Any, releases: Sequence[int]) -> str:
    """What the picture says, for those who do not see it."""
    said = []
    for line, own in zip(lines, points, strict=True):
        since = _first(own)
        if since and line.joined:
            people = plural(own[-1].people, "person", "people")
            end = "{attack} exposes {people} at the end, the first {since}"
            said.append(text(end, attack=line.attack, people=people, since=since))
        elif since:
            worst = max(own, key=lambda point: point.people)
            people = plural(worst.people, "person", "people")
            most = "{attack} exposes {people} in release {release}, the most in any"
            said.append(text(most, attack=line.attack, people=people, release=worst.release))
    if not said:
        none = "None of the attacks shown exposes anybody, from release {first} to release {last}."
        return text(none, first=releases[0], last=releases[-1])
    return "; ".join(said) + "."


def _first(points: Sequence[Point]) -> str:
    """With which release somebody was exposed first, as far as it was looked at; nothing where nobody is."""
    before = 0
    for point in points:
        if point.people:
            looked = point.release == before + 1
            said = "with release {last}" if looked else "between releases {first} and {last}"
            return text(said, first=before + 1, last=point.release)
        before = point.release
    return ""
