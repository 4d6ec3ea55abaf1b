"""The record: one pytest-benchmark JSON file with our fields. Imports neither jax nor torch."""
