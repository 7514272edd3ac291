"""What all actors of one runtime share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..storage.clock import Clock
from ..storage.interface import Store
from ..storage.kin import asks_of
from ..storage.mail import Mail, MessageRow, Recipient
from ..storage.records import ENDED, ChildRow, Progress
from .standstill import Lookout
from .values import Limits

if TYPE_CHECKING:
    from .actor import Actor
    from .ledger import Ledger
    from .mailbox import Mailbox
    from .threads import Threads

__all__ = ["Environment"]


@dataclass(slots=True)
class Environment:
    """The surroundings of every incarnation: store, time, chance, threads."""

    store: Store
    clock: Clock
    chance: Callable[[], float]
    """A number from 0 up to 1, for jitter."""
    threads: Threads
    limits: Limits = field(default_factory=Limits)
    debug: bool = False
    cleanup: float = 5.0
    """Seconds that cancelled user code gets before it is never resumed again."""
    grace: float = 10.0
    """Seconds that steps in the air get to reach their checkpoint."""
    idle_after: float = 10.0
    """Seconds that a task stays in memory while all of it stands in durable waits."""
    mailbox: int = 1000
    """How many messages a task may have that it has not taken."""
    on_commit: Callable[[Ledger], None] | None = None
    """Told on the loop after each commit of a task, for those who follow its events."""
    on_turned: Callable[[], None] | None = None
    """Told on the loop after a commit whose task may have children that are to follow it."""
    on_woken: Callable[[int], None] | None = None
    """Told on the loop after a commit that may have queued the task of this key, or one that it
    has started, and was not its own."""
    on_exit: Callable[[int, BaseException], None] | None = None
    """Told on the loop that a step of the task of this key has ended the process, from within an
    asyncio task of the user's."""
    make_sure: Callable[[type[Actor], str], Awaitable[Recipient]] = field(init=False)
    """A server of this class and id as it stands, created unless it exists. Raises TaskExists."""
    check_child: Callable[[type[Actor], str, int, str | None], None] = field(init=False)
    """Told the class, pool, priority and lane of a child that is to be started; raises BadCall."""
    awaited: dict[str, list[Callable[[], None]]] = field(
        default_factory=dict[str, "list[Callable[[], None]]"]
    )
    """Who waits in memory for the end of a child, by its id."""
    mailboxes: dict[int, Mailbox] = field(default_factory=dict[int, "Mailbox"])
    """Those of the tasks that are in memory, by their key."""
    addresses: dict[str, Mailbox] = field(default_factory=dict[str, "Mailbox"])
    """The same, by the id of the task."""
    asking: dict[tuple[int, str], list[asyncio.Future[bytes]]] = field(
        default_factory=dict[tuple[int, str], "list[asyncio.Future[bytes]]"]
    )
    """Who waits here for the reply to which message, by the key of the server and its id."""
    effects_running: dict[str, asyncio.Future[None]] = field(
        default_factory=dict[str, asyncio.Future[None]]
    )
    """Calls of effects that still run in this process, by operation id."""
    severed: list[Any] = field(default_factory=list[Any])
    """Coroutines that were cut off: they stay referenced, or their `finally` would run."""
    lookout: Lookout = field(init=False)

    def posted(self, messages: Iterable[MessageRow]) -> None:
        """Hand messages that are committed to those whom they are for."""
        for message in messages:
            mailbox = self.mailboxes.get(message.task)
            if mailbox is not None:
                mailbox.handed(message)
            else:
                self.woken(message.task)

    def here(self, task_id: str) -> Recipient | None:
        """What one who sends must know of a task in memory; None where the store must be asked."""
        mailbox = self.addresses.get(task_id)
        return None if mailbox is None else mailbox.recipient

    def replied(self, key: int, taken: Iterable[Mail]) -> None:
        """Tell those who asked that the reply is committed."""
        for mail in taken:
            for waiter in self.asking.get((key, mail.id), ()):
                if mail.reply is not None and not waiter.done():
                    waiter.set_result(mail.reply)

    def family(
        self, ledger: Ledger, started: Collection[ChildRow], before: Progress | None
    ) -> None:
        """Tell of a commit those whom it concerns as its parent or as its children."""
        assert ledger.committed is not None  # it is told after a commit
        was, now = None if before is None else before.status, ledger.committed.status
        if was is now and not started:
            return
        woken = {ledger.row.key} if started else set[int]()
        if now in ENDED and was not in ENDED and ledger.row.parent is not None:
            for wake in tuple(self.awaited.get(ledger.row.id, ())):
                wake()
            if ledger.row.parent not in self.mailboxes:
                woken.add(ledger.row.parent)
        for key in woken:
            self.woken(key)
        if was is not None and asks_of(was) is not asks_of(now) and self.on_turned is not None:
            self.on_turned()

    def woken(self, key: int) -> None:
        """Tell that others than its owner have written of a task, which may be queued now."""
        if self.on_woken is not None:
            self.on_woken(key)

    def __post_init__(self) -> None:
        self.lookout = Lookout(self.clock)
