"""Each piece of code in the guide and in the README is an excerpt of a file that is tested."""

import textwrap

import pytest

from tests.guide.pages import ROOT, Block, blocks

PAGES = ("docs/guide.md", "README.md")
CODE = [block for page in PAGES for block in blocks(page) if block.kind == "python"]


@pytest.mark.parametrize("block", CODE, ids=lambda block: block.text.strip().splitlines()[0])
def test_a_piece_of_code_stands_in_a_tested_file_as_it_is_shown(block: Block) -> None:
    assert block.source is not None, "name the file above the block: <!-- examples/agent.py -->"
    source = (ROOT / block.source).read_text()

    indents = ("", " " * 4, " " * 8)

    assert any(textwrap.indent(block.text, indent) in source for indent in indents)


def test_the_guide_has_code() -> None:
    assert len(CODE) > 10
