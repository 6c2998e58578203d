"""The attack by mechanism: the adversary knows the algorithm itself."""
