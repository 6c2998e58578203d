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
    *["publishing twelve months through a ledger"] * 4,
    "attacking them together",
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

    _render.say(f"{MONTHS} months in {HOSPITALS} hospitals: {story.people:,} patients, all of them invented.", "")
    _render.say("ACT ONE. Every month is anonymized by itself.", style="bold")
    _render.say(
        f"Each of the {MONTHS} tables meets {REQUIREMENT}: whoever looks alike is at least five people, with at least "
        "three diseases between them. Then someone who knows who was in hospital when puts the tables together, and "
        "solves them for everyone at once (joint); beside it what the papers' adversaries see, one person at a time.",
        "",
    )
    show_ran(story.one.findings)
    show_not_run(story.one.findings, needs=False)
    _render.say("")
    case = story.one.findings["joint"].details.get("case")
    if case:
        _render.say("One of these people, step by step:")
        _render.say(*(f"{number}. {step}" for number, step in enumerate(case["steps"], start=1)), "")


def _show_second(story: "Story") -> None:
    from reissue.cli._findings import show_not_run, show_ran
    from reissue.demo import LEFT_OUT, LIMIT, NOT_IN_TWO, POLICY

    _render.say("ACT TWO. The same months are published through a ledger.", style="bold")
    _render.say(
        f"Policy: method {POLICY['method']}, {POLICY['require']}, nobody's disease more likely than {LIMIT:.0%}. Every "
        f"month was attacked together with all earlier ones ({', '.join(POLICY['attacks'])}) before it went out; all "
        f"{len(story.two.releases)} went out. Then the attacks of act one.",
        "",
    )
    show_ran(story.two.findings)
    show_not_run(story.two.findings, needs=False)
    _render.say(*(f"{name}: not tried in either act; {why}." for name, why in LEFT_OUT.items()))
    _render.say(*(f"{name}: not tried in act two; {why}." for name, why in NOT_IN_TWO.items()))
    _render.say(
        "What was not run has shown nothing. Against hospitals that look for each other's patients there is the method "
        "providers.",
        "",
    )


def _show_cost(story: "Story") -> None:
    from reissue.demo import cost_of

    three = [story.one.cost, story.two.cost, cost_of(story.apart)]
    rows = [
        [
            "people whose disease can be named too surely",
            _exposed(story.one.findings["joint"]),
            _exposed(story.two.findings["joint"]),
            _exposed(story.apart_found),
        ],
        ["of what the tables said, lost", *(f"{cost['loss']:.1%}" for cost in three)],
        ["half of count queries are off by less than", *(f"{cost['query_error']:.1%}" for cost in three)],
        ["records of nobody, added", *(f"{cost['counterfeits']:,}" for cost in three)],
        ["records left out", *(f"{cost['suppressed']:,}" for cost in three)],
    ]
    _render.say(f"What it cost, over all {three[0]['rows']:,} records", style="bold")
    _render.show_table(["", "act one", "act two", "values apart"], rows)
    _render.say(
        "Values apart: act two with exact ages, zips and jobs, and the diseases permuted within the same groups "
        '(form = "permuted"). That form shows who is in which group, and everyone at once then tells more.',
        "",
    )
    _render.say(
        "That is what the papers' method costs. What is the least that suffices? Try every method on these months: "
        f"reissue plan {story.out}/original/month-0[1-4].csv --schema {story.out}/schema.toml",
        "",
    )
    _render.say(f"Everything is in {story.out}; {story.out / 'README.txt'} says what is what. Open the reports:")
    _render.say(str(story.one.report), str(story.two.report), style="bold")


def _exposed(found: "Finding") -> str:
    return f"{found.people:,} of {found.population:,}"
