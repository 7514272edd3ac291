"""What a server has handled long ago is forgotten: it costs neither rows nor time to load."""

from __future__ import annotations

import asyncio

from everstep import Server
from everstep.actors.serving import KEPT_REPLIES
from tests.runtime.kit import Place
from tests.servers.accounts import Account, Chat


async def paid_in(account: Server[Account], first: int, last: int) -> None:
    """Let it handle so many requests, whose ids are their numbers."""
    for begin in range(first, last, 200):
        numbers = range(begin, min(begin + 200, last))
        await asyncio.gather(
            *(account.ask(Account.pay_in, 1, request_id=f"r{number}") for number in numbers)
        )


async def test_the_newest_replies_are_kept_and_older_ones_are_forgotten(place: Place) -> None:
    asked = KEPT_REPLIES + 1500
    async with place.runtime(mailbox=300) as runtime:
        account = runtime.get(Account, "ann")
        await paid_in(account, 0, asked)

        last = asked - KEPT_REPLIES
        assert await account.ask(Account.pay_in, 1, request_id=f"r{last}") == last + 1
        assert await account.ask(Account.look) == asked
        assert await account.ask(Account.pay_in, 1, request_id="r0") == asked + 1
        assert len(await account.task.steps()) < 600
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        assert await account.ask(Account.pay_in, 1, request_id=f"r{last + 9}") == last + 10
        assert await account.ask(Account.look) == asked + 1


async def test_a_server_that_often_leaves_memory_forgets_too(place: Place) -> None:
    steps: list[int] = []
    for life in range(6):
        async with place.runtime() as runtime:
            account = runtime.get(Account, "ann")
            await paid_in(account, life * 100, (life + 1) * 100)
            steps.append(len(await account.task.steps()))

    assert max(steps) < 500


async def test_what_was_appended_to_a_log_is_never_forgotten(place: Place) -> None:
    async with place.runtime() as runtime:
        chat = runtime.get(Chat, "c")
        for begin in range(0, 1100, 100):
            for number in range(begin, begin + 99):
                await chat.tell(Chat.say, str(number))
            await chat.ask(Chat.say, str(begin + 99))
    async with place.runtime() as runtime:
        chat = runtime.get(Chat, "c")
        assert await chat.ask(Chat.all) == [str(number) for number in range(1100)]
        assert await chat.ask(Chat.say, "more") == 1101
