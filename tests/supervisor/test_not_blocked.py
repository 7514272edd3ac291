"""The watchdog leaves an idle loop alone, and accuses nobody of what is no block."""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

from everstep import Supervisor, supervise
from everstep.supervisor.watchdog import counted

from .blocking import AFTER, PATIENCE, Ear, Heard, hearing, poll, service

real = pytest.mark.real


@pytest.fixture
def heard() -> Generator[Heard, None, None]:
    with hearing() as heard:
        yield heard


class CountingSelector(selectors.DefaultSelector):
    """Counts how often a loop looks for something to do."""

    selects = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.selects += 1
        return super().select(timeout)


class ForeignSelector(CountingSelector):
    """One whose frames do not tell that the loop waits, as those of a loop in another language."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._native(timeout)

    def _native(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout)


class Looks:
    """Lets a test see each look of a watchdog: it stands in for what Python shows of threads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._look = sys._current_frames
        self._more = threading.Condition()
        self._hooks: list[Callable[[], None]] = []
        monkeypatch.setattr(sys, "_current_frames", self._counted)

    def each(self, hook: Callable[[], None]) -> None:
        """Call this at each further look, in the thread of the watchdog."""
        self._hooks.append(hook)

    def wait(self) -> None:
        """Block this thread until the next look is under way."""
        with self._more:
            next_one = self.count + 1
            assert self._more.wait_for(lambda: self.count >= next_one, PATIENCE)

    def _counted(self) -> dict[int, Any]:
        for hook in self._hooks:
            hook()
        with self._more:
            self.count += 1
            self._more.notify_all()
        return self._look()


def turns_while_idle(selector: CountingSelector, looks: Looks) -> int:
    """How often an idle loop wakes while a watchdog looks at it twenty times."""
    turns: list[int] = []

    async def main() -> None:
        loop, enough = asyncio.get_running_loop(), asyncio.Event()

        def note() -> None:
            turns.append(selector.selects)
            if len(turns) == 30:
                loop.call_soon_threadsafe(enough.set)

        async with supervise(Supervisor("root"), blocked_after=AFTER):
            looks.each(note)
            await enough.wait()

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(main())
    return turns[29] - turns[9]


@real
def test_an_idle_loop_is_never_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert turns_while_idle(CountingSelector(), Looks(monkeypatch)) == 0


@real
def test_a_loop_that_cannot_be_seen_to_wait_is_asked_and_not_accused(
    monkeypatch: pytest.MonkeyPatch, heard: Heard
) -> None:
    assert turns_while_idle(ForeignSelector(), Looks(monkeypatch)) > 5
    assert heard.warnings == []


@real
def test_a_service_on_a_loop_that_cannot_be_seen_to_wait_is_named(heard: Heard) -> None:
    async def main() -> str:
        ear = Ear()
        async with supervise(service(poll, heard), on_event=ear, blocked_after=AFTER):
            return (await ear.blocked()).reason

    loop = asyncio.SelectorEventLoop(ForeignSelector())
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        assert "by service root/web/poller at " in runner.run(main())


@real
async def test_many_callbacks_in_one_turn_of_which_none_takes_long_accuse_nobody(
    monkeypatch: pytest.MonkeyPatch, heard: Heard
) -> None:
    looks, ear = Looks(monkeypatch), Ear()
    async with supervise(Supervisor("root"), on_event=ear, blocked_after=0.3):
        for _ in range(12):  # five looks fit into the time allowed to one
            asyncio.get_running_loop().call_soon(looks.wait)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert (heard.warnings, ear.events) == ([], [])


@real
async def test_who_stands_at_a_breakpoint_blocks_nothing(
    monkeypatch: pytest.MonkeyPatch, heard: Heard
) -> None:
    looks, ear = Looks(monkeypatch), Ear()
    debugger: dict[str, Any] = {"__name__": "pdb"}
    exec("def interaction(wait):\n    for _ in range(20): wait()", debugger)

    async def debugged() -> None:
        debugger["interaction"](looks.wait)

    async with supervise(service(debugged), on_event=ear, blocked_after=AFTER):
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert (looks.count > 20, heard.warnings, ear.events) == (True, [], [])


@real
def test_a_loop_that_does_not_run_is_not_blocked(heard: Heard) -> None:
    seen = threading.Semaphore(0)

    class Loop(asyncio.SelectorEventLoop):
        def is_running(self) -> bool:
            running = super().is_running()
            if not running:
                seen.release()
            return running

    with asyncio.Runner(loop_factory=Loop) as runner:
        supervision = supervise(Supervisor("root"), blocked_after=AFTER)
        runner.run(supervision.__aenter__())
        for _ in range(20):
            assert seen.acquire(timeout=PATIENCE)
        runner.run(supervision.__aexit__(None, None, None))

    assert heard.warnings == []


@pytest.mark.parametrize(
    ("slept", "burned", "collected", "counts"),
    [
        (0.2, 0.0, False, 0.2),
        (0.5, 0.0, True, 0.5),
        (30.0, 0.1, False, 0.2),  # the process was stopped, or the machine
        (30.0, 29.0, False, 30.0),  # the loop's code held the interpreter
        (30.0, 29.0, True, 0.2),  # as does the collection of garbage
    ],
)
def test_only_time_in_which_the_loop_could_have_run_counts(
    slept: float, burned: float, collected: bool, counts: float
) -> None:
    assert counted(slept, 0.2, burned, collected=collected) == counts
