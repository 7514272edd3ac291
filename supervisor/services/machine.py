"""A supervisor as a state machine: a message and the time go in, what is to be done comes out.

Nothing here awaits, and nothing here starts or stops anything. One *job* at a time is under way:
the first start, a restart, a call, or the end. A job is children to stop, then children to start,
one after the other. While there is one, exits and calls wait their turn, except the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import replace

from ..errors import FailedToStartChild, NoProc, RestartLimitExceeded
from ..restart import backoff_delay
from .entries import Entry, significant, type_of
from .exits import Exit, crash
from .jobs import Job, Jobs, Purpose
from .messages import (
    Action,
    Again,
    Begin,
    Call,
    Due,
    Exited,
    Halt,
    Message,
    NotStarted,
    Post,
    Reply,
    Started,
    Tell,
)
from .policy import group_of, limit_hit, out_of_reach, reported, restarts
from .spec import Child

__all__ = ["Core"]


class Core(Jobs, ABC):
    """What follows from what children report, from timers, and from the order to stop."""

    def handle(self, message: Message, now: float) -> list[Action]:
        """Deal with one message at `now` (monotonic), and with what waited for its end."""
        self.now = now
        self._take(message)
        while self.job is None and self._deferred:
            self._take(self._deferred.popleft())
        out, self._out = self._out, []
        return out

    @abstractmethod
    def answer(self, call: Call) -> None:
        """Answer a call, or begin the job whose end answers it. No job is under way."""

    def _take(self, message: Message) -> None:
        match message:
            case Call():
                self._called(message)
            case Exited():
                self._on_exited(message)
            case Started():
                self._on_started(message)
            case NotStarted():
                self._on_not_started(message)
            case Again() | Due():
                self._on_restart_due(message)
            case Halt():
                self.end(message.ended)
            case Begin():
                self.warn_of_limit()
                self.begin(Job(Purpose.BOOT, starts=deque(self.entries)))
        self._advance()

    def _called(self, call: Call) -> None:
        if self.ending is not None:
            self.do(Reply(call.token, NoProc(self.name)))
        elif self.job is not None:
            self._deferred.append(call)
        else:
            self.answer(call)

    def _current(self, message: Started | NotStarted | Exited | Again | Due) -> Entry | None:
        """The child that the message is about; None where it is stale."""
        entry = self.entries.get(message.id)
        return entry if entry is not None and entry.number == message.number else None

    # --- what children report -------------------------------------------------------------

    def _on_started(self, message: Started) -> None:
        entry = self._current(message)
        if entry is None or entry.status != "starting":
            return
        entry.status = "up"
        entry.since = self.now
        entry.value = message.value
        if isinstance(entry.spec, Child) and entry.spec.restart == "temporary":
            entry.spec = replace(entry.spec, args=())  # never needed again, and may be large
        self.do(Tell("child_started", entry.id, entry.number))
        self._arrived(entry)

    def _on_not_started(self, message: NotStarted) -> None:
        entry = self._current(message)
        if entry is None or not entry.runs:
            return
        if entry.status == "stopping" or self.ending is not None or self.job is None:
            self._stopped(entry, message.ended)
        elif message.ended.kind == "ignored":
            entry.status = "undefined"
            self.tell("child_exited", entry, message.ended)
            self._drop_unless_kept(entry)
            self._arrived(entry)
        else:
            self._start_failed(entry, message.ended, self.job)

    def _start_failed(self, entry: Entry, ended: Exit, job: Job) -> None:
        self.tell("start_error", entry, ended, expected=False)
        entry.last_error = ended.reason
        entry.status = "undefined"
        self._arrived(entry)
        if job.purpose is Purpose.RESTART:
            entry.status = "restarting"
            entry.failed = ended
            job.starts.clear()
            self.do(Post(Again(entry.id, entry.number)))
            return
        error = FailedToStartChild(self.name, entry.id, ended.reason)
        error.__cause__ = ended.error
        if job.purpose is Purpose.BOOT:
            self.end(crash(error))
        else:
            job.error = error
            if job.purpose is Purpose.START_CALL:
                del self.entries[entry.id]

    def _on_exited(self, message: Exited) -> None:
        entry = self._current(message)
        if entry is None or not entry.runs:
            return
        if message.ended.kind == "interrupt" or entry.status == "stopping":
            self._stopped(entry, message.ended)
        elif self.job is not None:
            entry.dead = message.ended
            self._deferred.append(message)
        else:
            self._exited(entry, message.ended)

    def _exited(self, entry: Entry, ended: Exit) -> None:
        """It has ended by itself."""
        restart = type_of(entry.spec)
        self.tell("child_exited", entry, ended, expected=not reported(restart, ended))
        lived = 0.0 if entry.since is None else self.now - entry.since
        self._down(entry)
        if restarts(restart, ended):
            entry.failures = 0 if lived >= self.restart.reset_after else entry.failures
            self._failed(entry, ended)
            return
        entry.failures = 0
        self._drop_unless_kept(entry)
        if ended.kind != "ignored" and significant(entry.spec):
            self._shut_down_if_last()

    def _shut_down_if_last(self) -> None:
        others = (
            entry.status != "undefined" and significant(entry.spec)
            for entry in self.entries.values()
        )
        if self.auto_shutdown == "any" or (self.auto_shutdown == "all" and not any(others)):
            self.end(Exit("shutdown", info="auto_shutdown"))

    # --- restarts -------------------------------------------------------------------------

    def _failed(self, entry: Entry, ended: Exit) -> None:
        """Count a failure; give up, or restart the child and its group, now or later."""
        entry.failures += 1
        entry.last_error = ended.reason
        in_window = self.window.add(self.now, self.restart.within)
        limit = limit_hit(self.restart, in_window, entry.failures)
        if limit is not None:
            self._give_up(entry, ended, limit)
            return
        delay = backoff_delay(self.restart, entry.failures, self._chance)
        entry.status = "restarting"
        self.do(Tell("restart_scheduled", entry.id, entry.number, ended.reason, delay=delay))
        self._restart(entry, delay)

    def _restart(self, entry: Entry, delay: float) -> None:
        """Restart its group, in place of any restart that another child of the group waits for."""
        group = group_of(self.strategy, self.entries, entry.id)
        stops: deque[str] = deque()
        for other in map(self.entries.__getitem__, group):
            if other.runs:
                stops.appendleft(other.id)
            elif other is not entry:
                self.cancel_restart(other)
        self.begin(Job(Purpose.RESTART, stops, deque(group), entry=entry, delay=delay))

    def _give_up(self, entry: Entry, ended: Exit, limit: str) -> None:
        entry.status = "undefined"
        error = RestartLimitExceeded(self.name, entry.id, limit, ended.reason)
        error.__cause__ = ended.error
        self.tell("limit_reached", entry, Exit("crash", error), expected=False)
        self.end(crash(error))

    def _on_restart_due(self, message: Again | Due) -> None:
        entry = self._current(message)
        if entry is None or entry.status != "restarting" or self.ending is not None:
            return
        if self.job is not None:
            self._deferred.append(message)
        elif isinstance(message, Due):
            entry.due = None
            self._restart(entry, 0.0)
        else:
            ended, entry.failed = entry.failed or Exit("crash"), None
            self._failed(entry, ended)

    def warn_of_limit(self) -> None:
        """Tell when the policy lets one child alone fail for ever."""
        warning = out_of_reach(self.restart)
        if warning is not None:
            self.do(Tell("limit_out_of_reach", reason=warning, expected=False))
