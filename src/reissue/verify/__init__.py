"""Checks of what published columns satisfy, by code that shares no arithmetic with the methods."""
