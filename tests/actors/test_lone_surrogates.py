"""Half a character, as `os.fsdecode` leaves one in an odd file name, is kept or refused."""

from __future__ import annotations

import asyncio
import os
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from everstep import Actor, BadCall, HandlerFailed, Log, NotSerializable, TaskFailed, handler, step
from everstep.actors.values import ValueCodec
from tests.actors.values_kit import Point
from tests.runtime.conftest import place
from tests.runtime.kit import Place, next_event

__all__ = ["place"]

ODD = os.fsdecode(b"caf\xe9")
OTHER = os.fsdecode(b"caf\xe8")
MARK = "\N{REPLACEMENT CHARACTER}"


class Sizes(BaseModel):
    by_name: dict[str, int] = {}


class Folders(BaseModel):
    sizes: list[Sizes] = []


KEYS: list[tuple[Any, Any]] = [
    (dict[str, int], {ODD: 1}),
    (dict[str, int], {ODD: 1, OTHER: 2}),
    (dict[str, int], {ODD: 1, "caf" + MARK * 3: 2}),
    (dict[str, Any], {ODD: 1}),
    (dict[str, Point], {ODD: Point(x=1)}),
    (dict[str, dict[str, int]], {"a": {ODD: 1}}),
    (list[dict[str, int]], [{"a": 1}, {ODD: 1}]),
    (dict[str, int] | None, {ODD: 1}),
    (dict[str, set[int]], {ODD: {1}}),
    (Sizes, Sizes(by_name={ODD: 1})),
    (Folders, Folders(sizes=[Sizes(by_name={ODD: 1})])),
    (list[Folders], [Folders(sizes=[Sizes(by_name={ODD: 1})])]),
]


@pytest.mark.parametrize(("annotation", "value"), KEYS, ids=str)
def test_a_key_of_half_a_character_is_refused_with_the_reason(annotation: Any, value: Any) -> None:
    codec = ValueCodec.of(annotation)

    for write in (codec.encode, codec.settle):
        with pytest.raises(NotSerializable, match=r"the field 'x'.*has a lone surrogate") as caught:
            write(value, "the field 'x'")
        assert r"'caf\udce9'" in str(caught.value) and "'replace'" in str(caught.value)
        str(caught.value).encode()


@pytest.mark.parametrize("annotation", [str, Any, list[str], dict[str, str]], ids=str)
def test_a_text_of_half_a_character_is_refused(annotation: Any) -> None:
    value: Any = {list[str]: [ODD], dict[str, str]: {"a": ODD}}.get(annotation, ODD)

    with pytest.raises(NotSerializable, match=r"x cannot be .* has a lone surrogate.*'replace'"):
        ValueCodec.of(annotation).settle(value, "x")


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (dict[str, int], {MARK: 1, MARK * 3: 2, "é€😀": 3}),
        (dict[str, str], {"a": MARK * 3}),
        (Sizes, Sizes(by_name={MARK: 1})),
        (str, MARK),
        (Any, {MARK: [MARK]}),
    ],
    ids=str,
)
def test_a_replacement_character_is_a_character_like_any_other(annotation: Any, value: Any) -> None:
    codec = ValueCodec.of(annotation)

    data, _ = codec.settle(value, "x")

    assert codec.decode(data) == value


async def _sizes() -> dict[str, int]:
    return {ODD: 1, OTHER: 2}


class Shelf(Actor, name="lone.Shelf"):
    @handler
    async def put(self, sizes: dict[str, int]) -> None: ...

    @handler
    async def all(self) -> dict[str, int]:
        return await _sizes()


class Scan(Actor, name="lone.Scan"):
    how: str
    sizes: dict[str, int] = {}
    found: Log[dict[str, int]] = Log()

    async def run(self) -> dict[str, int] | None:
        match self.how:
            case "result":
                return await _sizes()
            case "message":
                await self.ctx.send(self.ctx.task_id, Sizes(by_name=await _sizes()))
            case "argument":
                await self.ctx.get(Shelf, "a").ask(Shelf.put, await _sizes())
            case "function":
                await self.ctx.step(_sizes, name="look")
            case method:
                await getattr(self, method)()
        return None

    @step
    async def field(self) -> None:
        self.sizes |= await _sizes()

    @step
    async def log(self) -> None:
        self.found.append(await _sizes())

    @step
    async def output(self) -> dict[str, int]:
        return await _sizes()

    @step
    async def receipt(self) -> None:
        await self.ctx.once("look", _sizes)


@pytest.mark.parametrize(
    ("how", "where"),
    [
        ("field", "the field 'sizes' of lone.Scan"),
        ("log", "an item of the field 'found' of lone.Scan"),
        ("output", "the output of step output"),
        ("receipt", "look"),
        ("result", "the result of the task"),
        ("message", "the message Sizes"),
        ("argument", "the argument sizes of put"),
        ("function", "the output of step look"),
    ],
)
async def test_wherever_it_is_written_it_is_refused_by_name_and_not_tried_again(
    place: Place, how: str, where: str
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Scan(how=how))

        with pytest.raises(TaskFailed, match="has a lone surrogate") as caught:
            await task.result()

        assert where in str(caught.value) and "NotSerializable" in str(caught.value)
        assert (await task.status()).reason == "never_retried"


async def test_a_server_is_not_sent_it_and_does_not_reply_it(place: Place) -> None:
    async with place.runtime() as runtime:
        shelf = runtime.get(Shelf, "a")

        with pytest.raises(NotSerializable, match=r"argument sizes of put.*has a lone surrogate"):
            await shelf.ask(Shelf.put, {ODD: 1})
        with pytest.raises(HandlerFailed, match=r"output of step all.*has a lone surrogate"):
            await shelf.ask(Shelf.all)


class Clean(Actor, name="lone.Clean"):
    """Says a file name wherever something is asked or named."""

    how: str

    async def run(self) -> None:
        match self.how:
            case "prompt":
                await self.ctx.ask_human(f"Delete {ODD}?", schema=bool)
            case "choice":
                await self.ctx.ask_human("Which?", schema=Literal[("cafe", ODD)])
            case "approval":
                await self.delete(ODD)
            case "field":
                await self.delete_all()
            case "server":
                await self.ctx.get(Shelf, ODD).ask(Shelf.all)
            case "told server":
                await self.ctx.get(Shelf, ODD).tell(Shelf.all)
            case _:
                await self.ctx.send(ODD, 1)

    @step(approval="Delete {name}?")
    async def delete(self, name: str) -> None: ...

    @step(approval="Delete {self.odd}?")
    async def delete_all(self) -> None: ...

    @property
    def odd(self) -> str:
        return ODD


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ("prompt", r"prompt='Delete caf\\udce9\?': has .* write prompt=name\.encode"),
        ("choice", r"schema=typing\.Literal\[.*\]: has .* write schema=Literal"),
        ("approval", r"approval='Delete caf\\udce9\?': as filled in for delete has .*{name!r}"),
        ("field", r"approval='Delete caf\\udce9\?': as filled in for delete_all has .*{name!r}"),
        ("server", r"id='caf\\udce9': has .* write id=name\.encode"),
        ("told server", r"id='caf\\udce9': has .* write id=name\.encode"),
        ("message", r"task_id='caf\\udce9': has .* write task_id=name\.encode"),
    ],
)
async def test_who_asks_or_names_with_it_is_told_what_to_write_and_not_tried_again(
    place: Place, how: str, named: str
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Clean(how=how))

        with pytest.raises(TaskFailed, match=f"BadCall: {named}"):
            await asyncio.wait_for(task.result(), 10)

        assert (await task.status()).reason == "never_retried"


async def test_a_question_shows_it_by_its_number_where_the_template_says_so(place: Place) -> None:
    class Shown(Actor, name="lone.Shown"):
        @step(approval="Delete {name!r}?")
        async def delete(self, name: str = ODD) -> None: ...

    async with place.runtime() as runtime:
        task = await runtime.start(Shown())

        started = await next_event(task, "wait_started")

        assert started.data["for"] == r"Delete 'caf\udce9'?"


def test_a_template_of_half_a_character_is_refused_where_it_is_written() -> None:
    with pytest.raises(BadCall, match=r"approval='caf\\udce9': has a lone surrogate"):
        step(approval=ODD)
