"""This package holds the requests for benches, runs the programs of bench/, and reads what they measured."""
