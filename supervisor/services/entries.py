"""What a supervisor knows of each of its children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ...actors.foreign import shown
from ...storage.record import record
from ..errors import NotFound
from ..pool_spec import Pool
from .exits import Exit
from .spec import Child, ChildKind, ChildSpec, RestartType, id_of, kind_of

__all__ = [
    "ChildInfo",
    "ChildStatus",
    "Counts",
    "Entry",
    "Ref",
    "budget_of",
    "counts",
    "entry_in",
    "name_for",
    "significant",
    "type_of",
]

ChildStatus = Literal["up", "undefined", "restarting", "starting", "stopping"]
"""`undefined`: known, and nothing runs. `restarting`: a restart is due, or has failed."""


@record
class Ref:
    """Names one child of one life of a supervisor, over all restarts of the child."""

    supervisor: str
    life: int
    id: str


@record
class ChildInfo:
    """What is known of a child at one moment."""

    id: str
    status: ChildStatus
    kind: ChildKind
    restart: RestartType
    significant: bool
    incarnation: int
    """Numbers the starts of all children of one life of the supervisor; 0 before the first."""
    value: Any
    """What it gave to `task_status.started`; of a supervisor or a pool, its handle."""
    up_for: float | None
    """Seconds since it was started; None unless it is up."""
    failures: int
    """Failures in a row, as the backoff counts them."""
    restart_in: float | None
    """Seconds until it is restarted, where a backoff runs."""
    last_error: str
    ref: Ref


class Counts(NamedTuple):
    """How many children there are."""

    specs: int
    """All that are known."""
    active: int
    """Those that run."""
    supervisors: int
    """Pools too: they are supervisors of tasks."""
    workers: int


@dataclass(slots=True)
class Entry:
    """A child as its supervisor keeps it."""

    id: str
    spec: ChildSpec
    number: int = 0
    """Of its last start; what carries an older number is stale."""
    status: ChildStatus = "undefined"
    held: bool = False
    """An operator has stopped it, so that it stays down until an operator starts it."""
    dead: Exit | None = None
    """It ended, and that has not been dealt with yet."""
    failed: Exit | None = None
    """Why its restart failed, until that is counted."""
    failures: int = 0
    since: float | None = None
    """When it was started, by the monotonic clock, as `due`; None before."""
    due: float | None = None
    """When it is restarted, where a backoff runs."""
    value: Any = None
    last_error: str = ""

    def known(self, supervisor: str, life: int, now: float) -> ChildInfo:
        up = self.status == "up" and self.since is not None
        return ChildInfo(
            id=self.id,
            status=self.status,
            kind=kind_of(self.spec),
            restart=type_of(self.spec),
            significant=significant(self.spec),
            incarnation=self.number,
            value=self.value,
            up_for=now - self.since if up and self.since is not None else None,
            failures=self.failures,
            restart_in=None if self.due is None else max(0.0, self.due - now),
            last_error=self.last_error,
            ref=Ref(supervisor, life, self.id),
        )

    @property
    def runs(self) -> bool:
        """Whether there is something to stop."""
        return self.status in ("up", "starting", "stopping")


def type_of(spec: ChildSpec) -> RestartType:
    """When the child is started again."""
    if isinstance(spec, Child):
        return spec.restart
    return "permanent" if isinstance(spec, Pool) else spec.restart_type


def significant(spec: ChildSpec) -> bool:
    """Whether the exit of the child may end its supervisor."""
    return not isinstance(spec, Pool) and spec.significant


def budget_of(spec: ChildSpec) -> float | None:
    """Seconds from the order to stop until it is cut off; 0 at once, None never."""
    if isinstance(spec, Pool):
        return None
    return 0.0 if spec.shutdown == "brutal" else spec.shutdown


def counts(entries: Iterable[Entry]) -> Counts:
    """Count children: kinds by what is known, `active` by what runs."""
    known = list(entries)
    supervisors = sum(kind_of(entry.spec) != "worker" for entry in known)
    active = sum(entry.dead is None and entry.status in ("up", "stopping") for entry in known)
    return Counts(
        specs=len(known),
        active=active,
        supervisors=supervisors,
        workers=len(known) - supervisors,
    )


def entry_in(entries: Mapping[str, Entry], child: object, supervisor: str) -> Entry:
    """The child of this id. Raises NotFound, also for what is no id at all."""
    if not isinstance(child, str):
        raise NotFound(supervisor, shown(child))
    entry = entries.get(child)
    if entry is None:
        raise NotFound(supervisor, child)
    return entry


def name_for(spec: ChildSpec, number: int) -> str:
    """The id of a child of a dynamic supervisor."""
    return f"{id_of(spec)}#{number}"
