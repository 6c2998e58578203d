"""Elimination: which values nobody can have any more, by counting; what is left of one value is certain."""

from reissue.solver.elimination.narrowing import Narrowed, narrow, unnarrowed, without

__all__ = ["Narrowed", "narrow", "unnarrowed", "without"]
