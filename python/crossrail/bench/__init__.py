"""Benches: what is asked for, running the programs of bench/, what they measured."""
