"""What a ledger keeps of an attack from one release to the next, so that it need not begin anew with every release."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from reissue._arrays import Ints
from reissue.attacks.findings import Finding
from reissue.published.series import Series

__all__ = ["Fold", "Kept"]


class Kept(Protocol):
    """A frozen dataclass with a `VERSION`, stored with the release that it follows. People are pseudonyms."""

    @property
    def finding(self) -> Finding:
        """What all releases so far give away together."""

    @property
    def exposed(self) -> Ints:
        """The people whom the newest release exposes."""

    @property
    def near(self) -> Ints:
        """The people whom it nearly exposes."""

    def companions(self, people: Ints) -> list[Ints]:
        """For each of some people those who may have been in a group with them when they were last there."""


State = TypeVar("State", bound=Kept)


@dataclass(frozen=True)
class Fold(Generic[State]):
    """Two functions over a state; each raises CannotRunError where the attack does not apply."""

    state: type[State]
    """The class of the state."""
    add: Callable[[State | None, Series], State]
    """The state with one more release, the only one of the series; None is the state before the first release."""
    restore: Callable[[State, State], State]
    """A state made again from the stored releases, with what the one before it knew and releases do not say."""
