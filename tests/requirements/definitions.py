"""The definitions of all requirements, in plain Python with exact fractions, one group at a time."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import linprog

from reissue.requirements import Requirement
from reissue.taxonomy import Taxonomy

__all__ = ["disclosure", "emd", "holds", "under"]

Values: TypeAlias = Sequence[int]
"""The leaf codes of a group's rows."""


def exact(number: float) -> Fraction:
    """The number that a person meant: 0.3 is three tenths, 0.3333333333333333 a third."""
    return Fraction(repr(float(number))).limit_denominator(10**6)


def under(name: str, tree: Taxonomy) -> set[int]:
    """The leaf codes of the first node of this name, from below."""
    for level in tree.levels:
        if name in level.names:
            return {leaf for leaf in range(tree.size) if level.names[level.node[leaf]] == name}
    raise KeyError(name)


def share(group: Values, wanted: set[int]) -> Fraction:
    return Fraction(sum(value in wanted for value in group), len(group))


def largest(part: Any, group: Values, tree: Taxonomy) -> Fraction:
    if part.values:
        return max(share(group, set().union(*(under(name, tree) for name in names))) for names in part.values)
    return Fraction(max(Counter(group).values()), len(group))


def recursive(part: Any, group: Values) -> bool:
    counts = sorted(Counter(group).values(), reverse=True)
    return counts[0] < exact(part.c) * sum(counts[part.l - 1 :])


def entropy(group: Values) -> float:
    return -sum(number / len(group) * math.log(number / len(group)) for number in Counter(group).values())


def numbers(part: Any, group: Values, tree: Taxonomy) -> bool:
    known = {exact(tree.positions[v]) for v in group if not (tree.missing and v == tree.size - 1)}
    return len(known) >= part.k and max(known, default=0) - min(known, default=0) >= exact(part.e)


def personalized(part: Any, group: Values, tree: Taxonomy) -> bool:
    guards = part.guards or [(name, name) for name in tree.names if name is not None]
    asked = [under(node, tree) for who, node in guards for value in group if value in under(who, tree)]
    if not part.guards and tree.missing:
        asked.append({tree.size - 1})
    return all(share(group, wanted) <= exact(part.bound) for wanted in asked)


def likeness(part: Any, group: Values, everyone: Values) -> bool:
    for value in set(group):
        p, q = share(group, {value}), share(everyone, {value})
        if (p - q) / q > exact(part.beta) or (part.enhanced and float((p - q) / q) > -math.log(q) + 1e-9):
            return False
    return True


def disclosed(part: Any, group: Values, everyone: Values) -> bool:
    ratios = [share(group, {value}) / share(everyone, {value}) for value in set(everyone)]
    return all(ratio > 0 and abs(math.log(ratio)) < part.delta for ratio in ratios)


def emd(group: Values, everyone: Values, tree: Taxonomy, kind: str) -> float:
    """The earth mover's distance, by the linear program that defines it."""
    size = tree.size
    have = np.bincount(group, minlength=size) / len(group)
    want = np.bincount(everyone, minlength=size) / len(everyone)
    ground = np.array([[_apart(a, b, tree, kind) for b in range(size)] for a in range(size)])
    leave = np.kron(np.eye(size), np.ones(size))
    arrive = np.kron(np.ones(size), np.eye(size))
    solved = linprog(ground.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=np.concatenate([have, want]))
    return float(solved.fun)


def _apart(a: int, b: int, tree: Taxonomy, kind: str) -> float:
    if kind == "equal":
        return float(a != b)
    if kind == "ordered":
        return abs(a - b) / max(tree.size - 1, 1)
    return next(height for height, level in enumerate(tree.levels) if level.node[a] == level.node[b]) / tree.height


def disclosure(groups: Sequence[Values], k: int, sensitive: set[int] | None = None) -> list[Fraction]:
    """By group, the most that k implications "A_i implies A" disclose about A, over all worlds and all atoms.

    Where some values only are sensitive, atoms are about them.
    """
    worlds = list(product(*(sorted(set(permutations(group))) for group in groups)))
    people = [(number, place) for number, group in enumerate(groups) for place in range(len(group))]
    values = {value for group in groups for value in group if sensitive is None or value in sensitive}
    atoms = {
        (who, value): sum(1 << w for w, world in enumerate(worlds) if world[who[0]][who[1]] == value)
        for who in people
        for value in values
    }
    everything = (1 << len(worlds)) - 1
    useful = sorted(set(atoms.values()))
    known = [_or(chosen) for chosen in combinations(useful, min(k, len(useful)))]
    worst = [Fraction(0)] * len(groups)
    for (who, _), target in atoms.items():
        if target:
            left = min(((everything & ~target & ~any_of).bit_count() for any_of in known), default=0)
            odds = Fraction(target.bit_count(), target.bit_count() + left)
            worst[who[0]] = max(worst[who[0]], odds)
    return worst


def _or(masks: Sequence[int]) -> int:
    together = 0
    for mask in masks:
        together |= mask
    return together


def holds(part: Requirement, group: Values, everyone: Values, tree: Taxonomy) -> bool:
    """Whether one group meets one requirement, by its definition; (c,k)-safety is not a matter of one group."""
    its: Any = part
    judges: dict[str, Callable[[], Any]] = {
        "k": lambda: len(group) >= its.k,
        "k-m": lambda: len(group) >= its.k,  # of one quasi-identifier, as the samples have
        "l": lambda: len(set(group)) >= its.l,
        "entropy-l": lambda: entropy(group) >= math.log(its.l) - 1e-9,
        "recursive": lambda: recursive(its, group),
        "simple-l": lambda: largest(its, group, tree) <= Fraction(1, its.l),
        "confidence": lambda: largest(its, group, tree) <= exact(its.bound),
        "alpha-k": lambda: largest(its, group, tree) <= exact(its.alpha) and len(group) >= its.k,
        "t": lambda: emd(group, everyone, tree, its.distance) <= its.t + 1e-9,
        "k-e": lambda: numbers(its, group, tree),
        "beta": lambda: likeness(its, group, everyone),
        "delta-disclosure": lambda: disclosed(its, group, everyone),
        "personalized": lambda: personalized(its, group, tree),
        "m-unique": lambda: len(set(group)) == len(group) >= its.m,
    }
    return bool(judges[part.name]())
