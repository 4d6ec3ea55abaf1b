"""A package that is installed and cannot be imported is broken, never missing."""

import pytest

from perf.environment import packages


def test_a_broken_package_says_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error's text, whole, without the way to it; what imports well is not mentioned."""
    monkeypatch.setattr(
        packages,
        "IMPORTS",
        {
            "torn": "raise ImportError('libcudnn.so.9: undefined symbol: x\\nset CUDNN_HOME')",
            "dead": "import os; os.abort()",
            "whole": "import json",
        },
    )
    found = packages.broken(["torn", "dead", "whole", "jax"])
    assert found == {
        "torn": "ImportError: libcudnn.so.9: undefined symbol: x set CUDNN_HOME",
        "dead": "import os; os.abort(): ended by signal 6",
    }
