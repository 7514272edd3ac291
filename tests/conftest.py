"""Makes `import examples.report` work, without the checkout's folders on the import path.

Lets SIGINT reach the processes that tests start, where a shell's background ignores it. And counts
coverage without the slow tests: they take twice as long under it.
"""

import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest

SURVIVAL = Path(__file__).resolve().parent / "survival"
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

package = sys.modules.setdefault("examples", ModuleType("examples"))
package.__path__ = [str(EXAMPLES)]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") or SURVIVAL in item.path.parents:
            item.add_marker("no_cover")
