"""A release in the making: what an algorithm decided, what goes out, and what a series remembers."""
