"""A handler that fails leaves the state unchanged, tells the asker, and the server goes on."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from everstep import Actor, HandlerFailed, Retry, Status, handler
from everstep.actors.backoff import none
from tests.actors.odd_exceptions import ODD, odd_exception
from tests.runtime.kit import Place


class Parser(Actor, name="servers.Parser"):
    """Raises the odd exception of a name, when it is asked to."""

    executed: ClassVar[int]

    count: int = 0

    @handler(retry=Retry(max_attempts=2, backoff=none()))
    async def parse(self, odd: str) -> int:
        self.count += 1
        if odd:
            Parser.executed += 1
            raise odd_exception(odd)
        return self.count


@pytest.mark.parametrize("odd", ODD)
async def test_whatever_exception_one_request_ends_with_the_server_answers_the_others(
    place: Place, odd: str
) -> None:
    Parser.executed = 0
    async with place.runtime() as runtime:
        parser = runtime.get(Parser, "p")
        asked = [parser.ask(Parser.parse, one) for one in ("", odd, "")]
        first, failed, last = await asyncio.gather(*asked, return_exceptions=True)

        assert (first, last) == (1, 2)
        assert isinstance(failed, HandlerFailed)
        assert (failed.attempts, Parser.executed) == (2, 2)
        info = await parser.task.status()
        assert (info.status, info.crashes) == (Status.WAITING, 0)
