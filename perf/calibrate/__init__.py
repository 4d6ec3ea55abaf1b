"""How good the decision rule is, on recorded process runs. Imports neither jax nor torch."""
