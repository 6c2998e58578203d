"""Methods that generalize whole columns: Incognito and top-down specialization."""
