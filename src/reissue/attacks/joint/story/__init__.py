"""The story of the joint attack's worst case: what to tell, in which steps, with which picture."""
