"""What a command has to say."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Answer"]


class Answer(NamedTuple):
    """Goes to stdout, and after it to stderr what whoever reads it should know beside."""

    text: str
    note: str = ""
