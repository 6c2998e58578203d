"""Data: tables as integer codes, their identifiers, and the files that a command reads and writes."""
