"""This machine: what it is, what works on it."""
