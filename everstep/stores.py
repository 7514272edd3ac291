"""The store that a path stands for."""

from __future__ import annotations

from .storage.clock import Clock
from .storage.interface import Store
from .storage.memory import MemoryStore
from .storage.sqlite import Durability, SqliteStore

__all__ = ["store_of"]


def store_of(
    path: str,
    *,
    clock: Clock,
    durability: Durability,
    wait: float,
    store_patience: float,
    allow_network_fs: bool,
) -> Store:
    """A store on a file, or in memory for ":memory:". It is not open."""
    if path == ":memory:":
        return MemoryStore(clock=clock, store_patience=store_patience)
    return SqliteStore(
        path,
        clock=clock,
        durability=durability,
        wait=wait,
        store_patience=store_patience,
        allow_network_fs=allow_network_fs,
    )
