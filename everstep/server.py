"""`Server`: the handle of an actor with handlers. It owns nothing: dropping it changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, TypeVarTuple, overload

from pydantic import ValidationError

from . import posting
from .actors.actor import Actor, actor_name, is_server
from .actors.definition import StepDefinition
from .actors.errand import asked_for, called, packed_call, result_of
from .actors.errors import BadActor, BadCall
from .actors.newborn import check_actor
from .actors.timers import chosen_delay
from .actors.traffic import resolve
from .actors.wait_errors import WaitTimeout
from .ids import check_name, new_id
from .session import Session
from .starting import Order, create
from .storage.errors import TaskEnded, TaskExists
from .storage.mail import Recipient
from .storage.records import ENDED, Status, TaskRow
from .task import Task

__all__ = ["Server", "make_sure", "server_of"]

A = TypeVar("A", bound=Actor)
P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class Server(Generic[A]):
    """An actor with handlers, known by its id. It is created by the first message to it.

    Every method raises RuntimeClosed outside the runtime's `async with`, TaskExists where the id
    is that of a task of another actor, and TaskEnded where the server was cancelled or given up.
    """

    __slots__ = ("_actor", "_initial", "_key", "_pool", "_session", "id")

    def __init__(
        self,
        session: Callable[[], Session],
        actor: type[A],
        server_id: str,
        initial: A | None,
        pool: str | None,
    ) -> None:
        self._session = session
        self._actor = actor
        self._initial = initial
        self._pool = pool
        self._key: int | None = None
        self.id = server_id

    def __repr__(self) -> str:
        return f"<Server {self._actor.__name__} {self.id}>"

    @property
    def task(self) -> Task[None]:
        """The task that it is: its state, its log, and what an operator does with it."""
        return Task(self._session, self.id)

    @overload
    async def ask(
        self,
        method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R: ...
    @overload
    async def ask(
        self,
        method: Callable[[A, *Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        request_id: str | None = None,
        timeout: float | timedelta | None = None,
    ) -> R: ...
    async def ask(  # type: ignore[misc]  # mypy takes *Ts for more than *args can be
        self,
        method: Any,
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Call a handler, and return what it returned once that is committed.

        A repeat with the same `request_id` changes nothing: it returns the recorded reply, or
        raises the recorded error, for as long as that is one of the newest 1000 of the server.
        Cancelled, or after `timeout` seconds, the message stays and is handled.

        Raises:
            HandlerFailed: it has used up its attempts; the state is unchanged.
            MessageRefused: the server has no such handler, or not with these arguments.
            WaitTimeout: there was no reply in time.
            MailboxFull: nothing was written.
            NotSerializable, PayloadTooLarge: an argument cannot be stored; nothing was written.
        """
        request_id, timeout = kwargs.pop("request_id", None), kwargs.pop("timeout", None)
        call = self._call(method, args, kwargs)
        limit = None if timeout is None else chosen_delay(timeout, "timeout")[0]
        session = self._session()
        name = self._name(session, request_id)
        key = await self.made_sure(session)
        with _reply(session, key, name) as reply:
            over: asyncio.Future[None] = session.loop.create_future()
            timer = None
            try:
                with session.commits.watch_settled(key) as settled:
                    await self._post(session, key, name, call.body)
                    if limit is not None:
                        due = limit(session.clock)
                        timer = session.clock.call_later(due.delay, lambda: resolve(over))
                    if request_id is None:  # nobody has asked this before: only what comes answers
                        await _first(reply, over, settled)
                if request_id is None and reply.done():
                    data = reply.result()
                else:
                    data = await self._replied(session, key, name, call, reply, over)
            finally:
                if timer is not None:
                    timer.cancel()
        return result_of(self._actor, call.definition, self.id, name, data)

    async def tell(
        self,
        method: Callable[Concatenate[A, P], Coroutine[Any, Any, Any]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Call a handler without waiting for it. When this returns, the message is in the store.

        Raises MailboxFull, NotSerializable, PayloadTooLarge: nothing was written.
        """
        call = self._call(method, args, kwargs)
        session = self._session()
        name = self._name(session, None)
        await self._post(session, await self.made_sure(session), name, call.body)

    async def made_sure(self, session: Session) -> int:
        """The key of the server, which is created where there is none."""
        session.check()
        if self._key is None:
            row = await session.store.task(self.id)
            self._key = await self._create(session) if row is None else self._same(row)
        return self._key

    # --- underneath -----------------------------------------------------------------------------

    def _call(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        own = called(self._actor, method)
        limits = self._session().environment.limits
        return _Call(own, packed_call(self._actor, own, args, kwargs, limits))

    def _name(self, session: Session, request_id: str | None) -> str:
        if request_id is None:
            return new_id(session.clock.now())
        return check_name("request_id", request_id)

    async def _create(self, session: Session) -> int:
        actor = check_actor(self._initial or _from_defaults(self._actor))
        order = Order(
            actor=actor,
            task_id=self.id,
            pool=session.pool_name(self._pool),
            priority=0,
            lane=None,
            seed=session.new_seed(self.id),
        )
        try:
            return await create(session, order)
        except TaskExists:  # somebody else was first, perhaps with other fields
            return self._same(await session.row(self.id))

    def _same(self, row: TaskRow) -> int:
        asked = actor_name(self._actor)
        if row.actor != asked:
            raise TaskExists(row.id, f"is of the actor {row.actor!r}, not {asked!r}")
        return row.key

    async def _post(self, session: Session, key: int, name: str, body: bytes) -> None:
        await posting.post(session, key, self.id, name, body)

    async def _replied(
        self,
        session: Session,
        key: int,
        name: str,
        call: _Call,
        reply: asyncio.Future[bytes],
        over: asyncio.Future[None],
    ) -> bytes:
        """The reply, which may be there already. Raises TaskEnded where none will come."""
        while True:
            with session.commits.watch_settled(key) as settled:
                found = await session.store.request(key, name)
                if found.reply is not None and found.body is not None:
                    self._check_repeat(name, asked_for(found.body), call.definition.name)
                    return found.reply
                if found.status in ENDED:
                    raise TaskEnded(self.id, str(found.status))
                await _first(reply, over, settled)
                if reply.done():
                    return reply.result()
                if over.done():
                    again = f"ask again for its reply: request_id={name!r}"
                    raise WaitTimeout("ask", f"{call.definition.name} of {self.id}", again)

    def _check_repeat(self, name: str, recorded: str, asked: str) -> None:
        if recorded != asked:
            why = f"was used for {recorded} of the server {self.id!r}, and now asks for {asked}"
            raise BadCall("request_id", name, why, "an id of its own for each request")


class _Call:
    """A call that can be sent."""

    __slots__ = ("body", "definition")

    def __init__(self, definition: StepDefinition, body: bytes) -> None:
        self.definition = definition
        self.body = body


async def _first(
    reply: asyncio.Future[bytes], over: asyncio.Future[None], settled: asyncio.Future[TaskRow]
) -> None:
    """Return when one of them is done. Raises why the runtime is over, where that comes first."""
    futures: list[asyncio.Future[Any]] = [reply, over, settled]
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    if settled.done() and not (reply.done() or over.done()):
        settled.result()


@contextmanager
def _reply(session: Session, key: int, name: str) -> Generator[asyncio.Future[bytes]]:
    """A future of the reply to a message, told when that is committed here."""
    asking = session.environment.asking
    waiter: asyncio.Future[bytes] = session.loop.create_future()
    asking.setdefault((key, name), []).append(waiter)
    try:
        yield waiter
    finally:
        asking[key, name].remove(waiter)
        if not asking[key, name]:
            del asking[key, name]


def server_of(
    session: Callable[[], Session],
    actor: type[A],
    server_id: str,
    initial: A | None,
    pool: str | None,
) -> Server[A]:
    """The handle. Raises BadCall, BadActor."""
    _check_class(actor)
    if initial is not None and type(initial) is not actor:
        why = f"is no {actor.__name__}"
        raise BadCall("initial", initial, why, f"get({actor.__name__}, id, {actor.__name__}(…))")
    session().catalogue.tell(actor)
    return Server(session, actor, check_name("id", server_id), initial, pool)


async def make_sure(session: Session, actor: type[Actor], server_id: str) -> Recipient:
    """The server of this id as it stands, which is created where there is none.

    Raises TaskExists where the id is that of another actor.
    """
    server = server_of(lambda: session, actor, server_id, None, None)
    found = await session.store.recipient(server_id)
    if found is not None and found.actor == actor_name(actor):
        return found
    key = await server.made_sure(session)
    return Recipient(key, Status.RUNNING, 0, actor_name(actor))


def _check_class(actor: Any) -> None:
    found: object = actor
    if not (isinstance(actor, type) and issubclass(actor, Actor)):
        raise BadCall("actor", found, "is no class of an Actor", 'get(Chat, "42")')
    if not is_server(actor):
        why = "it has no handlers"
        raise BadActor(f"the actor {actor.__name__}", why, "@handler over a method")


def _from_defaults(actor: type[A]) -> A:
    try:
        return actor()
    except ValidationError as error:
        names = ", ".join(str(one["loc"][0]) for one in error.errors() if one["loc"])
        why = f"has fields without a default ({names}), and no server of this id exists"
        raise BadCall(
            "actor", actor.__name__, why, f"get({actor.__name__}, id, {actor.__name__}(…))"
        ) from error
