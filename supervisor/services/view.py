"""A running tree at one moment, as frozen records of plain data, and drawn as text."""

from __future__ import annotations

from datetime import datetime, timedelta

from pydantic import JsonValue

from ...storage.record import record
from ..pool_info import PoolInfo
from .drawing import Branch, draw, in_words, one_line
from .entries import ChildInfo, ChildStatus
from .spec import AutoShutdown, ChildKind, RestartType, Strategy

__all__ = ["ChildView", "SupervisorView", "child_view"]


@record
class ChildView:
    """A child at one moment. All instants are aware, in UTC."""

    id: str
    kind: ChildKind
    status: ChildStatus
    restart: RestartType
    significant: bool
    incarnation: int
    """Numbers the starts of all children of one life of the supervisor; 0 before the first."""
    up_since: datetime | None
    """None unless it is up."""
    failures: int
    """Failures in a row, as the backoff counts them."""
    restart_at: datetime | None
    """When it is restarted, where a backoff runs."""
    restart_in: float | None
    """The same in seconds from this moment."""
    last_error: str
    supervisor: SupervisorView | None = None
    """What is below a supervisor that runs."""
    pool: PoolInfo | None = None
    """What a pool that runs tells of itself."""


@record
class SupervisorView:
    """A supervisor and all below it at one moment: `print` draws it, `asdict` makes it plain.

    What its children gave to `task_status.started` and their arguments are not in it.
    """

    name: str
    path: str
    """The names from the root down, joined by `/`."""
    strategy: Strategy
    dynamic: bool
    max_children: int | None
    restart: dict[str, JsonValue]
    """The policy in force; a backoff by its name."""
    restarts: int
    """Restarts in the window that ends now."""
    auto_shutdown: AutoShutdown
    children: tuple[ChildView, ...]
    """In the order of their start."""

    def __str__(self) -> str:
        return draw(_supervisor(self, ("supervisor", "up")))


def child_view(
    info: ChildInfo, now: datetime, below: SupervisorView | None, pool: PoolInfo | None
) -> ChildView:
    """What is known of a child as plain data: its seconds as instants, seen from `now`."""
    return ChildView(
        id=info.id,
        kind=info.kind,
        status=info.status,
        restart=info.restart,
        significant=info.significant,
        incarnation=info.incarnation,
        up_since=None if info.up_for is None else now - timedelta(seconds=info.up_for),
        failures=info.failures,
        restart_at=None if info.restart_in is None else now + timedelta(seconds=info.restart_in),
        restart_in=info.restart_in,
        last_error=info.last_error,
        supervisor=below,
        pool=pool,
    )


# --- drawn ----------------------------------------------------------------------------------


def _supervisor(view: SupervisorView, known: tuple[str, ...], trouble: str = "") -> Branch:
    settings: dict[str, JsonValue] = {
        "strategy": "dynamic" if view.dynamic else view.strategy,
        "restart": view.restart,
        "auto_shutdown": view.auto_shutdown,
        "max_children": view.max_children,
    }
    used = f"{view.restarts} used" if view.restarts else ""
    words = "; ".join(filter(None, (in_words(settings), used, trouble)))
    return Branch(view.name, (*known, words), below=tuple(map(_child, view.children)))


def _child(child: ChildView) -> Branch:
    known, trouble = (child.kind, _state(child)), _trouble(child)
    if child.supervisor is not None:
        branch = _supervisor(child.supervisor, known, trouble)
        return Branch(child.id, branch.columns, below=branch.below)
    said = child.restart if child.pool is None else _facts(child.pool)
    return Branch(child.id, (*known, "; ".join(filter(None, (said, trouble)))))


def _state(child: ChildView) -> str:
    if child.up_since is not None:
        return f"up since {child.up_since:%Y-%m-%d %H:%M:%S}Z"
    if child.restart_in is not None:
        return f"{child.status}, next in {child.restart_in:.1f} s"
    return child.status


def _trouble(child: ChildView) -> str:
    """What went wrong lately, if anything did."""
    count = child.failures
    failures = f"{count} failure{'' if count == 1 else 's'} in a row" if count else ""
    return ": ".join(filter(None, (failures, one_line(child.last_error))))


def _facts(pool: PoolInfo) -> str:
    """The numbers of a pool, under their names."""
    said = [
        f"running {pool.running}",
        f"max_running {pool.max_running}",
        "" if pool.storm is None else f"storm for {pool.storm:.1f} s",
        f"crashes {pool.crashes}",
        f"starts {pool.starts}",
        "" if pool.next_look is None else f"next look in {pool.next_look:.1f} s",
        f"suspects {len(pool.suspects)}" if pool.suspects else "",
    ]
    return ", ".join(filter(None, said))
