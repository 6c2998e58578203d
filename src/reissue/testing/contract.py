"""How a contract says that it is broken."""

__all__ = ["ContractError", "expect"]


class ContractError(AssertionError):
    """An attack, method, requirement, engine or store does not do what it promises."""


def expect(kept: object, promise: str) -> None:
    """Stop with the promise unless it is kept."""
    if not kept:
        raise ContractError(promise)
