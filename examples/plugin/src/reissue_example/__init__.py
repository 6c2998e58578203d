"""An attack, a method, a requirement and an engine for Reissue, one file each."""
