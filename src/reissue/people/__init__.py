"""People in a series: who may be in which group of which release, for those who know groups or have a register."""

from reissue.people.candidates import Sighting, by_groups, by_register, from_copy, own_register
from reissue.people.crowd import Crowd, crowd_of

__all__ = ["Crowd", "Sighting", "by_groups", "by_register", "crowd_of", "from_copy", "own_register"]
