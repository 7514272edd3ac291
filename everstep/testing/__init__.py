"""What a test of a durable task needs.

`ManualClock` owns the time. A *scenario* is an async function that runs a runtime on the store
of a `Life`; `survive` kills its process at each of its boundaries and compares, `simulate` does
so without processes.
"""

from .history import History, violations
from .idle_loop import IdleLoop, Stuck
from .life import Died, Life, boundary, die, note, noted
from .manual_clock import ManualClock
from .simulation import simulate
from .survival import live_through, some_of, survive, survive_simulated
from .trail import Entry
from .zygote import Outcome, Zygote

__all__ = [
    "Died",
    "Entry",
    "History",
    "IdleLoop",
    "Life",
    "ManualClock",
    "Outcome",
    "Stuck",
    "Zygote",
    "boundary",
    "die",
    "live_through",
    "note",
    "noted",
    "simulate",
    "some_of",
    "survive",
    "survive_simulated",
    "violations",
]
