"""Who is restarted, how often and when: plain functions and one window."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import dropwhile

from ...actors.backoff import seconds, spread
from ..restart import Restart
from .exits import Exit
from .spec import RestartType, Strategy

__all__ = [
    "Window",
    "as_expected",
    "group_of",
    "limit_hit",
    "out_of_reach",
    "reported",
    "restarts",
]

_RESTARTED: dict[RestartType, frozenset[str]] = {
    "permanent": frozenset({"normal", "shutdown", "crash", "killed"}),
    "transient": frozenset({"crash", "killed"}),
    "temporary": frozenset(),
}
_MOST_ASKED = 1000


def restarts(restart: RestartType, ended: Exit) -> bool:
    """Whether a child of this type is started again after this exit."""
    return ended.kind in _RESTARTED[restart]


def reported(restart: RestartType, ended: Exit) -> bool:
    """Whether the exit is worth a report: every one of a permanent child, and crashes."""
    return ended.kind in _RESTARTED["permanent" if restart == "permanent" else "transient"]


def as_expected(restart: RestartType, ended: Exit, *, brutal: bool) -> bool:
    """Whether a child that was ordered to stop ended as it should.

    Of a permanent child only a plain shutdown is expected; others may also return.
    """
    if brutal:
        return ended.kind in ("killed", "shutdown")
    if restart == "permanent":
        return ended.kind == "shutdown" and ended.info is None
    return ended.kind in ("shutdown", "normal", "ignored")


def group_of(strategy: Strategy, order: Iterable[str], child: str) -> list[str]:
    """The children that are restarted when `child` failed, in the order of their start."""
    if strategy == "one_for_one":
        return [child]  # without a look at the others, of whom there may be very many
    if strategy == "one_for_all":
        return list(order)
    return list(dropwhile(lambda other: other != child, order))


class Window:
    """The restarts of the last seconds, by a clock that never goes back; both ends count."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def add(self, now: float, within: float) -> int:
        """Count a restart at `now`; how many there were in the `within` seconds that end there."""
        self._times.append(now)
        return self.count(now, within)

    def count(self, now: float, within: float) -> int:
        while self._times and now - self._times[0] > within:
            self._times.popleft()
        return len(self._times)


def limit_hit(restart: Restart, in_window: int, in_a_row: int) -> str | None:
    """In words, the limit that is exceeded with this failure; None while there is budget."""
    if in_window > restart.max_restarts:
        most = f"max_restarts={restart.max_restarts}"
        failures = "failure" if in_window == 1 else "failures"
        return f"{in_window} {failures} within {restart.within:g} s and {most}"
    if restart.max_failures is not None and in_a_row > restart.max_failures:
        return f"{in_a_row} failures of one child in a row and max_failures={restart.max_failures}"
    return None


def out_of_reach(restart: Restart) -> str | None:
    """Why one child alone can fail for ever without exceeding a limit, in figures; else None.

    Reckons with whole delays, and says what is the least that jitter leaves of them.
    """
    if restart.backoff is None or restart.max_failures is not None:
        return None
    delays: list[float] = []
    while len(delays) < min(restart.max_restarts, _MOST_ASKED):
        delays.append(seconds(restart.backoff, len(delays) + 1))
        if sum(delays) > restart.within:
            return _arithmetic(restart, delays)
    return None


def _arithmetic(restart: Restart, delays: list[float]) -> str:
    shown = " + ".join(f"{delay:g}" for delay in delays[:6])
    shown += " + …" if len(delays) > 6 else ""
    total = sum(delays)
    least = spread(total, restart.jitter, lambda: 0.0)
    with_jitter = "" if least == total else f" (at least {least:g} s with jitter)"
    verdict = "would" if least > restart.within else "may"
    return (
        f"the limit of max_restarts={restart.max_restarts} within={restart.within:g} s is out of "
        f"reach: the backoff before the first {len(delays)} restarts takes "
        f"{shown} = {total:g} s{with_jitter}, so a child that always fails {verdict} be restarted "
        "for ever; give max_failures=10, or a longer within"
    )
