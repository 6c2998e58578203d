"""The page for stewards: access on loopback only, jobs in processes of their own, pages that call the library."""
