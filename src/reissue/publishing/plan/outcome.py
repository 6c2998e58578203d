"""What a plan found: each setting with its cost and its risk, the frontier, and the cheapest that withstands."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from reissue._notebook import notebook
from reissue.errors import NotMetError
from reissue.publishing.plan.rehearsed import KnownGroups, Outcome, RehearsalEnd, RehearsedRelease
from reissue.publishing.plan.settings import Limits, Setting
from reissue.publishing.plan.wording import adversary_of, cost_sentences, people_of, why_failed
from reissue.schema import Schema, Section
from reissue.words import percent, plural

__all__ = [
    "HELP",
    "KnownGroups",
    "Outcome",
    "Plan",
    "RehearsalEnd",
    "RehearsedRelease",
    "ordered",
    "recommended_of",
]


HELP = (
    "What may help: allow more suppressed records or counterfeits, generalize or drop a quasi-identifier, or publish "
    "less often."
)
"""What to do where nothing suffices."""


@dataclass(frozen=True, repr=False)
class Plan:
    """Every setting that was tried on the waves of a series, and the cheapest one that withstands.

    `plan` returns one. `recommended` is the setting to use, None if none sufficed; `nearest` is then the closest one.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> waves = list(Population(seed=1, people=200).months(2))
    >>> found = ri.plan(waves, schema(), budget=1, further=0)
    >>> found.guess
    False
    """

    limits: Limits
    situation: tuple[str, ...]
    """What the waves show, in sentences."""
    waves: int
    outcomes: tuple[Outcome, ...]
    """In the order of their cost, as far as it is known."""
    recommended: Outcome | None
    further: int
    """How many releases of a simulated continuation it should withstand."""
    guess: bool = False
    """Whether the waves after the first were simulated."""
    untried: tuple[Setting, ...] = ()
    stopped: str = ""
    """Why not everything was tried, as a sentence; empty if all was."""
    updates: Section = field(default_factory=dict)
    """The `[updates]` section that the policy needs beside it: how values were seen to change."""
    learnt: str = ""
    """What someone who also learns gets out of the recommended series, as a sentence."""
    lasting: str = ""
    """How long the recommended series has counterfeits enough, as a sentence; empty where it invents no records."""

    @property
    def frontier(self) -> tuple[Outcome, ...]:
        """Of the settings that withstood all waves those that no other one beats in every respect.

        One that was given up on the way is measured over fewer releases: it is compared with nobody.
        """
        some = [one for one in self.outcomes if one.verdict == RehearsalEnd.WITHSTOOD]
        return tuple(one for one in some if not any(other.beats(one) for other in some))

    @property
    def not_tried(self) -> tuple[Outcome, ...]:
        """Settings on which there is no verdict because of an error."""
        return tuple(one for one in self.outcomes if one.verdict == RehearsalEnd.NOT_TRIED)

    @property
    def tested(self) -> bool:
        """Whether there is a verdict on any setting."""
        none = {RehearsalEnd.NOT_TRIED, RehearsalEnd.UNFINISHED}
        return any(one.verdict not in none for one in self.outcomes)

    @property
    def nearest(self) -> Outcome | None:
        """Where nothing is recommended: the setting that came nearest to it, if any made a release."""
        some = [one for one in self.outcomes if one.steps]
        return _nearest(some) if some else None

    @property
    def warning(self) -> str:
        """Why the policy that is written does not suffice; nothing where it does, or where there is none."""
        nearest = self.nearest
        if self.recommended is not None or nearest is None:
            return ""
        return (
            f"WARNING: this policy does not suffice. {self._short(nearest)} `reissue publish` refuses such a release."
        )

    def _short(self, nearest: Outcome) -> str:
        """Where the setting that came nearest ends."""
        came = f"{nearest.setting.words} came nearest: {nearest.published} of {self.waves} waves could be published"
        if nearest.verdict == RehearsalEnd.EXPOSED:
            people = people_of(nearest.exposed)
            end = f"release {len(nearest.steps)} would have exposed {people}" if nearest.exposed else nearest.reason
            return f"{came}; {end.rstrip('.')}."
        return f"{came}. {nearest.reason}".rstrip(". ") + "."

    @property
    def verdict(self) -> str:
        """What came out of it, in a few words."""
        if self.recommended is not None:
            return "no room to go on" if self.short_of_room(self.recommended) else "recommended"
        return "nothing suffices" if self.tested else str(RehearsalEnd.NOT_TRIED)

    def at(self, limit: float) -> "Plan":
        """The same plan by another limit, as far as what was tried tells: nothing is tried or repaired again."""
        outcomes = tuple(one.at(limit, self.limits.limit) for one in self.outcomes)
        limits, best = replace(self.limits, limit=limit), recommended_of(outcomes, self.further)
        return self if limit == self.limits.limit else replace(self, limits=limits, outcomes=outcomes, recommended=best)

    def apply(self, schema: Schema | Mapping[str, Any] | str | Path) -> Schema:
        """Return a schema with the recommended policy and, unless it has one, with how values were seen to change.

        Raises
        ------
        NotMetError
            If nothing is recommended.

        """
        if self.recommended is None:
            raise NotMetError(f"The plan recommends nothing. {self.sentences[0]}")
        read = Schema.read(schema)
        policy = self.recommended.setting.policy(self.limits)
        return replace(read, policy=policy, updates=read.updates or dict(self.updates))

    def with_more(self, more: Sequence[Outcome]) -> "Plan":
        """With settings that were tried beside it; what is recommended stays so."""
        names = {one.setting.name for one in more}
        kept = [one for one in self.outcomes if one.setting.name not in names]
        return replace(self, outcomes=ordered([*kept, *more]))

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Plan":
        """From what `as_dict` gave."""
        outcomes = tuple(Outcome.of(one) for one in said["outcomes"])
        return cls(
            limits=Limits(**said["limits"]),
            situation=tuple(said["situation"]),
            waves=said["waves"],
            outcomes=outcomes,
            recommended=next((one for one in outcomes if one.setting.name == said["recommended"]), None),
            further=said["further"],
            guess=said["guess"],
            stopped=said["stopped"],
            updates=said["updates"],
            learnt=said["learnt"],
            lasting=said["lasting"],
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and lists."""
        best = self.recommended
        frontier = {one.setting.name for one in self.frontier}
        return {
            "guess": self.guess,
            "waves": self.waves,
            "further": self.further,
            "updates": dict(self.updates),
            "learnt": self.learnt,
            "lasting": self.lasting,
            "limits": asdict(self.limits),
            "situation": list(self.situation),
            "outcomes": [{**one.as_dict(), "frontier": one.setting.name in frontier} for one in self.outcomes],
            "untried": [setting.name for setting in self.untried],
            "verdict": self.verdict,
            "warning": self.warning,
            "stopped": self.stopped,
            "recommended": None if best is None else best.setting.name,
            "sentences": list(self.sentences),
        }

    def __repr__(self) -> str:
        """What is recommended, or why nothing is, in a sentence."""
        return f"Plan: {self.sentences[1 if self.guess else 0]}"

    def _repr_html_(self) -> str:
        """For a notebook."""
        return notebook(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The recommendation in plain words."""
        said = [*self._guessed(), *(self._found() if self.recommended is not None else self._nothing())]
        return tuple(said + self._margin() + self._errors() + [self.stopped] * bool(self.stopped))

    def _errors(self) -> list[str]:
        """Which settings could not be tried; by how many reasons, with the first."""
        failed = self.not_tried if self.tested else ()
        if not failed:
            return []
        return [
            f"{plural(len(failed), 'setting')} could not be tried, so nothing is known of them. {why_failed(failed)}"
        ]

    def _margin(self) -> list[str]:
        """Why some settings count as exposed although nobody is above the limit."""
        limit, ended = self.limits.limit, [one for one in self.outcomes if one.verdict == RehearsalEnd.EXPOSED]
        if not any((one.risk or 0.0) <= limit for one in ended):
            return []
        why = "to leave a margin for chance; some that count as exposed lie between the two"
        return [f"Settings were rehearsed against a limit of {percent(self.limits.rehearsed)}, {why}."]

    def _guessed(self) -> list[str]:
        if not self.guess:
            return []
        return ["This is a guess: only the first wave is yours, the others were simulated. Plan again with two waves."]

    def _found(self) -> list[str]:
        best = self.recommended
        if best is None:
            return []
        waves = "simulated waves" if self.guess else "waves"
        risk, limit = percent(best.risk or 0.0), percent(self.limits.limit)
        return [
            f"Recommended: {best.setting.words}.",
            f"{self.waves} of {self.waves} {waves} could be published.",
            f"The highest probability of anyone's value is {risk}; the limit is {limit}.",
            adversary_of(best, self.limits),
            *filter(None, [self._groups(best), "" if best.setting.randomized else self.learnt]),
            *cost_sentences(best),
            *filter(None, ["" if best.setting.randomized else self.lasting]),
            *self._other(best),
            *([] if self.guess and not self.further else [self._further(best)]),
            *self._cheaper(best),
            *self._apart(best),
        ]

    def _groups(self, best: Outcome) -> str:
        """How far someone gets who knows more than a register."""
        known, who = best.known_groups, "Someone who also knows everyone's group"
        if best.steps and best.steps[-1].knowledge in {"groups", "rows"}:
            return ""
        if known is None:
            return "It was not tried what someone learns who also knows everyone's group."
        if not known.people:
            return f"{who} links nobody to a value beyond the limit either (at worst {percent(known.risk)})."
        return (
            f"{who} links {people_of(known.people)} to a value beyond the limit (at worst {percent(known.risk)}). The "
            "limit does not cover that: where somebody may know groups, plan with `--knowledge groups`."
        )

    def _further(self, best: Outcome) -> str:
        if best.room is None:
            return "Further releases were not tried."
        if self.short_of_room(best):
            return (
                f"In a simulated continuation {best.room} of {plural(self.further, 'further release')} could be "
                "published; then `reissue publish` would refuse. No setting that was tried lasts longer. Plan again as "
                "waves arrive."
            )
        return (
            f"{plural(self.further, 'further release')} of a simulated continuation could be published too. That is a "
            "guess: people come, go and change as they did so far."
        )

    def _cheaper(self, best: Outcome) -> list[str]:
        """Why nothing that costs less would do."""
        alike = [one for one in self.outcomes if one.setting.randomized == best.setting.randomized]
        cheaper = [one for one in alike if one.cost < best.cost]
        said = []
        short = [one for one in cheaper if one.verdict == RehearsalEnd.WITHSTOOD and one.room is not None]
        if short:
            longest = max(short, key=lambda one: one.room or 0)
            said.append(f"{longest.setting.words} could publish {longest.room} of {self.further} further releases")
        exposed = [one for one in cheaper if one.verdict == RehearsalEnd.EXPOSED]
        if exposed:
            nearest = max(exposed, key=lambda one: (one.published, -one.exposed))
            people = people_of(nearest.exposed)
            said.append(f"{nearest.setting.words} would have exposed {people} at release {len(nearest.steps)}")
        return [f"Cheaper settings do not suffice: {'; '.join(said)}."] if said else []

    def _other(self, best: Outcome | None) -> list[str]:
        """What it would cost to publish true values instead of randomized ones, or the other way round."""
        randomized = best is None or not best.setting.randomized
        other = next((one for one in self.worlds if one.setting.randomized == randomized), None)
        if other is None or (best is None and other.steps):
            return []
        where = "Where values need not all be true, if estimates correct for it"
        where = where if randomized else "Where every published value must be true"
        if not other.steps:
            return [f"{where}: {other.setting.words} cannot be published. {other.reason}"]
        if other.verdict != RehearsalEnd.WITHSTOOD:
            return [f"{where}: no setting that was tried could publish all waves. {self._short(other)}"]
        lasts = f", for {other.room} of {self.further} further releases only" if self.short_of_room(other) else ""
        error = f"half of the queries are then off by {other.query_error or 0:.1%} or less"
        return [f"{where}: {other.setting.words}{lasts}; {error}."]

    def best_of(self, *, randomized: bool) -> Outcome | None:
        """The setting to use with randomized values, or with true ones; None if none withstood every wave."""
        return _best([one for one in self.outcomes if one.setting.randomized == randomized], self.further)

    @property
    def worlds(self) -> tuple[Outcome, ...]:
        """The best setting with true values and the best with randomized ones, as far as some were tried.

        Where none withstood every wave it is the one that came nearest, or the first that made no release.
        """
        ended = [one for one in self.outcomes if one.steps or one.verdict == RehearsalEnd.IMPOSSIBLE]
        both = ([one for one in ended if one.setting.randomized == randomized] for randomized in (False, True))
        return tuple(_best(some, self.further) or _nearest(some) for some in both if some)

    def short_of_room(self, one: Outcome) -> bool:
        """Whether a setting withstood the waves, and not all of their simulated continuation."""
        return one.room is not None and one.room < self.further

    def _apart(self, best: Outcome) -> list[str]:
        """What it costs where providers are not to learn about each other's people."""
        fine = [one for one in self.outcomes if one.verdict == RehearsalEnd.WITHSTOOD]
        apart = next((one for one in fine if one.setting.keeps_providers_apart), None)
        several = any(one.setting.for_providers for one in self.outcomes)
        if apart is None or not several or best.setting.keeps_providers_apart:
            return []
        cost = f"{apart.setting.words}, at {apart.loss or 0:.1%} information loss"
        return [
            (
                f"Where those who contribute records must not learn about each other's people: {cost}. The recommended "
                "setting does not see to that."
            )
        ]

    def _nothing(self) -> list[str]:
        if not self.tested:
            return self._untested()
        said, nearest = "No setting that was tried stays below the limit at the cost that is allowed.", self.nearest
        failed = [one for one in self.outcomes if one.verdict == RehearsalEnd.IMPOSSIBLE]
        return [said, self._short(nearest) if nearest is not None else why_failed(failed), *self._other(None), HELP]

    def _untested(self) -> list[str]:
        """That there is no verdict on anything, and why."""
        if not self.not_tried:
            return ["No setting was tried to the end, so it is not known whether one is safe."]
        none = "No setting could be tried, so it is not known whether one is safe. This is no verdict on your tables."
        return [none, why_failed(self.not_tried)]


def ordered(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """By what they cost; those that published nothing last."""
    return tuple(sorted(outcomes, key=lambda one: (not one.steps, one.cost)))


def recommended_of(outcomes: Sequence[Outcome], further: int) -> Outcome | None:
    """Return the setting to use: true values in groups or randomized ones, whichever answer queries better.

    A setting that lasts as long as it should is better than one that does not. None if none withstood every wave.
    """
    drawn = _best([one for one in outcomes if one.setting.randomized], further)
    exact = _best([one for one in outcomes if not one.setting.randomized], further)
    both = [one for one in (exact, drawn) if one is not None]
    return min(both, key=lambda one: (-min(one.room or 0, further), one.query_error or 0.0), default=None)


def _best(outcomes: Sequence[Outcome], further: int) -> Outcome | None:
    """The cheapest setting that withstood every wave and lasts as long as it should; else the longest-lasting one."""
    fine = [one for one in outcomes if one.verdict == RehearsalEnd.WITHSTOOD]
    return min(fine, key=lambda one: (-min(one.room or 0, further), one.cost), default=None)


def _nearest(some: Sequence[Outcome]) -> Outcome:
    """The setting that published most releases; of several the one that exposes fewest people."""
    return min(some, key=lambda one: (not one.steps, -one.published, one.exposed, one.cost))
