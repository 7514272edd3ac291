"""Run every example to its end, each in a process and a folder of its own."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LIMIT = 120.0  # seconds for one example


def run(example: Path) -> bool:
    """Whether the example ended well; its output is shown if it did not."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-W", "error", str(example)],
                cwd=folder,
                env={**os.environ, "EVERSTEP_EXAMPLE": "check"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired as late:
            print(f"{example.name}: still running after {LIMIT:.0f} s\n{late.stdout!r}")
            return False
    well = done.returncode == 0
    print(f"{example.name}: {'ok' if well else 'failed'} in {time.monotonic() - began:.1f} s")
    if not well:
        print(done.stdout)
    return well


def main() -> int:
    """Run the examples one after the other; 0 if all ended well."""
    examples = sorted(path for path in EXAMPLES.glob("*.py") if not path.name.startswith("_"))
    results = [run(example) for example in examples]
    print(f"{sum(results)} of {len(results)} examples ended well")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
