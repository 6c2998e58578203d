"""Small worlds: components of few people solved exactly, over all ways to give them the published values."""

from reissue.solver.small_worlds.components import ALL, MOST, ExactPosteriors, component_labels, solve_small

__all__ = ["ALL", "MOST", "ExactPosteriors", "component_labels", "solve_small"]
