"""Errors of durable waits."""

from __future__ import annotations

from ..storage.errors import EverstepError
from .identity import name_of

__all__ = ["WaitInStep", "WaitTimeout"]

_WRITTEN = {"ctx.ask": "ctx.get(…).ask", "ctx.result": "child.result"}
"""How a wait is written, where that is not its verb."""


class WaitInStep(EverstepError):
    """A durable wait was asked for inside a step or a handler. Never retried."""

    def __init__(
        self, verb: str, step: str, approval: bool = False, in_handler: bool = False
    ) -> None:
        self.verb = verb
        self.step = step
        self.approval = approval
        self.in_handler = in_handler
        wait, name = _WRITTEN.get(verb, verb), name_of(step)
        asks = ", which waits for its approval," if approval else ""
        if in_handler:
            super().__init__(
                f"{wait}{asks} was called in the handler {name}, and a handler that waited would "
                "hold up all other messages of its server; start a flow that waits and then tells "
                "this server: await self.ctx.start(Flow(server=self.ctx.task_id))"
            )
            return
        call = wait if wait.startswith("child.") else f"self.{wait}"
        super().__init__(
            f"{wait}{asks} was called in step {step}, which runs again from its beginning when it "
            "fails or its process dies; split the step, and wait between its halves:\n"
            "    async def run(self):\n"
            f"        await self.{name}_before()\n"
            f"        await {call}(…)\n"
            f"        await self.{name}_after()"
        )


class WaitTimeout(EverstepError, TimeoutError):
    """A durable wait was not over within its `timeout`."""

    def __init__(self, verb: str, what: str, instead: str = "wait longer: timeout=…") -> None:
        self.verb = verb
        self.what = what
        self.instead = instead
        super().__init__(
            f"{verb}({what}) was not answered within its timeout; "
            f"go on without it (except WaitTimeout: …), or {instead}"
        )
