"""What backends refuse, on imaginary machines, and what they promise."""

import re

import pytest

from perf.backends import BY_NAME
from perf.backends.jax_program import custom_calls
from perf.capability import Machine, Supported, Unsupported
from perf.cases import AttentionCase, Direction
from perf.machine import version

CPU = Machine()
HOPPER = Machine(compute_capability=(9, 0), cudnn=(9, 19, 0))
AMPERE = Machine(compute_capability=(8, 0), cudnn=(9, 19, 0))
TURING = Machine(compute_capability=(7, 5), cudnn=(9, 19, 0))
OLD_CUDNN = Machine(compute_capability=(9, 0), cudnn=(8, 9, 2))
NO_CUDNN = Machine(compute_capability=(9, 0))


def _case(**fields: object) -> AttentionCase:
    base = {"batch": 1, "q_len": 256, "kv_len": 256, "q_heads": 8, "kv_heads": 8, "head_dim": 128}
    return AttentionCase(**(base | {"dtype": "bfloat16", "mask": "causal"} | fields))  # type: ignore[arg-type]  # a table of fields


FP8 = {"dtype": "float8_e4m3fn"}


@pytest.mark.parametrize(
    ("backend", "direction", "fields", "machine", "said"),
    [
        ("jax_cudnn", "forward", {}, CPU, "no-gpu: needs an NVIDIA GPU of compute capability 8.0"),
        ("jax_cudnn", "forward", {}, TURING, "compute-capability: needs 8.0 or newer, found 7.5"),
        ("jax_cudnn", "forward", {}, OLD_CUDNN, "cudnn-too-old: needs cuDNN 8.9.4 or newer, found 8.9.2"),
        ("jax_cudnn", "forward", {}, NO_CUDNN, "cudnn-too-old: .* found none"),
        (
            "jax_cudnn",
            "forward",
            {"dtype": "float32"},
            HOPPER,
            "dtype: needs bfloat16 or float16, found float32",
        ),
        (
            "jax_cudnn",
            "forward",
            {"head_dim": 264},
            HOPPER,
            "head-size: needs 8 to 256 in steps of 8",
        ),
        (
            "jax_cudnn",
            "forward",
            {"head_dim": 60},
            HOPPER,
            "head-size: needs 8 to 256 in steps of 8",
        ),
        (
            "jax_cudnn",
            "forward",
            {"head_dim": 256},
            AMPERE,
            "head-size: needs 8 to 128 in steps of 8",
        ),
        ("jax_cudnn_fp8", "forward", FP8, AMPERE, "compute-capability: needs 9.0 or newer, found 8.0"),
        ("jax_cudnn_fp8", "forward", {}, HOPPER, "dtype: needs float8_e4m3fn, found bfloat16"),
        (
            "jax_cudnn_fp8",
            "forward",
            FP8 | {"head_dim": 264},
            HOPPER,
            "head-size: needs 16 to 256",
        ),
        (
            "jax_cudnn_fp8",
            "backward",
            FP8 | {"head_dim": 64},
            HOPPER,
            "head-size: needs 128, found 64",
        ),
        (
            "jax_cudnn_fp8",
            "training_step",
            FP8 | {"q_len": 200},
            HOPPER,
            "sequence-length: needs multiples of 128, found 200 and 256",
        ),
        ("jax_xla", "forward", {"dtype": "float16"}, CPU, "no-gpu: needs a GPU for float16"),
        (
            "jax_auto",
            "forward",
            FP8,
            HOPPER,
            "dtype: needs float32, bfloat16 or float16, found float8_e4m3fn",
        ),
        ("jax_cudnn", "forward", {"mask": "causal_br"}, HOPPER, "mask: needs none, causal, padding or"),
        ("jax_xla", "forward", {"bias": "alibi"}, HOPPER, "bias: needs none or dense, found alibi"),
        ("jax_xla", "forward", {"score": "softcap"}, HOPPER, "score: needs plain, found softcap"),
        ("jax_cudnn_fp8", "forward", FP8 | {"window": 9}, HOPPER, "window: needs none, found 9"),
        ("naive", "backward", {}, CPU, "no-gpu: needs a GPU for gradients in bfloat16"),
    ],
)
def test_a_refusal_names_need_and_found(
    backend: str, direction: Direction, fields: dict[str, object], machine: Machine, said: str
) -> None:
    """A value with its code, before anything is compiled."""
    answer = BY_NAME[backend].supports(_case(**fields), direction, machine)
    assert isinstance(answer, Unsupported)
    assert re.match(said, str(answer)), str(answer)


@pytest.mark.parametrize(
    ("backend", "direction", "fields", "machine"),
    [
        ("jax_cudnn", "training_step", {"head_dim": 256}, HOPPER),
        ("jax_cudnn", "forward", {"dtype": "float16"}, AMPERE),
        ("jax_cudnn_fp8", "backward", FP8, HOPPER),
        ("jax_cudnn_fp8", "forward", FP8 | {"q_len": 200, "head_dim": 64}, HOPPER),
        ("naive", "forward", {}, CPU),
        ("naive", "backward", {"dtype": "float32"}, CPU),
        ("jax_xla", "training_step", {}, CPU),
    ],
)
def test_what_can_run_is_not_refused(
    backend: str, direction: Direction, fields: dict[str, object], machine: Machine
) -> None:
    """The limits themselves are inside."""
    assert BY_NAME[backend].supports(_case(**fields), direction, machine) == Supported()


BF16 = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0"
FP8_KERNEL = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f8_knob_32_64x256x128_4x1x1_kernel0_0"
CALLS = ("__cudnn$fmhaSoftmax",)


def test_an_unfused_kernel_breaks_the_promise() -> None:
    """Asked for cuDNN and a product of XLA ran: the text gives both."""
    backend = BY_NAME["jax_cudnn"]
    assert backend.broken_promise("forward", [BF16], CALLS) is None
    told = backend.broken_promise("forward", ["gemm_fusion_dot_6", "triton_softmax_2"], CALLS)
    assert told == "promised a fused cuDNN attention kernel, ran gemm_fusion_dot_6, triton_softmax_2"
    assert "compiled custom calls: none" in str(backend.broken_promise("forward", [], ()))


def test_without_sight_of_kernels_the_custom_call_decides() -> None:
    """The host clock sees none."""
    for name, calls in (("jax_cudnn", CALLS), ("jax_cudnn_fp8", ("__cudnn$fmhaSoftmaxF8",))):
        assert BY_NAME[name].broken_promise("forward", [], calls) is None


def test_a_gradient_has_its_own_promise() -> None:
    """A step whose gradient ran in bf16 is no FP8 step, whatever its forward ran."""
    backend = BY_NAME["jax_cudnn_fp8"]
    calls = ("__cudnn$fmhaSoftmaxBackwardF8", "__cudnn$fmhaSoftmaxF8")
    backward = FP8_KERNEL.replace("fprop", "bprop")
    assert backend.broken_promise("training_step", [FP8_KERNEL, backward], calls) is None
    assert backend.broken_promise("backward", [backward], calls) is None
    told = backend.broken_promise("training_step", [FP8_KERNEL, BF16.replace("fprop", "bprop")], calls)
    assert str(told).startswith("promised a fused cuDNN FP8 backward kernel, ran ")
    assert backend.broken_promise("backward", [FP8_KERNEL], calls) is not None


def test_what_is_left_open_breaks_no_promise() -> None:
    """XLA's own kernels are right for those who asked for no other."""
    for name in ("naive", "jax_auto", "jax_xla"):
        assert BY_NAME[name].broken_promise("forward", ["gemm_fusion_dot_6"], ()) is None


def test_a_bf16_kernel_is_no_fp8() -> None:
    """Asked for FP8 and the bf16 kernel ran."""
    backend = BY_NAME["jax_cudnn_fp8"]
    calls = ("__cudnn$fmhaSoftmaxF8",)
    assert backend.broken_promise("forward", [FP8_KERNEL], calls) is None
    assert BF16 in str(backend.broken_promise("forward", [BF16], calls))


def test_custom_calls_are_read_from_the_program() -> None:
    """Each target once, sorted."""
    text = 'a = custom-call(), custom_call_target="b$x"\nc = custom-call(), custom_call_target="a"\n' * 2
    assert custom_calls(text) == ("a", "b$x")


def test_versions_are_compared_as_numbers() -> None:
    """9.14 is newer than 9.9."""
    newer, older = version("9.14.0"), version("9.9.0")
    assert newer is not None
    assert older is not None
    assert newer > older
