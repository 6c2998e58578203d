"""Tables in which people have several rows: how the methods that can make groups of people, and not of rows.

Methods that group rows freely (pool, mondrian) get one record for each person and never see the rows. It carries the
set of all their values, and on each attribute the lowest node over all their rows: a leaf if these agree, else a leaf
of its own that is added under the node, so that whoever is grouped with it is generalized to the node. (Where any range
may be published: the middle one of their values.) All rows of a person then go where the record goes, and the box of a
group covers all of them: a person is in one group, with everything that they have. Methods that publish every value in
the same way throughout the table (topdown, incognito) keep rows where they are, so that a person may be in several
groups, and count the different people of each.

O(rows log rows) beside the method itself.
"""

from dataclasses import replace

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Domain
from reissue.counting.keys import rank
from reissue.counting.people import ValueSets, value_sets
from reissue.data.table import Table
from reissue.methods.registry import Algorithm, Job
from reissue.release.release import Draft
from reissue.requirements.adapters import of_people
from reissue.taxonomy.tree import Level, Taxonomy

__all__ = ["run_method"]


def run_method(method: Algorithm, job: Job) -> Draft:
    """Run a method; where people have several rows, on one record for each person if it groups rows freely."""
    if job.table.people is None or method.several_rows != "together":
        return method.run(job)
    people = rank(job.table.people)[0]
    sets = value_sets(people, job.table.sensitive, job.table.domain)
    draft = method.run(
        replace(job, table=_one_each(job.table, people, sets), requirement=of_people(job.requirement, sets))
    )
    return replace(draft, groups=draft.groups[people])


def _one_each(table: Table, people: Ints, sets: ValueSets) -> Table:
    """One row for each person: where their rows are, with the number of their set of values."""
    first = np.unique(people, return_index=True)[1]
    placed = [_placed(codes, people, taxonomy) for codes, taxonomy in zip(table.codes, table.taxonomies, strict=True)]
    codings = tuple(replace(one, taxonomy=its) for one, (its, _) in zip(table.codings, placed, strict=True))
    codes = np.stack([codes for _, codes in placed])
    domain, frame = Domain(np.bincount(sets.of_person, minlength=sets.number)), table.frame[first]
    return replace(
        table,
        codings=codings,
        codes=codes,
        sensitive=sets.of_person,
        domain=domain,
        frame=frame,
        people=None,
    )


def _placed(codes: Codes, people: Ints, taxonomy: Taxonomy) -> tuple[Taxonomy, Codes]:
    """Where each person is on one attribute, and the taxonomy in which that is a leaf."""
    order = np.lexsort((codes, people))
    rows = np.bincount(people)
    first = np.cumsum(rows) - rows
    lo, hi = codes[order[first]], codes[order[first + rows - 1]]
    if taxonomy.runs:
        return taxonomy, codes[order[first + (rows - 1) // 2]]
    level, end = taxonomy.lowest(lo, hi), taxonomy.snap(lo, hi)[1]
    nodes, of_person = np.unique(np.stack([end, level]), axis=1, return_inverse=True)
    made, leaves = _with_leaves(taxonomy, nodes[0], nodes[1])
    return made, leaves[of_person.reshape(-1)]


def _with_leaves(taxonomy: Taxonomy, ends: Codes, levels: Codes) -> tuple[Taxonomy, Codes]:
    """A taxonomy in which some nodes, given by their last leaf and level, have a leaf of their own, and these leaves.

    It comes after all other leaves of its node, at the place of the last one, so that covering it covers the node.
    """
    wide = np.flatnonzero(levels > 0)
    end = np.append(np.arange(taxonomy.size), ends[wide])
    height: Ints = np.concatenate([np.zeros(taxonomy.size, np.int64), levels[wide]])
    order = np.lexsort((height, end))
    end, height, number = end[order], height[order], np.arange(len(order))
    made = []
    for at, level in enumerate(taxonomy.levels):
        # Below its node an added leaf is a node by itself.
        label = np.where(height > at, -1 - number, level.node[end])
        node = np.cumsum(np.diff(label, prepend=label[:1]) != 0).astype(np.int32)
        made.append(Level(node, ("",) * (int(node[-1]) + 1)))
    place = np.empty(len(order), np.int32)
    place[order] = number
    leaves = place[ends]
    leaves[wide] = place[taxonomy.size :]
    return replace(taxonomy, levels=tuple(made), positions=taxonomy.positions[end], missing=False), leaves
