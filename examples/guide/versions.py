"""A class that changes while tasks of it are in the store."""

import asyncio
from typing import Any

from everstep import Actor, step, upcast


class OldTicket(Actor, name="ticket"):
    topic: str

    @step
    async def answer(self) -> str:
        await asyncio.sleep(3600)
        return f"old answer on {self.topic}"


class Ticket(Actor, name="ticket", version=2):
    subject: str
    urgent: bool = False

    @upcast(1)
    @staticmethod
    def rename_topic(state: dict[str, Any]) -> dict[str, Any]:
        state["subject"] = state.pop("topic")
        return state

    @step
    async def answer(self) -> str:
        return f"answer on {self.subject}"
