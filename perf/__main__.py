"""``python -m perf``: see `perf.cli`."""

import io
import signal
import sys

from perf.cli import main

for stream in (sys.stdout, sys.stderr):  # a terminal that has no µ must not cost the verdict
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `python -m perf baseline show | head` ends quietly
sys.exit(main(sys.argv[1:]))
