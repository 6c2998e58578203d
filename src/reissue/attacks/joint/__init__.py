"""The joint attack: everyone's posterior in all releases together (see the concept page "The joint attack").

The attacks of the papers follow one person and treat the groups of different releases as independent evidence. But all
groups are equations about the same people. This attack solves them together (`reissue.solver`) and says how likely each
person is linked to a value, now or in the past.

- `sight`: who may be in which group, by what the adversary knows;
- `update_model`, `holder`: how values change, as somebody says or the data teach;
- `window`: a window of releases is solved and judged; `attack` does so for an audit, `state` for a ledger;
- `confidence`, `finding`: the value of each person that comes closest to its limit, and the verdict;
- `story`: the worst case, explained.
"""

from reissue.attacks.joint.attack import joint

__all__ = ["joint"]
