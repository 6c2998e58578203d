"""Correspondence attacks: releases of a growing table, subtracted from each other."""
