"""Engines: where rows lie and who counts them. Methods and checks decide on counts, and never ask."""
