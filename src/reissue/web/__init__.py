"""The page for stewards: a door on loopback, jobs in processes of their own, and pages that call the library."""
