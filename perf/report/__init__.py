"""Reports of records and comparisons: terminal, Markdown, JSON. Imports neither jax nor torch."""
