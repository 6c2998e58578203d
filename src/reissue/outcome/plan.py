"""What a plan found, in words: the recommendation, a line for each setting, and the frontier."""

from dataclasses import dataclass

from reissue.language import counted, text
from reissue.methods import look_up
from reissue.outcome.view import BAD, GOOD, UNSURE, Headline, TableView, table
from reissue.publishing.plan import Outcome, Plan
from reissue.publishing.plan.outcome import HELP, RehearsalEnd
from reissue.publishing.plan.policy_text import policy_toml
from reissue.words import number, percent

__all__ = ["FrontierPoint", "PlanFrontier", "PlanView", "SettingView", "frontier_of", "setting_of", "view_of"]

_REASONS = 5
"""So many different reasons are shown why settings made no release."""
_LEGEND = (
    "> recommended. * on the frontier: of the settings that withstood every wave, no other is better in every respect.",
    "probability: the highest of anyone's value, to someone with a register; if randomized, to one who links all rows.",
    "average: how often the surest guess about a person is right, on average over people.",
    "groups known: the same for someone who knows everyone's group, and how many people are beyond the limit then.",
    "queries, shares: half of random count queries are off by so much or less; shares of values by so much at worst.",
    "Settings that expose people or cost too much were given up at the release after those that they could publish.",
)
_HEADINGS = ("", "setting", "outcome", "releases#", "exposed#", "probability#", "average#", "groups known#")
_COSTS = ("true#", "loss#", "queries#", "shares#", "counterfeits#", "suppressed#", "CPU s#")
_WORLDS = ("", "published values", "setting", "waves#", "further#", "worst case#", "average#", "query error#")
_BOTH = "Two ways to publish"
_EXACT, _MOST_TRUE = "every one is true", "most are true, estimates are unbiased"
_MARKS = {RehearsalEnd.WITHSTOOD: GOOD, RehearsalEnd.EXPOSED: BAD}


@dataclass(frozen=True)
class SettingView:
    """One setting: how it ended and what it costs, every number as text."""

    name: str
    """What identifies it."""
    words: str
    """The same with options explained."""
    method: str
    mark: str
    outcome: str
    fine: bool
    """Whether it withstood every wave, and may be chosen."""
    recommended: bool
    frontier: bool
    measured: bool
    """Whether it made a release; else only `reason` says anything."""
    reason: str
    releases: str
    exposed: str
    probability: str
    average: str
    """The average over people of the surest guess."""
    known: str
    """The probability for someone who knows everyone's group, and how many people are beyond the limit."""
    true: str
    """The share of published values that are true."""
    loss: str
    queries: str
    shares: str
    counterfeits: str
    suppressed: str
    seconds: str


@dataclass(frozen=True)
class FrontierPoint:
    """A setting on the chart."""

    method: str
    error: float
    """The median error of count queries."""
    probability: float
    frontier: bool
    recommended: bool
    title: str


@dataclass(frozen=True)
class PlanFrontier:
    """How wrong the answers of each setting are, and what it gives away."""

    points: tuple[FrontierPoint, ...]
    limit: float
    sentence: str


@dataclass(frozen=True)
class PlanView:
    """A plan."""

    title: str
    headline: Headline
    figures: tuple[tuple[str, str], ...]
    situation: tuple[str, ...]
    sentences: tuple[str, ...]
    """The recommendation and its reasons, a warning last."""
    settings: tuple[SettingView, ...]
    worlds: TableView
    """The best setting with true values, and the best with randomized ones."""
    summary: TableView
    legend: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why settings made no release."""
    untried: tuple[str, ...]
    frontier: PlanFrontier | None
    policy: str
    """The policy that is written; empty where there is none."""
    suffices: bool
    """Whether that policy does."""
    limit: float
    guess: bool


def view_of(plan: Plan) -> PlanView:
    """Return the view of a plan."""
    settings = tuple(setting_of(one, plan) for one in plan.outcomes)
    return PlanView(
        ("A guess: w" if plan.guess else "W") + "hich protection does this series need?",
        _headline(plan),
        _figures(plan),
        plan.situation,
        (*plan.sentences, *filter(None, [plan.warning])),
        settings,
        table(_WORLDS, (_world(one, plan) for one in plan.worlds), _BOTH),
        table((*_HEADINGS, *_COSTS), map(_row, settings), "Simulated after the first wave" if plan.guess else ""),
        _LEGEND,
        _reasons(plan),
        tuple(one.words for one in plan.untried),
        frontier_of(plan),
        policy_toml(plan) or "",
        not plan.warning,
        plan.limits.limit,
        plan.guess,
    )


def _headline(plan: Plan) -> Headline:
    """What came of it; a plan that is a guess says so first."""
    best, guess = plan.recommended, f"{text('A guess:')} " if plan.guess else ""
    if best is not None:
        method = look_up(best.setting.method)
        about = "" if method is None else method.summary
        if plan.short_of_room(best):
            return Headline(UNSURE, f"{guess}{text('Safe for these waves only')}", best.setting.words, HELP)
        return Headline(GOOD, f"{guess}{text('Recommended')}", best.setting.words, about)
    said = plan.sentences[1 if plan.guess else 0]
    if not plan.tested:
        return Headline(UNSURE, f"{guess}{text('Not computed')}", said)
    return Headline(BAD, f"{guess}{text('No setting is safe')}", said, HELP)


def _figures(plan: Plan) -> tuple[tuple[str, str], ...]:
    return (
        ("Waves", f"{plan.waves}{', all but the first simulated' if plan.guess else ''}"),
        ("Limit", percent(plan.limits.limit)),
        ("Counterfeits at most", f"{plan.limits.counterfeits:.0%}"),
        ("Suppressed at most", f"{plan.limits.suppress:.0%}"),
    )


def setting_of(one: Outcome, plan: Plan | None = None) -> SettingView:
    """Return the view of one setting, by itself or among those of its plan."""
    known, best = one.known_groups, None if plan is None else plan.recommended
    frontier = set() if plan is None else {other.setting.name for other in plan.frontier}
    return SettingView(
        one.setting.name,
        one.setting.words,
        one.setting.method,
        _MARKS.get(one.verdict, UNSURE),
        str(one.verdict),
        one.verdict == RehearsalEnd.WITHSTOOD,
        best is not None and best.setting.name == one.setting.name,
        one.setting.name in frontier,
        bool(one.steps),
        one.reason,
        f"{one.published}",
        f"{one.exposed:,}",
        percent(one.risk or 0.0),
        "–" if one.average is None else percent(one.average),
        "–" if known is None else f"{percent(known.risk)} ({number(known.people)})",
        f"{one.true or 0.0:.0%}",
        f"{one.loss or 0.0:.1%}",
        f"{one.query_error or 0.0:.1%}",
        f"{one.margin_error or 0.0:.1%}",
        f"{one.counterfeits:,}",
        f"{one.left_out:,}",
        f"{one.seconds:.1f}",
    )


def _world(one: Outcome, plan: Plan) -> tuple[str, ...]:
    """One way to publish: how long it lasts, and what it gives away and costs."""
    view, true = setting_of(one, plan), one.true or 1.0
    values = _MOST_TRUE if true > 0.5 else f"{view.true} are true, estimates are unbiased"
    first = (">" if view.recommended else "", values if one.setting.randomized else _EXACT, view.words)
    if not one.steps:
        return (*first, view.outcome, *["–"] * 4)
    further = "–" if one.room is None or not plan.further else f"{one.room} of {plan.further}"
    return (*first, f"{view.releases} of {plan.waves}", further, view.probability, view.average, view.queries)


def _row(one: SettingView) -> tuple[str, ...]:
    mark = ">" if one.recommended else "*" if one.frontier else ""
    first = (mark, one.words, one.outcome, one.releases)
    if not one.measured:
        return (*first, *["–"] * 10, one.seconds)
    risk = (one.exposed, one.probability, one.average, one.known)
    return (*first, *risk, one.true, one.loss, one.queries, one.shares, one.counterfeits, one.suppressed, one.seconds)


def _reasons(plan: Plan) -> tuple[str, ...]:
    """Why settings made no release, each reason once."""
    without = [one for one in plan.outcomes if one.verdict in {RehearsalEnd.IMPOSSIBLE, RehearsalEnd.NOT_TRIED}]
    said = []
    for reason in list(dict.fromkeys(one.reason for one in without))[:_REASONS]:
        same = [one for one in without if one.reason == reason]
        more = f" and {len(same) - 1} more" if len(same) > 1 else ""
        said.append(f"{same[0].setting.words}{more}, {same[0].verdict}: {reason}")
    return tuple(said)


def frontier_of(plan: Plan) -> PlanFrontier | None:
    """Return what settings lose and give away; None where none made a release."""
    shown = [one for one in plan.outcomes if one.steps]
    if not shown:
        return None
    fine = sum(one.verdict == RehearsalEnd.WITHSTOOD for one in shown)
    sentences = [
        counted(
            len(shown),
            "{count} setting: the median error of count queries, and the highest probability of anyone's value.",
            "{count} settings: the median error of count queries, and the highest probability of anyone's value.",
        ),
        counted(
            fine,
            "{count} of them stays below the limit of {limit} in all {waves} releases.",
            "{count} of them stay below the limit of {limit} in all {waves} releases.",
            limit=percent(plan.limits.limit),
            waves=plan.waves,
        ),
        text("Filled: withstood every wave, and no other setting is better in every respect."),
        text("Circled: recommended."),
    ]
    sentences += [text("A guess: the waves after the first were simulated.")] if plan.guess else []
    return PlanFrontier(tuple(_point(one, plan) for one in shown), plan.limits.limit, " ".join(sentences))


def _point(one: Outcome, plan: Plan) -> FrontierPoint:
    view = setting_of(one, plan)
    title = f"{view.words}: {view.outcome}, query error {view.queries}, probability {view.probability}"
    named = f"{view.method}, randomized values" if one.setting.randomized else view.method
    return FrontierPoint(named, one.query_error or 0.0, one.risk or 0.0, view.frontier, view.recommended, title)
