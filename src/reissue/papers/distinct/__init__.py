"""m-Distinct: values that change, and groups that a history does not narrow down."""
