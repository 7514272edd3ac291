"""Whose turn it is: compared with a slow model, and over many looks."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from everstep.storage import LaneQueue, QueuePage, Share
from everstep.supervisor.lanes import Look, Place, Since, Turns, allot, place_of, shares_of

LANES = [None, "a", "b", "c"]


@st.composite
def queues(draw: st.DrawFn) -> list[LaneQueue]:
    """Queues by falling priority, each place once, with the oldest tasks in any order."""
    places = draw(st.sets(st.tuples(st.integers(0, 2), st.sampled_from(LANES)), max_size=9))
    ages = draw(st.permutations(range(1, len(places) + 1)))
    made = [
        LaneQueue(priority, lane, age, draw(st.integers(1, 4)))
        for (priority, lane), age in zip(places, ages, strict=True)
    ]
    return sorted(made, key=lambda queue: -queue.priority)


def slow(
    waiting: list[LaneQueue],
    room: int,
    running: dict[str | None, int],
    cap: int | None,
    since: dict[str | None, Since],
) -> list[Place]:
    """Each slot by itself: to the best of all that have a task and may run one more."""
    places: list[Place] = []
    left = {place_of(queue): queue.length for queue in waiting}
    count = dict.fromkeys(LANES, 0) | running
    served: dict[str | None, int] = {}
    while len(places) < room:
        able = [
            queue
            for queue in waiting
            if left[place_of(queue)]
            and (queue.lane is None or cap is None or count[queue.lane] < cap)
        ]
        if not able:
            break
        best = min(
            able,
            key=lambda queue: (
                -queue.priority,
                count[queue.lane],
                served.get(queue.lane, 0),
                max(since.get(queue.lane, (0, 0)), (queue.oldest, 0)),
                queue.oldest,
            ),
        )
        places.append(place_of(best))
        left[place_of(best)] -= 1
        count[best.lane] += 1
        served[best.lane] = len(places)
    return places


@given(
    queues(),
    st.integers(0, 12),
    st.dictionaries(st.sampled_from(LANES), st.integers(0, 4)),
    st.none() | st.integers(1, 3),
    st.dictionaries(st.sampled_from(LANES), st.tuples(st.integers(0, 9), st.integers(1, 99))),
)
def test_slots_go_where_a_slow_model_puts_them(
    waiting: list[LaneQueue],
    room: int,
    running: dict[str | None, int],
    cap: int | None,
    since: dict[str | None, Since],
) -> None:
    def of(queue: LaneQueue) -> Since:
        return max(since.get(queue.lane, (0, 0)), (queue.oldest, 0))

    places = allot(waiting, room, running=running, cap=cap, since=of)

    assert places == slow(waiting, room, running, cap, since)
    _check_what_was_promised(waiting, places, room, running, cap)


def _check_what_was_promised(
    waiting: list[LaneQueue],
    places: list[Place],
    room: int,
    running: dict[str | None, int],
    cap: int | None,
) -> None:
    left = {place_of(queue): queue.length for queue in waiting}
    count = Counter(running)
    for priority, lane in places:
        others = [
            (p, n)
            for (p, n), length in left.items()
            if length and (not n or not cap or count[n] < cap)
        ]
        assert (priority, lane) in others  # it has a task, and its lane is below the limit
        assert priority == max(p for p, _ in others)
        assert count[lane] == min(count[n] for p, n in others if p == priority)
        left[priority, lane] -= 1
        count[lane] += 1
    if len(places) < room:  # no slot is free that somebody could have
        assert not [n for (_, n), length in left.items() if length and (not n or not cap)]
        assert not [n for (_, n), length in left.items() if length and n and cap and count[n] < cap]


def test_those_without_a_lane_are_one_participant_without_a_limit() -> None:
    waiting = [LaneQueue(0, None, 1, 9), LaneQueue(0, "a", 2, 9)]

    places = allot(waiting, 6, running={}, cap=2, since=Turns().since)

    assert [lane for _, lane in places] == [None, "a", None, "a", None, None]


def test_a_lane_at_its_limit_blocks_no_lower_priority() -> None:
    waiting = [LaneQueue(9, "a", 1, 5), LaneQueue(0, "a", 2, 5), LaneQueue(0, "b", 3, 5)]

    assert allot(waiting, 5, running={"a": 1}, cap=1, since=Turns().since) == [(0, "b")]


def test_a_lane_waits_since_it_was_served_or_since_its_oldest_task_came() -> None:
    turns = Turns()
    turns.looked(QueuePage([], newest=10, cut=False, last=True))
    for lane in ("b", "a"):
        turns.served(lane)
    waiting = [
        LaneQueue(0, "a", 1, 1),
        LaneQueue(0, "b", 2, 1),
        LaneQueue(0, "came before", 5, 1),
        LaneQueue(0, "came later", 11, 1),
    ]

    places = allot(waiting, 4, running={}, cap=None, since=turns.since)

    assert [lane for _, lane in places] == ["came before", "b", "a", "came later"]


def test_lanes_that_were_served_long_ago_are_forgotten_and_not_passed_over() -> None:
    turns = Turns()
    for newest in range(1, 6001):
        turns.looked(QueuePage([], newest=newest, cut=False, last=True))
        turns.served(f"lane {newest}")

    first = turns.since(LaneQueue(0, "lane 1", 1, 1))

    assert first < turns.since(LaneQueue(0, "lane 5000", 2, 1))
    assert turns.since(LaneQueue(0, "lane 5000", 2, 1)) == (5000, 5000)


def test_what_is_asked_of_a_queue_is_its_turns_and_what_it_shows_in_vain() -> None:
    places: list[Place] = [(1, "a"), (0, None), (1, "a")]

    assert shares_of(places, {(1, "a"): 3}) == [Share(1, "a", 5), Share(0, None, 1)]


def page(*lanes: str, priority: int = 0, cut: bool = False, last: bool = False) -> QueuePage:
    return QueuePage([LaneQueue(priority, lane, 1, 1) for lane in lanes], 9, cut=cut, last=last)


def test_a_look_goes_down_and_ends_with_the_last_page() -> None:
    look = Look()

    look.leave_behind(page("a", "b", priority=7))
    assert (look.below, look.over) == (7, False)
    look.leave_behind(page("a", priority=3, last=True))
    assert look.over


def test_a_look_at_an_empty_pool_is_over() -> None:
    look = Look()

    look.leave_behind(page(last=True))

    assert look.over


def test_a_look_goes_round_the_lanes_of_a_priority_before_it_goes_below() -> None:
    look = Look()
    went: list[int | None] = []

    for lanes in ("ab", "cd", "ea", "bc"):
        look.leave_behind(page(*lanes, priority=7, cut=True))
        went.append(look.below)

    assert went == [None, None, None, 7]


def test_a_queue_that_yields_less_than_was_asked_is_left_alone_for_this_look() -> None:
    look = Look()

    look.yielded(Share(0, "a", 2), found=1, fresh=1)
    look.yielded(Share(0, "b", 2), found=2, fresh=1)

    assert [queue.lane for queue in look.queues(page("a", "b", "c"))] == ["b", "c"]
    assert look.skipped[0, "b"] == 1
