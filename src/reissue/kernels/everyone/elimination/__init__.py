"""Elimination: which values nobody can have any more, by counting; what is left of one value is certain."""

from reissue.kernels.everyone.elimination.narrowing import Narrowed, narrow, unnarrowed, without

__all__ = ["Narrowed", "narrow", "unnarrowed", "without"]
