"""Children: tasks that a task starts, and waits for."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import UUID

from pydantic_core import from_json, to_json

from ..storage.errors import TaskNotFound
from ..storage.records import ENDED, Outcome, Status, StepRow, TaskRow
from .actor import Actor, is_server
from .blame import read_blame
from .current import CURRENT
from .definition import StepDefinition, StepOptions
from .errors import BadCall
from .failures import ChildCancelled, ChildEnded, ChildFailed, Failure
from .halting import decoded
from .identity import stable_id
from .newborn import check_actor, newborn, queued
from .result import result_codec
from .schema import join, split
from .taking import TIMED_OUT, begun
from .verbs import waited
from .wait import Answer, Wait, under_way
from .wait_errors import WaitTimeout

if TYPE_CHECKING:
    from .environment import Environment
    from .scope import Call, Scope

__all__ = ["START", "ChildTask", "Order", "check_returns", "ride"]

R_co = TypeVar("R_co", covariant=True)

_OPEN = b"{}"
"""What the row of a wait for a child holds while it is open."""


class ChildTask(Generic[R_co]):
    """The handle of a child, in the code of its parent. It owns nothing: dropping it ends nothing.

    A child that was started in a step has a handle in `run` too: `self.ctx.child(id, Report)`.
    """

    __slots__ = ("_actor", "_scope", "id")

    def __init__(self, scope: Scope, task_id: str, actor: type[Actor]) -> None:
        self._scope = scope
        self._actor = actor
        self.id = task_id

    def __repr__(self) -> str:
        return f"<ChildTask {self.id}>"

    def result(self, *, timeout: float | timedelta | None = None) -> Coroutine[Any, Any, R_co]:
        """Wait for the child's end and return what it returned; a replay returns the same.

        A durable wait: the task leaves memory where it takes long, and the commit that ends the
        child wakes it. A paused child is waited for. `timeout` is as in `ctx.receive`. Cancelling
        it changes nothing of the child.

        Raises:
            ChildFailed, ChildCancelled: it ended without a result. A replay raises it again.
            WaitTimeout: it did not end in time. A replay raises it again.
            WaitInStep: it was called in a step.
            TaskNotFound, BadCall: the task of this id is no child of this one, or is a server.
        """
        check_returns(self._actor)
        return waited(
            self._scope,
            "ctx.result",
            self.id,
            self.id,
            lambda call: _result(call, self.id, self._actor, timeout),
        )


def check_returns(actor: type[Actor]) -> None:
    """Refuse a server, which never ends by itself. Raises BadCall."""
    if is_server(actor):
        instead = f"self.ctx.get({actor.__name__}, child.id).ask(…)"
        raise BadCall("child", actor.__name__, "is a server, which returns nothing", instead)


# --- starting ---------------------------------------------------------------------------------


class Order:
    """How a child is to be run. No part of what a replay compares."""

    __slots__ = ("lane", "on_parent", "pool", "priority")

    def __init__(self, pool: str | None, priority: int, lane: str | None, on_parent: str) -> None:
        self.pool = pool
        self.priority = priority
        self.lane = lane
        self.on_parent = on_parent


async def _start(actor: Actor, order: Order) -> str:
    scope = CURRENT.get()
    assert scope is not None  # it is only ever called as a step
    return ride(scope, actor, order, "")


START = StepDefinition("ctx.start", _start, StepOptions(), method=False)
"""What `ctx.start` is in `run`: a step of its own."""


def ride(scope: Scope, actor: object, order: Order, key: str) -> str:
    """Start a child with the commit of the step whose attempt this is; its id.

    The id is made of the parent's, the step's and the call's identity, which hold the chapter; and
    of the place of the message that is handled: one of an id that is forgotten is handled anew.
    """
    life = scope.life
    row, environment = life.ledger.row, life.environment
    checked = check_actor(actor)
    pool, lane = order.pool or row.pool, order.lane if order.lane is not None else row.lane
    environment.check_child(type(checked), pool, order.priority, lane)
    number = scope.number("ctx.start", key)
    place = "" if scope.errand is None else str(scope.errand.mail.position)
    child_id = stable_id(b"", "child", row.id, scope.prefix, place, key, str(number))
    born = newborn(
        environment,
        checked,
        task_id=child_id,
        pool=pool,
        priority=order.priority,
        lane=lane,
        seed=UUID(stable_id(row.seed, "seed", child_id)).bytes,
        parent=row.key,
        on_parent=order.on_parent,
    )
    told = to_json({"actor": born.new.actor, "parent": row.id})
    scope.check_open()
    scope.packs().starts.append(queued(born, told))
    return child_id


# --- waiting ----------------------------------------------------------------------------------


async def _result(call: Call, child: str, actor: type[Actor], timeout: object) -> Any:
    life = call.scope.life
    row = life.take(call)
    if row is None or row.outcome is None:
        row = await _awaited(call, row, child, timeout)
    else:
        life.sync(call.scope)
    if row.outcome is Outcome.FAILED:
        call.scope.hears_of(row.identity)
        raise _read(child, row)
    if row.output is None or row.output == TIMED_OUT:
        raise WaitTimeout("result", child)
    output = split(row.output)["value"]
    where = f"the result of the child {child}"
    return decoded(call.scope, result_codec(actor), output, where)


async def _awaited(call: Call, row: StepRow | None, child: str, timeout: object) -> StepRow:
    """Stand in the wait until the child has ended; the row of the wait, recorded."""
    life = call.scope.life
    with _watched(life.environment, child) as watch:
        found = await _look(call, child)
        await life.gate()
        with under_way(call):
            watch.wait = wait = Wait(call.scope, begun(call, row, timeout, _OPEN), child=child)

            async def answer() -> Answer | None:
                nonlocal found
                while watch.stale:
                    watch.stale = False
                    found = await _look(call, child)
                if found.progress.status in ENDED:
                    return _answer(found)
                return Answer(TIMED_OUT) if wait.is_over else None

            return await life.waits.until(wait, answer)


async def _look(call: Call, child: str) -> TaskRow:
    """The child as it is committed. Raises TaskNotFound, and BadCall for a task that is none."""
    life = call.scope.life
    row = await life.environment.store.task(child)
    if row is None:
        raise TaskNotFound(child)
    if row.parent != life.ledger.row.key:
        raise BadCall("child", child, "is no child of this task", "self.ctx.start(…), and its id")
    return row


class _Watch:
    """Whether the end of a child may have been committed since the store was asked."""

    __slots__ = ("stale", "wait")

    def __init__(self) -> None:
        self.stale = False
        self.wait: Wait | None = None

    def poke(self) -> None:
        self.stale = True
        if self.wait is not None:
            self.wait.wake()


@contextmanager
def _watched(environment: Environment, child: str) -> Generator[_Watch]:
    watch = _Watch()
    watching = environment.awaited.setdefault(child, [])
    watching.append(watch.poke)
    try:
        yield watch
    finally:
        watching.remove(watch.poke)
        if not watching:
            environment.awaited.pop(child, None)


def _answer(child: TaskRow) -> Answer:
    """What the end of a child is to who waits for it: readable as a blame, if it has failed."""
    progress = child.progress
    if progress.status is Status.SUCCEEDED:
        return Answer(join({"value": progress.output or b"null"}))
    blank = Failure(str(progress.status), "").encoded()
    facts = from_json(progress.error or blank)
    facts |= {"ended": str(progress.status), "reason": progress.reason}
    return Answer(b"", error=to_json(facts))


def _read(child: str, row: StepRow) -> ChildEnded:
    """The error of a child that ended without a result, as it was recorded."""
    data = row.error or b"{}"
    facts = from_json(data)
    if facts["ended"] == Status.CANCELLED:
        return ChildCancelled(child, row.identity)
    blame = read_blame(data)
    return ChildFailed(
        child,
        row.identity,
        reason=facts["reason"] or "failed",
        step=blame.step,
        attempts=blame.attempts,
        failure=blame.failure,
    )
