"""Numbers in addresses and forms: places in lists, releases of a ledger. Whatever is sent, it ends in an answer."""

from collections.abc import Sequence
from typing import TypeVar

from starlette.requests import Request

from reissue.errors import InputError
from reissue.language import text

__all__ = ["NotFoundError", "at", "number_of", "places_of", "release_number", "whole_number"]

Thing = TypeVar("Thing")
_DIGITS = 18
"""More are no number of anything here, and of very many Python makes none."""


class NotFoundError(InputError):
    """Nothing is found under an address."""


def whole_number(typed: str) -> int | None:
    """Return the number that was typed; None if it says none."""
    return int(typed) if typed.isdecimal() and len(typed) <= _DIGITS else None


def places_of(texts: Sequence[str], things: Sequence[object]) -> list[int]:
    """Return the places in a list that texts name; what is no place is left out."""
    numbers = [whole_number(one) for one in texts]
    return [number for number in numbers if number is not None and number < len(things)]


def at(things: Sequence[Thing], place: str, problem: str) -> Thing:
    """Return what is at the place that a text names; the problem is said if nothing is."""
    found = places_of([place], things)
    if not found:
        raise NotFoundError(problem)
    return things[found[0]]


def release_number(request: Request) -> int:
    """Return the number of a release in an address."""
    number = whole_number(request.path_params["number"])
    if number is None:
        raise NotFoundError(text("A release has a number: 1 is the first."))
    return number


def number_of(typed: str, low: float, high: float) -> float:
    """A number that a field holds."""
    try:
        value = float(typed)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        said = text("Of the numbers one must be between {low} and {high}. Go back and correct it.", low=low, high=high)
        raise InputError(said)
    return value
