"""Makes `import examples.report` and `import benchmarks.rows` work, from the checkout.

Without the checkout's folders on the import path.

And lets SIGINT reach the processes that tests start, where a shell's background ignores it.
"""

import signal
import sys
from pathlib import Path
from types import ModuleType

from hypothesis import settings

TREE = Path(__file__).resolve().parent.parent

for name in ("examples", "benchmarks"):
    package = sys.modules.setdefault(name, ModuleType(name))
    package.__path__ = [str(TREE / name)]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("untimed", deadline=None)  # no test asserts how long something takes
settings.load_profile("untimed")
