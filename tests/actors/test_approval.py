"""What `approval=` of a step may be, and how a call fills it in."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from pydantic import PrivateAttr

from everstep import Actor, BadActor, BadCall, TaskFailed, handler, step
from everstep.actors.newborn import check_actor
from everstep.actors.step import definition_in
from tests.runtime.conftest import place
from tests.runtime.kit import Place, next_event

__all__ = ["place"]


@pytest.mark.parametrize("approval", ["", "  ", True, 7])
def test_what_is_no_text_to_be_read_is_refused(approval: Any) -> None:
    with pytest.raises(BadCall, match="is no text to be read"):
        step(approval=approval)


@pytest.mark.parametrize(
    ("approval", "why"),
    [
        ("Pay {amount} to {whom}?", "names 'whom', which it has not"),
        ("Pay {}?", "names '', which it has not"),
        ("Pay {amount:{width}}?", "names 'width', which it has not"),
        ("Pay {amount?", "cannot be filled in: "),
    ],
)
def test_a_question_with_fields_that_no_call_fills_in_is_refused(approval: str, why: str) -> None:
    with pytest.raises(BadActor, match=f"the step pay: its approval {why}.*self, amount"):

        @step(approval=approval)
        async def pay(self: Any, amount: int) -> None: ...


def test_a_question_may_have_fields_of_the_actor_and_of_the_parameters() -> None:
    @step(approval="Pay {amount:.2f} to {self.name} {{now}}, {self.tags[0]!r}?")
    async def pay(self: Any, amount: float) -> None: ...

    definition = definition_in(pay)
    assert definition is not None
    assert definition.options.approval is not None


def test_who_asks_about_an_attribute_that_it_lacks_is_not_started_and_told_its_fields() -> None:
    class Letter(Actor, name="approval.Letter"):
        to: str
        draft: str = ""

        @step(approval="Send {self.to}: {self.draft!r:{self.darft}}?")
        async def send(self) -> None: ...

    why = r"the step send of Letter: its approval names self\.darft, .*its fields: to, draft\)"
    with pytest.raises(BadActor, match=why):
        check_actor(Letter(to="Ann"))


def test_a_question_may_be_about_all_that_an_instance_has() -> None:
    class Base(Actor, name="approval.Base"):
        @step(
            approval="{self.later} {self.mine} {self._secret.x} {self.shout} {self.CITY} {self.AT}"
        )
        async def send(self) -> None: ...

    class Whole(Base, name="approval.Whole"):
        AT: ClassVar[str]
        CITY: ClassVar[str] = "Oslo"
        later: int
        _secret: Any = PrivateAttr()

        @property
        def mine(self) -> int:
            return 1

        @cached_property
        def shout(self) -> str:
            return "!"

    class Dynamic(Actor, name="approval.Dynamic"):
        if not TYPE_CHECKING:

            def __getattr__(self, name: str) -> Any:
                return "made up" if name == "any" else super().__getattr__(name)

        @step(approval="{self.any}?")
        async def send(self) -> None: ...

    for actor in (Whole(later=1), Dynamic()):
        assert check_actor(actor) is actor


@pytest.mark.parametrize("topic", ["tea", ""])
async def test_a_field_that_cannot_be_read_at_a_call_fails_the_task_at_once(
    place: Place, topic: str
) -> None:
    class Titled(Actor, name="approval.Titled"):
        topic: str

        @step(approval="Publish {self.topic[0]} {times}?")
        async def publish(self, times: int = 2) -> None: ...

    async with place.runtime() as runtime:
        task = await runtime.start(Titled(topic=topic))
        if topic:
            started = await next_event(task, "wait_started")
            assert started.data["for"] == "Publish t 2?"
            return
        with pytest.raises(TaskFailed, match="cannot be filled in for publish: IndexError"):
            await task.result()
        assert (await task.status()).reason == "never_retried"


def test_a_handler_with_an_approval_is_refused_where_it_is_written() -> None:
    options: Any = {"approval": "Well?"}
    with pytest.raises(BadCall, match="hold up all its other messages; write a flow or a plan"):
        handler(**options)


def test_a_step_of_a_server_with_an_approval_is_refused_where_the_class_is_written() -> None:
    with pytest.raises(BadActor, match="the step pay of Shop: a server that waited"):

        class Shop(Actor, name="approval.Shop"):  # pyright: ignore[reportUnusedClass]  # refused
            @step(approval="Pay?")
            async def pay(self) -> None: ...

            @handler
            async def buy(self) -> None:
                await self.pay()
