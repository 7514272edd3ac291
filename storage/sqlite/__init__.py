"""The store on SQLite."""

from everstep.storage.sqlite.store import Durability, SqliteStore

__all__ = ["Durability", "SqliteStore"]
