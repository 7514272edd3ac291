"""pydantic-ai's public durability API on `ctx.step`: each model request and tool call is a step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    DurableOperationBackend,
    DurableOperationId,
    JournalCallableOperationBackend,
    RoleBasedOperationConfig,
    ToolsetCallToolId,
)

from everstep import Actor

__all__ = ["Durability", "inside"]

_ACTOR: ContextVar[Actor | None] = ContextVar("actor", default=None)


@runtime_checkable
class _Run(Protocol):
    """The framework's `RunContext`, which is generic, of a tool's call."""

    @property
    def tool_call_id(self) -> str | None: ...


@contextmanager
def inside(actor: Actor) -> Generator[None]:
    """What the framework does within becomes steps of this actor, also in tasks that it makes."""
    token = _ACTOR.set(actor)
    try:
        yield
    finally:
        _ACTOR.reset(token)


class _Backend(JournalCallableOperationBackend[None]):
    async def execute(
        self,
        *,
        operation_id: DurableOperationId,
        name: str,
        body: Callable[[], Awaitable[object]],
        cache_key: tuple[object, ...],
        config: None,
    ) -> object:
        actor = _ACTOR.get()
        if actor is None:
            return await body()

        async def perform() -> object:
            return await body()

        return await actor.ctx.step(perform, name=name, key=_key(operation_id, cache_key))


def _key(operation_id: DurableOperationId, cache_key: tuple[object, ...]) -> str:
    """The framework's own id of a tool's call; other calls come one after the other."""
    if not isinstance(operation_id, ToolsetCallToolId):
        return ""
    return str(next(part.tool_call_id for part in cache_key if isinstance(part, _Run)))


class Durability(BaseDurabilityCapability[object]):
    engine_spec = DurabilityEngineSpec(
        engine_name="everstep",
        durable_unit_noun="step",
        durable_container_noun="task",
        codec=JSON_CODEC,
    )

    @property
    def in_durable_context(self) -> bool:
        return _ACTOR.get() is not None

    def get_durable_operation_backend(self) -> DurableOperationBackend[None]:
        config = RoleBasedOperationConfig[None](model=None, event=None, capability=None, tool=None)
        return _Backend(agent_name=self.name, default_model_id=self.default_model_id, config=config)
