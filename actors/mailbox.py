"""The messages of one life that nobody has taken yet, as far as it has read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..storage.mail import Mail, MessageRow, Recipient

if TYPE_CHECKING:
    from .environment import Environment
    from .ledger import Ledger

__all__ = ["Mailbox"]

_PAGE = 200


class Mailbox:
    """What was sent to a task, in order: what is committed here while it is open is handed to it.

    It reads the store for what came before, and where it is told of something while it reads.
    """

    __slots__ = ("_environment", "_found", "_ledger", "_reads", "_stale", "_untaken", "_wake",
                 "seen")  # fmt: skip

    def __init__(self, environment: Environment, ledger: Ledger) -> None:
        self._environment = environment
        self._ledger = ledger
        self._wake = _nobody
        self._found: list[Mail] = []
        self._stale = True
        self._reads = 0
        """How many readings are under way."""
        self._untaken = 0
        """How many are known of which it is not on the ledger that they are taken."""
        self.seen = 0
        """Place of the newest message that was read or handed to it."""

    def open(self, wake: Callable[[], None]) -> None:
        """From now on be told what comes, and call `wake` on the loop then."""
        row = self._ledger.row
        self._environment.mailboxes[row.key] = self._environment.addresses[row.id] = self
        self._wake = wake
        self._stale = True

    def close(self) -> None:
        """Be told no more, and wake nobody."""
        self._wake = _nobody
        environment, row = self._environment, self._ledger.row
        if environment.mailboxes.get(row.key) is self:
            del environment.mailboxes[row.key], environment.addresses[row.id]

    @property
    def _is_complete(self) -> bool:
        """Whether all is known here that the store has for the task."""
        return not self._stale and not self._reads

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come that was not taken, as far as can be known here."""
        return self._is_complete and not self._untaken

    @property
    def recipient(self) -> Recipient | None:
        """What one who sends must know of the task; None where only the store can tell."""
        committed, row = self._ledger.committed, self._ledger.row
        if committed is None or not self._is_complete:
            return None
        return Recipient(row.key, committed.status, self._untaken, row.actor)

    def taken(self) -> None:
        """It is on the ledger that one of those that were given out is taken."""
        self._untaken -= 1

    def handed(self, message: MessageRow) -> None:
        """This message has been committed; they are handed over in the order of their places."""
        position = message.position
        if position is None or position <= self.seen:
            return
        if self._is_complete:
            sent = message.id, message.sender, message.body, message.sent_at
            self._add([Mail(position, *sent)])
        else:
            self._stale = True  # there may be older ones that were not read yet
        self._wake()

    def _add(self, new: list[Mail]) -> None:
        self.seen = new[-1].position
        self._found += new
        self._untaken += len(new)

    async def first(self, fits: Callable[[Mail], bool]) -> Mail | None:
        """The first message that fits, which is no longer here then; None where there is none.

        When it returns, nothing has come that it has not looked at. It is not taken in the store.
        """
        while self._stale:
            self._stale = False
            await self._read()
        for place, mail in enumerate(self._found):
            if fits(mail):
                del self._found[place]
                return mail
        return None

    async def _read(self) -> None:
        """Read what is new, and have it looked at by those who did not wait for this reading."""
        before = self.seen
        self._reads += 1
        try:
            while True:
                page = await self._environment.store.messages(
                    self._ledger.row.key, after=self.seen, limit=_PAGE
                )
                new = [mail for mail in page if mail.position > self.seen]  # two may read at once
                if new:
                    self._add(new)
                if len(page) < _PAGE:
                    break
        except BaseException:
            self._stale = True
            self._wake()
            raise
        finally:
            self._reads -= 1
        if self.seen > before:
            self._wake()


def _nobody() -> None:
    """Whom to wake while it is closed."""
