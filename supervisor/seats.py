"""Which lives of a pool hold a slot: those that rest in durable waits hold none."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

from ..actors.traffic import resolve
from .lanes import below
from .pool_spec import Pool

__all__ = ["LifeSeat", "Seats"]


class Seats:
    """Counts the slots of a pool, also by lane, as its present policy `spec_of` has them.

    `on_rest` is told of the lane in which a life that goes on gave up its slot. A life that wants
    its slot again has precedence over those that are to be let in.
    """

    def __init__(self, spec_of: Callable[[], Pool], on_rest: Callable[[str | None], None]) -> None:
        self._spec_of = spec_of
        self._on_rest = on_rest
        self._taken: dict[int, str | None] = {}
        self._lanes: Counter[str | None] = Counter()
        self._wanted: dict[int, tuple[str | None, asyncio.Future[None]]] = {}
        """Lives that want their slot again, the longest waiting first, with their lanes."""

    @property
    def room(self) -> int:
        """How many slots are free; less than none under a lowered limit.

        Those who want theirs again have been handed what their lanes allow, so it is for others.
        """
        return self._spec_of().max_running - len(self._taken)

    def holds(self, key: int) -> bool:
        """Whether the life of this task has a slot."""
        return key in self._taken

    @property
    def taken(self) -> int:
        """How many lives hold a slot."""
        return len(self._taken)

    @property
    def lanes(self) -> Mapping[str | None, int]:
        """How many slots are taken by lane, of the lanes that have any."""
        return self._lanes

    def take(self, key: int, lane: str | None) -> LifeSeat:
        """A life of this task begins, in a slot."""
        self._take(key, lane)
        return LifeSeat(self, key, lane)

    def _take(self, key: int, lane: str | None) -> None:
        if key not in self._taken:
            self._taken[key] = lane
            self._lanes[lane] += 1

    def give(self, key: int) -> None:
        """The life of this task is over, or rests."""
        self._no_longer_wanted(key)
        if key in self._taken:
            lane = self._taken.pop(key)
            self._lanes[lane] -= 1
            if not self._lanes[lane]:
                del self._lanes[lane]
            self.hand_out()

    def _no_longer_wanted(self, key: int) -> None:
        _, wanted = self._wanted.pop(key, (None, None))
        if wanted is not None:
            resolve(wanted)

    async def again(self, key: int, lane: str | None) -> None:
        """Return when the life has its slot again, or is over. Cancelled, it may still get one."""
        if key in self._taken:
            return
        if key not in self._wanted:
            self._wanted[key] = lane, asyncio.get_running_loop().create_future()
        _, wanted = self._wanted[key]
        self.hand_out()
        await asyncio.wait([wanted])

    def hand_out(self) -> None:
        """Give free slots to those that want theirs again; told when there may be more of them."""
        spec = self._spec_of()
        for key, (lane, wanted) in list(self._wanted.items()):
            if len(self._taken) >= spec.max_running:
                return
            if below(spec.max_running_per_lane, self._lanes, lane):
                del self._wanted[key]
                self._take(key, lane)
                resolve(wanted)

    def rests(self, key: int, lane: str | None) -> None:
        """The life needs its slot no longer; it may want one later."""
        self.give(key)
        self._on_rest(lane)

    def wakes(self, key: int, lane: str | None) -> bool:
        """Give the life a slot again where one is free; whether it got it."""
        free = self.room > 0 and below(self._spec_of().max_running_per_lane, self._lanes, lane)
        if free:
            self._take(key, lane)
            self._no_longer_wanted(key)
        return free


class LifeSeat:
    """The slot of one life, as the life sees it."""

    __slots__ = ("_key", "_lane", "_seats")

    def __init__(self, seats: Seats, key: int, lane: str | None) -> None:
        self._seats = seats
        self._key = key
        self._lane = lane

    def rests(self) -> None:
        """The life needs its slot no longer."""
        self._seats.rests(self._key, self._lane)

    @property
    def held(self) -> bool:
        """Whether it has its slot."""
        return self._seats.holds(self._key)

    async def again(self) -> None:
        """Return when it has its slot again."""
        await self._seats.again(self._key, self._lane)

    def wakes(self) -> bool:
        """Whether it has a slot again."""
        return self._seats.wakes(self._key, self._lane)
