"""What a task returns: of a flow what `run` does, of a plan what its last step does.

A server returns nothing.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, cast

from .actor import Actor, is_flow, is_server, steps_of
from .definition import StepDefinition
from .values import ValueCodec

__all__ = ["result_codec", "run_of"]


def run_of(view: Actor) -> Coroutine[Any, Any, Any]:
    """The coroutine of a flow."""
    return cast("Coroutine[Any, Any, Any]", cast("Any", view).run())


def result_codec(actor: type[Actor]) -> ValueCodec:
    """How the result of a task is written and read, by the declared return type. Made once."""
    found: ValueCodec | None = vars(actor).get("__everstep_result__")
    if found is None:
        found = _made(actor)
        type.__setattr__(actor, "__everstep_result__", found)
    return found


def _made(actor: type[Actor]) -> ValueCodec:
    if is_flow(actor):
        return StepDefinition("run", cast("Any", actor).run, owner=actor).output
    definitions = list(steps_of(actor).values())
    if is_server(actor) or not definitions:
        return ValueCodec.of(type(None))
    return definitions[-1].of(actor).output
