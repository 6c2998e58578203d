"""Errors must say what was wrong without saying what was in a cell."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from reissue.errors import ReissueError

__all__ = ["refused"]


def refused(kind: type[ReissueError], call: Callable[[], Any], values: Iterable[Any] = ()) -> str:
    """The message of an expected error; none of the values occurs in it, nor in an error behind it."""
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert type(error) is kind
    assert error.__cause__ is None, "a cause is printed in the traceback, with what it quotes"
    assert error.__context__ is None or error.__suppress_context__
    message = str(error)
    for value in values:
        text = str(value)
        assert len(text) >= 3, "too short to be told from the message's own words"
        assert text not in message
    assert message.endswith((".", "?", ")", "*", ";")), message
    return message
