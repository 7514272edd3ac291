"""Jobs of a supervisor: children to stop, then children to start, one after the other."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto

from ...actors.backoff import Chance
from ..errors import NoProc
from .entries import ChildInfo, Entry, budget_of, type_of
from .exits import Exit
from .messages import (
    Action,
    Arm,
    Booted,
    Call,
    Disarm,
    End,
    Escalate,
    EventKind,
    Message,
    Reply,
    Start,
    Stop,
    Tell,
)
from .policy import Window, as_expected
from .spec import AutoShutdown, Child, DynamicSupervisor, Strategy, SupervisorSpec, id_of

__all__ = ["Job", "Jobs", "Purpose"]


_NOBODY = ""
"""Waited for by a job that must not go on."""


class Purpose(Enum):
    """Why children are stopped and started."""

    BOOT = auto()
    RESTART = auto()
    START_CALL = auto()
    RESTART_CALL = auto()
    TERMINATE_CALL = auto()
    HOLD = auto()
    """Nothing is done any more until the end is ordered."""
    END = auto()


@dataclass(slots=True)
class Job:
    """What is under way: first the stops, then the starts; `waiting` is for whom we wait."""

    purpose: Purpose
    stops: deque[str] = field(default_factory=deque[str])
    starts: deque[str] = field(default_factory=deque[str])
    waiting: set[str] = field(default_factory=set[str])
    entry: Entry | None = None
    """The child that is restarted, or that the call is about."""
    delay: float = 0.0
    """A restart: seconds to wait after the stops, in place of the starts."""
    token: int | None = None
    error: Exception | None = None


class Jobs:
    """The state of one life of a supervisor, and the job under way.

    Public attributes are for the calls and for readers.
    """

    def __init__(self, spec: SupervisorSpec, name: str, life: int, chance: Chance) -> None:
        self.name = name
        self.life = life
        self.dynamic = isinstance(spec, DynamicSupervisor)
        self.durable = False
        """Whether there is a store, so that pools may be children."""
        self.restart = spec.restart
        self.strategy: Strategy = "one_for_one"
        self.auto_shutdown: AutoShutdown = "never"
        self.max_children: int | None = None
        self.extra_args: tuple[object, ...] = ()
        self.entries: dict[str, Entry] = {}
        self.window = Window()
        self.job: Job | None = None
        self.ending: Exit | None = None
        self.now = 0.0
        self._chance = chance
        self._last_number = 0
        self._deferred: deque[Message] = deque()
        self._out: list[Action] = []
        if isinstance(spec, DynamicSupervisor):
            self.max_children = spec.max_children
            self.extra_args = spec.extra_args
        else:
            self.strategy = spec.strategy
            self.auto_shutdown = spec.auto_shutdown
            self.entries = {id_of(child): Entry(id_of(child), child) for child in spec.children}

    def do(self, action: Action) -> None:
        self._out.append(action)

    def tell(self, kind: EventKind, entry: Entry, ended: Exit, *, expected: bool = True) -> None:
        """Make known what happened to a child."""
        told = Tell(kind, entry.id, entry.number, ended.reason, ended.error, expected=expected)
        self.do(told)

    def info(self, entry: Entry) -> ChildInfo:
        return entry.known(self.name, self.life, self.now)

    def begin(self, job: Job) -> None:
        """Make this the job under way. There is none, or it is the end."""
        self.job = job

    def next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    # --- the job under way --------------------------------------------------------------------

    def _advance(self) -> None:
        while (job := self.job) is not None and not job.waiting:
            if job.stops:
                self._stop_next(job)
            elif job.starts and not job.delay:
                self._start_next(job)
            elif job.purpose is Purpose.END:
                self._finish_end(job)
                return
            else:
                self.job = None
                self._finish(job)

    def _stop_next(self, job: Job) -> None:
        for _ in range(len(job.stops) if self.dynamic else 1):
            entry = self.entries.get(job.stops.popleft())
            if entry is None or not entry.runs:
                continue
            if entry.dead is not None:
                self._stopped(entry, entry.dead)
            else:
                entry.status = "stopping"
                job.waiting.add(entry.id)
                self.do(Stop(entry.id, budget_of(entry.spec)))

    def _start_next(self, job: Job) -> None:
        entry = self.entries.get(job.starts.popleft())
        if entry is not None and not entry.held and not entry.runs:
            job.waiting.add(entry.id)
            self._start(entry)

    def _start(self, entry: Entry) -> None:
        self._forget_restart(entry)
        entry.number = self.next_number()
        entry.status = "starting"
        entry.since = None
        extra = self.extra_args if isinstance(entry.spec, Child) else ()
        self.do(Start(entry.id, entry.number, entry.spec, extra))

    def _finish(self, job: Job) -> None:
        if job.purpose is Purpose.BOOT:
            self.do(Tell("supervisor_started"))
            self.do(Booted())
        elif job.purpose is Purpose.RESTART:
            if job.delay and job.entry is not None:
                job.entry.due = self.now + job.delay
                self.do(Arm(job.entry.id, job.entry.number, job.delay))
        elif job.token is not None and job.entry is not None:
            known = None if job.purpose is Purpose.TERMINATE_CALL else self.info(job.entry)
            self.do(Reply(job.token, job.error or known))

    # --- what becomes of a child --------------------------------------------------------------

    def _stopped(self, entry: Entry, ended: Exit) -> None:
        """It has ended because it was to stop, or shortly before it was told."""
        brutal = budget_of(entry.spec) == 0
        expected = as_expected(type_of(entry.spec), ended, brutal=brutal)
        self.tell(
            "child_stopped" if expected else "shutdown_error", entry, ended, expected=expected
        )
        self._down(entry)
        self._arrived(entry)
        self._drop_unless_kept(entry)
        if ended.kind == "interrupt":
            self._hold(ended)

    def _down(self, entry: Entry) -> None:
        entry.status = "undefined"
        entry.dead = None
        entry.value = None

    def _arrived(self, entry: Entry) -> None:
        if self.job is not None:
            self.job.waiting.discard(entry.id)

    def _drop_unless_kept(self, entry: Entry) -> None:
        """A temporary child, and one of a dynamic supervisor, is forgotten when it is down."""
        if type_of(entry.spec) == "temporary" or self.dynamic:
            self.entries.pop(entry.id, None)

    def _forget_restart(self, entry: Entry) -> None:
        if entry.due is not None:
            entry.due = None
            self.do(Disarm(entry.id))

    def _hold(self, ended: Exit) -> None:
        """The tree is to stop from its root, so that its order holds; until then wait."""
        if self.job is None:
            self.job = Job(Purpose.HOLD)
        if self.ending is None:
            self.job.waiting.add(_NOBODY)
        self.do(Escalate(ended))

    def cancel_restart(self, entry: Entry) -> None:
        """A child that does not run stays down, though it was about to be restarted."""
        self._forget_restart(entry)
        entry.status = "undefined"
        self._drop_unless_kept(entry)

    # --- the end ------------------------------------------------------------------------------

    def end(self, ended: Exit) -> None:
        """Stop all children, the last one first, and end. The first reason stands.

        A child that is being stopped is waited for; one that is being started is stopped in its
        turn. An interrupt replaces an earlier reason.
        """
        if self.ending is not None:
            self.ending = ended if ended.kind == "interrupt" else self.ending
            return
        self.ending = ended
        before, self.job = self.job, Job(Purpose.END)
        if before is not None and before.token is not None:
            if before.purpose is Purpose.TERMINATE_CALL:
                self.job.token = before.token
            else:
                self.do(Reply(before.token, NoProc(self.name)))
        for entry in reversed(self.entries.values()):
            if entry.status == "stopping":
                self.job.waiting.add(entry.id)
            elif entry.runs:
                self.job.stops.append(entry.id)
        for entry in [one for one in self.entries.values() if one.status == "restarting"]:
            self.cancel_restart(entry)
        for message in self._deferred:
            if isinstance(message, Call):
                self.do(Reply(message.token, NoProc(self.name)))
        self._deferred.clear()

    def _finish_end(self, job: Job) -> None:
        self.job = None
        if job.token is not None:
            self.do(Reply(job.token, None))
        ended = self.ending or Exit("shutdown")
        self.do(Tell("supervisor_ended", reason=ended.reason, error=ended.error))
        self.do(End(ended))
