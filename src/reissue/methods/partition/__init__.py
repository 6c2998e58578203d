"""Methods that split the table into groups, top-down: Mondrian and pool."""
