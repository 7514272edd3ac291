"""Who kills the process: suspects are let in a few at a time until the killer is found alone.

A task with `max_deaths - 1` deaths is a suspect. Suspects are let in one, then two, then four at
a time, each group when all of the last are *through*: they reached a new checkpoint, paused,
ended, crashed, or lived for `reset_after`. A process that dies starts again at one, with those
that were let in last, so that each death narrows the search by half.

Only a suspect that ran as the only one gets its last death. A suspect that died beside others
gets a *brush* instead. Suspects with brushes are tried with nobody else let in, and need one
checkpoint more for each brush, so that a killer that reaches a checkpoint in each life is still
found alone. A group of theirs never reaches beyond those that were let in together before: what
is tried when the process dies shrinks each time, until it is one, and that one comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..storage.records import Progress, Status, TaskRow

__all__ = ["Lineup", "Orphans", "Suspect", "counted", "suspect_of"]


class Suspect(NamedTuple):
    """What the order of suspects depends on."""

    key: int
    brushes: int
    death_epoch: int
    claimed_at: float
    """When the life began in which it died; equal for those that were let in together."""

    @property
    def company(self) -> tuple[int, float] | None:
        """Those with whom it was let in as a suspect; None for one that is to be tried first."""
        return (self.death_epoch, self.claimed_at) if self.brushes else None


def suspect_of(row: TaskRow) -> Suspect:
    """What the order of suspects needs of a task's row."""
    progress = row.progress
    return Suspect(row.key, progress.brushes, progress.death_epoch or 0, progress.claimed_at or 0.0)


def _most_suspect_first(suspect: Suspect) -> tuple[bool, int, float, int]:
    return (suspect.brushes == 0, -suspect.death_epoch, -suspect.claimed_at, suspect.key)


@dataclass(slots=True)
class _Trial:
    brushes: int
    checkpoints: int = 0


class Lineup:
    """The bookkeeping of one process: which suspects are being tried, and who may be let in."""

    def __init__(self) -> None:
        self._size = 1
        self._trials: dict[int, _Trial] = {}

    @property
    def exclusive(self) -> bool:
        """Whether nobody else may be let in: a suspect that needs to be alone is being tried."""
        return bool(self._trials) and any(trial.brushes for trial in self._trials.values())

    @property
    def busy(self) -> bool:
        """Whether suspects are being tried, so that no other one is let in yet."""
        return bool(self._trials)

    def next_batch(self, waiting: Sequence[Suspect], room: int) -> list[int]:
        """Keys of the suspects to let in now, most suspect first; none while others are tried.

        They count as tried from now on: call `through` for one that could not be let in.
        """
        if self.busy or room < 1 or not waiting:
            return []
        ordered = sorted(waiting, key=_most_suspect_first)
        together = [suspect for suspect in ordered if suspect.company == ordered[0].company]
        batch = together[: min(self._size, room)]
        self._size *= 2
        for suspect in batch:
            self._trials[suspect.key] = _Trial(suspect.brushes)
        return [suspect.key for suspect in batch]

    def tried(self, key: int) -> bool:
        return key in self._trials

    def checkpoint(self, key: int) -> bool:
        """One more checkpoint of a task that is being tried; whether it is through with it."""
        trial = self._trials.get(key)
        if trial is None:
            return False
        trial.checkpoints += 1
        return trial.checkpoints > trial.brushes and self.through(key)

    def through(self, key: int) -> bool:
        """It is no danger for now; whether it was being tried."""
        return self._trials.pop(key, None) is not None


def counted(progress: Progress) -> bool:
    """Whether a death counts for this orphan: not where all its steps backed off, or it waited."""
    return progress.due_at is None and progress.status is Status.RUNNING


class Orphans:
    """Who ran together under each dead epoch, for telling who was alone."""

    def __init__(self, rows: Iterable[Progress] = ()) -> None:
        self._ran: dict[int | None, int] = {}
        for progress in rows:
            self.add(progress)

    def add(self, progress: Progress) -> None:
        if counted(progress):
            self._ran[progress.epoch] = self._ran.get(progress.epoch, 0) + 1

    def alone(self, progress: Progress) -> bool:
        """Whether it was the only one that ran, and no earlier recovery knew better.

        A recovery that dies half way leaves fewer orphans behind than there were; see `to_mark`.
        """
        return self._ran.get(progress.epoch) == 1 and progress.death_epoch != progress.epoch

    def to_mark(self, progress: Progress, suspects_from: int) -> bool:
        """Whether it must be noted, before anyone is given back, that this one was not alone.

        Needed where it decides over the last death: the row then names the epoch as its
        `death_epoch` while it is still owned by it.
        """
        return (
            counted(progress)
            and progress.deaths >= suspects_from
            and self._ran.get(progress.epoch, 0) > 1
            and progress.death_epoch != progress.epoch
        )
