"""The store on SQLite."""

from .store import Durability, SqliteStore

__all__ = ["Durability", "SqliteStore"]
