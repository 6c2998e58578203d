"""Contracts for anyone's attack, method, requirement, engine or store: call one in your tests; it raises ContractError.

They look from outside, as a user does: what is published, found and kept. None needs more than Reissue itself.
"""

from reissue.testing.algorithms import check_algorithm
from reissue.testing.attacks import check_attack
from reissue.testing.contract import ContractError
from reissue.testing.engines import check_engine
from reissue.testing.releases import check_release
from reissue.testing.requirements import check_requirement
from reissue.testing.stores import check_store

__all__ = [
    "ContractError",
    "check_algorithm",
    "check_attack",
    "check_engine",
    "check_release",
    "check_requirement",
    "check_store",
]
