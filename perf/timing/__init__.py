"""Clocks, the plan of rounds, and the checks that a sample must pass."""
