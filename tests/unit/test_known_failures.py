"""The file of known failures: read strictly, no stale entry, versions."""

from pathlib import Path

import pytest

from perf.folders import BASELINES
from perf.known_failures import KnownFailure, KnownFailuresError, load

KEY = "jax_cudnn/forward/B4-T128-S128-N8-K8-H64-bf16-causal"
ENTRY = f"""
[[failure]]
key = "{KEY}"
versions = {{ cudnn = ">=9.19,<9.20", jax = ">=0.11" }}
seen = "dV is wrong"
right = "dV is right"
link = "not reported"
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "known_failures.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _failure(*, key: str = KEY, **versions: str) -> KnownFailure:
    return KnownFailure(key=key, versions=versions, seen="wrong", right="right", link="not reported")


def test_an_entry_is_read(tmp_path: Path) -> None:
    """What is seen, what is right, and where it was reported stay with the key."""
    (found,) = load(_file(tmp_path, f"schema = 1\n{ENTRY}"))
    assert (found.key, found.seen, found.right, found.link) == (
        KEY,
        "dV is wrong",
        "dV is right",
        "not reported",
    )


def test_a_file_without_entries_expects_nothing(tmp_path: Path) -> None:
    """An empty list is a file too."""
    assert load(_file(tmp_path, "schema = 1\n")) == ()


def test_the_committed_file_can_be_used() -> None:
    """Every run reads it: an entry that became stale would stop them all."""
    assert all(failure.link for failure in load(BASELINES / "known_failures.toml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema = 2\n", "schema: Input should be less than or equal to 1"),
        ("", "schema: Field required"),
        ("schema = 1\ncolour = 'blue'\n", "colour: Extra inputs are not permitted"),
        ("schema = 1\n[[failure]]\nkey = 'naive/*'\n", r"failure\.0\.seen: Field required"),
        (f"schema = 1\n{ENTRY}reason = 'x'\n", r"failure\.0\.reason: Extra inputs are not permitted"),
        (
            f"schema = 1\n{ENTRY}".replace(">=0.11", "0.11 or so"),
            r"failure\.0\.versions: .*version specifier",
        ),
        (f"schema = 1\n{ENTRY}".replace("T128", "T129"), r"T129.* matches no key; delete or mend the entry"),
        ("schema = \n", "Invalid value"),
    ],
)
def test_a_file_that_is_not_as_described(tmp_path: Path, text: str, said: str) -> None:
    """File, entry and field are named; an entry that matches no key is stale and refused."""
    with pytest.raises(KnownFailuresError, match=said) as caught:
        load(_file(tmp_path, text))
    assert "known_failures.toml" in str(caught.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """Without it nobody knows what is expected to fail."""
    with pytest.raises(KnownFailuresError, match="No such file"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("versions", "installed", "applies"),
    [
        ({}, {}, True),
        ({"cudnn": ">=9.19"}, {"cudnn": "9.19.0"}, True),
        ({"cudnn": ">=9.19"}, {"cudnn": "9.9.0"}, False),  # as numbers, not as text
        ({"cudnn": ">=9.19"}, {}, False),  # not installed
        ({"cudnn": ">=9.19", "jax": "<0.12"}, {"cudnn": "9.20.0", "jax": "0.12.0"}, False),  # both must hold
        ({"jax": ">=0.12.0.dev0"}, {"jax": "0.12.0.dev20261101"}, True),  # a nightly is a version too
    ],
)
def test_versions_decide(versions: dict[str, str], installed: dict[str, str], *, applies: bool) -> None:
    """A failure is expected only with the versions that have it, so that a mended one is strict again."""
    assert _failure(**versions).applies(KEY, installed) is applies


@pytest.mark.parametrize(("glob", "applies"), [("jax_cudnn/*", True), (KEY, True), ("naive/*", False)])
def test_the_glob_decides(glob: str, *, applies: bool) -> None:
    """It is matched on the whole key."""
    assert _failure(key=glob).applies(KEY, {}) is applies
