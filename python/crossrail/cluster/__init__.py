"""A cluster of hosts that lives on one machine."""
