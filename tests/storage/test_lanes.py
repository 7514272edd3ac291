"""Which queues a pool has: by priority and lane, found without going through their tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everstep.storage import LaneQueue, QueuePage, Status
from tests.storage.queued import Place, Queued


@pytest.fixture
def tasks() -> Iterator[Queued]:
    made = Queued()
    yield made
    made.connection.close()


def places(page: QueuePage) -> list[Place]:
    return [(queue.priority, queue.lane) for queue in page.queues]


def test_queues_come_by_priority_and_lane_with_their_oldest_task(tasks: Queued) -> None:
    tasks.add((0, "b"), (0, None), (5, "b"), (0, "a"), (0, "b"), (-3, None))

    page = tasks.page()

    assert page.queues == [
        LaneQueue(5, "b", 3, 1),
        LaneQueue(0, None, 2, 1),
        LaneQueue(0, "a", 4, 1),
        LaneQueue(0, "b", 1, 2),
        LaneQueue(-3, None, 6, 1),
    ]
    assert (page.newest, page.cut, page.last) == (6, False, True)


def test_only_what_is_queued_in_the_pool_counts(tasks: Queued) -> None:
    tasks.add((0, "a"), status=Status.RUNNING)
    tasks.add((0, "b"), pool="other")

    assert tasks.page() == QueuePage([], 2, cut=False, last=True)


def test_lengths_are_counted_up_to_a_limit(tasks: Queued) -> None:
    tasks.add(*[(0, None)] * 7, (0, "a"))

    assert [queue.length for queue in tasks.page(deep=3).queues] == [3, 1]


def test_a_page_holds_the_priorities_that_fit_with_all_their_lanes(tasks: Queued) -> None:
    tasks.add((9, "a"), (9, "b"), (5, "a"), (1, "a"), (1, "b"), (1, "c"))

    first = tasks.page(limit=4)
    second = tasks.page(limit=4, below=5)

    assert places(first) == [(9, "a"), (9, "b"), (5, "a")]
    assert (first.cut, first.last) == (False, False)
    assert places(second) == [(1, "a"), (1, "b"), (1, "c")]
    assert (second.cut, second.last) == (False, True)
    assert places(tasks.page(limit=4, below=1)) == []


def test_of_a_priority_with_too_many_lanes_a_window_goes_round(tasks: Queued) -> None:
    tasks.add((1, None), *[(1, name) for name in "abcdefg"], (0, "z"))
    seen: list[list[str | None]] = []
    turns: dict[int, str | None] = {}

    for _ in range(4):
        page = tasks.page(turns=turns, limit=3)
        assert (page.cut, page.last) == (True, False)
        seen.append([queue.lane for queue in page.queues])
        turns[1] = seen[-1][-1]

    assert seen == [[None, "a", "b"], ["c", "d", "e"], ["f", "g", None], [None, "a", "b"]]


@given(st.lists(st.tuples(st.integers(-2, 2), st.sampled_from([None, "a", "b", "ä", "z"]))))
def test_all_queues_are_found_by_going_down(queued: list[Place]) -> None:
    tasks = Queued()
    tasks.add(*queued)
    found: list[Place] = []
    below: int | None = None
    while True:
        page = tasks.page(below=below, limit=5)
        found += places(page)
        if page.last:
            break
        below = page.queues[-1].priority

    lane_order = sorted(set(queued), key=lambda place: (-place[0], place[1] or ""))
    assert found == lane_order
    tasks.connection.close()


def test_a_look_does_not_go_through_the_tasks_of_a_lane(tasks: Queued) -> None:
    few = Queued()
    few.add((5, None), (0, None), (0, "a"), (0, "b"), (-1, "a"))
    tasks.add(*[(0, None), (0, "a")] * 5000, (5, None), (0, "b"), (-1, "a"))

    assert places(tasks.page()) == places(few.page())
    assert tasks.cost(tasks.page) <= few.cost(few.page) + 1
    few.connection.close()


def test_a_look_does_not_go_through_all_lanes(tasks: Queued) -> None:
    few = Queued()
    few.add(*[(0, f"{number:05}") for number in range(200)])
    tasks.add(*[(0, f"{number:05}") for number in range(10_000)])

    assert tasks.cost(lambda: tasks.page(limit=100)) <= few.cost(lambda: few.page(limit=100)) + 2
    few.connection.close()
