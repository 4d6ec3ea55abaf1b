"""The commands beside pytest: one module and one row in `perf.cli` each.

A command module declares its options in ``add`` and does its work in a function that returns an exit code.
Heavy packages are imported inside that function: comparing two files needs neither jax nor a GPU.
"""
