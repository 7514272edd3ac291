"""A step with `approval=` begins only when a person has said yes; a no is Rejected in `run`."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest

from everstep import (
    Actor,
    AlreadyAnswered,
    AmbiguousStep,
    Approval,
    NotAsked,
    Question,
    Rejected,
    Retry,
    Runtime,
    Status,
    StepFailed,
    Task,
    TaskFailed,
    TaskPaused,
    WrongAnswer,
    none,
    step,
)
from tests.runtime.kit import Place, Plain, kinds, next_event, until


class Article(Actor, name="approvals.Article"):
    """A plan whose last step a person must agree to."""

    topic: str = "tea"
    text: str = ""

    published: ClassVar[list[str]] = []
    written: ClassVar[int] = 0

    @step
    async def write(self) -> None:
        Article.written += 1
        self.text = f"all about {self.topic}"

    @step(approval="Publish {self.text!r}?", timeout=60, retry=Retry(max_attempts=1))
    async def publish(self) -> str:
        Article.published.append(self.text)
        return f"published {self.text}"


class Letters(Actor, name="approvals.Letters"):
    """A flow that sends letters side by side, and tells what became of each."""

    names: list[str]
    errors: int = 0

    tried: ClassVar[list[str]] = []

    @step(approval="Write to {name}, {self.names}?", key="name", retry=Retry(backoff=none()))
    async def send(self, name: str) -> str:
        Letters.tried.append(name)
        if len(Letters.tried) <= self.errors:
            raise OSError("not yet")
        return f"sent to {name}"

    async def run(self) -> list[str]:
        found = await asyncio.gather(*map(self.send, self.names), return_exceptions=True)
        for error in found:
            if isinstance(error, BaseException) and not isinstance(error, Rejected):
                raise error
        return [str(one) for one in found]


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    Article.published, Article.written = [], 0
    Letters.tried = []


async def asked(task: Task[Any], runtime: Runtime) -> list[Question]:
    """The questions of a task, once it waits."""
    await until(task, lambda info: info.status is Status.WAITING)
    return [one for one in await runtime.inbox() if one.task_id == task.id]


@pytest.mark.parametrize("yes", [True, {"approved": True}, Approval(approved=True, comment="!")])
async def test_an_approved_step_runs_after_the_yes_and_not_before(place: Place, yes: Any) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Article())
        (question,) = await asked(task, runtime)
        assert (question.step, question.prompt) == ("publish", "Publish 'all about tea'?")
        assert question.schema == Approval.model_json_schema()
        assert (Article.published, (await task.status()).steps_running) == ([], ())

        await task.answer(question.id, yes, by="Ada")

        assert await task.result() == "published all about tea"
        assert await runtime.inbox() == []
        ended = await next_event(task, "wait_ended")
        started = await next_event(task, "step_started", after=ended.number)
        assert (ended.step, ended.data) == (question.id, {"message": question.id, "from": "Ada"})
        assert started.step == "publish"
        assert Article.published == ["all about tea"]


async def test_a_no_fails_a_plan_at_once_and_says_who_said_it(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Article(), id="a")
        (question,) = await asked(task, runtime)
        await task.answer(question.id, Approval(approved=False, comment="too short"), by="Ada")

        with pytest.raises(TaskFailed, match="rejected by Ada, who says: too short") as failed:
            await task.result()
        said = str(failed.value) + "".join(getattr(failed.value, "__notes__", ()))
        for wrong in ("resume()", "`run`", "Traceback"):
            assert wrong not in said
        assert "crash" not in caplog.text and "Traceback" not in caplog.text
        assert "the task a has failed (never_retried): step publish was rejected" in caplog.text
        assert failed.value.error == "everstep.actors.failures.Rejected"
        assert (await task.status()).reason == "never_retried"
        assert (Article.published, Article.written) == ([], 1)
        with pytest.raises(AlreadyAnswered, match="by Ada"):
            await task.answer(question.id, True)


async def test_a_no_stays_a_no_for_a_task_that_is_resumed(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Article())
        (question,) = await asked(task, runtime)
        await task.answer(question.id, Approval(approved=False, comment=""))
        with pytest.raises(TaskFailed, match="gave no name; it has not run"):
            await task.result()

        await task.resume()
        with pytest.raises(TaskFailed, match="somebody who gave no name"):
            await task.result()
        assert await runtime.inbox() == []
    assert Article.published == []


async def test_a_step_that_waits_for_approval_holds_no_slot_and_leaves_memory(
    place: Place,
) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Article(), id="a")
        await asked(task, runtime)
        await (await runtime.start(Plain())).result()
        place.clock.advance(1000)  # more than the `timeout` of the step
        await next_event(task, "task_suspended")
        assert [record.name for record in await task.steps()] == ["write", "ctx.ask_human"]

    async with place.runtime() as runtime:
        task = runtime.task("a")
        (question,) = await asked(task, runtime)
        await task.answer(question.id, True)
        assert await task.result() == "published all about tea"
        (record,) = [record for record in await task.steps() if record.name == "publish"]
        assert (record.attempts, record.executions) == (1, 1)
    assert Article.written == 1


async def test_a_death_while_a_person_is_asked_costs_no_attempt(place: Place) -> None:
    for _ in range(5):
        async with place.runtime() as runtime:
            await asked(await runtime.start(Article(), id="a"), runtime)
            place.die()

    async with place.runtime() as runtime:
        task = runtime.task("a")
        (question,) = await asked(task, runtime)
        await task.answer(question.id, True)
        assert await task.result() == "published all about tea"
        assert (await task.status()).deaths == 0


async def test_retries_crashes_and_restarts_do_not_ask_again(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Letters(names=["Bob"], errors=4), id="l")
        (question,) = await asked(task, runtime)
        await task.answer(question.id, True)

        assert await task.result() == ["sent to Bob"]
        assert len(Letters.tried) == 5
        assert "task_crashed" in await kinds(task)
        assert (await kinds(task)).count("wait_started") == 1
        assert "steps_unused" not in await kinds(task)


async def test_a_replay_of_an_approved_step_asks_nobody_and_leaves_nothing_unused(
    place: Place,
) -> None:
    class Patient(Actor, name="approvals.Patient"):
        @step(approval="Act?")
        async def act(self) -> str:
            return "acted"

        async def run(self) -> str:
            acted = await self.act()
            await self.ctx.sleep(3600)
            return acted

    async with place.runtime() as runtime:
        task = await runtime.start(Patient())
        (question,) = await asked(task, runtime)
        await task.answer(question.id, True)
        await next_event(task, "task_suspended")
        place.clock.advance(3600)

        assert await task.result() == "acted"
        found = await kinds(task)
        assert (found.count("wait_started"), found.count("step_started")) == (2, 1)
        assert "steps_unused" not in found


async def test_steps_side_by_side_are_asked_for_and_answered_each_by_itself(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Letters(names=["Ann", "Bob"]), id="l")
        ann, bob = await asked(task, runtime)
        assert (ann.step, bob.step) == ("send:Ann", "send:Bob")
        assert ann.prompt == "Write to Ann, ['Ann', 'Bob']?"
        await task.answer(bob.id, False, by="Eve")
        await next_event(task, "wait_ended")
        await asked(task, runtime)

    async with place.runtime() as runtime:
        task = runtime.task("l", Letters)
        (ann,) = await asked(task, runtime)
        await task.answer(ann.id, True)
        sent, rejected = await task.result()
        assert sent == "sent to Ann"
        assert "step send:Bob was rejected by Eve" in rejected
    assert Letters.tried == ["Ann"]


@pytest.mark.parametrize("wrong", ["yes", 1, {}, {"approved": "yes"}, {"approved": True, "x": 1}])
async def test_what_is_neither_yes_nor_no_is_refused(place: Place, wrong: Any) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Article())
        (question,) = await asked(task, runtime)
        with pytest.raises(WrongAnswer, match="it takes True, False, or Approval"):
            await task.answer(question.id, wrong)

        assert await runtime.inbox() == [question]


async def test_a_caller_that_gives_up_the_step_takes_the_question_back(place: Place) -> None:
    class Hasty(Actor, name="approvals.Hasty"):
        @step(approval="Now?")
        async def act(self) -> str:
            return "acted"

        async def run(self) -> str:
            acting = asyncio.create_task(self.act())
            await self.ctx.sleep(1)
            acting.cancel()
            await asyncio.wait({acting})
            await self.ctx.sleep(1)
            return "gave up"

    async with place.runtime() as runtime:
        task = await runtime.start(Hasty())
        (question,) = await asked(task, runtime)
        place.clock.advance(1)
        await next_event(task, "wait_cancelled")
        assert await runtime.inbox() == []
        with pytest.raises(NotAsked, match="taken back"):
            await task.answer(question.id, True)
        await until(task, lambda info: info.status is Status.WAITING)
        place.clock.advance(1)
        assert await task.result() == "gave up"
        assert "step_started" not in await kinds(task)


async def test_unkeyed_calls_side_by_side_are_refused_while_one_of_them_is_asked_for(
    place: Place,
) -> None:
    class Twice(Actor, name="approvals.Twice"):
        @step(approval="Now?")
        async def act(self) -> None: ...

        async def run(self) -> None:
            async def acting() -> None:
                await self.act()

            await asyncio.gather(acting(), asyncio.create_task(acting()))

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match="two asyncio tasks at once") as failed:
            await (await runtime.start(Twice())).result()
        assert failed.value.error.endswith(AmbiguousStep.__name__)


async def test_a_question_of_run_beside_an_approval_is_another_one(place: Place) -> None:
    class Both(Actor, name="approvals.Both"):
        @step(approval="Act?")
        async def act(self) -> str:
            return "acted"

        async def run(self) -> tuple[str, bool]:
            asking = self.ctx.ask_human("Well?", schema=bool)
            acted, well = await asyncio.gather(self.act(), asking)
            return acted, well

    async with place.runtime() as runtime:
        task = await runtime.start(Both())
        approval, question = await asked(task, runtime)
        assert (approval.step, question.step) == ("act", None)
        await task.answer(question.id, False)
        await task.answer(approval.id, True)

        assert await task.result() == ("acted", False)


async def test_an_approval_below_a_step_is_refused(place: Place) -> None:
    class Nested(Actor, name="approvals.Nested"):
        @step(approval="Now?")
        async def inner(self) -> None: ...

        @step
        async def outer(self) -> None:
            await self.inner()

        async def run(self) -> None:
            try:
                await self.outer()
            except StepFailed as failed:
                raise RuntimeError(failed.failure.message) from None

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match="inner, which waits for its approval, was called in"):
            await (await runtime.start(Nested())).result()
        assert await runtime.inbox() == []


async def test_what_a_person_agreed_to_is_not_done_with_other_arguments(place: Place) -> None:
    class Payer(Actor, name="approvals.Payer"):
        amounts: ClassVar[list[int]] = [1]
        paid: ClassVar[list[int]] = []

        @step(approval="Pay?")
        async def pay(self, amount: int) -> None:
            self.paid.append(amount)

        async def run(self) -> None:
            await self.pay(self.amounts[-1])

    async with place.runtime() as runtime:
        task = await runtime.start(Payer(), id="p")
        (question,) = await asked(task, runtime)
        place.clock.advance(10)
        await next_event(task, "task_suspended")
        Payer.amounts.append(1000)
        await task.answer(question.id, True)
        with pytest.raises(TaskPaused, match=r"was put to a person with Pay.*amount=1.*1000"):
            await task.result()

        Payer.amounts.pop()
        await task.resume()
        await task.result()
    assert Payer.paid == [1]


async def test_a_person_is_shown_the_state_that_the_step_works_on(place: Place) -> None:
    class Changing(Article, name="approvals.Changing"):
        async def run(self) -> None:
            await asyncio.gather(self.write(), self.publish())

    prompts: list[str] = []
    for is_last in (False, True):
        async with place.runtime() as runtime:
            task = await runtime.start(Changing(text="draft"), id="c")
            (question,) = await asked(task, runtime)
            prompts.append(question.prompt)
            if is_last:
                await task.answer(question.id, True)
                await task.result()

    assert prompts == ["Publish 'draft'?"] * 2
    assert Article.published == ["draft"]


async def test_outside_a_runtime_nobody_is_asked() -> None:
    assert await Article(text="tea").publish() == "published tea"
