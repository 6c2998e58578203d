"""The equivalence attack: who is shown to have the same value as whom."""
