"""m-invariance (Xiao and Tao, SIGMOD 2007; section III of He, Barman and Naughton, ICDE 2011, definitions 1 to 4).

People come and go, their sensitive values stay. Every release is m-unique: groups of at least m records, all of
different values. A group's set of values is its signature, and a record stands in groups of one signature as long as
it lives, also when it comes back after an absence: so who intersects the groups of all releases learns nothing more.

Four steps: *divide* survivors into buckets by signature; *balance* each bucket with new records, and with counterfeits
where there are none; *assign* the other new records to buckets; *split* each bucket into groups with one record of
each value. A counterfeit's quasi-identifiers are those of a record of its group, so the box is that of real records.

O(attributes x records x log(largest bucket)), dominated by the splitting; see `buckets` and `split`.
"""

import numpy as np

from reissue._arrays import Codes
from reissue.methods.invariance.plan import (
    FORM,
    INELIGIBLE,
    KEEPS_VALUES,
    Draws,
    Situation,
    codes_of,
    form_of,
    m_of,
    near,
    same_parameters,
)
from reissue.methods.invariance.register import RegisterState
from reissue.methods.invariance.regroup import Kinds, regroup
from reissue.methods.invariance.split import split
from reissue.methods.registry import Job, Trait, algorithm
from reissue.release.release import Counterfeits, Draft

__all__ = ["invariance"]


@algorithm(
    "invariance",
    "m-invariance for series in which people come and go: groups of m different values, the same for a lifetime.",
    traits=Trait.RANDOM | Trait.CONSTANT_VALUES | Trait.GROUPS_BY_VALUE,
    options={"form": FORM, "ineligible": INELIGIBLE},
    state=RegisterState,
    m_requirement="m-unique",
    remedies=dict.fromkeys(("joint", "updates"), KEEPS_VALUES),
    whole_table="it follows people through a series and exchanges new ones between all buckets",
)
def invariance(job: Job) -> Draft:
    """Group the rows of the next table of a series; see the module's docstring."""
    m = m_of(job, "invariance")
    same_parameters(job, m=m)
    situation = Situation.of(job)
    plan = Draws(situation, m)
    lacking = plan.balance(counterfeits=job.options["ineligible"] == "counterfeits")
    plan.assign()
    places = plan.places()
    added = places.rows >= 0
    signature = situation.recall.signature.copy()
    signature[places.rows[added]] = places.signature[added]
    cell = np.repeat(np.arange(lacking.size), lacking.reshape(-1))
    fake_signature = np.concatenate([places.signature[~added], cell // situation.width]).astype(np.int32)
    fake_value = np.concatenate([places.value[~added], cell % situation.width]).astype(np.int32)
    job.progress(0.3)
    draft, signature = _split(situation, signature, fake_signature, fake_value)
    state = RegisterState(situation.publish(signature), plan.signatures.member, m)
    notes = {
        "signatures": len(np.unique(signature)),
        "new": len(situation.new),
        "left": len(situation.recall.left.people),
    }
    return Draft(draft.groups, form=form_of(job), counterfeits=draft.counterfeits, state=state, notes=notes)


def _split(situation: Situation, signature: Codes, fake_signature: Codes, fake_value: Codes) -> tuple[Draft, Codes]:
    """Split the buckets, counterfeits among the records; then give each counterfeit values inside its group's box.

    Where new people of one value change places for better boxes, they change signatures too.
    """
    job = situation.job
    table, rows, fakes = job.table, job.table.rows, len(fake_value)
    codes = table.codes
    if fakes:
        codes = np.hstack([codes, codes[:, near(job.rng, fake_signature, signature)]])
    bucket, value = np.concatenate([signature, fake_signature]), np.concatenate([situation.values, fake_value])
    groups = split(codes, bucket, value, table.taxonomies)
    groups, bucket = regroup(codes, groups, Kinds(bucket, value, situation.new, rows), table.taxonomies)
    if not fakes:
        return Draft(groups), bucket
    mates = near(job.rng, groups[rows:], groups[:rows])
    alone = ~np.isin(groups[rows:], groups[:rows])
    quasi = np.where(alone, codes[:, rows:], table.codes[:, mates])
    meaning = codes_of(job, fake_value)
    return Draft(groups[:rows], counterfeits=Counterfeits(groups[rows:], quasi, meaning)), bucket[:rows]
