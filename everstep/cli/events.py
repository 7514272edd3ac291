"""`everstep events FILE`: the log of all tasks of a stopped store."""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import asdict
from functools import partial
from itertools import islice

from ..reading import Event, event_of
from ..storage.clock import SystemClock
from ..storage.errors import StoreInUse
from ..storage.sqlite.event_log import page
from ..storage.sqlite.stopped import read_stopped

__all__ = ["HELP", "options", "run"]

HELP = "show the events of all tasks of a stopped store, in the order of their commits"

_MOST = 1000


def options(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", metavar="FILE", help="the file that a Runtime was opened with")
    parser.add_argument(
        "--after", type=_whole, default=0, metavar="N", help="only those after this position"
    )
    parser.add_argument(
        "--limit", type=_whole, default=_MOST, metavar="N", help=f"at most so many ({_MOST})"
    )
    parser.add_argument(
        "--kind", action="append", default=[], help="only of this kind; may be given again"
    )
    parser.add_argument("--json", action="store_true", help="each as a JSON object, one a line")


def run(asked: argparse.Namespace) -> str:
    """The text to print. Raises StoreInUse, and what else is wrong with the file."""
    read = partial(_events, after=asked.after, limit=asked.limit, kinds=asked.kind)
    try:
        events = asyncio.run(read_stopped(asked.file, SystemClock(), read))
    except StoreInUse as error:
        live = "follow it there: runtime.events(follow=True); or stop it first"
        raise StoreInUse(error.path, error.why, live) from None
    shown = _as_json if asked.json else _as_text
    return "\n".join(map(shown, events))


def _events(
    connection: sqlite3.Connection, after: int, limit: int, kinds: Collection[str]
) -> list[Event]:
    return list(islice(_all(connection, after, kinds), limit))


def _all(connection: sqlite3.Connection, after: int, kinds: Collection[str]) -> Iterator[Event]:
    """The events of these kinds, or of all, after a position."""
    while True:
        found, upto = page(connection, after, _MOST, kinds, [], None)
        yield from map(event_of, found)
        if upto == after:
            return
        after = upto


def _as_json(event: Event) -> str:
    return json.dumps({**asdict(event), "at": event.at.isoformat()})


def _as_text(event: Event) -> str:
    at = event.at.isoformat(sep=" ", timespec="milliseconds")
    told = [str(event.position), at, event.task_id, event.kind, event.step or ""]
    data = json.dumps(event.data, ensure_ascii=False) if event.data else ""
    return "  ".join(_plain(one) for one in (*told, data) if one)


def _plain(text: str) -> str:
    """The text, with what would move the cursor of a terminal written out."""
    return text if text.isprintable() else json.dumps(text)


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)
