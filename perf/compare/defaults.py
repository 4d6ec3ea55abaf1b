"""The thresholds in force where no file says otherwise, each number with its reason."""

from perf.compare.thresholds import (
    BackendClass,
    Budget,
    CompileTime,
    ErrorGrowth,
    Level,
    Memory,
    Thresholds,
)

_FUSED = BackendClass(
    name="fused",
    backends=["*cudnn*", "transformer_engine*", "te_*", "torch_sdpa*", "tokamax*"],
    clock="device",
    interest=0.01,  # a library's release moves fused kernels by 2-4 %; half of the smallest of these
    floor_us=0.05,  # one step of CUPTI's clock is 0.032 us: less can be rounding alone
    same_within=0.02,
    typical_spread=0.003,  # most fused kernels repeat within 0.1-0.5 % between process runs
    machine_spread=0.008,  # two H200 differ by 0.2-2.3 % in single kernels
)
_COMPILED = BackendClass(
    name="compiled",
    backends=["*"],
    clock="device",
    interest=0.02,  # XLA's autotuner takes other kernels in other processes: smaller is its choice
    floor_us=0.1,
    same_within=0.05,
    typical_spread=0.01,
    machine_spread=0.01,
)
_HOST = BackendClass(
    name="host",
    backends=["*"],
    clock="host",
    interest=0.10,  # wall time between process runs moves by 6 % and more
    floor_us=5.0,  # a Python call's dispatch; less is the interpreter
    same_within=0.25,
    typical_spread=0.05,
    machine_spread=0.10,
)

DEFAULTS = Thresholds(
    schema=1,
    tail_df=3.0,  # the fewest with a finite variance
    level=Level(run=0.001, suspicion=0.02, miss=0.02),
    budget=Budget(looks=3, processes_per_look=2, seconds=1800.0),
    memory=Memory(growth=0.01, floor_bytes=1 << 20),
    error=ErrorGrowth(factor=2.0, share_of_limit=0.25),
    compile_time=CompileTime(growth=1.0, floor_s=2.0, fails=False),
    **{"class": [_FUSED, _COMPILED, _HOST]},
)
