"""Makes `import examples.report` work, without the checkout's folders on the import path."""

import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

package = sys.modules.setdefault("examples", ModuleType("examples"))
package.__path__ = [str(EXAMPLES)]
