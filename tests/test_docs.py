"""The pages name tests and modules that exist, and link to places that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PROMISES = (ROOT / "docs" / "guarantees.md").read_text().partition("# What is not")[0]

MAP = (ROOT / "docs" / "architecture.md").read_text().partition("## The life of a step")[0]
FOLDERS = ("storage", "storage/sqlite", "actors", "supervisor", "supervisor/services", "everstep")

_TEST = re.compile(r"(tests/\S+\.py)::(test_\w+)")
_CODE = re.compile(r"```.*?```", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def named_tests() -> list[tuple[str, str]]:
    pages = "".join(page.read_text() for page in PAGES)
    return sorted({(found[1], found[2]) for found in _TEST.finditer(pages)})


def functions_of(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(("file", "name"), named_tests())
def test_a_test_that_a_page_names_exists(file: str, name: str) -> None:
    assert name in functions_of(ROOT / file)


def test_every_promise_names_a_test_that_holds_it() -> None:
    promises = re.split(r"^- ", PROMISES, flags=re.MULTILINE)[1:]

    assert len(promises) > 40
    assert [promise for promise in promises if not _TEST.search(promise)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_is_on_the_map(folder: str) -> None:
    modules = {path.stem for path in (ROOT / folder).glob("[!_]*.py")}
    shown = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+)`", MAP)}

    assert modules - shown == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_within_the_project_leads_somewhere(page: Path) -> None:
    prose = _CODE.sub("", page.read_text())
    links = [link for link in _LINK.findall(prose) if "://" not in link]

    assert [link for link in links if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors_of(target))


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
