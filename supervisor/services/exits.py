"""How a child ends, as plain records, and what an exception means."""

from __future__ import annotations

import asyncio
from typing import Literal

from ...actors.errors import UnaskedCancellation
from ...actors.foreign import is_kind, members_within, name_of, printable, read, shown, single
from ...storage.record import record

__all__ = [
    "BRUTAL",
    "DOWN",
    "Exit",
    "ExitKind",
    "Ignore",
    "Shutdown",
    "crash",
    "describe",
    "exit_of",
]

ExitKind = Literal["normal", "shutdown", "crash", "killed", "interrupt", "ignored"]


class Ignore(Exception):
    """Raised by a child to be left out: it does not run, and that is no failure.

    Before the child is started, its start call succeeds and its specification stays (that of a
    temporary child goes). Raised later it has the same effect, whatever the restart type.
    """


class Shutdown(Exception):
    """Raised by a child to end in order: a transient one is not started again.

    `info` is for whoever reads the events.
    """

    def __init__(self, info: object = None) -> None:
        self.info = info
        super().__init__(info)


@record
class Exit:
    """How a child, or a supervisor, has ended.

    - `normal`: it returned.
    - `shutdown`: it raised `Shutdown`, or ended as its supervisor had ordered.
    - `crash`: any other exception left it.
    - `killed`: it was cut off, because it did not end in time, or without being asked.
    - `interrupt`: KeyboardInterrupt or SystemExit left it: the whole tree is to stop.
    - `ignored`: it raised `Ignore`.
    """

    kind: ExitKind
    error: BaseException | None = None
    info: object = None

    @property
    def reason(self) -> str:
        """The exit in words."""
        if self.error is not None:
            return describe(self.error)
        return self.kind if self.info is None else f"{self.kind}: {shown(self.info)}"


DOWN = Exit("shutdown")
"""It ended as ordered."""
BRUTAL = Exit("killed")


def crash(error: BaseException) -> Exit:
    """The exit of what an exception has left."""
    return Exit("crash", error)


def describe(error: BaseException) -> str:
    """An exception in one line, even one whose `str` fails."""
    kind = name_of(error)
    text = read(lambda: printable(str(error)), lambda _: "")
    return f"{kind}: {text}" if text else kind


def exit_of(error: BaseException | None, *, asked: bool, who: str) -> Exit:
    """Read what left the child `who`; None when it returned.

    `asked` is whether its supervisor had ordered it to stop: only then is a cancellation a
    shutdown. Groups of one are seen through; a group that holds KeyboardInterrupt or SystemExit
    anywhere is that.
    """
    if error is None:
        return Exit("normal")
    leaving = _leaving(error)
    if leaving is not None:
        return Exit("interrupt", leaving)
    error = single(error)
    if is_kind(error, Ignore):
        return Exit("ignored")
    if is_kind(error, Shutdown):
        told = error
        return Exit("shutdown", info=read(lambda: told.info, lambda _: None))
    if is_kind(error, asyncio.CancelledError):
        return DOWN if asked else crash(_unasked(who, error))
    return crash(error)


def _unasked(who: str, error: BaseException) -> UnaskedCancellation:
    unasked = UnaskedCancellation(who)
    unasked.__cause__ = error
    return unasked


def _leaving(error: BaseException) -> BaseException | None:
    """The KeyboardInterrupt or SystemExit in an exception, if there is one."""
    within = members_within(error)
    return next((one for one in within if is_kind(one, (KeyboardInterrupt, SystemExit))), None)
