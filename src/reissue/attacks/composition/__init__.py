"""The composition attack: what is left for someone known to be in several releases, from the files alone."""
