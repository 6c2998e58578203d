"""The page for stewards."""
