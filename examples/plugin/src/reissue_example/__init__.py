"""An attack, a method and a requirement for Reissue, one file each."""
