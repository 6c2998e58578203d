"""`reissue demo`: twelve months of invented patients, published in two ways and attacked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import ForceOption, JsonOption

if TYPE_CHECKING:
    from reissue.attacks.findings import Finding
    from reissue.demo import Story


_STEPS = (
    "anonymizing twelve months",
    *["attacking them together"] * 4,
    "publishing twelve months through a ledger",
    *["the same by cohorts"] * 2,
    "measuring",
    "by the papers' method",
)
"""Of equal length, as `play` tells its progress."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the files go.")] = Path("demo-out"),
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Publish a year of invented hospital data month by month, and through a ledger; attack both."""
    from reissue.demo import play

    with _render.watching("Demo", _STEPS) as progress:
        story = play(out, force=force, progress=progress)
    if as_json:
        _render.show_json(story.as_dict())
        return
    _show_first(story)
    _show_second(story)
    _show_cost(story)


def _show_first(story: "Story") -> None:
    from reissue.cli._findings import show_not_run, show_ran
    from reissue.demo import HOSPITALS, MONTHS, REQUIREMENT
    from reissue.outcome.findings import view_of

    _render.say(f"{MONTHS} months in {HOSPITALS} hospitals: {story.people:,} patients, all of them invented.", "")
    _render.say("ACT ONE. Every month is anonymized by itself.", style="bold")
    _render.say(
        f"Each of the {MONTHS} tables meets {REQUIREMENT}: whoever looks alike is at least five people, with at least "
        "three diseases between them. Then someone who knows who was in hospital when puts the tables together, and "
        "solves them for everyone at once (joint); beside it what the papers' adversaries see, one person at a time.",
        "",
    )
    view = view_of(story.one.findings)
    show_ran(view)
    show_not_run(view, needs=False)
    _render.say("")
    steps = view.ran[0].steps
    if steps:
        _render.say("One of these people, step by step:")
        _render.say(*(f"{number}. {step}" for number, step in enumerate(steps, start=1)), "")


def _show_second(story: "Story") -> None:
    from reissue.cli._findings import show_ran
    from reissue.demo import JUDGE, LEFT_OUT, LIMIT, POLICY
    from reissue.outcome.findings import view_of

    found = story.two.findings[JUDGE].details
    _render.say("ACT TWO. The same months are published through a ledger, with randomized values.", style="bold")
    _render.say(
        f"Policy: method {POLICY['method']}, {POLICY['require']}; each published disease is true with a chosen "
        f"probability, drawn once and kept for as long as the true one lasts. Nobody's disease is more likely than "
        f"{LIMIT:.0%} for someone who links every row to its person and knows how soon people with each disease leave. "
        f"All {len(story.two.releases)} months went out; of the last one's diseases {found['true']:.0%} are true, and "
        "estimates with the side table correct for that.",
        "",
    )
    show_ran(view_of(story.two.findings))
    _render.say(*(f"{name}: not tried in act one; {why}." for name, why in LEFT_OUT.items()), "")


def _show_cost(story: "Story") -> None:
    from reissue.attacks.findings import FIRST
    from reissue.demo import JUDGE, THEIR_REQUIREMENT, THEIRS, cost_of

    costs = [story.one.cost, story.two.cost, cost_of(story.cohorts), cost_of(story.theirs)]
    found = [story.one.findings[FIRST], story.two.findings[JUDGE], story.cohorts_found, story.theirs_found]
    rows = [
        ["people whose disease is known beyond the limit", *map(_exposed, found)],
        ["published diseases that are true", *(f"{one.details.get('true', 1.0):.0%}" for one in found)],
        ["half of count queries are off by less than", *(f"{cost['query_error']:.1%}" for cost in costs)],
        ["counterfeit records", *(f"{cost['counterfeits']:,}" for cost in costs)],
        ["suppressed records", *(f"{cost['suppressed']:,}" for cost in costs)],
    ]
    _render.say(f"What it cost, over all {costs[0]['rows']:,} records", style="bold")
    _render.show_rows(["", "act one", "act two", "cohorts", f"papers: {THEIRS}"], rows)
    _render.say(
        "Cohorts publish true diseases only: people who enter together stay together, and counterfeits replace those "
        f"who left. {THEIRS} ({THEIR_REQUIREMENT}) is the papers' method for people who come and go while diseases "
        "change. Both are judged for someone who knows everyone's group.",
        "",
    )
    _render.say(
        "What is the least that suffices for tables of your own? Every method tried on these months: "
        f"reissue plan {story.out}/original/month-0[1-4].csv --schema {story.out}/schema.toml",
        "",
    )
    _render.say(f"Everything is in {story.out}; {story.out / 'README.txt'} says what is what. Open the reports:")
    _render.say(str(story.one.report), str(story.two.report), style="bold")


def _exposed(found: "Finding") -> str:
    return f"{found.people:,} of {found.population:,}"
