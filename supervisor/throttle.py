"""How fast a pool lets tasks in: its `rate`, and its pace while a storm lasts.

Plain bookkeeping: it is told what happens and when, by a clock that never goes back. Something
that happened at t is in the window of `within` seconds until t + within.
"""

from __future__ import annotations

from collections import deque

from .pool_spec import Pool

__all__ = ["Throttle", "pace"]

_EARLY = 1e-9
"""A timer may ring so much too early, by rounding."""


class _Window:
    """Instants of the last seconds, oldest first."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def add(self, now: float) -> None:
        self._times.append(now)

    def count(self, now: float, within: float) -> int:
        """How many are in the window that ends now; the others are forgotten."""
        while self._times and self._times[0] + within - now <= _EARLY:
            self._times.popleft()
        return len(self._times)

    def until_fewer(self, limit: int, now: float, within: float) -> float:
        """Seconds until fewer than `limit` are in the window; 0 where that is so."""
        beyond = self.count(now, within) - limit
        return 0.0 if beyond < 0 else self._times[beyond] + within - now

    def clear(self) -> None:
        self._times.clear()


def pace(storm: tuple[int, float]) -> float:
    """Seconds between two tasks that are let in while a storm lasts."""
    crashes, within = storm
    return within / crashes


class Throttle:
    """What was let in and what crashed lately, in this process."""

    __slots__ = ("_crashes", "_last", "_let_in", "_storm_since")

    def __init__(self) -> None:
        self._let_in = _Window()
        self._crashes = _Window()
        self._last: float | None = None
        self._storm_since: float | None = None

    # --- told -----------------------------------------------------------------------------

    def let_in(self, spec: Pool, now: float) -> None:
        """A task was claimed, for whatever reason."""
        self._last = now
        if spec.rate is not None:
            self._let_in.count(now, spec.rate[1])
            self._let_in.add(now)

    def crashed(self, spec: Pool, now: float) -> None:
        """A task has crashed."""
        if spec.storm is not None:
            self._crashes.add(now)

    def changed(self, spec: Pool) -> None:
        """The policy is another: forget what it does not limit any more."""
        if spec.rate is None:
            self._let_in.clear()
        if spec.storm is None:
            self._crashes.clear()

    def settle(self, spec: Pool, now: float) -> bool:
        """Let a storm begin or end by what has happened; whether one has."""
        stormy = spec.storm is not None and self.crashes(spec, now) > spec.storm[0]
        turned = stormy is not self.stormy
        if turned:
            self._storm_since = now if stormy else None
        return turned

    # --- asked ----------------------------------------------------------------------------

    @property
    def stormy(self) -> bool:
        """Whether tasks are let in one at a time just now."""
        return self._storm_since is not None

    def storm_age(self, now: float) -> float | None:
        """Seconds since the storm began; None where there is none."""
        return None if self._storm_since is None else now - self._storm_since

    def crashes(self, spec: Pool, now: float) -> int:
        """Crashes in the storm's window."""
        return 0 if spec.storm is None else self._crashes.count(now, spec.storm[1])

    def starts(self, spec: Pool, now: float) -> int:
        """Tasks let in, in the rate's window."""
        return 0 if spec.rate is None else self._let_in.count(now, spec.rate[1])

    def allows(self, spec: Pool, now: float, room: int) -> int:
        """How many of `room` tasks may be let in now."""
        if spec.rate is not None:
            room = min(room, spec.rate[0] - self.starts(spec, now))
        if self.stormy:
            room = min(room, int(self._until_paced(spec, now) <= _EARLY))
        return max(room, 0)

    def closed_for(self, spec: Pool, now: float) -> float:
        """Seconds until the next one may be let in, as far as this decides; 0 for now."""
        wait = self._until_paced(spec, now) if self.stormy else 0.0
        if spec.rate is not None:
            tasks, within = spec.rate
            wait = max(wait, self._let_in.until_fewer(tasks, now, within))
        return wait

    def storm_left(self, spec: Pool, now: float) -> float | None:
        """Seconds until the storm ends if nothing crashes any more; None where there is none."""
        if not self.stormy or spec.storm is None:
            return None
        crashes, within = spec.storm
        return self._crashes.until_fewer(crashes + 1, now, within)

    def _until_paced(self, spec: Pool, now: float) -> float:
        if self._last is None or spec.storm is None:
            return 0.0
        return max(self._last + pace(spec.storm) - now, 0.0)
