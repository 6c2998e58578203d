"""Publishing: one release, a series, the gate before a release, the attack door, and the plan of a series."""
