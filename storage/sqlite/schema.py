"""The tables, and how a file of any released version is brought to the present one.

Every table is a rowid table with at most one index on its hot path: a task is known by an integer
key, because text keys and WITHOUT ROWID tables halve the rate of commits. Column names are the
field names of the records.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from .transaction import transaction

__all__ = ["APPLICATION_ID", "MIGRATIONS", "VERSION", "migrate"]

APPLICATION_ID = 0x45565354
"""`PRAGMA application_id` of our files: "EVST"."""

_FIRST = (
    """
    CREATE TABLE node (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        epoch INTEGER NOT NULL,
        pid INTEGER NOT NULL,
        host TEXT NOT NULL,
        boot TEXT NOT NULL,
        started_at REAL NOT NULL,
        batch INTEGER NOT NULL
    )
    """,
    "INSERT INTO node VALUES (1, 0, 0, '', '', 0, 0)",
    """
    CREATE TABLE task (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        actor TEXT NOT NULL,
        pool TEXT NOT NULL,
        priority INTEGER NOT NULL,
        lane TEXT,
        given TEXT NOT NULL,
        seed BLOB NOT NULL,
        created_at REAL NOT NULL,
        status TEXT NOT NULL,
        epoch INTEGER,
        generation INTEGER NOT NULL,
        incarnation INTEGER NOT NULL,
        chapter INTEGER NOT NULL,
        chapter_seq INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        event_seq INTEGER NOT NULL,
        crashes INTEGER NOT NULL,
        deaths INTEGER NOT NULL,
        brushes INTEGER NOT NULL,
        deaths_total INTEGER NOT NULL,
        deaths_settled INTEGER NOT NULL,
        death_epoch INTEGER,
        due_at REAL,
        due_boot REAL,
        due_delay REAL,
        claimed_at REAL,
        crashed_at REAL,
        updated_at REAL NOT NULL,
        reason TEXT,
        output BLOB,
        error BLOB,
        codec TEXT NOT NULL DEFAULT 'json'
    )
    """,
    """
    CREATE INDEX task_queued ON task (pool, priority DESC, key) WHERE status = 'queued'
    """,
    "CREATE INDEX task_running ON task (epoch) WHERE status = 'running'",
    """
    CREATE TABLE step (
        position INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        identity TEXT NOT NULL,
        above TEXT NOT NULL,
        name TEXT NOT NULL,
        key TEXT NOT NULL,
        occurrence INTEGER NOT NULL,
        chapter INTEGER NOT NULL,
        version INTEGER NOT NULL,
        serial INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        open INTEGER NOT NULL,
        deaths_seen INTEGER NOT NULL,
        due_at REAL,
        due_boot REAL,
        due_delay REAL,
        outcome TEXT,
        seq INTEGER,
        digest TEXT NOT NULL,
        preview TEXT NOT NULL,
        output BLOB,
        changes BLOB,
        appends BLOB,
        error BLOB,
        first_at REAL NOT NULL,
        started_at REAL NOT NULL,
        ended_at REAL,
        codec TEXT NOT NULL DEFAULT 'json',
        UNIQUE (task, identity)
    )
    """,
    "CREATE INDEX step_due ON step (due_at) WHERE due_at IS NOT NULL",
    """
    CREATE TABLE run_change (
        position INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        chapter INTEGER NOT NULL,
        version INTEGER NOT NULL,
        changes BLOB,
        appends BLOB,
        codec TEXT NOT NULL DEFAULT 'json',
        UNIQUE (task, seq)
    )
    """,
    """
    CREATE TABLE snapshot (
        position INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        chapter INTEGER NOT NULL,
        version INTEGER NOT NULL,
        state BLOB NOT NULL,
        appends BLOB,
        codec TEXT NOT NULL DEFAULT 'json',
        UNIQUE (task, seq)
    )
    """,
    """
    CREATE TABLE effect (
        position INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        operation TEXT NOT NULL UNIQUE,
        step TEXT NOT NULL,
        key TEXT NOT NULL,
        state TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        incarnation INTEGER NOT NULL,
        serial INTEGER NOT NULL,
        digest TEXT NOT NULL,
        preview TEXT NOT NULL,
        value BLOB,
        error BLOB,
        decided_by TEXT,
        started_at REAL NOT NULL,
        ended_at REAL,
        codec TEXT NOT NULL DEFAULT 'json'
    )
    """,
    "CREATE INDEX effect_task ON effect (task)",
    """
    CREATE TABLE event (
        position INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        step TEXT,
        data BLOB,
        codec TEXT NOT NULL DEFAULT 'json',
        UNIQUE (task, seq)
    )
    """,
)

_TREE = (
    """
    CREATE TABLE tree (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        epoch INTEGER NOT NULL,
        at REAL NOT NULL,
        outline TEXT NOT NULL
    )
    """,
)

# Queued tasks are found lane by lane; suspects and what is not due, without going through the rest.
# The last two indexes cost an ordinary task nothing: it has no entry in them.
_LANES = (
    "DROP INDEX task_queued",
    """
    CREATE INDEX task_queued ON task (pool, priority DESC, lane, key) WHERE status = 'queued'
    """,
    """
    CREATE INDEX task_suspect ON task (pool, death_epoch DESC, key)
    WHERE status = 'queued' AND deaths > 0
    """,
    """
    CREATE INDEX task_due ON task (pool) WHERE status = 'queued' AND due_at IS NOT NULL
    """,
)

_WAITING = (
    """
    CREATE INDEX task_due_by_boot ON task (pool, due_boot)
    WHERE status = 'waiting' AND epoch IS NULL AND due_boot IS NOT NULL
    """,
    """
    CREATE INDEX task_due_by_wall ON task (pool, due_at)
    WHERE status = 'waiting' AND epoch IS NULL AND due_boot IS NULL AND due_at IS NOT NULL
    """,
    "CREATE INDEX task_resting ON task (epoch) WHERE status = 'waiting' AND epoch IS NOT NULL",
)

_MESSAGES = (
    "ALTER TABLE task ADD COLUMN listens INTEGER NOT NULL DEFAULT 0",
    """
    CREATE TABLE message (
        position INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        id TEXT NOT NULL,
        sender TEXT,
        body BLOB NOT NULL,
        sent_at REAL NOT NULL,
        taken INTEGER,
        codec TEXT NOT NULL DEFAULT 'json',
        UNIQUE (task, id)
    )
    """,
    "CREATE INDEX message_untaken ON message (task, position) WHERE taken IS NULL",
)

_QUESTIONS = (
    """
    CREATE INDEX step_asked ON step (position)
    WHERE name = 'ctx.ask_human' AND outcome IS NULL AND output IS NOT NULL
    """,
)

_REPLIES = ("ALTER TABLE message ADD COLUMN reply BLOB",)

# A child is found by its parent, in order of age or by what it has still to do; a parent that its
# children have yet to follow, by its mark. The last index holds the open waits for children.
_CHILDREN = (
    "ALTER TABLE task ADD COLUMN parent INTEGER",
    "ALTER TABLE task ADD COLUMN on_parent TEXT",
    "ALTER TABLE task ADD COLUMN trailed INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX task_child ON task (parent, key) WHERE parent IS NOT NULL",
    "CREATE INDEX task_kin ON task (parent, on_parent, status) WHERE parent IS NOT NULL",
    "CREATE INDEX task_trailed ON task (key) WHERE trailed = 1",
    """
    CREATE INDEX step_awaits ON step (task, key)
    WHERE name = 'ctx.result' AND outcome IS NULL AND output IS NOT NULL
    """,
)

_STREAMS = (
    """
    CREATE TABLE chunk (
        position INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        stream TEXT NOT NULL,
        last INTEGER NOT NULL,
        step TEXT NOT NULL,
        serial INTEGER NOT NULL,
        fresh INTEGER NOT NULL,
        length INTEGER NOT NULL,
        pieces BLOB NOT NULL,
        codec TEXT NOT NULL DEFAULT 'json',
        UNIQUE (task, stream, last)
    )
    """,
)

_SCHEDULES = (
    """
    CREATE TABLE schedule (
        position INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        cron TEXT,
        every INTEGER,
        tz TEXT NOT NULL,
        anchor REAL NOT NULL,
        overlap TEXT NOT NULL,
        catch_up REAL NOT NULL,
        actor TEXT NOT NULL,
        given TEXT NOT NULL,
        version INTEGER NOT NULL,
        state BLOB NOT NULL,
        appends BLOB,
        pool TEXT NOT NULL,
        priority INTEGER NOT NULL,
        lane TEXT,
        paused INTEGER NOT NULL,
        paused_by TEXT,
        paused_why TEXT,
        next_at REAL,
        fired_at REAL,
        fired_task TEXT,
        waiting TEXT,
        started TEXT NOT NULL,
        fired INTEGER NOT NULL,
        skipped INTEGER NOT NULL,
        missed INTEGER NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        codec TEXT NOT NULL DEFAULT 'json'
    )
    """,
    """
    CREATE INDEX schedule_due ON schedule (next_at) WHERE paused = 0 AND next_at IS NOT NULL
    """,
    """
    CREATE INDEX schedule_waiting ON schedule (name) WHERE paused = 0 AND waiting IS NOT NULL
    """,
)

# Those that a person asks for, among millions that have succeeded. Written as SQLite can compare it
# with a condition for one of them; an ordinary task has no entry.
_STOPPED = (
    """
    CREATE INDEX task_stopped ON task (status)
    WHERE status = 'cancelled' OR status = 'failed' OR status = 'paused'
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _FIRST,
    _LANES,
    _TREE,
    _WAITING,
    _MESSAGES,
    _QUESTIONS,
    _REPLIES,
    _CHILDREN,
    _STREAMS,
    _SCHEDULES,
    _STOPPED,
)
"""The statements that lead from version n to n + 1, at place n. A released one never changes."""

VERSION = len(MIGRATIONS)
"""`PRAGMA user_version` of a file of this version."""


def migrate(
    connection: sqlite3.Connection, migrations: Sequence[tuple[str, ...]] = MIGRATIONS
) -> None:
    """Bring an empty file, or one of an older version, to the present version.

    Each migration is one transaction, together with the number that records it: a death in
    between leaves the file at the version before.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for number, statements in enumerate(migrations[version:], start=version + 1):
        with transaction(connection):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
