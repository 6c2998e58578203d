"""The minimality attack: the adversary knows that nothing is generalized without need."""
