"""The project's pages, as the tests read them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent

_BLOCK = re.compile(r"(?:<!-- (?P<source>\S+) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)```", re.DOTALL)


class Block(NamedTuple):
    """A block of code in a page, and the file that it was taken from."""

    source: str | None
    kind: str
    text: str


def page(name: str) -> str:
    return (ROOT / name).read_text()


def blocks(name: str) -> list[Block]:
    return [Block(*found.group("source", "kind", "text")) for found in _BLOCK.finditer(page(name))]


def says(name: str, words: object) -> bool:
    """Whether a page contains these words, however its lines are broken."""
    return _flat(str(words)) in _flat(page(name))


def _flat(text: str) -> str:
    return " ".join(text.split())
