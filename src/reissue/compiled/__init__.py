"""Loops that Numba compiles, where it is installed. Beside each is a way in NumPy that gives the same, bit by bit."""
