"""People in a series: who may be in which group of which release, for those who know groups or have a register."""
