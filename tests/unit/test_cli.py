"""The command line: exit codes, help, unusable input. Comparing files is tested in ``compare``."""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perf import cli
from perf.cli import COMMANDS, main
from perf.commands.parser import EXIT_CODES
from perf.environment.fingerprint import PACKAGES

ROOT = Path(__file__).parents[2]
NAMES = tuple(module.__name__.rpartition(".")[2].replace("list_keys", "list") for module in COMMANDS)
F32 = "naive/forward/B4-T128-S128-N8-K8-H64-f32-none"
CUDNN = "jax_cudnn/forward/B4-T128-S128-N8-K8-H64-bf16-causal"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process: its exit code, output and error text."""

    def started(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as error:  # argparse ends so
            code = int(str(error.code))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return started


def test_exit_codes_are_few_and_in_words() -> None:
    """A count of regressions could wrap to 0: there are four codes, and help says what they mean."""
    codes = [line.split(maxsplit=1)[0] for line in EXIT_CODES.splitlines()[1:]]
    assert codes == ["0", "1", "2", "3"]


@pytest.mark.parametrize("arguments", [(), *((name,) for name in NAMES), ("baseline", "record")])
def test_help_lists_the_exit_codes(run: Run, arguments: tuple[str, ...]) -> None:
    """Wherever somebody asks."""
    code, out, _ = run(*arguments, "--help")
    assert code == 0
    if arguments != ("baseline",):  # which only leads to those below it
        assert EXIT_CODES in out


def test_help_lists_every_command(run: Run) -> None:
    """A command that is declared is found."""
    _, out, _ = run("--help")
    assert [name for name in NAMES if f"    {name}" not in out] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("measure",), "invalid choice: 'measure'"),
        (("list", "--bogus"), "unrecognized arguments: --bogus"),
        (("doctor", "now"), "unrecognized arguments: now"),
        (("list", "--tags", "nope"), "error: --tags: expected names among smoke, gate, full"),
        (("list", "--backends", "cudnn"), "error: --backends: expected names among naive, jax_auto"),
        (("list", "--direction", "up"), "error: --direction: expected names among forward"),
        (("list", "--case", "*T77777*"), "error: no key matches"),
        (("compare", "only-one.json"), "error: expected BASE HEAD"),
        (("compare", "a.json", "b.json"), "error: a.json: cannot be read"),
        (("thresholds", "--file", "none.toml"), "error: none.toml: cannot be read"),
        (("baseline",), "the following arguments are required: COMMAND"),
        (("baseline", "record", "--runs", "4"), "error: --runs: expected at least 5, found 4"),
        (("baseline", "record", "--runs", "many"), "invalid int value: 'many'"),
        (("baseline", "accept", "x.json"), "the following arguments are required: --reason"),
        (("baseline", "accept", "x.json", "--reason", "y"), "error: x.json: cannot be read"),
        (("baseline", "show", "none.json"), "error: none.json: cannot be read"),
        (("baseline", "diff", "one.json"), "error: expected OLD NEW"),
        (("baseline", "check", "nowhere"), "error: nowhere: cannot be read: No such file"),
        (("selftest", "--runs", "0"), "error: --runs: expected at least 1, found 0"),
        (("calibrate",), "error: expected a folder of recordings, or --scale"),
        (("calibrate", "nowhere"), "error: nowhere: expected *.jsonl.gz files, found none"),
    ],
)
def test_input_that_cannot_be_used_ends_with_2(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    """The text names option or file, what was expected and what was found; there is no traceback."""
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_a_check_of_no_baselines_is_no_pass(run: Run, tmp_path: Path) -> None:
    """A misspelt folder is not without fault."""
    code, _, err = run("baseline", "check", str(tmp_path))
    assert code == 2
    assert "expected a folder for each GPU, found none" in err


def test_the_committed_baselines_are_without_fault(run: Run) -> None:
    """As a review of a change to them would check."""
    code, out, _ = run("baseline", "check", str(ROOT / "baselines"))
    assert (code, out.splitlines()[-1].endswith(", 0 faults")) == (0, True), out


def test_a_mistake_of_ours_is_no_unusable_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only errors about input become exit code 2; another one keeps its traceback."""

    def broken(_: argparse.Namespace) -> int:
        raise TypeError("a mistake")

    monkeypatch.setattr("perf.commands.thresholds.print_thresholds", broken)
    with pytest.raises(TypeError, match="a mistake"):
        main(["thresholds"])


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Choose the machine that commands find: a CPU, or an H200 with some cuDNN."""
    from perf import environment
    from perf.records.schema import Environment, Gpu

    def chosen(*, gpu: bool, cudnn: str | None = "9.19.0", packages: dict[str, str] | None = None) -> None:
        h200 = Gpu(
            name="NVIDIA H200",
            slug="nvidia-h200",
            uuid="GPU-1",
            count=1,
            memory_bytes=150_754_820_096,
            mig=False,
            ecc=True,
            compute_capability="9.0",
        )
        here = Environment(
            slug="nvidia-h200" if gpu else "cpu-x86-64",
            gpu=h200 if gpu else None,
            driver="580.65" if gpu else None,
            cuda="13.0" if gpu else None,
            cudnn=cudnn if gpu else None,
            packages=packages or {"jax": "0.11.2"},
            flags={},
            python="3.12.3",
            os="Ubuntu",
            machine="x86_64",
            libraries=[],
        )
        monkeypatch.setattr(environment, "environment", lambda **_: here)

    return chosen


def test_list_on_a_cpu(run: Run, on: Callable[..., None]) -> None:
    """The smoke keys, each with whether it runs or why not, and where its shape comes from."""
    on(gpu=False)
    code, out, _ = run("list")
    assert code == 0
    lines = out.splitlines()
    (f32,) = [line for line in lines if line.startswith(f"{F32} ")]
    assert f32.startswith(f"{F32}  runs  (codelab-default: A1-A3, A5: ")
    (cudnn,) = [line for line in lines if line.startswith(f"{CUDNN} ")]
    assert "no-gpu: needs an NVIDIA GPU of compute capability 8.0 or newer, found a CPU" in cudnn
    keys = [line for line in lines if line.count("/") >= 2 and "  " in line]
    assert f"{len(keys) - 2} would run, 2 would not, on cpu-x86-64" in lines


def test_list_on_a_gpu(run: Run, on: Callable[..., None]) -> None:
    """The gate, and all of it can run on an H200 with a cuDNN of this year and every package."""
    on(gpu=True, packages=dict.fromkeys(PACKAGES, "1"))
    _, out, _ = run("list")
    count = int(out.splitlines()[-2].split(" would run", maxsplit=1)[0])
    assert 60 <= count <= 100
    assert f"{count} would run, 0 would not, on nvidia-h200" in out


def test_list_without_the_optional_packages(run: Run, on: Callable[..., None]) -> None:
    """What is missing is named by the name that one installs."""
    on(gpu=True)
    _, out, _ = run("list", "--backends", "te,torch_flash,tokamax_mosaic,cudnn_graph,block_xla")
    for name in ("transformer-engine-jax", "torch", "tokamax", "nvidia-cudnn-frontend", "flax"):
        assert f"package-missing: needs {name}, found not installed" in out
    assert "0 would run" in out


def test_list_on_a_gpu_with_an_old_cudnn(run: Run, on: Callable[..., None]) -> None:
    """What needs a newer one says which, and which was found."""
    on(gpu=True, cudnn="8.9.2")
    _, out, _ = run("list", "--backends", "jax_cudnn,jax_cudnn_fp8")
    assert "cudnn-too-old: needs cuDNN 8.9.4 or newer, found 8.9.2" in out
    assert "cudnn-too-old: needs cuDNN 9.1.0 or newer, found 8.9.2" in out
    assert "\n0 would run, " in out


def test_list_names_every_backend(run: Run, on: Callable[..., None]) -> None:
    """With a line about each."""
    from perf.backends import BACKENDS

    on(gpu=False)
    last = run("list")[1].splitlines()[-1]
    assert [b.name for b in BACKENDS if f"{b.name}: {b.summary}" not in last] == []


def test_list_takes_the_same_selection_as_pytest(run: Run, on: Callable[..., None]) -> None:
    """What it prints for these options is what would be timed."""
    on(gpu=False)
    _, out, _ = run("list", "--tags", "gate", "--backends", "naive", "--case", "*T1024*")
    assert out.splitlines()[0].startswith("naive/forward/B4-T1024-S1024-N8-K8-H64-f32-none  runs")
    assert out.splitlines()[1].startswith("1 would run, 0 would not")


@pytest.mark.parametrize("status", [0, 1, 3])
def test_run_passes_options_and_status_through(
    run: Run, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """`python -m perf run` is `pytest perf`, from any folder."""
    asked: list[tuple[list[str], Any]] = []

    def started(command: list[str], *, check: bool, cwd: Path) -> subprocess.CompletedProcess[str]:
        assert not check
        asked.append((command, cwd))
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr("perf.commands.run.subprocess.run", started)
    assert run("run", "--tags", "smoke", "-k", "f32", "--", "--lf")[0] == status
    assert asked == [([sys.executable, "-m", "pytest", "perf", "--tags", "smoke", "-k", "f32", "--lf"], ROOT)]


def test_unknown_options_of_recording_go_to_pytest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own options stay with it."""
    seen: list[argparse.Namespace] = []

    def record(arguments: argparse.Namespace) -> int:
        seen.append(arguments)
        return 0

    monkeypatch.setattr("perf.commands.baseline.record_baseline", record)
    run("baseline", "record", "--tags", "gate", "--runs", "7", "--l2", "cold", "--reason", "new driver")
    assert seen[0].rest == ["--tags", "gate", "--l2", "cold"]
    assert (seen[0].runs, seen[0].reason) == (7, "new driver")


def test_thresholds_can_be_read_again(run: Run, tmp_path: Path) -> None:
    """What is printed is the file in force, without its comments."""
    code, out, _ = run("thresholds")
    again = tmp_path / "again.toml"
    again.write_text(out, encoding="utf-8")
    assert (code, run("thresholds", "--file", str(again))[1]) == (0, out)


def test_the_documents_are_fresh(run: Run) -> None:
    """As CI asks."""
    assert run("docs", "--check")[:2] == (0, "")


def test_a_reader_that_stops_early_is_no_error() -> None:
    """`python -m perf list | head` ends quietly."""
    command = f"{sys.executable} -m perf list --tags full | head -n 1"
    done = subprocess.run(["bash", "-c", command], check=False, cwd=ROOT, capture_output=True, text=True)  # noqa: S607 - the user's shell
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_without_our_characters_costs_nothing(encoding: str) -> None:
    """As under LC_ALL=C: they are written in escapes, and the exit code stays what it is."""
    done = subprocess.run(
        [sys.executable, "-m", "perf", "baseline", "show"],
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "µs".encode(encoding, "backslashreplace") in done.stdout


def test_commands_are_declared_once() -> None:
    """Two commands of one name would hide one of them."""
    assert len(set(NAMES)) == len(cli.COMMANDS)
