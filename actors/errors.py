"""Errors of actors and their steps, grouped by who must act."""

from __future__ import annotations

from typing import Final

from ..storage.clock import shown_seconds
from ..storage.errors import EverstepError
from .foreign import shown

__all__ = [
    "LONE_SURROGATE",
    "AmbiguousStep",
    "BadActor",
    "BadCall",
    "ConflictingChange",
    "DuplicateKey",
    "EffectMismatch",
    "EffectMoved",
    "EffectUnknown",
    "HeartbeatMissed",
    "LogItemChanged",
    "NoRuntime",
    "NotSerializable",
    "NotValid",
    "PayloadTooLarge",
    "ProcessDied",
    "ReadonlyChanged",
    "ReplayMismatch",
    "StateUnreadable",
    "StepTimeout",
    "StreamFull",
    "Suspended",
    "UnaskedCancellation",
    "UnknownActor",
    "checked_text",
    "has_lone_surrogate",
]


# --- for the author of the actor --------------------------------------------------------


class BadActor(EverstepError, TypeError):
    """The class of an actor, or a step of it, cannot work as it is written."""

    def __init__(self, what: str, why: str, instead: str) -> None:
        self.what = what
        self.why = why
        self.instead = instead
        super().__init__(f"{what}: {why}; write {instead}")


class BadCall(EverstepError, ValueError):
    """A public function was called with a value that it cannot take."""

    def __init__(self, what: str, value: object, why: str, instead: str) -> None:
        self.what = what
        self.value = shown(value)[:200]
        self.why = why
        self.instead = instead
        super().__init__(f"{what}={self.value}: {why}; write {instead}")


LONE_SURROGATE: Final = "has a lone surrogate, as odd file names do, and cannot be written as UTF-8"
"""Why a text with half a character in it is refused."""


def has_lone_surrogate(text: str) -> bool:
    """Whether half a character is in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def checked_text(what: str, value: str) -> str:
    """The text, if it can be stored. Raises BadCall for one with half a character in it."""
    if not value.isascii() and has_lone_surrogate(value):
        instead = f"{what}=name.encode('utf-8', 'replace').decode()"
        raise BadCall(what, value, LONE_SURROGATE, instead)
    return value


class NoRuntime(EverstepError):
    """`self.ctx` was used on an actor that no runtime runs."""

    def __init__(self, actor: str) -> None:
        self.actor = actor
        super().__init__(
            f"{actor} is not run by a runtime, so it has no `ctx`; "
            "start it with `await runtime.start(…)`, or test the step without `self.ctx`"
        )


class UnknownActor(EverstepError):
    """The stored name of an actor is known to no class, or to more than one."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self.why = why
        super().__init__(f"actor {name!r}: {why}; name the class to use: Runtime(…, actors=[…])")


class NotSerializable(EverstepError):
    """A value does not come back from the store as it went in. Never retried."""

    def __init__(self, where: str, kind: str, why: str, instead: str | None = None) -> None:
        self.where = where
        self.kind = kind
        self.why = why
        self.instead = instead or (
            f"declare its type (of a field `name: {kind}`, of a step `-> {kind}`), "
            "one that pydantic writes as JSON and reads back equal"
        )
        super().__init__(f"{where} cannot be stored: {kind} {why}; {self.instead}")


class NotValid(EverstepError, ValueError):
    """A value is not of the type that is declared for it. Never retried."""

    def __init__(self, where: str, kind: str, why: str) -> None:
        self.where = where
        self.kind = kind
        self.why = why
        super().__init__(
            f"{where} cannot be {kind}: {why}; give it a value of its declared type, "
            "or declare the type that it has"
        )


class PayloadTooLarge(EverstepError):
    """A value, or the state, is over the limit. Never retried."""

    def __init__(self, where: str, size: int, limit: int) -> None:
        self.where = where
        self.size = size
        self.limit = limit
        super().__init__(
            f"{where} takes {size:,} bytes as JSON and the limit is {limit:,}; store a reference "
            "to it (a path, a key of an object store), or raise the limit: "
            "Runtime(…, limits=Limits(…))"
        )


class ConflictingChange(EverstepError):
    """Two steps that overlap, or a step and `run`, changed one field. Never retried."""

    def __init__(self, step: str, field: str, other: str) -> None:
        self.step = step
        self.field = field
        self.other = other
        super().__init__(
            f"step {step} changed the field {field!r}, which {other} changed since the step was "
            f"called; return the value from the step and let `run` collect it, or make the field "
            f"append-only: {field}: Log[…] = Log()"
        )


class ReadonlyChanged(EverstepError):
    """A readonly handler changed the state; nothing of it was kept. Never retried."""

    def __init__(self, step: str, fields: tuple[str, ...]) -> None:
        self.step = step
        self.fields = fields
        super().__init__(
            f"{step} is readonly and changed {', '.join(fields)}; "
            "leave out readonly=True, or work on a copy"
        )


class AmbiguousStep(EverstepError):
    """Unkeyed calls of one step overlap from two asyncio tasks. Never retried."""

    def __init__(self, step: str, parameter: str | None) -> None:
        self.step = step
        self.parameter = parameter
        remedy = f'@step(key="{parameter}")' if parameter else "ctx.step(…, key=…)"
        if step.startswith("ctx."):
            remedy = f"{step}(…, key=…)"
        super().__init__(
            f"step {step} is called from two asyncio tasks at once, so a restart could not tell "
            f"the calls apart; give each call a key: {remedy}"
        )


class StreamFull(EverstepError):
    """A step writes to a stream faster than the store takes it; the piece was not written."""

    def __init__(self, stream: str, step: str, limit: int) -> None:
        self.stream = stream
        self.step = step
        self.limit = limit
        super().__init__(
            f"step {step} has written {limit:,} bytes to the stream {stream!r} that are not stored "
            "yet; wait for the store between pieces: await stream.drain()"
        )


class LogItemChanged(EverstepError):
    """An item of a Log was changed after it was appended or read. Only under `debug=True`."""

    def __init__(self, where: str, field: str, places: list[int]) -> None:
        self.where = where
        self.field = field
        self.places = places
        shown = ", ".join(f"{field}[{place}]" for place in places[:5])
        super().__init__(
            f"{where} changed {shown} after it was appended or read; items of a Log are written "
            f"once, so this is lost: append another item, or make {field} a list"
        )


class ReplayMismatch(EverstepError):
    """`run` called a step with other arguments than it was finished with, or began an effect with.

    Nothing ran; the task is paused with everything untouched.
    """

    def __init__(
        self,
        step: str,
        recorded: str,
        present: str,
        parameter: str | None,
        was: str = "was finished",
    ) -> None:
        self.step = step
        self.recorded = recorded
        self.present = present
        self.parameter = parameter
        self.was = was
        example = f'@step(key="{parameter}")' if parameter else "ctx.step(…, key=…)"
        super().__init__(
            f"step {step} {was} with {recorded} and is now called with {present}; "
            f"where the code was changed, put the old call back, or tell calls apart by a key "
            f"({example}), then resume the task"
        )


class DuplicateKey(EverstepError):
    """One attempt used an effect's key twice. Never retried."""

    def __init__(self, key: str, step: str) -> None:
        self.key = key
        self.step = step
        super().__init__(
            f"the effect key {key!r} was used twice in one attempt of {step}; "
            "give each effect of a step its own key"
        )


class EffectMismatch(EverstepError):
    """An effect was repeated with other arguments than its intent has. Never retried."""

    def __init__(self, key: str, step: str, recorded: str, present: str) -> None:
        self.key = key
        self.step = step
        self.recorded = recorded
        self.present = present
        super().__init__(
            f"the effect {key!r} of {step} was begun with {recorded} and is now asked for with "
            f"{present}; the arguments of an effect must not change between attempts: compute them "
            "in an earlier step"
        )


class EffectMoved(EverstepError):
    """A step is about to make the effect of another step, which the code no longer calls.

    The function was not called; the task is paused.
    """

    def __init__(self, key: str, step: str, earlier: str) -> None:
        self.key = key
        self.step = step
        self.earlier = earlier
        super().__init__(
            f"the effect {key!r} of step {step} is recorded, with the same arguments, for step "
            f"{earlier} which had begun and is not called any more; where the step was renamed, "
            f"put the name {earlier} back, and where this is another effect, give it another key, "
            "then resume the task"
        )


# --- for who reads what happened ----------------------------------------------------------


class StepTimeout(EverstepError, TimeoutError):
    """An attempt ran longer than the step's `timeout`."""

    def __init__(self, step: str, timeout: float) -> None:
        self.step = step
        self.timeout = timeout
        super().__init__(
            f"step {step} ran longer than timeout={shown_seconds(timeout)}; "
            "make it faster, split it, or allow more: @step(timeout=…)"
        )


class HeartbeatMissed(EverstepError, TimeoutError):
    """An attempt gave no sign of life for longer than the step's `heartbeat`."""

    def __init__(self, step: str, heartbeat: float) -> None:
        self.step = step
        self.heartbeat = heartbeat
        super().__init__(
            f"step {step} gave no sign of life for heartbeat={shown_seconds(heartbeat)}; "
            "call self.ctx.heartbeat() while it works"
        )


class ProcessDied(EverstepError):
    """The process died during each attempt that the step had left."""

    def __init__(self, step: str, attempts: int) -> None:
        self.step = step
        self.attempts = attempts
        super().__init__(
            f"the process died during the last of {attempts} attempts of step {step}; "
            "what the step does may be what kills it: look at its memory and its native code"
        )


class UnaskedCancellation(EverstepError):
    """User code raised CancelledError, and nobody had cancelled it: a failure like any other."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(
            f"{where} raised CancelledError, but nobody had asked for its cancellation; "
            "await what was cancelled where that is expected, or raise an error of your own"
        )


class EffectUnknown(EverstepError):
    """It is not known whether an effect happened, and `on_unknown="fail"` was chosen."""

    def __init__(self, key: str, step: str, operation: str, cause: str) -> None:
        self.key = key
        self.step = step
        self.operation = operation
        self.cause = cause
        super().__init__(
            f"it is unknown whether the effect {key!r} of {step} happened ({cause}); "
            f"look up there what became of operation id {operation}"
        )


class StateUnreadable(EverstepError):
    """What the store holds does not fit the class. The stored bytes are untouched."""

    def __init__(self, actor: str, where: str, why: str) -> None:
        self.actor = actor
        self.where = where
        self.why = why
        super().__init__(
            f"{where} of the actor {actor!r} does not load: {why}; "
            "put back a class that reads it, or lift the old form with @upcast, then resume"
        )


# --- passes through the code of a task ------------------------------------------------------


class Suspended(BaseException):
    """The task leaves memory until one of its durable waits ends; then `run` starts again.

    Raised in each of its waits, and by every call of a step or of `ctx` after that. Nothing that
    its code still does reaches the store, and how `run` ends is ignored: let it pass. Blocks of
    `finally` run at each leaving; `ctx.suspended` tells them.
    """

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"the task {task_id!r} leaves memory until one of its waits ends, and then starts "
            "again from its checkpoints; let this exception pass"
        )

    def __reduce__(self) -> tuple[type[Suspended], tuple[str]]:
        return type(self), (self.task_id,)
