"""`jax.nn.dot_product_attention(implementation="xla")`: XLA's own fusions; O(T·S) memory."""

from perf.backends.jax_nn import attention, refuse
from perf.backends.jax_program import JaxBackend

BACKEND = JaxBackend(
    name="jax_xla",
    summary='jax.nn.dot_product_attention(implementation="xla")',
    attention=attention("xla"),
    refuse=refuse,
)
