"""Messages between two servers, there and back, each durable before it is handled.

    python -m benchmarks.messaging [--quick]

A server that is told of the ball tells the other one, in the commit in which it takes the message.

- **One pair alone**: a round trip is from the body of a handler to the next one of the same server:
  two messages, each sent, taken and handled. Beside it is one commit of one message by sqlite3 in a
  thread, with the hop there and back.
- **1,000 pairs**: messages a second. Beside it the messages, steps and events that everstep left
  are written by sqlite3, in as many transactions of equal size, prepared beforehand. That side
  updates no task, takes nothing, and handles nothing.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from everstep import Actor, Pool, Runtime, Server, handler

from .instrument import main
from .rows import POWER_CUT, Row, Side, percentile

__all__ = ["rows"]

_ALONE, _RATE = 3, 10_000
"""What is aimed at: commits' latency, messages a second."""
_TABLES = ("message", "step", "event")
_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "temp_store = MEMORY")


class Player(Actor, name="bench.player"):
    """Plays the ball back until it has been played so many times."""

    played: int = 0
    bodies: ClassVar[dict[str, list[float]]] = {}
    in_play: ClassVar[int] = 0
    over: ClassVar[asyncio.Event]

    @handler
    async def ball(self, other: str, left: int) -> None:
        self.played += 1
        me = self.ctx.task_id
        if me in Player.bodies:
            Player.bodies[me].append(time.perf_counter())
        if left:
            await self.ctx.get(Player, other).tell(Player.ball, me, left - 1)
            return
        Player.in_play -= 1
        if not Player.in_play:
            Player.over.set()


async def _played(file: Path, pairs: int, messages: int) -> float:
    """Seconds in which each of so many pairs has played so many messages."""
    Player.over = asyncio.Event()
    async with Runtime(file, tree=Pool(max_running=2 * pairs)) as runtime:
        players = [runtime.get(Player, f"a{n}") for n in range(pairs)]
        await _play(players, 1)
        gc.collect()
        began = time.perf_counter()
        await _play(players, messages)
        return time.perf_counter() - began


async def _play(players: list[Server[Player]], messages: int) -> None:
    """Return when each pair has played the ball so many times."""
    Player.over.clear()
    Player.in_play = len(players)
    serves = (player.tell(Player.ball, f"b{n}", messages) for n, player in enumerate(players))
    await asyncio.gather(*serves)
    await Player.over.wait()


def _round_trips(file: Path, messages: int) -> list[float]:
    """Seconds of each round trip of one pair alone."""
    bodies = Player.bodies["a0"] = list[float]()
    asyncio.run(_played(file, 1, messages))
    del Player.bodies["a0"]
    return [later - earlier for earlier, later in pairwise(bodies[1:])]


async def _commits(file: Path, times: int) -> list[float]:
    """Seconds of each commit of one message, through a thread."""
    loop, taken = asyncio.get_running_loop(), list[float]()
    with ThreadPoolExecutor(1) as thread:
        connection = await loop.run_in_executor(thread, _opened, file)
        for number in range(times):
            began = time.perf_counter()
            await loop.run_in_executor(thread, _commit, connection, number)
            taken.append(time.perf_counter() - began)
        await loop.run_in_executor(thread, connection.close)
    return taken


def _opened(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(
        "CREATE TABLE message (position INTEGER PRIMARY KEY, task INTEGER, id TEXT, body BLOB)"
    )
    return connection


def _commit(connection: sqlite3.Connection, number: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "INSERT INTO message (task, id, body) VALUES (1, ?, ?)", (str(number), b"x" * 100)
    )
    connection.execute("COMMIT")


def _replayed(left: Path, new: Path) -> float:
    """Seconds in which sqlite3 writes what everstep left, in as many transactions."""
    with closing(sqlite3.connect(left)) as source, closing(sqlite3.connect(new)) as target:
        target.isolation_level = None
        for pragma in _PRAGMAS:
            target.execute(f"PRAGMA {pragma}")
        for (sql,) in source.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"):
            if not sql.startswith("CREATE TABLE sqlite_"):
                target.execute(sql)
        (transactions,) = source.execute("SELECT batch FROM node").fetchone()
        tables = {table: _rows_of(source, table) for table in _TABLES}
        gc.collect()
        began = time.perf_counter()
        for number in range(transactions):
            target.execute("BEGIN IMMEDIATE")
            for statement, written in tables.values():
                first, last = (len(written) * n // transactions for n in (number, number + 1))
                target.executemany(statement, written[first:last])
            target.execute("COMMIT")
        return time.perf_counter() - began


def _rows_of(source: sqlite3.Connection, table: str) -> tuple[str, list[tuple[Any, ...]]]:
    found = source.execute(f"SELECT * FROM {table} ORDER BY position").fetchall()
    places = ", ".join("?" * len(found[0]))
    return f"INSERT INTO {table} VALUES ({places})", found


def _alone(repetitions: int, messages: int, where: Path) -> Row:
    ours, raw = list[float](), list[float]()
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            ours.append(percentile(_round_trips(Path(folder, "e.sqlite"), messages), 50) * 1000)
            commits = asyncio.run(_commits(Path(folder, "raw.sqlite"), messages))
            raw.append(percentile(commits, 50) * 1000)
    sides = Side("everstep", POWER_CUT, tuple(ours)), Side("one commit", POWER_CUT, tuple(raw))
    return Row(
        "two servers alone: p50 of a message there and back",
        "ms",
        sides[0],
        sides[1:],
        f"at most {_ALONE} commits",
        sides[0].median <= _ALONE * sides[1].median,
    )


def _many(repetitions: int, pairs: int, messages: int, where: Path) -> Row:
    ours, raw = list[float](), list[float]()
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            left, new = Path(folder, "everstep.sqlite"), Path(folder, "replayed.sqlite")
            ours.append(pairs * messages / asyncio.run(_played(left, pairs, messages)))
            raw.append(pairs * (messages + 3) / _replayed(left, new))
    sides = Side("everstep", POWER_CUT, tuple(ours)), Side("sqlite3", POWER_CUT, tuple(raw))
    return Row(
        f"{pairs:,} pairs of servers: messages, each handled",
        "1/s",
        sides[0],
        sides[1:],
        f"{_RATE:,}",
        sides[0].median >= _RATE,
    )


def rows(quick: bool, where: Path) -> list[Row]:
    if quick:
        return [_alone(2, 200, where), _many(1, 200, 10, where)]
    return [_alone(7, 900, where), _many(3, 1000, 20, where)]


if __name__ == "__main__":
    main(rows)
