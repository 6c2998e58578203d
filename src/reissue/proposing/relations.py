"""Columns that say the same as others, or tell a sensitive one; columns that are empty in a wave; values too frequent.

A copy, a logarithm or a coarser version of a column beside the column itself makes every generalization useless: who
reads the one knows the other. Numbers are compared by their order, everything else by what one value says about the
other column's.
"""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from reissue.language import counted, localized, text
from reissue.proposing.from_table import Guess
from reissue.randomization import holds_amounts
from reissue.schema import Role

__all__ = ["empty_somewhere", "frequent_values", "without_copies"]

_ROWS = 20_000
"""Maximum number of rows that are examined."""
_COLUMNS = 60
"""Maximum number of columns that are compared, pair by pair."""
_NEARLY_ALL = 0.99
"""The share of rows whose value another column must determine."""
_SAME = 0.9999
"""The rank correlation from which two numbers count as the same."""
_OFTEN = 3
"""Mean number of rows per value below which nothing can be said about what a column determines."""
_DULL = 0.9
"""If one value has a larger share, determining the column means little."""
_HALF = 0.5
"""A value with a larger share is guessed right without any release."""


def without_copies(frame: pl.DataFrame, guesses: Sequence[Guess]) -> tuple[Guess, ...]:
    """Drop derived columns: the later of two equivalent ones, and those that determine a sensitive column."""
    some = frame.head(_ROWS)
    made = {guess.column: guess for guess in guesses}
    open_to = [guess.column for guess in guesses if guess.role in {Role.QUASI, Role.SENSITIVE, Role.KEEP}][:_COLUMNS]
    for place, name in enumerate(open_to):
        for other in open_to[:place]:
            if Role.DROP in {made[name].role, made[other].role}:
                continue
            found = _derived(some, made[other], made[name])
            if found is not None:
                made[found.column] = found
    return tuple(made[guess.column] for guess in guesses)


def _derived(frame: pl.DataFrame, first: Guess, second: Guess) -> Guess | None:
    """Which of two columns is derived, and why; None if both carry information."""
    there, back = _tells(frame, first.column, second.column), _tells(frame, second.column, first.column)
    secret = {first.column: first.role == Role.SENSITIVE, second.column: second.role == Role.SENSITIVE}
    if there and back:
        gone, kept = (first, second) if secret[second.column] and not secret[first.column] else (second, first)
        return _dropped(
            gone, text("it says the same as '{other}': a copy of it, or computed from it", other=kept.column)
        )
    if there and secret[second.column] and not secret[first.column]:
        return _dropped(first, text("it tells '{other}', which is sensitive", other=second.column))
    if back and secret[first.column] and not secret[second.column]:
        return _dropped(second, text("it tells '{other}', which is sensitive", other=first.column))
    if there and not secret[second.column]:
        return _dropped(second, text("it follows from '{other}': a coarser version of it", other=first.column))
    if back and not secret[first.column]:
        return _dropped(first, text("it follows from '{other}': a coarser version of it", other=second.column))
    return None


def _dropped(guess: Guess, why: str) -> Guess:
    return Guess(guess.column, Role.DROP, why)


def _tells(frame: pl.DataFrame, one: str, other: str) -> bool:
    """Whether the value of one column nearly always determines that of the other."""
    pair = frame.select(pl.col(one).alias("a"), pl.col(other).alias("b")).drop_nulls()
    if pair.height < _OFTEN or pair["b"].n_unique() < 2:
        return False
    if all(pair[name].dtype.is_numeric() for name in "ab") and pair["a"].n_unique() > pair.height / _OFTEN:
        return abs(float(pair.select(pl.corr("a", "b", method="spearman")).item() or 0.0)) > _SAME
    if pair["a"].n_unique() > pair.height / _OFTEN or _largest(pair["b"]) > _DULL * pair.height:
        return False
    most = pair.group_by("a", "b").len().group_by("a").agg(pl.col("len").max())
    return int(most["len"].sum()) >= _NEARLY_ALL * pair.height


def _largest(column: pl.Series) -> int:
    """How often the most frequent value occurs."""
    return int(column.value_counts()["count"].to_numpy().max())


def empty_somewhere(frames: Sequence[pl.DataFrame], guesses: Sequence[Guess]) -> tuple[Guess, ...]:
    """Drop columns that a wave lacks, or that are empty in one."""
    made = []
    for guess in guesses:
        lacking = [place for place, frame in enumerate(frames, start=1) if guess.column not in frame.columns]
        empty = [
            place
            for place, frame in enumerate(frames, start=1)
            if guess.column in frame.columns and frame[guess.column].null_count() == frame.height
        ]
        if lacking and guess.role != Role.DROP:
            guess = Guess(guess.column, Role.DROP, text("wave {number} does not have it", number=lacking[0]))  # noqa: PLW2901
        elif empty and guess.role != Role.DROP:
            guess = Guess(guess.column, Role.DROP, text("it is empty in wave {number}", number=empty[0]))  # noqa: PLW2901
        made.append(guess)
    return tuple(made)


def frequent_values(frames: Sequence[pl.DataFrame], guesses: Sequence[Guess]) -> tuple[Guess, ...]:
    """Add the frequencies of sensitive values, and propose the most frequent ones as harmless."""
    made = []
    for guess in guesses:
        columns = [frame[guess.column] for frame in frames if guess.column in frame.columns and frame.height]
        if guess.role == Role.SENSITIVE and columns:
            guess = _weighed(guess, columns)  # noqa: PLW2901
        made.append(guess)
    return tuple(made)


def _weighed(guess: Guess, columns: Sequence[pl.Series]) -> Guess:
    """The guess with the shares of its values, without missing cells, in the wave where each is most frequent."""
    shares: dict[str, float] = {}
    for column in columns:
        for value, count in column.cast(pl.String).drop_nulls().value_counts().iter_rows():
            shares[value] = max(shares.get(value, 0.0), count / len(column))
    if not shares:
        return guess
    value = max(shares, key=lambda one: (shares[one], one))
    harmless = value if min(_share_of(column, value) for column in columns) > _HALF else None
    protected = max((share for one, share in shares.items() if one != harmless), default=0.0)
    most = int(1 / protected + 1e-9) if protected else 1
    said = text("releases can meet simple-l={most} at most", most=most)
    if most == 1:
        said = text("releases can meet no simple-l")
    if harmless is not None:
        said = text("it is proposed as harmless (`harmless_values`), and the others are protected")
    why = counted(
        len(shares),
        "{why}; {count} value, which {share} have: {said}",
        "{why}; {count} values, the most frequent has {share}: {said}",
        why=guess.why,
        share=localized(f"{shares[value]:.0%}"),
        said=said,
    )
    amounts = any(holds_amounts(column.dtype, len(shares)) for column in columns)
    return replace(
        guess,
        why=why,
        harmless=harmless,
        largest=shares[value],
        protected=protected,
        values=len(shares),
        amounts=amounts,
    )


def _share_of(column: pl.Series, value: str) -> float:
    return float((column.cast(pl.String) == value).sum()) / len(column)
