"""Solving a series for everyone at once: what is believed of people, and what older releases leave behind."""
