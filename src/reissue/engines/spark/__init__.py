"""The engine `spark`: Spark DataFrames in and out, counted and rewritten where they lie."""
