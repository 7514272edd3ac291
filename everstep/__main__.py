"""The command line: `python -m everstep COMMAND`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
