"""The joint attack: everyone at once (see the concept page "Everyone at once").

The attacks of the papers follow one person and take the groups of different releases for independent evidence. A reader
need not: all groups are equations about the same people. This attack solves them together and says how surely each
person is linked to a value, now or in the past. `beliefs` has the mathematics, `sight` what the reader knows, `finding`
the outcome.
"""

from reissue.attacks.joint.attack import joint

__all__ = ["joint"]
