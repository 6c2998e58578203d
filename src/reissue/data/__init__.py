"""Tables and files: what comes in, and what goes out whole or not at all."""
