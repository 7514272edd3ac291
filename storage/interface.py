"""The store, as the layers above see it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from .births import Births
from .errors import Refused, StoreFailed
from .kin import BEGINNING, Asks, Place, Straggler
from .mail import Asked, Mail, Post, Recipient, Request
from .pieces import Chunk
from .records import Commit, EffectRow, EventRow, Loaded, Receipt, Status, StepRow, TaskRow, TreeRow
from .schedules import ScheduleChange, ScheduleRow

__all__ = [
    "Alarm",
    "Draft",
    "LaneQueue",
    "LogPage",
    "QueuePage",
    "RecordedEvent",
    "Refusal",
    "Share",
    "Store",
    "Write",
]

Refusal = Refused | StoreFailed
Write = Commit | Births | Post | Receipt | ScheduleChange


class Draft(Protocol):
    """A write that is still being put together when it is handed to the store.

    The store calls `seal` once, on the loop, at the moment it takes the draft into a batch, and
    `settle` once, on the loop, when that batch has been committed (with None) or the write was
    refused. Drafts are sealed and written in the order in which they were submitted.
    """

    def seal(self) -> Write | None:
        """The finished write; None when nothing is left to write: then `settle` gets None.

        Raises Refused: the draft is settled with it. Any other error settles it as refused for
        that.
        """
        ...

    def settle(self, refusal: Refusal | None) -> None: ...


class Alarm(NamedTuple):
    """The store's trouble, for a person: `what` happened, and what to do."""

    what: str
    error: Exception | None


class RecordedEvent(NamedTuple):
    """An event as read from the store, with its place among all events of the store."""

    position: int
    task_id: str
    event: EventRow


class LogPage(NamedTuple):
    """Some of the events of all tasks."""

    events: list[RecordedEvent]
    upto: int
    """The position up to which the log was looked through; that which was given, at its end."""


class LaneQueue(NamedTuple):
    """The queued tasks of one lane and one priority in a pool, due or not."""

    priority: int
    lane: str | None
    oldest: int
    """Key of the first of them by age."""
    length: int
    """How many there are, counted up to a limit."""


class QueuePage(NamedTuple):
    """Some of the queues of a pool, the highest priority first."""

    queues: list[LaneQueue]
    newest: int
    """Key of the newest task of the store."""
    cut: bool
    """It shows one priority, which has more lanes than fit; of others it shows all lanes."""
    last: bool
    """There is nothing queued below what it shows."""


class Share(NamedTuple):
    """How many tasks of a queue are asked for."""

    priority: int
    lane: str | None
    wanted: int


class Store(Protocol):
    """Where tasks last. One instance serves one runtime, on one event loop.

    No method leaves anything half done when its caller is cancelled: a submitted draft is written
    whole or not at all, whoever waits for it.
    """

    @property
    def path(self) -> str:
        """What its errors call it."""
        ...

    @property
    def epoch(self) -> int:
        """Number of this ownership of the store; raised by every opening."""
        ...

    @property
    def orderly_epochs(self) -> frozenset[int]:
        """Epochs that stopped in order without being able to write it: their tasks did not die."""
        ...

    @property
    def is_ending(self) -> bool:
        """Whether the event loop is ending: whoever ends it has cancelled all that is on it."""
        ...

    @property
    def trouble(self) -> Alarm | None:
        """What keeps the store from committing just now; None when it commits."""
        ...

    async def open(self, *, tree: str | None = None) -> None:
        """Own the store under a new epoch. When it fails, nothing stays open.

        `tree` is the outline of the owner's tree, kept for `tree()`; not to be able to keep it
        fails nothing.
        """
        ...

    async def close(self) -> None:
        """Write what was submitted, then close readers, then the writer. Idempotent."""
        ...

    def new_key(self) -> int:
        """A number for a new task, never given before."""
        ...

    def submit(self, draft: Draft) -> None:
        """Queue a draft; it is written with the next batch. Raises StoreClosed, StoreFailed."""
        ...

    async def ready(self) -> None:
        """Return when there is no trouble. Raises StoreFailed when patience is over."""
        ...

    def on_alarm(self, listener: Callable[[Alarm | None], None]) -> None:
        """Call `listener` on the loop when trouble begins, and with None when it has ended.

        Until the store is closed.
        """
        ...

    # reads: each is one short read transaction, of what has been committed

    async def task(self, task_id: str) -> TaskRow | None: ...

    async def named(self, ids: Collection[str]) -> list[TaskRow]:
        """The tasks that have these ids, in any order."""
        ...

    async def tasks(
        self,
        *,
        statuses: Collection[Status] = (),
        actors: Collection[str] = (),
        pool: str | None = None,
        lane: str | None = None,
        parent: int | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[TaskRow]:
        """Tasks by their key, those after key `after`; empty collections filter nothing."""
        ...

    async def ids(self, keys: Collection[int]) -> dict[int, str]:
        """The ids of the tasks that have these keys."""
        ...

    async def stragglers(
        self, asks: Asks, *, after: Place = BEGINNING, limit: int
    ) -> list[tuple[Place, Straggler]]:
        """Children that have not done yet what their parents ask, from a place on.

        A page from the beginning that has fewer than `limit` holds all that lag. One that moves
        meanwhile may change its place, and be missed or told twice by later pages.
        """
        ...

    async def lanes(
        self,
        pool: str,
        *,
        below: int | None = None,
        turns: Mapping[int, str | None],
        limit: int,
        deep: int,
    ) -> QueuePage:
        """Which lanes have queued tasks at the priorities below `below`; at most `limit` queues.

        A page holds as many priorities as fit with all their lanes, without a lane first, then by
        name. Where not even the first one fits, it holds `limit` of its lanes: those that come
        after the lane `turns[priority]`, going round. Lengths are counted up to `deep`. The cost
        grows with the number of queues on the page, not with that of their tasks.
        """
        ...

    async def claimable(
        self,
        pool: str,
        shares: Sequence[Share],
        *,
        actors: Collection[str],
        now: float,
        since_boot: float | None,
        suspects_from: int,
    ) -> list[TaskRow]:
        """The oldest queued tasks of these actors that are due and no suspects, of each queue.

        A task with `deaths >= suspects_from` is a suspect. Due: no `due_at`, or `due_boot` is not
        after `since_boot` (where both are known), or else `due_at` is not after `now`.
        """
        ...

    async def suspects(
        self, pool: str, *, actors: Collection[str], suspects_from: int, limit: int
    ) -> list[TaskRow]:
        """Queued suspects of these actors, due or not: newest `death_epoch` first, then by key."""
        ...

    async def strangers(self, pool: str, *, actors: Collection[str]) -> dict[str, int]:
        """Names of actors that are none of these and have queued tasks, and how many."""
        ...

    async def queues(self) -> dict[str, int]:
        """Names of the pools that have queued tasks, and how many."""
        ...

    async def orphans(self, *, after: int = 0, limit: int = 500) -> list[TaskRow]:
        """Tasks shown running, or waiting in memory, under an epoch before this one, by key."""
        ...

    async def open_steps(self, keys: Collection[int]) -> list[StepRow]:
        """Steps of these tasks whose newest attempt has begun and not ended (`open`)."""
        ...

    async def next_due(self, pool: str, *, now: float, since_boot: float | None) -> float | None:
        """Seconds until the first queued task of this pool that is not due yet falls due.

        Measured as in `claimable`; None where no task waits for that.
        """
        ...

    async def due_waits(
        self, pool: str, *, now: float, since_boot: float | None, limit: int
    ) -> list[TaskRow]:
        """Tasks out of memory (`waiting`, owned by nobody) whose first wait is due.

        Measured as in `claimable`; the earliest of each clock first.
        """
        ...

    async def next_wait(self, pool: str, *, now: float, since_boot: float | None) -> float | None:
        """Seconds until the first wait of a task out of memory falls due; 0 where one is."""
        ...

    async def open_waits(self, keys: Collection[int]) -> list[StepRow]:
        """Rows without an outcome of these tasks, in their present chapters, that fall due.

        Or that hold a question. The cost grows with the steps of the tasks.
        """
        ...

    async def messages(self, key: int, *, after: int = 0, limit: int = 200) -> list[Mail]:
        """Messages to a task that nobody has taken, those after a place, in order."""
        ...

    async def questions(
        self, *, after: int = 0, limit: int = 100
    ) -> list[tuple[int, str, StepRow]]:
        """Questions that wait for an answer, as (place, id of the task, row), by their place.

        Of tasks that have not ended, in their present chapter.
        """
        ...

    async def question(self, key: int, identity: str) -> Asked:
        """What is known of a question, by the identity of its wait."""
        ...

    async def recipient(self, task_id: str) -> Recipient | None:
        """What one who sends must know of the receiver; None where there is no such task."""
        ...

    async def request(self, key: int, message: str) -> Request:
        """What became of a message of this id. Raises TaskNotFound."""
        ...

    async def schedule(self, name: str) -> ScheduleRow | None: ...

    async def schedules(self, *, after: str = "", limit: int = 100) -> list[ScheduleRow]:
        """Schedules by name, those after a name."""
        ...

    async def due_schedules(self, *, now: float) -> list[str]:
        """Names of schedules that have an instant up to `now`, the earliest first.

        Then those in which instants wait. None that is paused.
        """
        ...

    async def next_schedule(self, *, after: float) -> float | None:
        """The first instant after this one of all schedules that are not paused."""
        ...

    async def unended(self, keys: Collection[int]) -> dict[int, str]:
        """Those of these tasks that have not ended: their keys and ids, the oldest first."""
        ...

    async def load(self, key: int, *, flow: bool, recent: bool = False) -> Loaded:
        """Everything an incarnation needs. Raises TaskNotFound.

        `recent`: of the steps only those that are not finished, or that finished after the base.
        """
        ...

    async def steps(
        self, key: int, *, after: int = 0, limit: int = 1000
    ) -> list[tuple[int, StepRow]]:
        """Steps of all chapters with their row number, in the order in which they first began."""
        ...

    async def events(self, key: int, *, after: int = 0, limit: int = 100) -> list[RecordedEvent]:
        """Events of one task after its event number `after`."""
        ...

    async def log(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        kinds: Collection[str] = (),
        actors: Collection[str] = (),
        pool: str | None = None,
    ) -> LogPage:
        """Events of all tasks after a position, in the order of their commits.

        What is committed later has a higher position than all that is shown now. Empty
        collections filter nothing; with a filter a page may be empty although more follow it.
        """
        ...

    async def chunks(
        self, key: int, stream: str, *, after: int = 0, limit: int = 100
    ) -> list[Chunk]:
        """Pieces of a stream of a task, from the one after the offset `after` on.

        The first chunk may begin before it.
        """
        ...

    async def effects(self, key: int) -> list[EffectRow]: ...

    async def tree(self) -> TreeRow | None:
        """The newest tree that the store was opened with."""
        ...
