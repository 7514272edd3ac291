"""`ctx.stream` and `task.stream`: many small pieces, in order, from an offset, by attempt."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everstep import (
    Actor,
    BadCall,
    Limits,
    RuntimeClosed,
    StaleAttempt,
    Status,
    StepFailed,
    step,
)
from tests.runtime.kit import ONCE, Gate, Place, followers, kinds, next_event
from tests.streams.talkers import Chorus, Quick, Talker, pieces, pieces_until, told


async def test_pieces_are_read_in_order_with_their_offsets_and_their_attempt(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Quick(count=100))
        await task.result()

        found = await pieces(task)

        assert [piece.offset for piece in found] == list(range(1, 101))
        assert [piece.data for piece in found] == list(range(100))
        assert {(piece.step, piece.attempt) for piece in found} == {("talk", 1)}
        assert [piece.offset for piece in found if piece.first] == [1]
        assert await pieces(task, name="other") == []


async def test_a_reader_goes_on_from_any_offset(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Quick(count=30), id="t")
        await task.result()
    async with place.runtime() as runtime:
        task = runtime.task("t")
        whole = await pieces(task)

        for offset in range(32):
            assert await pieces(task, after=offset) == whole[offset:]


async def test_pieces_are_seen_while_their_attempt_is_in_the_air(place: Place, talk: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Talker(words=["a", "b"]))
        await talk.until("a 1")
        place.clock.advance(0.05)
        assert told(await pieces_until(task, 1)) == [("a", 1, True)]

        talk.open("a 1")
        await talk.until("b 1")
        place.clock.advance(0.05)

        assert told(await pieces_until(task, 1, after=1)) == [("b", 1, False)]
        assert "step_completed" not in await kinds(task)
        talk.open("b 1")
        await task.result()


async def test_a_piece_is_no_commit_of_its_own(place: Place, talk: Gate) -> None:
    words = [str(number) for number in range(200)]
    talk.open(*[f"{word} 1" for word in words[:-1]])
    async with place.runtime() as runtime:
        task = await runtime.start(Talker(words=words), id="t")
        await talk.until("199 1")
        place.clock.advance(0.05)
        await pieces_until(task, 200)

        session = runtime._session  # pyright: ignore[reportPrivateUsage]  # to look into the store
        assert session is not None
        chunks = await session.store.chunks((await session.row("t")).key, "words")

        assert [chunk.length for chunk in chunks] == [200]
        talk.open("199 1")
        await task.result()


async def test_what_a_failed_attempt_wrote_stays_and_the_next_one_begins_anew(
    place: Place, talk: Gate
) -> None:
    Talker.failures = 1
    talk.open("a 1", "a 2")
    async with place.runtime() as runtime:
        task = await runtime.start(Talker(words=["a"]))
        await task.result()

        assert told(await pieces(task)) == [("a", 1, True), ("a", 2, True)]


async def test_what_was_drained_outlasts_a_death_and_the_next_attempt_is_marked(
    place: Place, talk: Gate
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Talker(words=["a", "b"]), id="t")
        await talk.until("a 1")
        place.clock.advance(0.05)
        seen = await pieces_until(task, 1)
        talk.open("a 1")
        await talk.until("b 1")
        place.die()  # "b" was gathered, and is not in the store
    talk.open("a 2", "b 2")
    async with place.runtime() as runtime:
        seen += await pieces(runtime.task("t"), after=seen[-1].offset, follow=True)

        assert told(seen) == [("a", 1, True), ("a", 2, True), ("b", 2, False)]
        assert seen == await pieces(runtime.task("t"))


async def test_an_orderly_stop_keeps_what_the_cut_attempt_wrote(place: Place, talk: Gate) -> None:
    async with place.runtime() as runtime:
        await runtime.start(Talker(words=["a"]), id="t")
        await talk.until("a 1")

    async with place.runtime() as runtime:
        assert told(await pieces(runtime.task("t"))) == [("a", 1, True)]
        talk.open("a 1")
        await runtime.task("t").result()

        assert told(await pieces(runtime.task("t"))) == [("a", 1, True), ("a", 2, True)]


async def test_following_ends_with_the_task_and_misses_nothing_of_its_end(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Quick(count=10))

        assert [piece.data for piece in await pieces(task, follow=True)] == list(range(10))
        assert (await task.status()).status is Status.SUCCEEDED


async def test_an_attempt_that_has_ended_writes_nothing_any_more(place: Place, talk: Gate) -> None:
    Talker.failures = 1
    talk.open("a 1")
    async with place.runtime() as runtime:
        task = await runtime.start(Talker(words=["a"]))
        await talk.until("a 2")
        assert Talker.last is not None

        with pytest.raises(StaleAttempt):
            Talker.last.write("late")
        with pytest.raises(StaleAttempt):
            await Talker.last.drain()

        talk.open("a 2")
        await task.result()
        assert told(await pieces(task)) == [("a", 1, True), ("a", 2, True)]


async def test_steps_that_overlap_write_to_one_stream_each_in_its_order(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Chorus())
        await task.result()
        found = await pieces(task)

    assert [piece.offset for piece in found] == list(range(1, 2006))
    for name, count in (("high", 5), ("low", 2000)):
        said = [piece for piece in found if piece.data[0] == name]
        assert [piece.data[1] for piece in said] == list(range(count))
        assert [piece.first for piece in said] == [True] + [False] * (count - 1)
        assert len({piece.step for piece in said}) == 1


async def test_run_itself_has_no_stream(place: Place) -> None:
    class Hasty(Actor, name="streams.Hasty"):
        async def run(self) -> str:
            try:
                self.ctx.stream("words")
            except BadCall as error:
                return str(error)
            return ""

    async with place.runtime() as runtime:
        said = await (await runtime.start(Hasty())).result()

    assert "a step that writes it" in said


class Flood(Actor, name="streams.Flood"):
    """Writes more than the store can have taken, and says what stopped it."""

    drains: bool = False
    piece: str = "x" * 100_000
    count: int = 100

    @step(retry=ONCE)
    async def pour(self) -> int:
        stream = self.ctx.stream("words")
        for _ in range(self.count):
            stream.write(self.piece)
            if self.drains:
                await stream.drain()
        return self.count

    async def run(self) -> str:
        try:
            return str(await self.pour())
        except StepFailed as failed:
            return f"{failed.failure.kind.rpartition('.')[2]}: {failed.failure.message}"


async def test_who_writes_faster_than_the_store_takes_it_is_stopped(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Flood())

        assert (await task.result()).startswith("StreamFull")
        kept = await pieces(task)
        assert 0 < len(kept) * 100_000 <= 4 << 20


async def test_who_drains_may_write_any_amount_up_to_the_limit(place: Place) -> None:
    async with place.runtime(limits=Limits(stream=8_000_000)) as runtime:
        task = await runtime.start(Flood(drains=True, count=70))
        assert await task.result() == "70"
        assert len(await pieces(task)) == 70

        other = await runtime.start(Flood(drains=True, count=90))
        assert (await other.result()).startswith("PayloadTooLarge")
        assert len(await pieces(other)) == 79


@pytest.mark.parametrize("wrong", [b"bytes", object(), "\ud800"])
async def test_a_piece_that_is_no_json_is_refused_at_once(place: Place, wrong: Any) -> None:
    class Odd(Actor, name="streams.Odd"):
        @step(retry=ONCE)
        async def talk(self) -> None:
            stream = self.ctx.stream("words")
            stream.write("fine")
            stream.write(wrong)

        async def run(self) -> str:
            try:
                await self.talk()
            except StepFailed as failed:
                return failed.failure.message
            return ""

    async with place.runtime() as runtime:
        task = await runtime.start(Odd())

        assert "a piece of the stream words" in await task.result()
        assert told(await pieces(task)) == [("fine", 1, True)]


async def test_what_was_written_before_a_cancellation_stays_and_a_follower_gets_it(
    place: Place, talk: Gate
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Talker(words=["a", "b"]))
        talk.open("a 1")
        await talk.until("b 1")
        follower = asyncio.create_task(pieces(task, follow=True))

        await task.cancel()

        assert told(await follower) == [("a", 1, True), ("b", 1, False)]


async def test_who_follows_a_stream_when_the_runtime_is_left_is_told(
    place: Place, talk: Gate
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Talker(words=["a"]))
        await talk.until("a 1")
        follower = asyncio.create_task(pieces(task, follow=True))
        await next_event(task, "step_started")

    with pytest.raises(RuntimeClosed, match="it was left"):
        await follower


async def test_leaving_a_followed_stream_leaves_nothing_behind(place: Place, talk: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Talker(words=["a"]))
        await talk.until("a 1")
        place.clock.advance(0.05)
        await pieces_until(task, 1)
        follower = asyncio.create_task(pieces(task, follow=True))
        await next_event(task, "step_started")
        follower.cancel()
        await asyncio.wait([follower])

        assert followers(runtime) == 0
        talk.open("a 1")
        await task.result()


@pytest.mark.parametrize("name", ["", "x" * 300, 7])
async def test_a_stream_has_a_name(place: Place, name: Any) -> None:
    async with place.runtime() as runtime:
        with pytest.raises(BadCall):
            runtime.task("t").stream(name)
