"""A tiny run of what measures steps: the rows are complete, and both sides wrote the same."""

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks import one_task, steps, workload
from benchmarks.peers import environments
from benchmarks.peers.run import EVERSTEP, Measured, rows_of
from benchmarks.replay import replay, replay_through_thread
from benchmarks.run import MODULES


def written(file: Path, table: str) -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return set(connection.execute(f"SELECT * FROM {table}"))


@pytest.mark.parametrize("table", ["task", "snapshot", "step", "event"])
@pytest.mark.parametrize("through_thread", [False, True])
def test_the_replay_writes_the_very_rows_that_everstep_left(
    table: str, through_thread: bool, tmp_path: Path
) -> None:
    left, new = tmp_path / "left.sqlite", tmp_path / "new.sqlite"
    workload.run(left, 2, 4)

    if through_thread:
        asyncio.run(replay_through_thread(left, new))
    else:
        replay(left, new)

    assert written(new, table) == written(left, table) != set()


def test_the_rows_of_a_size_have_a_value_for_each_repetition_of_each_side(tmp_path: Path) -> None:
    rows = steps.measure(steps.Plan(repetitions=2, seconds=60, sizes={2: 4}), tmp_path)

    assert [row.what for row in rows] == [
        "2 tasks at once: steps",
        "2 tasks at once: p99 of a step",
        "2 tasks at once: CPU of a step",
        "2 tasks at once: commits in a transaction",
    ]
    sides = [side for row in rows for side in (row.ours, *row.beside)]
    assert {len(side.values) for side in sides} == {2}
    assert [side.name for side in rows[0].beside] == ["sqlite3", "asyncio", "collector tuned"]
    assert rows[0].met == (rows[0].ours.median >= 0.5 * rows[0].beside[0].median)


def test_one_task_alone_is_measured_beside_commits_through_a_thread(tmp_path: Path) -> None:
    p50, p99 = one_task.measure(2, 5, tmp_path)

    assert (p50.what, p99.what) == (
        "one task alone, 5 steps: p50 of a step",
        "one task alone, 5 steps: p99 of a step",
    )
    assert [len(side.values) for side in (p50.ours, *p50.beside)] == [2, 2]
    assert p50.ours.median <= p99.ours.median


def test_a_peer_that_fails_is_told_and_everstep_s_row_stays(tmp_path: Path) -> None:
    absent = environments.Peer("absent", ("absent==1.0",), "on_absent", "power cut")
    measured = Measured()

    for peer in (EVERSTEP, absent):
        measured.add(peer, sys.executable, 2, 3, tmp_path)

    assert [row.what for row in rows_of(2, measured)] == [
        "2 tasks at once: steps",
        "2 tasks at once: p50 of a task",
        "2 tasks at once: CPU of a step",
    ]
    (failed,) = measured.unmeasured.values()
    assert failed.what == "2 tasks at once: absent 1.0"
    assert "No module named benchmarks.peers.on_absent" in failed.why


@pytest.mark.parametrize("peer", environments.PEERS, ids=lambda peer: peer.name)
def test_every_peer_is_pinned_and_has_its_program(peer: environments.Peer) -> None:
    assert all("==" in package for package in peer.packages)
    assert (environments.TREE / "benchmarks" / "peers" / f"{peer.module}.py").is_file()


def test_each_module_of_the_table_is_named_once() -> None:
    assert len(set(MODULES)) == len(MODULES)
