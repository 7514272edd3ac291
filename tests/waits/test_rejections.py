"""What a person's no does to a task that it leaves, and to its parent."""

from __future__ import annotations

import asyncio

import pytest

from everstep import Actor, ChildFailed, Rejected, Restart, Status, TaskFailed, TaskPaused, step
from everstep.actors.failures import Failure, failure_of
from tests.runtime.kit import Place, until


class Grouped(Actor, name="rejections.Grouped"):
    """A no leaves its `run` as a group of errors."""

    @step(approval="Publish?")
    async def publish(self) -> None: ...

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.publish())


async def test_a_no_that_leaves_run_in_a_group_fails_the_task_at_once_too(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Grouped(), id="a")
        await until(task, lambda info: info.status is Status.WAITING)
        [question] = await runtime.inbox()
        await task.answer(question.id, False, by="Ada")

        with pytest.raises(TaskFailed, match="rejected by Ada"):
            await task.result()
        assert (await task.status()).crashes == 1
        assert "the task a has failed (never_retried): step publish was rejected" in caplog.text


async def test_nobody_is_told_to_resume_a_task_that_is_paused_by_a_no(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime(pool={"restart": Restart(on_give_up="pause")}) as runtime:
        task = await runtime.start(Grouped(), id="a")
        await until(task, lambda info: info.status is Status.WAITING)
        [question] = await runtime.inbox()
        await task.answer(question.id, False, by="Ada")

        with pytest.raises(TaskPaused, match="rejected by Ada") as paused:
            await task.result()
    for told in (str(paused.value), caplog.text):
        assert "end this one: await runtime.task('a').cancel()" in told
        assert "resume()" not in told


def test_a_parent_is_not_told_to_resume_a_child_that_was_rejected() -> None:
    no = failure_of(Rejected("publish", "publish", "Ada", None))
    fault = failure_of(ValueError("no paper"))

    def said(failure: Failure) -> str:
        why = "never_retried"
        return str(ChildFailed("c", "r", reason=why, step=None, attempts=1, failure=failure))

    assert "resume()" not in said(no) and "except ChildFailed" in said(no)
    assert "resume()" in said(fault)
