"""The beginning of a series: a schema guessed from its waves, and the policy that a plan on them recommends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from reissue.cleaning import CleanRecipe, Defect
from reissue.errors import InputError, nearest_column
from reissue.files.dialect import FOUND, Dialect
from reissue.proposing.clean import Cleaning, clean, clean_toml, common_recipe
from reissue.proposing.from_table import Guess, as_toml, propose, read_proposed
from reissue.proposing.policy_questions import harmless_values, policy_for
from reissue.proposing.relations import empty_somewhere, frequent_values, without_copies
from reissue.publishing.plan.outcome import Plan
from reissue.publishing.plan.planning import Progress, plan
from reissue.publishing.plan.policy_text import policy_toml
from reissue.schema import Role, Schema

__all__ = ["Beginning", "begin_series", "propose_series"]

_NO_SENSITIVE = (
    "No policy was proposed: say which column nobody should learn about a person (`--sensitive COLUMN`), and the waves "
    "there are will be planned with."
)
_NO_PERSON = (
    "No column tells people apart in every wave, so nothing was planned. The policy at the end is for a table to which "
    "records are only added."
)
_ONE_WAVE = (
    "The policy is a guess: only one wave was there. When the second is, plan again on what is real: "
    "`reissue plan WAVE1 WAVE2 --schema SCHEMA --write --force`, before the second release."
)
_SEVERAL = (
    "People have several rows. One release of all rows: `reissue anonymize` makes groups of different people. A series "
    "needs one row per person, so no policy was proposed. To keep the last row of each, replace `several_rows = true` "
    'by `several_rows = false`, add `repeated = {"NAME" = "last"}` to the section `[clean]`, with the '
    "identifier for NAME, and run `reissue plan WAVE... --schema SCHEMA --write`."
)
_FIRST = (
    "For a policy: `reissue plan WAVE... --schema SCHEMA --write`; with one wave it is a guess, with two it is not."
)

_NOTHING_MADE = (
    "WARNING: no setting made a release of these waves. This policy is for the harder case, and was not tried on them."
)


@dataclass(frozen=True)
class Beginning:
    """What was proposed to begin a series."""

    rows: int
    guesses: tuple[Guess, ...]
    schema: str
    """The schema file without a policy."""
    policy: str
    """The policy for its end; empty if none was proposed."""
    plan: Plan | None
    advice: tuple[str, ...]
    """The next steps, in sentences."""
    defects: tuple[Defect, ...] = ()
    """What is wrong with the waves."""
    recipe: CleanRecipe = field(default_factory=CleanRecipe)
    """What the schema repairs."""

    @property
    def text(self) -> str:
        """The schema file, with the policy at its end if there is one."""
        return self.schema + ("\n" + self.policy if self.policy else "")


def begin_series(
    waves: Sequence[Any],
    *,
    title: str,
    sensitive: Sequence[str] = (),
    planned: bool = True,
    folder: Path = Path(),
    dialect: Dialect = FOUND,
    budget: float | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    cleanings: Sequence[Cleaning] | None = None,
    recipe: CleanRecipe | None = None,
) -> Beginning:
    """Guess a schema from all waves; if it has an identifier and a sensitive column, plan the policy.

    With several waves the plan is made on them. With a single one it is made only if `sensitive` is named, and is a
    guess; not with `planned=False`, where the policy will follow from answers instead. The waves are repaired by the
    `recipe`, which becomes part of the schema; by default by all that is recommended.
    """
    found = cleanings if cleanings is not None else [clean(wave, dialect=dialect) for wave in waves]
    chosen = common_recipe(found) if recipe is None else recipe
    frames, guesses = propose_series([one.repaired_frame(chosen) for one in found], sensitive, dialect=dialect)
    defects = tuple(defect for one in found for defect in one.defects)
    text = as_toml(guesses, title, clean_toml(chosen, defects))

    begun = Beginning(frames[0].height, guesses, text, "", None, (), defects, chosen)
    if any(guess.several for guess in guesses):
        return replace(begun, advice=(_SEVERAL,))
    if len(waves) == 1 and not (sensitive and planned):
        return replace(begun, advice=(_FIRST,))
    if not any(guess.role == Role.SENSITIVE and not guess.confirm for guess in guesses):
        return replace(begun, advice=(_NO_SENSITIVE,))
    if not any(guess.role == Role.IDENTIFIER for guess in guesses):
        return replace(begun, policy=policy_for(guesses, {}), advice=(_NO_PERSON,))
    schema = replace(Schema.loads(text, folder), policy=_protection(guesses))
    made = plan(list(waves), schema, budget=budget, dialect=dialect, progress=progress)
    policy, told = policy_toml(made), [made.warning] if made.warning else []
    if policy is None:
        told.append(_NOTHING_MADE)
        policy = f"# {_NOTHING_MADE}\n{policy_for(guesses, {})}"
    guess = [_ONE_WAVE] if made.guess and policy else []
    return replace(begun, policy=policy, plan=made, advice=(*made.sentences, *told, *guess))


def _protection(guesses: Sequence[Guess]) -> dict[str, Any]:
    """What the policy says about values that need no protection."""
    harmless = {column: [value] for column, value in harmless_values(guesses).items()}
    return {"harmless_values": harmless} if harmless else {}


def propose_series(
    waves: Sequence[Any], sensitive: Sequence[str] = (), *, dialect: Dialect = FOUND
) -> tuple[list[pl.DataFrame], tuple[Guess, ...]]:
    """Read the waves, and guess the role of each column of the first from all of them."""
    frames = [read_proposed(wave, dialect=dialect) for wave in waves]
    for number, frame in enumerate(frames[1:], start=2):
        if not set(frame.columns) & set(frames[0].columns):
            raise InputError(f"Table {number} has no column in common with the first: is it another table?")
    guesses = _confirmed(empty_somewhere(frames, propose(frames[0])), sensitive, several=len(waves) > 1)
    guesses = without_copies(frames[0], guesses)
    several = any(guess.several for guess in guesses)
    return frames, guesses if several else frequent_values(frames, guesses)


def _confirmed(guesses: Sequence[Guess], sensitive: Sequence[str], *, several: bool) -> tuple[Guess, ...]:
    """The guesses with the named columns as sensitive; of several waves the only plausible one, if none is named."""
    names = [guess.column for guess in guesses]
    for name in sensitive:
        if name not in names:
            raise InputError(f"There is no column '{name}' to be sensitive." + nearest_column(name, names))
    plausible = [guess.column for guess in guesses if guess.role == Role.SENSITIVE]
    chosen = list(sensitive) or (plausible if several and len(plausible) == 1 else [])
    why = "named as sensitive" if sensitive else "its name suggests that nobody should learn it, and no other name does"
    return tuple(
        Guess(guess.column, Role.SENSITIVE, why)
        if guess.column in chosen
        else replace(guess, role=Role.DROP, why=f"{guess.why}; not named as sensitive", confirm=False)
        if chosen and guess.role == Role.SENSITIVE
        else guess
        for guess in guesses
    )
