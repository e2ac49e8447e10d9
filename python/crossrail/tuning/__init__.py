"""Tuning: candidates, measuring them in rounds, deciding, writing tables."""
