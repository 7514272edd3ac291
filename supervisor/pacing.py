"""Holds a pool to its `rate` and slows it down in a storm: the throttle, with clock and voice."""

from __future__ import annotations

from collections.abc import Callable

from ..storage.clock import Clock
from .earliest import Earliest
from .pool_info import PoolListener
from .pool_spec import Pool
from .throttle import Throttle, pace

__all__ = ["Pacing"]


class Pacing:
    """How many may be let in by the present policy, as `spec_of` tells it.

    What `throttle` has counted in earlier lives of the pool counts.
    `on_pass` is called when more may be let in than before. `on_event` hears when a storm begins
    and ends: the kind of event, the reason, and whether it is expected.
    """

    def __init__(
        self,
        spec_of: Callable[[], Pool],
        clock: Clock,
        throttle: Throttle,
        *,
        on_pass: Callable[[], object],
        on_event: PoolListener,
    ) -> None:
        self._spec_of = spec_of
        self._clock = clock
        self._on_pass = on_pass
        self._on_event = on_event
        self._throttle = throttle
        self._throttle.changed(spec_of())
        self._timer = Earliest(clock, on_pass)

    # --- told -----------------------------------------------------------------------------

    def let_in(self) -> None:
        """A task was claimed, for whatever reason."""
        self._throttle.let_in(self._spec_of(), self._clock.monotonic())

    def crashed(self) -> None:
        """A task has crashed."""
        self._throttle.crashed(self._spec_of(), self._clock.monotonic())
        self.settle()

    def changed(self) -> None:
        """The policy is another one."""
        self._throttle.changed(self._spec_of())
        self.settle()

    def settle(self) -> None:
        """Let a storm begin or end, by what has happened, and tell of it."""
        spec = self._spec_of()
        if not self._throttle.settle(spec, self._clock.monotonic()):
            return
        if self._throttle.stormy and spec.storm is not None:
            self._began(spec, spec.storm)
        else:
            self._on_event("storm_ended", "the crashes are within the limit again", True)
        self._on_pass()

    def _began(self, spec: Pool, storm: tuple[int, float]) -> None:
        reason = (
            f"more than {storm[0]} crashes within {storm[1]:g} s; until there are fewer, one task "
            f"is let in every {pace(storm):.3g} s, and none is ended; look what its tasks have in "
            f"common: await runtime.tasks(pool={spec.name!r}) shows their errors"
        )
        self._on_event("storm_began", reason, False)

    def arm(self, *, waiting: bool) -> None:
        """Call `on_pass` when a storm ends, and, if tasks are waiting, when one may be let in."""
        spec, now = self._spec_of(), self._clock.monotonic()
        ends = self._throttle.storm_left(spec, now)
        if ends is not None:
            self._timer.arm(ends)
        opens = self._throttle.closed_for(spec, now)
        if waiting and opens > 0:
            self._timer.arm(opens)

    def stop(self) -> None:
        """Call nobody any more."""
        self._timer.cancel()

    # --- asked ----------------------------------------------------------------------------

    def allows(self, free: int) -> int:
        """How many of so many free slots may be given away now."""
        return self._throttle.allows(self._spec_of(), self._clock.monotonic(), free)

    @property
    def left(self) -> float | None:
        """Seconds until `on_pass` is called next, as far as that is known."""
        return self._timer.left

    @property
    def storm(self) -> float | None:
        """Seconds since the storm began; None where there is none."""
        return self._throttle.storm_age(self._clock.monotonic())

    @property
    def crashes(self) -> int:
        """Crashes in the window of `storm`."""
        return self._throttle.crashes(self._spec_of(), self._clock.monotonic())

    @property
    def starts(self) -> int:
        """Tasks let in, in the window of `rate`."""
        return self._throttle.starts(self._spec_of(), self._clock.monotonic())
