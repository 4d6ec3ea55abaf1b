"""The command line: ``python -m perf COMMAND``."""

import sys

from perf.cli import main

sys.exit(main(sys.argv[1:]))
