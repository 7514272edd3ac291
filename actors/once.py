"""`ctx.once`: write the intent, call the function, write the receipt; or decide what is unknown."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..storage.records import EffectRow, EffectState
from .definition import StepDefinition, function_step
from .effects import Done, NotDone, NotDoneRule, Probe, says_not_done
from .errors import BadCall, DuplicateKey, EffectMismatch, EffectMoved, EffectUnknown
from .failures import Failure, failure_of, read_failure
from .halting import decoded
from .late import RunningCall
from .traffic import resolve

if TYPE_CHECKING:
    from .scope import Scope
    from .values import ValueCodec

__all__ = ["perform_once"]


class _Once:
    """One use of an effect: its row, its function and how to decide when it is unknown."""

    __slots__ = ("args", "definition", "digest", "key", "not_done", "on_unknown", "operation",
                 "preview", "probe", "scope")  # fmt: skip

    def __init__(
        self,
        scope: Scope,
        key: str,
        operation: str,
        definition: StepDefinition,
        args: tuple[Any, ...],
        probe: Probe | None,
        on_unknown: str,
        not_done: NotDoneRule,
    ) -> None:
        self.scope = scope
        self.key = key
        self.operation = operation
        self.definition = definition
        self.args = args
        self.digest, self.preview = definition.digest_of(args, {})
        self.probe = probe
        self.on_unknown = on_unknown
        self.not_done = not_done

    @property
    def codec(self) -> ValueCodec:
        return self.definition.output

    @property
    def where(self) -> str:
        return self.scope.identity or "run"


async def perform_once(
    scope: Scope,
    key: str,
    operation: str,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    probe: Probe | None,
    on_unknown: str,
    not_done: NotDoneRule,
) -> Any:
    """See `Ctx.once`."""
    _ = scope.life.here()
    if not callable(fn):
        raise BadCall("fn", fn, "cannot be called", 'ctx.once("key", function, *arguments)')
    effect_keys = scope.traces.effect_keys
    if key in effect_keys:
        raise DuplicateKey(key, scope.identity or "run")
    effect_keys.add(key)
    scope.calls += 1
    once = _Once(scope, key, operation, function_step(fn), args, probe, on_unknown, not_done)
    if scope.identity:
        return await _perform(once)
    traffic = scope.life.journal.traffic
    traffic.enters()
    try:
        return await _perform(once)
    finally:
        traffic.leaves()


async def _perform(once: _Once) -> Any:
    row = await _present_row(once)
    if row is None:
        await _check_moved(once)
    if row is None or row.state is EffectState.NOT_DONE:
        return await _do(once)
    if row.state is EffectState.RECEIPT:
        return _value_of(once, row)
    return await _resolve(once, row, _cause_of(row))


async def _present_row(once: _Once) -> EffectRow | None:
    """What is recorded, after an earlier call of it that still runs here has ended.

    An open intent is read again: a late receipt goes past the life that waits for it.
    """
    life = once.scope.life
    running = life.environment.effects_running.get(once.operation)
    if running is not None:
        await asyncio.wait([running])
    row = life.effects.get(once.operation)
    if row is not None and row.state is EffectState.INTENT:
        for stored in await life.environment.store.effects(life.ledger.row.key):
            if stored.operation == once.operation:
                row = life.effects[once.operation] = stored
    if row is not None and row.digest != once.digest:
        raise EffectMismatch(once.key, once.where, row.preview, once.preview)
    return row


async def _check_moved(once: _Once) -> None:
    """Halt where this may be the effect of a step that was renamed after it had begun."""
    if _earlier_step(once) is None:
        return
    await asyncio.sleep(0)  # that step may be called beside this one, and be asked for just now
    if (earlier := _earlier_step(once)) is not None:
        moved = EffectMoved(once.key, once.where, earlier)
        raise once.scope.life.halt(once.scope, "effect_moved", moved, "resume()")


def _earlier_step(once: _Once) -> str | None:
    """A step that made an effect of this key with these arguments, and was not asked for since."""
    life = once.scope.life
    for identity in life.journal.recollection.begun():
        for row in life.effects_of(identity):
            if (row.key, row.digest) == (once.key, once.digest):
                return identity
    return None


def _value_of(once: _Once, row: EffectRow) -> Any:
    where = f"the receipt of the effect {once.key}"
    return decoded(once.scope, once.codec, row.value or b"null", where)


def _cause_of(row: EffectRow) -> Failure | None:
    return None if row.error is None else read_failure(row.error)


async def _do(once: _Once) -> Any:
    """Write the intent, call the function, write the receipt."""
    life = once.scope.life
    if not once.scope.identity:
        await life.gate()
        life.go_live()
        life.ledger.due(None)  # beside this, no step only backs off
    row = _record(once, EffectState.INTENT)
    try:
        await life.ledger.durable()
    except asyncio.CancelledError:
        _never_called(once)
        raise
    life.check_fenced()
    running = RunningCall(life.environment, life.task_id, row)
    once.scope.traces.running.append(running)
    try:
        try:
            value = await _call(once, running)
        except Exception as error:  # noqa: BLE001  (whatever it is, the effect is unknown)
            return await _raised(once, row, error)
        return await _received(once, row, value)
    finally:
        once.scope.traces.running.remove(running)
        running.leave()


async def _received(once: _Once, row: EffectRow, value: Any, by: str | None = None) -> Any:
    life = once.scope.life
    data, value = _settled(once, value)
    if life.is_fenced:
        RunningCall(life.environment, life.task_id, row).comes_late(data)
        life.check_fenced()
    _record(once, EffectState.RECEIPT, value=data, by=by)
    await life.ledger.durable()
    return value


async def _call(once: _Once, running: RunningCall) -> Any:
    """Call the function; one in a thread goes on when its caller is cancelled."""
    function = once.definition.function
    if not once.definition.sync:
        value = await function(*once.args)
        return await value if inspect.isawaitable(value) else value
    threads = once.scope.life.environment.threads
    call = threads.start(partial(function, *once.args))
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    call.add_done_callback(lambda _: resolve(ended))
    try:
        await ended
    except asyncio.CancelledError:
        if threads.withdraw(call):
            _never_called(once)
        else:
            running.expect_late(call, lambda value: _settled(once, value)[0])
        raise
    value = call.result()
    return await value if inspect.isawaitable(value) else value


def _never_called(once: _Once) -> None:
    """An intent whose function did not begin: it is known that nothing happened."""
    life = once.scope.life
    if not life.is_fenced and life.ledger.refusal is None:
        _record(once, EffectState.NOT_DONE)
        life.ledger.write()


def _settled(once: _Once, value: Any) -> tuple[bytes, Any]:
    """What the function returned, as it is stored and as its type has it."""
    where = f"what the effect {once.key} returned"
    return once.codec.settle(value, where, once.scope.life.limits)


async def _raised(once: _Once, row: EffectRow, error: Exception) -> Any:
    """The function has raised: either it is known that nothing happened, or it is unknown."""
    life = once.scope.life
    life.check_fenced()
    if says_not_done(once.not_done, error):
        _record(once, EffectState.NOT_DONE, error=failure_of(error))
        await life.ledger.durable()
        raise error
    failure = failure_of(error)
    row = _record(once, EffectState.INTENT, error=failure)
    await life.ledger.durable()
    return await _resolve(once, row, failure, error)


async def _resolve(
    once: _Once, row: EffectRow, cause: Failure | None, error: Exception | None = None
) -> Any:
    """Decide an unknown effect: by the probe, else as `on_unknown` says."""
    life = once.scope.life
    if once.probe is not None:
        asked: Any = once.probe(once.operation)
        answer: Done[Any] | NotDone = await asked if inspect.isawaitable(asked) else asked
        _check_answer(answer)
        if isinstance(answer, Done):
            return await _received(once, row, answer.value, by="probe")
        _record(once, EffectState.NOT_DONE, error=cause, by="probe")
        await life.ledger.durable()
    elif once.on_unknown != "retry":
        raise _undecided(once, cause) from error
    if error is not None:
        raise error
    return await _do(once)


def _check_answer(answer: object) -> None:
    if not isinstance(answer, (Done, NotDone)):
        raise BadCall("probe", answer, "answers neither Done nor NotDone", "Done(value)")


def _undecided(once: _Once, cause: Failure | None) -> BaseException:
    life = once.scope.life
    why = "its process died, or it was cancelled or timed out" if cause is None else str(cause)
    unknown = EffectUnknown(once.key, once.where, once.operation, why)
    if once.on_unknown == "fail":
        return unknown
    action = f"settle({once.key!r}, Done(value) or NotDone())"
    return life.halt(once.scope, "effect_unknown", unknown, action)


def _record(
    once: _Once,
    state: EffectState,
    *,
    value: bytes | None = None,
    error: Failure | None = None,
    by: str | None = None,
) -> EffectRow:
    """Put the effect, as it stands now, on the ledger."""
    scope = once.scope
    life = scope.life
    ledger, now = life.ledger, life.clock.now()
    earlier = life.effects.get(once.operation)
    row = EffectRow(
        task=ledger.row.key,
        operation=once.operation,
        step=scope.identity or scope.prefix,
        key=once.key,
        state=state,
        epoch=life.environment.store.epoch,
        incarnation=ledger.progress.incarnation,
        serial=scope.serial,
        digest=once.digest,
        preview=once.preview,
        value=value,
        error=None if error is None else error.encoded(),
        decided_by=by,
        started_at=now if earlier is None else earlier.started_at,
        ended_at=None if state is EffectState.INTENT else now,
    )
    life.effects[once.operation] = row
    ledger.effect(row, len(value or b""))
    kind = (
        "effect_unknown" if error is not None and state is EffectState.INTENT else f"effect_{state}"
    )
    ledger.event(
        kind, step=scope.identity or None, data={"key": once.key, "operation": once.operation}
    )
    return row
