"""Machines as files, and the engine run on their simulated ranks in simulated time."""
