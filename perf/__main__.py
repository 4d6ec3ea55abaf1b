"""``python -m perf``: see `perf.cli`."""

import signal
import sys

from perf.cli import main

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `python -m perf baseline show | head` ends quietly
sys.exit(main(sys.argv[1:]))
