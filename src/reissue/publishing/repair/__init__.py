"""Repair: what is done to a release that exposes few people, before it is refused."""
