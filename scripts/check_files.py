"""Check that no file escapes the type checkers, the sdist or the wheel.

`types` runs mypy and pyright and compares how many files each has read with the tree.
`dist` compares the sdist and the wheel in dist/ with the tree.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
LINKED = ("actors", "storage", "supervisor")
NOT_PUBLISHED = (".ci/", ".gitignore")


def tracked() -> list[str]:
    """Every file git knows or would take, apart from links and what was deleted."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted(set(filter(None, listed.split("\0"))))
    return [path for path in paths if (ROOT / path).is_file() and not (ROOT / path).is_symlink()]


def tool(name: str) -> str:
    """The path of a command installed beside this Python."""
    return str(Path(sys.executable).parent / name)


def run_mypy() -> tuple[bool, int]:
    """Whether mypy is content, and how many files it has checked."""
    done = subprocess.run([tool("mypy")], cwd=ROOT, capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    counted = re.search(r"(\d+) source files?\b", done.stdout)
    return done.returncode == 0, int(counted[1]) if counted else 0


def run_pyright() -> tuple[bool, int]:
    """Whether pyright is content, and how many files it has checked."""
    command = [tool("pyright"), "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        print(done.stdout + done.stderr, end="")
        return False, 0
    report = json.loads(done.stdout)
    for found in report["generalDiagnostics"]:
        start = found["range"]["start"] if "range" in found else {"line": 0, "character": 0}
        place = f"{os.path.relpath(found['file'], ROOT)}:{start['line'] + 1}"
        print(f"{place}: {found['severity']}: {found['message']} [{found.get('rule', '')}]")
    summary = report["summary"]
    print(f"pyright: {summary['errorCount']} errors in {summary['filesAnalyzed']} files")
    return done.returncode == 0, int(summary["filesAnalyzed"])


def check_types() -> list[str]:
    """What is wrong with the types, or with what was read to check them."""
    expected = sum(path.endswith(".py") for path in tracked())
    problems: list[str] = []
    for name, run in (("mypy", run_mypy), ("pyright", run_pyright)):
        content, count = run()
        if not content:
            problems.append(f"{name} found errors")
        if count != expected:
            problems.append(
                f"{name} checked {count} files, the tree has {expected} *.py: "
                "name every folder in pyproject.toml"
            )
    return problems


def packaged(path: str) -> str | None:
    """The place of a file of the tree in the wheel, or None if it does not ship."""
    top = PurePosixPath(path).parts[0]
    if top in LINKED:
        return f"everstep/{path}"
    return path if top == "everstep" else None


def difference(what: str, found: list[str], expected: set[str]) -> list[str]:
    """One line for each file that is missing, too many, or there twice."""
    problems = [f"{what} lacks {path}" for path in sorted(expected - set(found))]
    problems += [f"{what} has {path}, the tree has not" for path in sorted(set(found) - expected)]
    if len(set(found)) != len(found):
        problems.append(f"{what} has a file twice")
    return problems


def check_wheel(wheel: Path) -> list[str]:
    """The wheel holds the packages' files, all of them, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if ".dist-info/" not in name]
    return difference(wheel.name, found, {p for p in map(packaged, tracked()) if p})


def check_sdist(sdist: Path) -> list[str]:
    """The sdist holds every file of the tree that is of use outside the repository."""
    with tarfile.open(sdist) as archive:
        found = {member.name.partition("/")[2] for member in archive if member.isfile()}
    expected = {path for path in tracked() if not path.startswith(NOT_PUBLISHED)}
    extra = {path for path in found - expected if path.endswith(".py")}
    return difference(sdist.name, sorted(found & expected | extra), expected)


def check_dist() -> list[str]:
    """What is wrong with the one sdist and the one wheel in dist/."""
    sdists, wheels = sorted(ROOT.glob("dist/*.tar.gz")), sorted(ROOT.glob("dist/*.whl"))
    if len(sdists) != 1 or len(wheels) != 1:
        return ["dist/ should hold one sdist and one wheel: run `make wheel`"]
    return check_sdist(sdists[0]) + check_wheel(wheels[0])


def main(arguments: list[str]) -> int:
    """Run the named check; 0 if nothing is wrong."""
    checks = {"types": check_types, "dist": check_dist}
    if len(arguments) != 1 or arguments[0] not in checks:
        print("usage: check_files.py types | dist", file=sys.stderr)
        return 2
    problems = checks[arguments[0]]()
    for problem in problems:
        print(f"check_files: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
