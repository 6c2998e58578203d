"""Cohorts: people who enter a series together and stay together in it, so that who is who cannot be told."""
