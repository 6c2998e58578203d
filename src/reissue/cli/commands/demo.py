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
    *["publishing twelve months through a ledger"] * 2,
    *["attacking them together"] * 2,
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
    from reissue.cli._findings import show_not_run, show_ran
    from reissue.demo import LEFT_OUT, LIMIT, POLICY
    from reissue.outcome.findings import view_of

    _render.say("ACT TWO. The same months are published through a ledger.", style="bold")
    _render.say(
        f"Policy: method {POLICY['method']}, {POLICY['require']}, nobody's disease more likely than {LIMIT:.0%} for "
        "someone who knows everyone's group. People who enter together stay together. Every month was solved for "
        f"everyone together with all earlier ones before it went out; all {len(story.two.releases)} went out.",
        "",
    )
    view = view_of(story.two.findings)
    show_ran(view)
    show_not_run(view, needs=False)
    _render.say(*(f"{name}: not tried in either act; {why}." for name, why in LEFT_OUT.items()))
    _render.say("", "Other measures than the policy's, for comparison with act one:")
    _render.say(*(f"{found.attack}: {found.sentence}" for found in story.beside))
    _render.say(
        "The first follows one person at a time, as if releases were independent; what it is sure of is mostly wrong "
        'here. The second also learns which people tend to have which disease; with prior = "learned" in the policy '
        "the ledger judges that, too. What was not run has shown nothing. Against hospitals that look for each other's "
        "patients there is the option apart.",
        "",
    )


def _show_cost(story: "Story") -> None:
    from reissue.demo import THEIR_REQUIREMENT, THEIRS, cost_of

    three = [story.one.cost, story.two.cost, cost_of(story.theirs)]
    rows = [
        [
            "people whose disease is known beyond the limit",
            _exposed(story.one.findings["joint"]),
            _exposed(story.two.findings["joint"]),
            _exposed(story.theirs_found),
        ],
        ["of what the tables said, lost", *(f"{cost['loss']:.1%}" for cost in three)],
        ["half of count queries are off by less than", *(f"{cost['query_error']:.1%}" for cost in three)],
        ["counterfeit records", *(f"{cost['counterfeits']:,}" for cost in three)],
        ["suppressed records", *(f"{cost['suppressed']:,}" for cost in three)],
    ]
    _render.say(f"What it cost, over all {three[0]['rows']:,} records", style="bold")
    _render.show_rows(["", "act one", "act two", f"papers: {THEIRS}"], rows)
    _render.say(
        f"Papers: {THEIRS} ({THEIR_REQUIREMENT}) is what they have for people who come and go while their diseases "
        "change; also for someone who knows everyone's group.",
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
