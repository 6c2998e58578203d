"""The trajectory attack: who can be recognized by what releases show of the same person, one after the other."""
