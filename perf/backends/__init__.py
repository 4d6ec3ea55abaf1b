"""The backends: one module and one row each. Heavy packages are imported when a case is built."""

from perf.backends import jax_auto, jax_cudnn, jax_cudnn_fp8, jax_xla, naive
from perf.backends.base import Backend

BACKENDS: tuple[Backend, ...] = (
    naive.BACKEND,
    jax_auto.BACKEND,
    jax_xla.BACKEND,
    jax_cudnn.BACKEND,
    jax_cudnn_fp8.BACKEND,
)

BY_NAME: dict[str, Backend] = {backend.name: backend for backend in BACKENDS}
