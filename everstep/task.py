"""`Task`: the handle of a durable task. It owns nothing: dropping it changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar, overload

from . import inbox, operations, posting
from .actors.actor import Actor, is_flow, is_server
from .actors.effects import Done, NotDone
from .actors.errors import BadCall, StateUnreadable
from .actors.history import present
from .actors.result import result_codec
from .actors.telling import named
from .checking import actor_class, place_of, said_of
from .errors import TaskCancelled
from .event_stream import EventStream
from .listing import shown
from .piece_stream import Piece, PieceStream
from .reading import (
    EffectRecord,
    Event,
    StepRecord,
    TaskInfo,
    effect_record,
    failed,
    paused,
    step_record,
)
from .session import Session
from .storage.records import LIVING, Status, TaskRow

__all__ = ["Task"]

A = TypeVar("A", bound=Actor)
R_co = TypeVar("R_co", covariant=True)


class Task(Generic[R_co]):
    """A durable task, known by its id. That it exists is found out at the first use.

    Every method raises TaskNotFound where there is no such task, and RuntimeClosed outside the
    runtime's `async with`.
    """

    __slots__ = ("_key", "_session", "id")

    def __init__(
        self, session: Callable[[], Session], task_id: str, key: int | None = None
    ) -> None:
        self._session = session
        self._key = key
        self.id = task_id

    def __repr__(self) -> str:
        return f"<Task {self.id}>"

    # --- what becomes of it -----------------------------------------------------------------

    async def result(self, *, through_pause: bool = False) -> R_co:
        """Wait for the task's end and return what it returned.

        Never owns the work: cancelling this changes nothing of the task.

        Raises:
            TaskFailed: it was given up.
            TaskCancelled: an operator ended it.
            TaskPaused: it waits for a person; with `through_pause` that is waited out.
            StateUnreadable: the result does not fit the class any more.
        """
        session = self._session()
        session.check()
        if self._key is None:
            self._key = (await session.row(self.id)).key
        while True:
            with session.commits.watch_settled(self._key) as settled:
                row = session.running(self._key) or await session.row(self.id)
                final = self._outcome(row, through_pause)
                if final is None:
                    row = await settled
                    final = self._outcome(row, through_pause)
            if final is not None:
                break
        if isinstance(final, Exception):
            raise final
        value: R_co = self._decoded(session, row)
        return value

    def _outcome(self, row: TaskRow, through_pause: bool) -> Exception | bool | None:
        """The error to raise; True for a result; None while there is neither."""
        status = row.progress.status
        if status is Status.SUCCEEDED:
            return True
        if status is Status.FAILED:
            return failed(row)
        if status is Status.CANCELLED:
            return TaskCancelled(self.id)
        if status is Status.PAUSED and not through_pause:
            return paused(row)
        return None

    def _decoded(self, session: Session, row: TaskRow) -> Any:
        codec = result_codec(session.class_of(row))
        try:
            return codec.decode(row.progress.output or b"null")
        except ValueError as error:
            raise StateUnreadable(row.actor, "the result", str(error)) from error

    # --- what it is ---------------------------------------------------------------------------

    async def status(self) -> TaskInfo:
        """Where the task is, as committed."""
        session = self._session()
        row = await session.row(self.id)
        (info,) = await shown(session, [row])
        return info

    @overload
    async def state(self, /) -> Actor: ...
    @overload
    async def state(self, actor: type[A], /) -> A: ...
    async def state(self, actor: type[Any] = Actor, /) -> Any:
        """An actor with the fields as the newest commit left them; changing it changes nothing.

        `state(Report)` is typed as a Report. Raises UnknownActor, StateUnreadable, and BadCall
        where the task is none of that class.
        """
        session = self._session()
        row = await session.row(self.id)
        found = session.class_of(row)
        instead = f"state({found.__name__})"
        if not issubclass(found, actor_class(actor, instead)):
            raise BadCall("actor", actor, f"is not the class of the task {self.id!r}", instead)
        flow, recent = is_flow(found), is_server(found)
        loaded = await session.store.load(row.key, flow=flow, recent=recent)
        return present(loaded, found, session.environment.limits)

    def events(self, *, after: int = 0, follow: bool = False) -> AsyncIterator[Event]:
        """The log from event number `after` + 1 on, without gaps.

        With `follow` it waits for more until the task has ended. Leaving the loop leaves nothing
        behind.
        """
        return EventStream(self._session(), self.id, place_of("after", after), follow)

    def stream(self, name: str, /, *, after: int = 0, follow: bool = False) -> AsyncIterator[Piece]:
        """What steps of the task wrote to `ctx.stream(name)`, after an offset, without gaps.

        `piece.offset` of the last one seen is the cursor, over restarts too. What an attempt that
        failed wrote stays: where `piece.first`, what its step wrote before counts no more. With
        `follow` it waits for more until the task has ended. Leaving the loop leaves nothing behind.
        """
        place = place_of("after", after)
        return PieceStream(self._session(), self.id, named("stream", name), place, follow)

    async def steps(self) -> list[StepRecord]:
        """All steps that have begun, in the order in which they first did."""
        session = self._session()
        row = await session.row(self.id)
        actor, lives = session.catalogue.get(row.actor), row.progress.status in LIVING
        records: list[StepRecord] = []
        after = 0
        while page := await session.store.steps(row.key, after=after):
            after = page[-1][0]
            records += [step_record(step, actor, lives=lives) for _, step in page]
        return records

    async def effects(self) -> list[EffectRecord]:
        """All side effects, in the order of their intents."""
        session = self._session()
        row = await session.row(self.id)
        running = session.environment.effects_running
        effects = await session.store.effects(row.key)
        return [effect_record(effect, running=effect.operation in running) for effect in effects]

    async def send(self, message: object, *, id: str | None = None) -> None:  # noqa: A002
        """Send a message: a pydantic model, a dataclass, a plain value. It is stored on return.

        Messages of one sender are taken in the order in which they were sent. One whose `id` was
        sent to this task before changes nothing, so it may be sent again when it is not known
        whether it arrived. Cancelled, it may have been sent.

        Raises:
            TaskEnded: the task will not take it.
            MailboxFull: the task has not taken those before it; nothing was written.
            NotSerializable, PayloadTooLarge: it cannot be stored; nothing was written.
        """
        await posting.send(self._session(), self.id, message, id)

    async def answer(self, question: str, data: object, *, by: str | None = None) -> None:
        """Answer a question of the task, by the id that `runtime.inbox()` shows.

        `data` is the answer as plain JSON, or an instance of its model; it is validated first. To a
        step that waits for approval it is True, False, or an Approval with a comment.
        When this returns, the answer is stored, and the task goes on with it. Cancelled, it may be.

        Raises:
            WrongAnswer: it does not fit; nothing was written and the question stays open.
            AlreadyAnswered: there is an answer, which stands.
            NotAsked: the question is not open: it never was, its time is over, or the task ended.
        """
        await inbox.answer(self._session(), self.id, question, data, said_of("by", by))

    # --- what an operator does ------------------------------------------------------------------

    async def settle(
        self,
        key: str,
        outcome: Done[Any] | NotDone,
        *,
        step: str | None = None,
        by: str | None = None,
        why: str | None = None,
    ) -> None:
        """Decide an unknown effect: it is `Done(value)`, or `NotDone()` and may be tried again.

        A task that was paused for it goes on. `step` is needed where several steps use `key`.
        Raises BadCall where there is no such effect, or none that is unknown.
        """
        by, why = said_of("by", by), said_of("why", why)
        await operations.settle(self._session(), self.id, key, outcome, step=step, by=by, why=why)

    async def resume(self, *, by: str | None = None, why: str | None = None) -> bool:
        """Let a paused, failed or cancelled task go on, with fresh budgets, as a new generation.

        False where it was not stopped. Raises BadCall where it has succeeded.
        """
        by, why = said_of("by", by), said_of("why", why)
        return await operations.resume(self._session(), self.id, by, why)

    async def cancel(self, *, by: str | None = None, why: str | None = None) -> bool:
        """End the task: first durably, then what runs of it is cut. False where it had ended."""
        by, why = said_of("by", by), said_of("why", why)
        return await operations.cancel(self._session(), self.id, by, why)
