"""A task asks a person, and goes on with the answer; every other answer gets a clear error."""

from __future__ import annotations

import asyncio
import gc
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from everstep import (
    Actor,
    AlreadyAnswered,
    BadCall,
    NotAsked,
    Question,
    Runtime,
    Status,
    Task,
    TaskFailed,
    TaskNotFound,
    WaitTimeout,
    WrongAnswer,
    step,
)
from tests.runtime.kit import Place, Plain, next_event, until


class Decision(BaseModel):
    publish: bool
    remark: Annotated[str, Field(max_length=20)] = ""


class Publisher(Actor, name="humans.Publisher"):
    timeout: float | None = None

    begun: ClassVar[int] = 0

    @step
    async def draft(self) -> str:
        return "a draft"

    async def run(self) -> str:
        Publisher.begun += 1
        text = await self.draft()
        try:
            decision = await self.ctx.ask_human(
                f"Publish {text}?", schema=Decision, timeout=self.timeout
            )
        except WaitTimeout:
            return "nobody answered"
        return f"{decision.publish} {decision.remark}"


@pytest.fixture(autouse=True)
def _nothing_begun() -> None:
    Publisher.begun = 0


async def asked(task: Task[Any], runtime: Runtime) -> Question:
    """The question of a task, once it waits for the answer."""
    await until(task, lambda info: info.status is Status.WAITING)
    (question,) = [one for one in await runtime.inbox() if one.task_id == task.id]
    return question


async def test_a_question_stands_in_the_inbox_and_its_answer_lets_the_task_go_on(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Publisher(timeout=60))
        question = await asked(task, runtime)
        assert (question.task_id, question.prompt) == (task.id, "Publish a draft?")
        assert question.schema == Decision.model_json_schema()
        assert question.since.timestamp() == place.clock.now()
        assert question.until is not None
        assert question.until.timestamp() == place.clock.now() + 60

        await task.answer(question.id, {"publish": True, "remark": "fine"}, by="Ada")

        assert await task.result() == "True fine"
        assert await runtime.inbox() == []
        ended = await next_event(task, "wait_ended")
        assert ended.data["from"] == "Ada"


async def test_an_answer_reaches_a_task_that_is_out_of_memory_after_a_restart(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Publisher(), id="p")
        await asked(task, runtime)
        place.clock.advance(10)
        await next_event(task, "task_suspended")

    async with place.runtime() as runtime:
        (question,) = await runtime.inbox()
        await runtime.task("p").answer(question.id, Decision(publish=False))

        assert await runtime.task("p").result() == "False "
    assert Publisher.begun == 2


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "publish: Field required"),
        ({"publish": "perhaps"}, "publish: Input should be a valid boolean"),
        ({"publish": True, "remark": "x" * 21}, "at most 20 characters"),
        ("yes", "Input should be a valid dictionary"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays(
    place: Place, data: object, why: str
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Publisher())
        question = await asked(task, runtime)
        with pytest.raises(WrongAnswer, match=why):
            await task.answer(question.id, data)

        assert await runtime.inbox() == [question]
        await task.answer(question.id, {"publish": True})
        assert await task.result() == "True "


async def test_a_second_answer_is_refused_and_says_who_gave_the_first(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Publisher())
        question = await asked(task, runtime)
        answers = [task.answer(question.id, {"publish": True}, by=by) for by in ("Ada", "Bob")]
        first, second = await asyncio.gather(*answers, return_exceptions=True)
        assert first is None
        assert isinstance(second, AlreadyAnswered | NotAsked)

        assert await task.result() == "True "
        with pytest.raises(AlreadyAnswered, match="by Ada"):
            await task.answer(question.id, {"publish": False})


async def test_a_late_answer_is_refused(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Publisher(timeout=5))
        question = await asked(task, runtime)
        place.clock.advance(5)
        assert await task.result() == "nobody answered"
        assert await runtime.inbox() == []

        with pytest.raises(NotAsked, match="its time is over"):
            await task.answer(question.id, {"publish": True})


async def test_an_answer_to_what_nobody_asked_is_refused(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Publisher())
        question = await asked(task, runtime)

        with pytest.raises(NotAsked, match="it never was asked"):
            await task.answer("ctx.ask_human#2", {"publish": True})
        with pytest.raises(NotAsked, match="it never was asked"):
            await task.answer("draft", {"publish": True})
        with pytest.raises(BadCall, match=r"write answer\(question.id"):
            await task.answer(question, {"publish": True})  # type: ignore[arg-type]  # the mistake
        with pytest.raises(TaskNotFound):
            await runtime.task("nobody").answer(question.id, {"publish": True})
        await task.cancel()
        assert await runtime.inbox() == []
        with pytest.raises(NotAsked, match="the task has cancelled"):
            await task.answer(question.id, {"publish": True})


async def test_a_question_that_its_caller_gave_up_is_taken_back(place: Place) -> None:
    class Hasty(Actor, name="humans.Hasty"):
        async def run(self) -> str:
            asking = asyncio.create_task(self.ctx.ask_human("Well?", schema=bool))
            await self.ctx.sleep(1)
            asking.cancel()
            await asyncio.wait({asking})
            return str(await self.ctx.ask_human("And now?", schema=bool, key="again"))

    async with place.runtime() as runtime:
        task = await runtime.start(Hasty())
        first = await asked(task, runtime)
        place.clock.advance(1)
        await next_event(task, "wait_cancelled")
        second = await asked(task, runtime)
        assert (first.prompt, second.prompt) == ("Well?", "And now?")
        with pytest.raises(NotAsked, match="it was taken back"):
            await task.answer(first.id, True)
        await task.answer(second.id, True)

        assert await task.result() == "True"


@pytest.mark.parametrize(
    ("kind", "data", "answer"),
    [
        (bool, True, "True"),
        (int, 5, "5"),
        (float, 2, "2.0"),
        (str, "so", "'so'"),
        (Literal["red", "blue"], "blue", "'blue'"),
        (Literal["only"], "only", "'only'"),
    ],
)
async def test_a_question_may_ask_for_a_plain_value(
    place: Place, kind: Any, data: object, answer: str
) -> None:
    class Curious(Actor, name="humans.Curious"):
        async def run(self) -> str:
            return repr(await self.ctx.ask_human("What?", schema=kind))

    async with place.runtime() as runtime:
        task = await runtime.start(Curious())
        question = await asked(task, runtime)
        with pytest.raises(WrongAnswer):
            await task.answer(question.id, ["no"])
        await task.answer(question.id, data)

        assert await task.result() == answer


async def test_a_question_that_nobody_could_answer_is_refused(place: Place) -> None:
    class Odd(Actor, name="humans.Odd"):
        prompt: str

        async def run(self) -> None:
            await self.ctx.ask_human(self.prompt, schema=dict if self.prompt else bool)

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match=BadCall.__name__):
            await (await runtime.start(Odd(prompt=""))).result()
        with pytest.raises(TaskFailed, match="neither a pydantic model"):
            await (await runtime.start(Odd(prompt="Well?"))).result()


async def test_an_answer_whose_model_exists_nowhere_here_is_not_taken(place: Place) -> None:
    class Local(Actor, name="humans.Local"):
        async def run(self) -> None:
            namespace: dict[str, Any] = {"__annotations__": {"unheard_of": int}}
            model = type("Unheard", (BaseModel,), {"__module__": __name__, **namespace})
            await self.ctx.ask_human("Well?", schema=model)

    async with place.runtime(idle_after=0) as runtime:
        task = await runtime.start(Local())
        question = await asked(task, runtime)
        assert "unheard_of" in question.schema["properties"]
        await next_event(task, "task_suspended")
        await (await runtime.start(Plain())).result()
        gc.collect()

        with pytest.raises(BadCall, match="asks for a Unheard, and no model"):
            await task.answer(question.id, {"unheard_of": 1})
        assert await runtime.inbox() == [question]


async def test_a_message_does_not_answer_a_question_nor_an_answer_a_receive(place: Place) -> None:
    class Both(Actor, name="humans.Both"):
        async def run(self) -> list[Any]:
            asking = asyncio.create_task(self.ctx.ask_human("Well?", schema=bool))
            got = await self.ctx.receive(object)
            return [got, await asking]

    async with place.runtime() as runtime:
        task = await runtime.start(Both())
        question = await asked(task, runtime)
        await task.answer(question.id, True)
        await until(task, lambda info: info.status is Status.WAITING)
        with pytest.raises(BadCall, match="control characters"):
            await task.send(False, id=f"\x01{question.id}")
        await task.send("hello")

        assert await task.result() == ["hello", True]
