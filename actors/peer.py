"""`ctx.get`: a server, as another actor asks it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    TypeVarTuple,
    overload,
)

from ..storage.errors import TaskEnded, TaskExists, TaskNotFound
from ..storage.mail import Mail
from ..storage.records import Outcome
from .actor import Actor, actor_name
from .current import CURRENT
from .definition import StepDefinition, StepOptions
from .errand import Asker, called, failed_reply, packed_call, result_of
from .errors import StateUnreadable
from .identity import anew
from .messages import REPLY
from .receiving import ride_to
from .retry import Retry
from .taking import take
from .verbs import ASK_SERVER, waited

if TYPE_CHECKING:
    from .scope import Call, Scope

__all__ = ["Peer"]

A = TypeVar("A", bound=Actor)
P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class Peer(Generic[A]):
    """A server of this store, known by its id. It is created by the first message to it."""

    __slots__ = ("_actor", "_scope", "id")

    def __init__(self, scope: Scope, actor: type[A], server_id: str) -> None:
        self._scope = scope
        self._actor = actor
        self.id = server_id

    @overload
    def ask(
        self,
        method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Coroutine[Any, Any, R]: ...
    @overload
    def ask(
        self,
        method: Callable[[A, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        timeout: float | timedelta | None = None,
        key: str = "",
    ) -> Coroutine[Any, Any, R]: ...
    def ask(  # type: ignore[misc]  # mypy takes *Ts for more than *args can be
        self,
        method: Any,
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, Any]:
        """In `run`: call a handler, and wait durably for what it returns.

        The message is sent once, by a step, and the reply taken once; a replay returns the same.
        Calls from several asyncio tasks at once need a `key`. Cancelling it leaves the message.
        After a crash by a failure that the server has answered, it is asked anew.

        Raises:
            HandlerFailed, MessageRefused: the server answered with that.
            WaitTimeout: there was no reply in time.
            WaitInStep: it was called in a step.
            StepFailed: it could not be sent; `is_a` tells why: TaskEnded, MailboxFull, TaskExists.
        """
        timeout, key = kwargs.pop("timeout", None), kwargs.pop("key", "")
        definition = called(self._actor, method)

        def stand(wait: Call) -> Coroutine[Any, Any, Any]:
            life, failures = wait.scope.life, _failures_before(wait)
            asker = Asker(life.ledger.row.key, REPLY + anew(wait.identity, failures))
            body = packed_call(self._actor, definition, args, kwargs, life.limits, asker)
            sending = wait.scope.make_call(_TELL, (self._actor, self.id, body), {}, key)
            sending.preview = wait.preview
            if failures:
                earlier = (anew(sending.identity, number) for number in range(failures))
                life.journal.recollection.drop(earlier)
                sending.identity = anew(sending.identity, failures)
            return self._answered(sending, wait, definition, asker.reply, timeout)

        return waited(self._scope, ASK_SERVER, f"{definition.name} of {self.id}", key, stand)

    async def _answered(
        self, sending: Call, wait: Call, definition: StepDefinition, reply: str, timeout: object
    ) -> Any:
        await sending.scope.life.perform(sending)

        def fits(mail: Mail) -> bool:
            return mail.id == reply

        def fails(data: bytes) -> bytes | None:
            return failed_reply(definition, self.id, wait.identity, data)

        data = await take(wait, fits, timeout, fails=fails)
        try:
            return result_of(self._actor, definition, self.id, wait.identity, data)
        except StateUnreadable as error:
            raise wait.scope.unreadable(error) from error

    def tell(
        self,
        method: Callable[Concatenate[A, P], Coroutine[Any, Any, Any]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Coroutine[Any, Any, None]:
        """Call a handler without waiting for it: as `ctx.send` sends, in a step with its commit.

        Raises, in `run` as the StepFailed that carries it: TaskEnded, MailboxFull, TaskExists,
        NotSerializable, PayloadTooLarge.
        """
        life = self._scope.life
        if life.suspended:
            return life.waits.refused()
        scope = self._scope.present()
        definition = called(self._actor, method)
        body = packed_call(self._actor, definition, args, kwargs, life.limits)
        if scope.identity:
            return _ride(scope, self._actor, self.id, body)
        sending = scope.make_call(_TELL, (self._actor, self.id, body), {})
        sending.preview = f"{definition.name} of {self.id}"
        return life.perform(sending)


def _failures_before(wait: Call) -> int:
    """How many failures of this ask are forgotten: after each it is asked anew."""
    row = wait.scope.life.journal.recollection.get(wait.identity)
    if row is None:
        return 0
    return row.serial - 1 if row.outcome is Outcome.FAILED else row.serial


async def _ride(scope: Scope, actor: type[Actor], server_id: str, body: bytes) -> None:
    """Send with the commit of the step whose attempt this is; the server exists from now on."""
    environment = scope.life.environment
    found = environment.here(server_id)
    if found is None or found.actor != actor_name(actor):
        found = await environment.make_sure(actor, server_id)
    ride_to(scope, server_id, found, scope.ctx.message_id(), body)


async def _tell(actor: type[Actor], server_id: str, body: bytes) -> None:
    scope = CURRENT.get()
    assert scope is not None  # it is only ever called as a step
    await _ride(scope, actor, server_id, body)


_TELL = StepDefinition(
    "ctx.tell",
    _tell,
    StepOptions(retry=Retry(5, give_up_on=(TaskEnded, TaskExists, TaskNotFound))),
    method=False,
)
"""How a message to a server is sent in `run`: by a step of its own."""
