"""Where the suite's tree and its baselines are. Imports nothing of the suite."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
BASELINES = ROOT / "baselines"
