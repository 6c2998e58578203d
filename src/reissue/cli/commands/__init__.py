"""The commands, one module each: it parses its options, calls the library and shows the outcome."""
