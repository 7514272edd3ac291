"""A server: an actor that handles the messages of its mailbox, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..storage.mail import Mail
from .actor import steps_of
from .definition import HandlerOptions
from .errand import Errand, Unfit, answer, asked_for, read_call, refusal
from .failures import StepFailed
from .wait import Wait

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["KEPT_REPLIES", "serve"]

KEPT_REPLIES = 1000
"""Of so many of the newest handled messages a server remembers the id and the reply."""

_Fits = Callable[[Mail], bool]


async def serve(life: Incarnation) -> None:
    """Handle messages until the life ends. A handled message is a step, keyed by its id.

    The message is taken, and answered, in the commit of that step's outcome. Those of readonly
    handlers are handled beside the others, each as soon as it has come.
    """
    life.journal.serves(KEPT_REPLIES)
    life.waits.serves = True
    readonly = {
        name
        for name, definition in steps_of(life.actor).items()
        if isinstance(definition.options, HandlerOptions) and definition.options.readonly
    }
    if not readonly:
        await _in_order(life, lambda _: True)
        return

    def reads(mail: Mail) -> bool:
        return asked_for(mail.body) in readonly

    async with asyncio.TaskGroup() as group:
        group.create_task(_in_order(life, lambda mail: not reads(mail)))
        group.create_task(_beside(life, reads))


async def _in_order(life: Incarnation, fits: _Fits) -> None:
    while True:
        await _handle(life, await _next(life, fits))


async def _beside(life: Incarnation, fits: _Fits) -> None:
    async with asyncio.TaskGroup() as group:
        while True:
            group.create_task(_handle(life, await _next(life, fits)))


async def _next(life: Incarnation, fits: _Fits) -> Mail:
    """The next message. Until there is one, the life may rest and leave memory."""
    return await life.waits.stand(Wait(life.root, listens=True), lambda: _first(life, fits))


async def _first(life: Incarnation, fits: _Fits) -> Mail | None:
    return await life.waits.mailbox.first(fits)


async def _handle(life: Incarnation, mail: Mail) -> None:
    """Handle one message. Raises StepFailed where that is to crash the task."""
    try:
        definition, arguments = read_call(life.actor, mail.body)
    except Unfit as unfit:
        await _refuse(life, mail, str(unfit))
        return
    call = life.root.make_call(definition, (), arguments, mail.id)
    call.errand = errand = Errand(mail, definition)
    try:
        await life.perform(call)
    except StepFailed as failed:
        if failed.identity != call.identity or not errand.refuses:
            raise
    life.root.forget(call)
    for effect in life.effects_of(call.identity):
        del life.effects[effect.operation]


async def _refuse(life: Incarnation, mail: Mail, why: str) -> None:
    """Answer to a message that cannot be handled, and go on."""
    await life.gate()
    data = {"message": mail.id, "from": mail.sender, "why": why}
    life.ledger.event("message_refused", data=data)
    answer(life, mail, refusal(why))
    await life.ledger.durable()
