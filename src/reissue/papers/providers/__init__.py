"""m-privacy: groups that withstand colluding providers."""
