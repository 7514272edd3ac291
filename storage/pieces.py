"""What the store keeps of streams, as typed rows."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Chunk", "ChunkRow"]


class ChunkRow(NamedTuple):
    """Pieces of a stream that one attempt wrote one after the other. Numbered when it is stored."""

    task: int
    stream: str
    step: str
    """Identity of the step whose attempt it was."""
    serial: int
    """Number of the attempt since the step first began."""
    fresh: int
    """1 where the attempt had not written to the stream before."""
    length: int
    pieces: bytes
    """A JSON array."""


class Chunk(NamedTuple):
    """Pieces of a stream, as they are stored."""

    last: int
    """The offset of the last of them. The first piece of a stream has 1, and there are no gaps."""
    step: str
    serial: int
    fresh: int
    length: int
    pieces: bytes
