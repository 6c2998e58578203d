"""Methods and attacks of the five papers that the default path of `attack` and `publish` does not need."""
