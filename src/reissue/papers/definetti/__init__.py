"""The deFinetti attack: what the other groups teach about one group."""
