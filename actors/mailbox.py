"""The messages of one life that nobody has taken yet, as far as it has read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..storage.mail import Mail

if TYPE_CHECKING:
    from .environment import Environment

__all__ = ["Mailbox"]

_PAGE = 200


class Mailbox:
    """What was sent to a task, in order. Reads the store only when something may have come."""

    __slots__ = ("_environment", "_found", "_key", "_stale", "_wake", "seen")

    def __init__(self, environment: Environment, key: int, wake: Callable[[], None]) -> None:
        """`wake` is told, on the loop, when something has come."""
        self._environment = environment
        self._key = key
        self._wake = wake
        self._found: tuple[Mail, ...] = ()
        self._stale = True
        self.seen = 0
        """Place of the newest message that was read; what came later, nobody here knows."""

    def open(self) -> None:
        """From now on be told what comes."""
        self._environment.mailboxes[self._key] = self
        self._stale = True

    def close(self) -> None:
        """Be told no more."""
        if self._environment.mailboxes.get(self._key) is self:
            del self._environment.mailboxes[self._key]

    def poke(self) -> None:
        """A message has been committed."""
        self._stale = True
        self._wake()

    async def first(self, fits: Callable[[Mail], bool]) -> Mail | None:
        """The first message that fits, which is no longer here then; None where there is none.

        When it returns, nothing has come that it has not looked at. It is not taken in the store.
        """
        while self._stale:
            self._stale = False
            await self._read()
        for place, mail in enumerate(self._found):
            if fits(mail):
                self._found = self._found[:place] + self._found[place + 1 :]
                return mail
        return None

    async def _read(self) -> None:
        """Read what is new, and have it looked at by those who did not wait for this reading."""
        before = self.seen
        try:
            while True:
                page = await self._environment.store.messages(
                    self._key, after=self.seen, limit=_PAGE
                )
                new = [mail for mail in page if mail.position > self.seen]  # two may read at once
                if new:
                    self.seen = new[-1].position
                    self._found += tuple(new)
                if len(page) < _PAGE:
                    break
        except BaseException:
            self._stale = True
            self._wake()
            raise
        if self.seen > before:
            self._wake()
