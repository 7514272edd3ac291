"""The waits of the guide do what the guide says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep import Actor, Runtime, TaskFailed, step
from everstep.testing import ManualClock
from examples.guide import approval, servers, streams
from examples.guide.messages import Add, Order, Warehouse
from examples.guide.waits import Trial
from tests.guide.pages import says

DAY = 24 * 3600


async def test_a_trial_month_sends_its_mails_when_they_are_due() -> None:
    clock = ManualClock()
    async with Runtime(":memory:", clock=clock) as runtime:
        task = await runtime.start(Trial(customer="Ada"))
        counts: list[int] = []
        async for event in task.events(follow=True):
            if event.kind == "task_suspended":
                counts.append(len((await task.state(Trial)).mails))
                clock.advance(25 * DAY if len(counts) == 1 else 60)
                clock.jump(0 if len(counts) == 1 else 10 * 365 * DAY)
                clock.advance(30)

        assert await task.result() == "Ada: goodbye"
    assert counts == [1, 2]


class Impatient(Actor):
    @step
    async def remind(self) -> None:
        await self.ctx.sleep(5)


async def test_the_guide_shows_what_a_wait_in_a_step_is_answered() -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(TaskFailed) as caught:
            await (await runtime.start(Impatient())).result()

    assert says("docs/guide.md", f"WaitInStep: {caught.value.message}")


async def test_an_order_takes_what_is_added_and_is_sent_on_when_nothing_more_comes() -> None:
    clock = ManualClock()
    async with Runtime(":memory:", clock=clock) as runtime:
        warehouse = await runtime.start(Warehouse(), id="warehouse")
        order = await runtime.start(Order(), id="order-1")
        for article in ("tea", "cups", "tea"):
            await order.send(Add(article=article), id=article)
        async for event in order.events(follow=True):
            if event.kind == "task_waiting" and len((await order.state(Order)).articles) == 2:
                clock.advance(3600)

        assert await order.result() == 2
        assert await warehouse.result() == "order-1: tea, cups"


async def test_an_article_is_published_by_an_answer_after_a_restart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await approval.main(tmp_path / "articles.db")

    asked, published = capsys.readouterr().out.splitlines()
    assert asked == "article-1 Publish 'All about tea'? Decision"
    assert published == "published (well done)"


async def test_a_chat_answers_a_repeat_with_what_it_has_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await servers.main(tmp_path / "chats.db")

    assert capsys.readouterr().out.splitlines() == [
        "1: hello",
        "1: hello",
        "ValueError: nothing was said",
        "['hello', 'is anybody there?']",
        "3: good evening",
    ]


async def test_words_are_shown_as_they_are_said_and_a_new_attempt_begins_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await streams.main(tmp_path / "answers.db")

    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == "2 (attempt 1): It depends"
    assert shown[2:] == [
        "3 (attempt 2): It",
        "4 (attempt 2): It depends",
        "5 (attempt 2): It depends on",
        "6 (attempt 2): It depends on the weather.",
    ]
