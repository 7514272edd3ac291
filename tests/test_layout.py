"""The layout holds: layers point one way, names are listed, files and functions stay short."""

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import everstep

PACKAGE = Path(everstep.__file__).parent
LAYERS = ("storage", "actors", "supervisor", "everstep")  # lowest first
LONGEST_FILE = 400
LONGEST_FUNCTION = 50

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
import everstep
names = [found.name for found in pkgutil.walk_packages(everstep.__path__, "everstep.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
assert {"everstep.storage", "everstep.actors", "everstep.supervisor"} <= set(names), names
print(*sorted({"storage", "actors", "supervisor"} & set(sys.modules)))
"""


def sources(top: Path) -> list[Path]:
    """Every Python file below `top`, through links too (the checkout has three)."""
    walked = os.walk(top, followlinks=True)
    return sorted(Path(at, name) for at, _, names in walked for name in names if name[-3:] == ".py")


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module: str) -> str:
    """The layer a module of everstep belongs to."""
    first, *rest = module.split(".")
    return rest[0] if rest and rest[0] in LAYERS else first


def imported(module: str, path: Path) -> Iterator[str]:
    """The full names of what a source imports, at any depth of its code."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: 1 - node.level or None]) if node.level else ""
            source = ".".join(filter(None, [base, node.module]))
            yield from (f"{source}.{alias.name}" for alias in node.names)


SOURCES = [pytest.param(path, id=module_name(path)) for path in sources(PACKAGE)]


@pytest.mark.parametrize("path", SOURCES)
def test_a_module_imports_only_its_own_layer_and_those_below(path: Path) -> None:
    module = module_name(path)
    allowed = LAYERS[: LAYERS.index(layer(module)) + 1]

    names = [name for name in imported(module, path) if name.split(".")[0] == "everstep"]

    above = [name for name in names if layer(name) not in allowed]
    assert not above, f"{module} belongs to {layer(module)} and may not import {above}"


@pytest.mark.parametrize("path", SOURCES)
def test_only_everstep_is_imported_never_a_folder_by_its_bare_name(path: Path) -> None:
    tops = {name.split(".")[0] for name in imported(module_name(path), path)}

    assert not tops & {"storage", "actors", "supervisor"}


def test_importing_everything_leaves_no_bare_folder_in_sys_modules(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_EVERYTHING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize("path", SOURCES)
def test_every_listed_name_exists_and_is_listed_once(path: Path) -> None:
    module = importlib.import_module(module_name(path))
    listed: list[str] = list(getattr(module, "__all__", ()))

    assert len(set(listed)) == len(listed)
    assert [name for name in listed if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    "path", [param for param in SOURCES if str(param.values[0]).endswith("__init__.py")]
)
def test_a_package_lists_every_name_it_brings_in(path: Path) -> None:
    nodes = ast.parse(path.read_text()).body
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    brought = {alias.asname or alias.name for node in froms for alias in node.names}

    listed = set(getattr(importlib.import_module(module_name(path)), "__all__", ()))

    assert {name for name in brought if not name.startswith("_")} <= listed


@pytest.mark.parametrize("path", SOURCES)
def test_a_file_and_its_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = [node.name for node in functions if length(node) > LONGEST_FUNCTION]

    assert len(text.splitlines()) <= LONGEST_FILE, "split the module: one module, one idea"
    assert not long, "find the missing name in these functions"


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_the_tests_stay_short_files_too() -> None:
    here = Path(__file__).parent
    lengths = {path.name: len(path.read_text().splitlines()) for path in sources(here)}

    assert [name for name, lines in lengths.items() if lines > LONGEST_FILE] == []
