"""Publishing: one release, a series, the gate before a release, and the attack door."""
