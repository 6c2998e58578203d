"""Tables larger than memory: a release that goes to a folder, made region by region."""
