"""`everstep tree FILE`: the tree of a stopped store, and what the store holds for it."""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
from dataclasses import asdict
from datetime import datetime
from functools import partial

from ..storage.clock import Clock, SystemClock
from ..storage.errors import StoreInUse
from ..storage.sqlite.stopped import read_stopped
from .answer import Answer
from .drawing import drawn
from .overview import StoppedStore, look

__all__ = ["HELP", "options", "run"]

HELP = "show the supervisor tree of a stopped store, and the tasks of its pools"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", metavar="FILE", help="the file that a Runtime was opened with")
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def run(asked: argparse.Namespace) -> Answer:
    """What to print. Raises StoreInUse, and what else is wrong with the file."""
    clock = SystemClock()
    try:
        return asyncio.run(
            read_stopped(asked.file, clock, partial(_look, asked=asked, clock=clock))
        )
    except StoreInUse as error:
        live = "look at it there, live: print(runtime.tree.look()); or stop it first"
        raise StoreInUse(error.path, error.why, live) from None


def _look(connection: sqlite3.Connection, asked: argparse.Namespace, clock: Clock) -> Answer:
    file, store = asked.file, look(connection, clock)
    return Answer(_as_json(file, store) if asked.json else drawn(file, store))


def _as_json(file: str, store: StoppedStore) -> str:
    return json.dumps({"file": file, **asdict(store)}, indent=2, default=_instant)


def _instant(value: object) -> str:
    """An instant as ISO 8601, the one thing in the records that JSON cannot say."""
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"not JSON: {value!r}")
