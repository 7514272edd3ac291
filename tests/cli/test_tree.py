"""`everstep tree FILE` shows what a stopped store knows, and changes nothing in it."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from everstep import Child, DynamicSupervisor, Pool, Restart, Supervisor
from everstep.storage import Commit, SqliteStore, Status
from everstep.storage.sqlite.schema import MIGRATIONS, migrate
from everstep.supervisor.services.outline import outline
from everstep.testing import ManualClock
from tests.storage.kit import Life, hold

from .kit import killed, known, shown, worked


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


async def poll(queue: object) -> None:
    """A service."""


TREE = Supervisor(
    "root",
    children=[
        Child(poll, args=("secret",), id="poller"),
        Pool("agents", max_running=20, restart=Restart(3, max_deaths=4)),
        Supervisor("ingest", strategy="rest_for_one", children=[Pool("mails")]),
        DynamicSupervisor("jobs"),
    ],
)


def made(file: Path, *tasks: dict[str, Any], tree: str | None = None) -> Path:
    """A store with these tasks, opened with this tree, and closed."""

    async def make() -> None:
        store = SqliteStore(file, clock=ManualClock())
        await store.open(tree=tree)
        await hold(store, *(_create(store, number, task) for number, task in enumerate(tasks)))
        await store.close()

    asyncio.run(make())
    return file


def _create(store: SqliteStore, number: int, task: dict[str, Any]) -> Commit:
    options = dict(task)
    life = Life(store, id=options.pop("id", f"t{number}"), pool=options.pop("pool", "agents"))
    lane = options.pop("lane", None)
    commit = life.create(**options)
    assert commit.new is not None
    return commit._replace(new=commit.new._replace(lane=lane))


def files_beside(file: Path) -> dict[str, bytes]:
    """The bytes of all files there, those of the lock left aside, which names its last holder."""
    return {one.name: one.read_bytes() for one in file.parent.iterdir() if one.suffix != ".lock"}


# --- the tree -------------------------------------------------------------------------------


def test_the_tree_is_drawn_as_it_was_specified(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(file, tree=outline(TREE).encoded())

    drawn = shown(capsys, file).split("\n\n")[1]

    policy = "3 restarts, max_deaths 4, on_give_up fail"
    default = "3 restarts, backoff exponential(1, factor=2, maximum=60), max_deaths 3"
    assert drawn.splitlines() == [
        "root         supervisor  not running  one_for_one, 3 restarts within 5 s",
        f"├─ poller    worker      not running  {__name__}.poll, permanent, shutdown 5 s",
        f"├─ agents    pool        not running  max_running 20, {policy}",
        "│     tasks: none",
        "├─ ingest    supervisor  not running  rest_for_one, 3 restarts within 5 s",
        f"│  └─ mails  pool        not running  max_running 1000, {default}, on_give_up fail",
        "│        tasks: none",
        "└─ jobs      supervisor  not running  dynamic, 3 restarts within 5 s",
    ]


def test_who_owned_it_last_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = shown(capsys, made(file, tree=outline(TREE).encoded())).splitlines()

    assert head[0] == f"{file} (schema version {len(MIGRATIONS)}), stopped"
    assert head[1].startswith(f"last owned by process {os.getpid()} on {socket.gethostname()} from")
    assert head[1].endswith(", epoch 1")


def test_a_tree_of_an_earlier_owner_is_said_to_be_one(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(file, tree=outline(TREE).encoded())
    made(file)

    assert "the tree is that of epoch 1; those after it have left none" in shown(capsys, file)


def test_a_store_of_the_first_version_shows_what_is_there(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    migrate(connection, MIGRATIONS[:1])
    connection.close()

    drawn = shown(capsys, file)

    assert "schema version 1" in drawn
    assert "no process has owned it yet" in drawn
    assert "no tree is known" in drawn
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize("tree", ["not JSON", "[]"])
def test_a_tree_that_cannot_be_read_hides_nothing_else(
    file: Path, capsys: pytest.CaptureFixture[str], tree: str
) -> None:
    drawn = shown(capsys, made(file, {}, tree=tree))

    assert "no tree is known" in drawn
    assert "tasks: 1 queued" in drawn


# --- the tasks ------------------------------------------------------------------------------


def test_a_runtime_that_was_left_shows_its_tasks_under_their_pool(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, worked(file)).splitlines()

    at = next(number for number, line in enumerate(lines) if "agents" in line)
    tasks, paused, to_go_on, failed = (line.strip() for line in lines[at + 1 :])
    assert lines[at].startswith("└─ agents  pool        not running  max_running 1, 0 restarts")
    assert tasks == "tasks: 1 failed, 1 paused, 2 queued, 2 of them due now, 1 succeeded"
    assert paused.startswith("paused: pauses (cli.Chore): effect_unknown, everstep.")
    assert to_go_on.startswith("to go on: await runtime.task('pauses').settle(key, Done(")
    assert failed == "failed: fails (cli.Chore): crashes, ValueError: no such customer"


@pytest.mark.real
def test_a_killed_runtime_shows_what_it_left_running(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed(file)
    before = files_beside(file)

    drawn = shown(capsys, file)

    assert "1 queued, 1 of them due now, 1 running" in drawn
    assert "left running, recovered at the next start: goes on (cli.Chore)" in drawn
    assert files_beside(file).keys() == before.keys()
    assert files_beside(file)[file.name] == before[file.name]


def test_looking_changes_nothing_and_makes_no_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worked(file)
    before = files_beside(file)

    first = known(capsys, file)

    assert known(capsys, file)["owner"] == first["owner"]
    assert files_beside(file) == before


def test_pools_that_the_tree_lacks_are_shown_apart(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(file, {"pool": "old"}, {"pool": "agents"}, tree=outline(TREE).encoded())

    tree, absent = shown(capsys, file).split("\n\n")[1:]

    assert "old" not in tree
    assert absent.splitlines() == [
        "pools that the tree lacks, whose tasks wait for a tree with a pool of that name:",
        "└─ old",
        "      tasks: 1 queued, 1 of them due now",
    ]
    assert [(pool["name"], pool["in_tree"]) for pool in known(capsys, file)["pools"]] == [
        ("agents", True),
        ("mails", True),
        ("old", False),
    ]


def test_suspects_are_those_of_the_pools_own_policy(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [{"pool": pool, "deaths": deaths} for pool in ("agents", "mails") for deaths in (2, 3)]
    made(file, *tasks, tree=outline(TREE).encoded())

    agents, mails = known(capsys, file)["pools"]

    assert [task["id"] for task in agents["suspects"]["newest"]] == ["t1"]
    assert mails["suspects"]["total"] == 2
    assert "suspects, let in a few at a time: t1 (Report, 3 deaths)" in shown(capsys, file)


def test_what_falls_due_later_and_what_waits_in_lanes_is_shown(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(file, {"due_at": 1e12, "due_delay": 90.0}, {"lane": "tenant"}, {})

    drawn = shown(capsys, file)

    assert "tasks: 3 queued, 2 of them due now, the next in 90.0 s" in drawn
    assert "lane tenant: 1 queued, 0 running" in drawn


def test_only_the_newest_of_many_are_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(file, *({"status": Status.PAUSED, "updated_at": float(n)} for n in range(9)))

    drawn = shown(capsys, file)

    assert [n for n in range(9) if f"paused: t{n} " in drawn] == [4, 5, 6, 7, 8]
    assert "paused: 4 more" in drawn


def test_json_has_instants_counts_and_what_to_do(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = known(capsys, worked(file))

    (pool,) = found["pools"]
    (paused,) = pool["paused"]["newest"]
    assert found["file"] == str(file)
    assert found["owner"]["started_at"].endswith("+00:00")
    (child,) = found["tree"]["outline"]["children"]
    assert (child["name"], child["kind"]) == ("agents", "pool")
    assert pool["counts"] == {"failed": 1, "paused": 1, "queued": 2, "succeeded": 1}
    assert (pool["due"], pool["next_due_in"]) == (2, None)
    assert (paused["id"], paused["reason"]) == ("pauses", "effect_unknown")
    assert paused["to_go_on"].startswith("await runtime.task('pauses').settle(")


def test_control_characters_in_names_do_not_reach_the_terminal(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(file, {"id": "a\x1b[2Jb\nc", "status": Status.PAUSED, "reason": "x\x07"})

    drawn = shown(capsys, file)

    assert "paused: a [2Jb c (Report): x" in drawn
    assert not {"\x1b", "\x07"} & set(drawn)
