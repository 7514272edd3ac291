"""examples/approval.py shows what it says, with a real process that is really killed."""

import asyncio
from pathlib import Path

import pytest

from examples import approval


@pytest.mark.real
def test_a_letter_is_published_by_the_yes_after_the_process_that_asked_was_killed(
    tmp_path: Path,
) -> None:
    published = tmp_path / "published.txt"
    approval.ask_and_die(tmp_path)
    assert not published.exists()

    ends = asyncio.run(approval.answer(tmp_path))

    assert ends == {"tea": "published", "rum": "kept back: Ada says 'not before noon'"}
    assert published.read_text() == "tea: all about tea\n"
