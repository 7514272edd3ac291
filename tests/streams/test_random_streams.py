"""Random histories of a stream: written, failed, died, stopped and read, against a plain model."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everstep import Actor, Piece, Restart, Retry, Runtime, Task, fixed, step
from tests.runtime.kit import Place
from tests.streams.talkers import pieces

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Op = tuple[str, int]
Order = tuple[str, list[int], asyncio.Future[None]]

OPS: st.SearchStrategy[Op] = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 4)),
    st.tuples(st.just("read"), st.integers(0, 40)),
    st.sampled_from([("tick", 0), ("drain", 0), ("fail", 0), ("die", 0), ("stop", 0)]),
)


class Scripted(Actor, name="streams.Scripted"):
    """Does in its step what the test orders."""

    orders: ClassVar[asyncio.Queue[Order]]

    @step(retry=Retry(max_attempts=1000, backoff=fixed(0), jitter="none"))
    async def talk(self) -> None:
        stream = self.ctx.stream("words")
        while True:
            what, words, done = await self.orders.get()
            for word in words:
                stream.write(word)
            if what == "drain":
                await stream.drain()
            done.set_result(None)
            if what == "fail":
                raise ConnectionError("the line is dead")
            if what == "end":
                return


@dataclass
class Spoken:
    """What one attempt wrote, and how much of that cannot be lost any more."""

    words: list[int] = field(default_factory=list[int])
    safe: int = 0


class History:
    """Carries operations out, and says after each read whether what was read can be true."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.attempts = [Spoken()]
        self.seen: list[Piece] = []
        self.words = 0
        self._stack = AsyncExitStack()
        self._task: Task[Any] | None = None

    async def begin(self) -> None:
        runtime: Runtime = self.place.runtime(pool={"restart": Restart(3, max_deaths=100)})
        await self._stack.enter_async_context(runtime)
        self._task = await runtime.start(Scripted(), id="t")

    async def leave(self) -> None:
        await self._stack.aclose()

    async def do(self, what: str, number: int) -> None:
        if what == "read":
            await self.read(number)
        elif what == "tick":
            await self.order("tick")  # so that what was written before is waited for
            self.place.clock.advance(0.05)
        elif what in ("die", "stop"):
            await self.order("tick")
            if what == "die":
                self.place.die()
            else:
                self.safe()
            await self.leave()
            self.attempts.append(Spoken())
            await self.begin()
        else:
            await self.order(what, [self.next_word() for _ in range(number)])

    async def order(self, what: str, words: list[int] | None = None) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        Scripted.orders.put_nowait((what, words or [], done))
        await done
        self.attempts[-1].words += words or []
        if what in ("drain", "fail", "end"):
            self.safe()
        if what == "fail":
            self.attempts.append(Spoken())

    def next_word(self) -> int:
        self.words += 1
        return self.words

    def safe(self) -> None:
        self.attempts[-1].safe = len(self.attempts[-1].words)

    async def read(self, offset: int, *, follow: bool = False) -> None:
        assert self._task is not None
        if not follow:
            await self.order("tick")  # a failed attempt is recorded when the next one is there
        found = await pieces(self._task, after=offset, follow=follow)
        whole = await pieces(self._task)
        assert found == whole[offset : offset + len(found)]
        assert whole[: len(self.seen)] == self.seen
        assert [piece.offset for piece in whole] == list(range(1, len(whole) + 1))
        self.check(whole)
        self.seen = whole

    def check(self, whole: list[Piece]) -> None:
        """Each attempt's pieces are the beginning of what it wrote, with all that was safe."""
        rest = list(whole)
        serials: list[int] = []
        for spoken in self.attempts:
            said = [piece for piece in rest[: len(spoken.words)] if piece.data in spoken.words]
            assert [piece.data for piece in said] == spoken.words[: len(said)]
            assert len(said) >= spoken.safe
            assert [piece.first for piece in said] == [True, *[False] * (len(said) - 1)][
                : len(said)
            ]
            assert len({piece.attempt for piece in said}) <= 1
            serials += [piece.attempt for piece in said[:1]]
            del rest[: len(said)]
        assert rest == []
        assert serials == sorted(set(serials))


async def carry_out(ops: list[Op], path: Path | None) -> None:
    Scripted.orders = asyncio.Queue()
    history = History(Place(path))
    await history.begin()
    try:
        for what, number in ops:
            await history.do(what, number)
        await history.read(0)
        await history.order("end")
        await history.read(len(history.seen), follow=True)
        assert all(spoken.safe <= len(spoken.words) for spoken in history.attempts)
    finally:
        await history.leave()
        history.place.discard()


SLOW = [HealthCheck.too_slow]


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(ops=st.lists(OPS, max_size=25))
def test_a_stream_in_memory_is_what_its_attempts_wrote(ops: list[Op]) -> None:
    asyncio.run(carry_out(ops, None))


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(ops=st.lists(OPS, max_size=25))
def test_a_stream_in_a_file_is_what_its_attempts_wrote(ops: list[Op]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(carry_out(ops, Path(folder) / "tasks.db"))
