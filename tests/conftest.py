"""Makes `import examples.report` work, without the checkout's folders on the import path.

And lets SIGINT reach the processes that tests start, where a shell's background ignores it.
"""

import signal
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

package = sys.modules.setdefault("examples", ModuleType("examples"))
package.__path__ = [str(EXAMPLES)]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
