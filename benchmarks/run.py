"""Prints one table of all that is measured, and writes it as JSON.

    make bench          some minutes
    make bench-quick    about a minute
    python -m benchmarks.run [--quick] [--json FILE] [--dir DIR]

Each module says at its top what it measures and what stands beside it, and runs alone as well:
`python -m benchmarks.steps --quick`. A new one is a line in MODULES.
"""

from __future__ import annotations

from . import (
    alone,
    events,
    growing,
    hog,
    lag,
    messaging,
    models,
    one_task,
    queued,
    recovering,
    services,
    starting,
    steps,
    waits,
)
from .instrument import main

MODULES = (
    steps,
    one_task,
    growing,
    hog,
    models,
    lag,
    starting,
    recovering,
    messaging,
    waits,
    queued,
    events,
    services,
    alone,
)

if __name__ == "__main__":
    main(*(module.rows for module in MODULES))
