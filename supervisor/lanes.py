"""Who is let in next: strictly by priority, and within one fairly over the lanes.

A slot goes to the lane with the fewest running tasks; among equals to the one that has been
waiting for its turn the longest. It waits since it was served last, or since its oldest task was
started where that is later. Time is counted in tasks: the key of the newest task at that moment,
which no clock can set back. Tasks without a lane are one participant together.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby

from ..storage.interface import LaneQueue, QueuePage, Share

__all__ = ["Look", "Place", "Since", "Turns", "allot", "below", "place_of", "shares_of"]

Place = tuple[int, str | None]
"""A priority and a lane: what one queue is known by."""

Since = tuple[int, int]
"""When a lane began to wait: the newest task then, and how many were served before it."""

_MOST_KEPT = 4096


def place_of(queue: LaneQueue) -> Place:
    """What the queue is known by."""
    return queue.priority, queue.lane


def allot(
    queues: Sequence[LaneQueue],
    room: int,
    *,
    running: Mapping[str | None, int],
    cap: int | None,
    since: Callable[[LaneQueue], Since],
) -> list[Place]:
    """Whose turn it is for each of `room` slots, in order; fewer where the queues hold no more.

    `queues` come by falling priority. `running` counts what runs by lane, of which no lane (but
    None) may reach more than `cap`; `since` tells since when a queue's lane has been waiting.
    """
    allotment = _Allotment(Counter(running), cap, since)
    for _, level in groupby(queues, key=lambda queue: queue.priority):
        allotment.add(list(level), room)
    return allotment.places


class _Allotment:
    """The slots given away so far, and what follows from them for the next one."""

    def __init__(
        self, running: Counter[str | None], cap: int | None, since: Callable[[LaneQueue], Since]
    ) -> None:
        self.places: list[Place] = []
        self._running = running
        self._cap = cap
        self._since = since
        self._served: dict[str | None, int] = {}
        """The lanes that were served here, which come behind all others; the newest last."""

    def add(self, queues: list[LaneQueue], room: int) -> None:
        """Give slots to the queues of one priority, until `room` are given away."""
        waiting = [
            (*self._rank(queue), queue.length, queue) for queue in queues if self._may(queue.lane)
        ]
        heapify(waiting)
        while waiting and len(self.places) < room:
            *_, length, queue = heappop(waiting)
            self.places.append(place_of(queue))
            self._running[queue.lane] += 1
            self._served[queue.lane] = len(self.places)
            if length > 1 and self._may(queue.lane):
                heappush(waiting, (*self._rank(queue), length - 1, queue))

    def _rank(self, queue: LaneQueue) -> tuple[int, int, Since, int]:
        """Sorts the queues of one priority by whose turn it is; equal for no two of them."""
        lane = queue.lane
        return self._running[lane], self._served.get(lane, 0), self._since(queue), queue.oldest

    def _may(self, lane: str | None) -> bool:
        return below(self._cap, self._running, lane)


def below(cap: int | None, running: Mapping[str | None, int], lane: str | None) -> bool:
    """Whether one more task of the lane may run, as far as the limit of lanes decides."""
    return lane is None or cap is None or running.get(lane, 0) < cap


def shares_of(places: Iterable[Place], besides: Mapping[Place, int]) -> list[Share]:
    """What to ask of the store for these turns; of some queues so many more than are wanted."""
    return [
        Share(priority, lane, count + besides.get((priority, lane), 0))
        for (priority, lane), count in Counter(places).items()
    ]


class Turns:
    """Which lanes were served when, of the newest few thousand; of others their age decides."""

    def __init__(self) -> None:
        self._served: OrderedDict[str | None, Since] = OrderedDict()
        self._count = 0
        self._newest = 0
        self._windows: dict[int, str | None] = {}

    @property
    def windows(self) -> Mapping[int, str | None]:
        """Where the next look begins at the priorities that have too many lanes for one page."""
        return self._windows

    def looked(self, page: QueuePage) -> None:
        """Note what a look has shown."""
        self._newest = page.newest
        if page.cut:
            self._windows[page.queues[-1].priority] = page.queues[-1].lane
        elif self._windows:
            for queue in page.queues:
                self._windows.pop(queue.priority, None)

    def served(self, lane: str | None) -> None:
        """A task of the lane is let in."""
        self._count += 1
        self._served[lane] = (self._newest, self._count)
        self._served.move_to_end(lane)
        if len(self._served) > _MOST_KEPT:
            self._served.popitem(last=False)

    def since(self, queue: LaneQueue) -> Since:
        """Since when the lane of a queue has been waiting for its turn."""
        return max(self._served.get(queue.lane, (0, 0)), (queue.oldest, 0))


class Look:
    """One way through the queues of a pool, from the highest priority down.

    A queue that yields fewer tasks than it was asked for has nothing more for this look: its other
    tasks are not due, suspects, or of an unknown class. Pages without a turn are left behind.
    """

    def __init__(self) -> None:
        self.below: int | None = None
        """Priorities at or above it have been gone through; None at the start."""
        self.over = False
        """Whether all queues have been gone through."""
        self.skipped: dict[Place, int] = {}
        """How many tasks a queue shows that cannot be let in just now, because they still run."""
        self._spent: set[Place] = set()
        self._seen: set[Place] = set()

    def queues(self, page: QueuePage) -> list[LaneQueue]:
        """The queues of a page that may have something yet."""
        return [queue for queue in page.queues if place_of(queue) not in self._spent]

    def yielded(self, share: Share, found: int, fresh: int) -> None:
        """Of what was asked of a queue so many were found, and so many of them can be let in."""
        place = share.priority, share.lane
        self.skipped[place] = max(self.skipped.get(place, 0), found - fresh)
        if found < share.wanted:
            self._spent.add(place)

    def leave_behind(self, page: QueuePage) -> None:
        """Go on behind a page of which nobody has a turn."""
        if page.cut:
            before = len(self._seen)
            self._seen.update(map(place_of, page.queues))
            if len(self._seen) > before:
                return  # there may be more lanes of the priority
        self.over = page.last
        if page.queues:
            self.below = page.queues[-1].priority
