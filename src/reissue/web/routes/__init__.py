"""The pages, a module for each step of the path: they read forms, call the library or start a job, and show."""
