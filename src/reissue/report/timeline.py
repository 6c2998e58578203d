"""Risk over time: how many people each attack exposes once a release is out."""

from dataclasses import dataclass

from reissue.attacks import registered
from reissue.attacks.findings import FIRST, Findings, Point
from reissue.report.scale import Axis, fit
from reissue.words import plural

__all__ = ["AttackLine", "Timeline", "risk_over_time"]

WIDTH, HEIGHT = 480, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 12, 14, 44
MARKS = ("circle", "square", "triangle", "diamond", "cross", "ring", "bar")
"""Each line has its own mark, so that colours are not needed to tell them apart."""


@dataclass(frozen=True)
class AttackLine:
    """One attack through time."""

    attack: str
    place: int
    """Decides colour and mark."""
    mark: str
    points: tuple[tuple[float, float], ...]
    joined: bool
    """Whether the points build on each other; an attack on single releases has no line."""
    values: tuple[int | None, ...]
    """People by release of the table."""


@dataclass(frozen=True)
class Timeline:
    """The whole chart."""

    lines: tuple[AttackLine, ...]
    releases: tuple[int, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    left: int
    right: int
    top: int
    bottom: int
    sentence: str
    alone: bool
    """Whether some attack judges releases by themselves."""
    fewer: bool
    """Whether attacks that expose nobody were left out."""


def risk_over_time(findings: Findings) -> Timeline | None:
    """The chart; None where there is nothing to show. Attacks that expose nobody are left out, unless none does.

    A paper's measure that does not decide is not shown without the attack that does.
    """
    every = {name: points for name, points in findings.timeline.items() if points}
    aside = {one.attack for one in findings if not one.decides}
    shown = {name: points for name, points in every.items() if any(point.people for point in points)}
    if shown.keys() <= aside:
        shown = {name: points for name, points in every.items() if name in shown or name == FIRST} or every
    releases = tuple(sorted({point.release for points in shown.values() for point in points}))
    if len(releases) < 2:
        return None
    most = max(point.people for points in shown.values() for point in points)
    across = Axis(releases[0], releases[-1], _LEFT, WIDTH - _RIGHT)
    up = fit(0, max(most, 4), HEIGHT - _BOTTOM, _TOP, whole=True)
    known = registered()
    alone = {name for name in shown if name in known and known[name].per_release}
    called = {name: f"{name} (not counted)" if name in aside else name for name in shown}
    lines = tuple(
        _line(called[name], place, points, releases, across, up, joined=name not in alone)
        for place, (name, points) in enumerate(shown.items())
    )
    return Timeline(
        lines,
        releases,
        tuple((across(number), str(number)) for number in releases),
        tuple(up.ticks()),
        _LEFT,
        WIDTH - _RIGHT,
        _TOP,
        HEIGHT - _BOTTOM,
        _sentence({called[name]: points for name, points in shown.items()}, releases, {called[name] for name in alone}),
        not all(line.joined for line in lines),
        len(shown) < len(findings.timeline),
    )


def _line(
    name: str, place: int, points: tuple[Point, ...], releases: tuple[int, ...], across: Axis, up: Axis, *, joined: bool
) -> AttackLine:
    by_release = {point.release: point.people for point in points}
    places = tuple((across(point.release), up(point.people)) for point in points)
    values = tuple(by_release.get(release) for release in releases)
    return AttackLine(name, place % len(MARKS), MARKS[place % len(MARKS)], places, joined, values)


def _sentence(shown: dict[str, tuple[Point, ...]], releases: tuple[int, ...], alone: set[str]) -> str:
    """What the picture says, for those who do not see it."""
    first = {name: _first(points) for name, points in shown.items()}
    found = {name: since for name, since in first.items() if since}
    if not found:
        return (
            f"None of the attacks that are shown exposes anybody, from release {releases[0]} to release {releases[-1]}."
        )
    said = [_of_one(name, shown[name]) if name in alone else _of_all(name, shown[name]) for name in found]
    return "; ".join(said) + "."


def _of_one(name: str, points: tuple[Point, ...]) -> str:
    """An attack on single releases: where it is worst, as its finding says."""
    worst = max(points, key=lambda point: point.people)
    return f"{name} exposes {plural(worst.people, 'person', 'people')} in release {worst.release}, the most in any"


def _of_all(name: str, points: tuple[Point, ...]) -> str:
    return f"{name} exposes {plural(points[-1].people, 'person', 'people')} at the end, the first {_first(points)}"


def _first(points: tuple[Point, ...]) -> str:
    """With which release somebody was exposed first, as far as it was looked at; nothing where nobody is."""
    before = 0
    for point in points:
        if point.people:
            looked = point.release == before + 1
            return f"with release {point.release}" if looked else f"between releases {before + 1} and {point.release}"
        before = point.release
    return ""
