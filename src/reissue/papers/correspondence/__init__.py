"""The next release of a growing table, safe against correspondence attacks with all earlier ones."""
