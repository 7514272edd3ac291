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

from ..actors.errors import checked_text
from ..reading import Event, event_of
from ..storage.clock import SystemClock
from ..storage.errors import StoreInUse, TaskNotFound
from ..storage.sqlite import event_log
from ..storage.sqlite.queries import task
from ..storage.sqlite.stopped import read_stopped
from .answer import Answer

__all__ = ["HELP", "options", "run"]

HELP = "show the events of all tasks of a stopped store, in the order of their commits"

_MOST = 1000
_MOST_KINDS = 50


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
    parser.add_argument("--task", metavar="ID", help="only those of this task")
    parser.add_argument("--json", action="store_true", help="each as a JSON object, one a line")


def run(asked: argparse.Namespace) -> Answer:
    """What to print. Raises StoreInUse, TaskNotFound, and what else is wrong with the file."""
    read = partial(_look, asked=asked)
    try:
        return asyncio.run(read_stopped(asked.file, SystemClock(), read))
    except StoreInUse as error:
        live = "follow it there: runtime.events(follow=True); or stop it first"
        raise StoreInUse(error.path, error.why, live) from None


def _look(connection: sqlite3.Connection, asked: argparse.Namespace) -> Answer:
    after: int = asked.after
    if asked.task is None:
        found = _all(connection, after, asked.kind)
    else:
        found = _of_task(connection, _key(connection, asked.task), after, asked.kind)
    events = list(islice(found, asked.limit))
    more = next(found, None) is not None
    shown = _as_json if asked.json else _as_text
    note = ""
    if more:
        note = f"more events follow; go on with --after {events[-1].position if events else after}"
    elif not events:
        note = f"no such events; in the file are of the kinds {_kinds(connection) or '(none)'}"
    return Answer("\n".join(map(shown, events)), note)


def _kinds(connection: sqlite3.Connection) -> str:
    """The kinds of all events, as far as they can be read in one line."""
    every = [_plain(kind) for (kind,) in connection.execute("SELECT DISTINCT kind FROM event")]
    return ", ".join(sorted(every)[:_MOST_KINDS]) + (", …" if len(every) > _MOST_KINDS else "")


def _key(connection: sqlite3.Connection, task_id: str) -> int:
    """The number under which the task is stored. Raises TaskNotFound, BadCall."""
    row = task(connection, checked_text("--task", task_id))
    if row is None:
        raise TaskNotFound(task_id)
    return row.key


def _of_task(
    connection: sqlite3.Connection, key: int, after: int, kinds: Collection[str]
) -> Iterator[Event]:
    """The events of one task, of these kinds or of all, after a position."""
    number = 0
    while found := event_log.events(connection, key, number, _MOST):
        number = found[-1].event.seq
        for one in found:
            if one.position > after and (not kinds or one.event.kind in kinds):
                yield event_of(one)


def _all(connection: sqlite3.Connection, after: int, kinds: Collection[str]) -> Iterator[Event]:
    """The events of these kinds, or of all, after a position."""
    while True:
        found, upto = event_log.page(connection, after, _MOST, kinds, [], None)
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
