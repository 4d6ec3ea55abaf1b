"""`jax.nn.dot_product_attention` with the implementation left open: the record says what was chosen."""

from perf.backends.jax_nn import attention, refuse
from perf.backends.jax_program import JaxBackend

BACKEND = JaxBackend(
    name="jax_auto",
    summary="jax.nn.dot_product_attention, implementation left open",
    attention=attention(None),
    refuse=refuse,
)
