"""The verbs of `ctx` about children."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args, overload

from .bound import Bound
from .children import START, ChildTask, Order, check_returns, ride
from .errors import BadCall
from .gathering import check_limit, gathered
from .identity import identity_of
from .newborn import check_actor
from .wait_errors import WaitInStep

if TYPE_CHECKING:
    from .actor import Actor
    from .ctx import Ctx
    from .scope import Scope

__all__ = ["Flow", "Offspring"]

R = TypeVar("R")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
OnParent = Literal["cancel", "follow", "leave"]


class Flow(Protocol[R_co]):
    """An actor with a `run`: what that returns is the task's result."""

    @property
    def ctx(self) -> Ctx: ...

    def run(self) -> Coroutine[Any, Any, R_co]: ...


class Offspring(Bound):
    """What a task can do with tasks that it starts itself."""

    __slots__ = ()

    @overload
    def start(
        self,
        actor: Flow[R],
        *,
        key: str = "",
        pool: str | None = None,
        priority: int = 0,
        lane: str | None = None,
        on_parent: OnParent = "cancel",
    ) -> Coroutine[Any, Any, ChildTask[R]]: ...
    @overload
    def start(
        self,
        actor: Actor,
        *,
        key: str = "",
        pool: str | None = None,
        priority: int = 0,
        lane: str | None = None,
        on_parent: OnParent = "cancel",
    ) -> Coroutine[Any, Any, ChildTask[Any]]: ...
    def start(
        self,
        actor: Any,
        *,
        key: str = "",
        pool: str | None = None,
        priority: int = 0,
        lane: str | None = None,
        on_parent: OnParent = "cancel",
    ) -> Coroutine[Any, Any, ChildTask[Any]]:
        """Start a child of this task: a task of its own, which knows its parent.

        Started once: its id follows from this call, and a replay attaches to it again. In `run` it
        is a step of its own; in a step it is started with the step's commit, or not at all. `pool`
        and `lane` are those of this task unless given; calls that may come in any order need a
        `key`. When this task is cancelled, or has failed for good, a child that has not ended is
        cancelled too, unless `on_parent="leave"`. With `on_parent="follow"` it is also paused when
        this task is, and goes on when this does. Success leaves all children as they are.

        Raises, in `run` as the StepFailed that carries it:
            BadCall, BadActor: this cannot be started.
            NotSerializable, PayloadTooLarge: a field cannot be stored.
        """
        if self._scope.life.suspended:
            return self._scope.life.waits.refused()
        if on_parent not in get_args(OnParent):
            raise BadCall("on_parent", on_parent, "is unknown", 'on_parent="leave"')
        scope = self._scope.present()
        order = Order(pool, priority, lane, on_parent)
        actor = check_actor(actor)
        if scope.identity:
            return _ridden(scope, actor, order, key)
        return _started(scope, scope.perform(START, (actor, order), {}, key), actor)

    @overload
    def child(self, task_id: str, actor: type[Flow[R]], /) -> ChildTask[R]: ...
    @overload
    def child(self, task_id: str, actor: type[Actor], /) -> ChildTask[Any]: ...
    def child(self, task_id: str, actor: type[Any], /) -> ChildTask[Any]:
        """The handle of a child by its id, as one that a step has started and returned."""
        return ChildTask(self._scope, task_id, actor)

    @overload
    def gather(self, *actors: Flow[R], limit: int = 10) -> Coroutine[Any, Any, list[R]]: ...
    @overload
    def gather(self, *actors: Actor, limit: int = 10) -> Coroutine[Any, Any, list[Any]]: ...
    def gather(self, *actors: Any, limit: int = 10) -> Coroutine[Any, Any, list[Any]]:
        """Run each as a child, at most `limit` of them at once; their results, in order.

        After a failure no more are started; those that run are waited for, and the failure of the
        first of them in order is raised. Which child a result is of is known by its place, so a
        later version of `run` may add actors at the end only. Cancelling it ends no child.

        Raises:
            ChildFailed, ChildCancelled: one ended without a result.
            StepFailed: one could not be started.
            WaitInStep: it was called in a step.
        """
        return self._gathered(_given, actors, limit)

    @overload
    def map(
        self, make: Callable[[T], Flow[R]], inputs: Collection[T], /, *, limit: int = 10
    ) -> Coroutine[Any, Any, list[R]]: ...
    @overload
    def map(
        self, make: Callable[[T], Actor], inputs: Collection[T], /, *, limit: int = 10
    ) -> Coroutine[Any, Any, list[Any]]: ...
    def map(
        self, make: Callable[[Any], Any], inputs: Collection[Any], /, *, limit: int = 10
    ) -> Coroutine[Any, Any, list[Any]]:
        """`gather` with the actor that `make` returns for each of the inputs, made when needed."""
        return self._gathered(make, inputs, limit)

    def _gathered(
        self, make: Callable[[Any], Any], inputs: Collection[Any], limit: int
    ) -> Coroutine[Any, Any, list[Any]]:
        if self._scope.life.suspended:
            return self._scope.life.waits.refused()
        scope = self._scope.present()
        if scope.identity:
            raise WaitInStep("ctx.gather", scope.identity, in_handler=scope.errand is not None)
        number = scope.number("ctx.gather", "")
        workers = min(check_limit(limit), len(inputs))
        recollection = scope.life.journal.recollection

        def start(given: Any, key: str) -> Coroutine[Any, Any, ChildTask[Any]]:
            checked = check_actor(make(given))
            check_returns(type(checked))
            return self.start(checked, key=key)

        def was_started(key: str) -> bool:
            row = recollection.get(identity_of(scope.prefix, START.name, key, 1))
            return row is not None and row.outcome is not None

        return gathered(inputs, start, was_started, number, workers)


def _given(actor: Any) -> Any:
    return actor


async def _started(
    scope: Scope, starting: Coroutine[Any, Any, str], actor: Actor
) -> ChildTask[Any]:
    return ChildTask(scope, await starting, type(actor))


async def _ridden(scope: Scope, actor: Actor, order: Order, key: str) -> ChildTask[Any]:
    return ChildTask(scope, ride(scope, actor, order, key), type(actor))
