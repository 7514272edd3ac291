"""A world without asyncio in which tasks kill their process, to try the rules of suspects in."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import NamedTuple

from everstep.storage.records import Progress, Status
from everstep.supervisor.decisions import after_death, at_claim
from everstep.supervisor.restart import Restart
from everstep.supervisor.suspects import Lineup, Orphans, Suspect
from tests.supervisor.rows import progress


class Habit(NamedTuple):
    """How a task behaves in every life."""

    step: float
    """Seconds from one checkpoint to the next; infinite for a step longer than any life."""
    steps: int = 1_000_000
    """Checkpoints until it ends, over all lives."""
    kills_after: int | None = None
    """Checkpoints in one life after which it kills the process, half a step later; None: never."""


@dataclass
class Member:
    key: int
    habit: Habit
    progress: Progress = field(default_factory=lambda: progress(status=Status.QUEUED, epoch=None))
    finished: int = 0
    here: int = 0
    since: float = 0.0

    @property
    def is_killer(self) -> bool:
        return self.habit.kills_after is not None

    @property
    def queued(self) -> bool:
        return self.progress.status is Status.QUEUED

    @property
    def running(self) -> bool:
        return self.progress.status is Status.RUNNING


class World:
    """A store that outlives its processes; each call of `live` is the life of one process."""

    def __init__(self, habits: list[Habit], restart: Restart, room: int) -> None:
        self.members = [Member(key, habit) for key, habit in enumerate(habits)]
        self.restart = restart
        self.room = room
        self.epoch = 0
        self.now = 0.0
        self.lives = 0

    def unfound(self) -> list[int]:
        return [
            m.key for m in self.members if m.is_killer and m.progress.status is not Status.FAILED
        ]

    def wronged(self) -> list[int]:
        return [
            m.key for m in self.members if not m.is_killer and m.progress.status is Status.FAILED
        ]

    def live(self) -> bool:
        """A process until it is killed, and its burial by the next; False if nothing kills."""
        self.epoch += 1
        self.lives += 1
        killed = _Life(self).until_death()
        if killed:
            self._bury()
        return killed

    def _bury(self) -> None:
        orphans = [member for member in self.members if member.running]
        together = Orphans(member.progress for member in orphans)
        for member in orphans:
            alone = together.alone(member.progress)
            member.progress = after_death(member.progress, self.restart, alone=alone).progress


class _Life:
    def __init__(self, world: World) -> None:
        self.world = world
        self.lineup = Lineup()
        self.events: list[tuple[float, int, int, str]] = []
        self.number = 0
        self.round = 0

    def until_death(self) -> bool:
        self.admit()
        while self.events:
            self.world.now, _, key, what = heapq.heappop(self.events)
            member = self.world.members[key]
            if not member.running:
                continue
            if what == "kill":
                return True
            self.happens(member, what)
            self.admit()
        return False

    def happens(self, member: Member, what: str) -> None:
        if what == "recovered":
            member.progress = member.progress._replace(deaths=0, brushes=0)
            self.lineup.through(member.key)
            return
        member.finished += 1
        member.here += 1
        self.lineup.checkpoint(member.key)
        if member.finished >= member.habit.steps:
            member.progress = member.progress._replace(status=Status.SUCCEEDED, epoch=None)
            self.lineup.through(member.key)
        else:
            self.plan(member)

    def admit(self) -> None:
        world = self.world
        queued = [member for member in world.members if member.queued]
        limit = world.restart.suspects_from
        suspects = [m for m in queued if m.progress.deaths >= limit]
        self.round += 1
        for key in self.lineup.next_batch([_as_suspect(m) for m in suspects], self.room()):
            self.begin(world.members[key])
        if not self.lineup.exclusive:
            for member in [m for m in queued if m.progress.deaths < limit][: self.room()]:
                self.begin(member)

    def room(self) -> int:
        return self.world.room - sum(member.running for member in self.world.members)

    def begin(self, member: Member) -> None:
        world = self.world
        claimed = world.now + self.round * 1e-9
        member.progress = at_claim(member.progress, epoch=world.epoch, now=claimed).progress
        member.here = 0
        self.at(world.now + world.restart.reset_after, member, "recovered")
        self.plan(member)

    def plan(self, member: Member) -> None:
        habit = member.habit
        if member.here == habit.kills_after:
            self.at(self.world.now + habit.step / 2, member, "kill")
        elif math.isfinite(habit.step):
            self.at(self.world.now + habit.step, member, "checkpoint")

    def at(self, when: float, member: Member, what: str) -> None:
        self.number += 1
        heapq.heappush(self.events, (when, self.number, member.key, what))


def _as_suspect(member: Member) -> Suspect:
    p = member.progress
    return Suspect(member.key, p.brushes, p.death_epoch or 0, p.claimed_at or 0.0)
