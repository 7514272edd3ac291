"""Tasks as they are shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .actors.actor import Actor
from .checking import actor_names, id_or_none, name_or_none, statuses_of
from .reading import TaskInfo, info_of
from .session import Session
from .storage.records import Status, TaskRow

__all__ = ["listed", "shown"]


async def listed(
    session: Session,
    *,
    status: Status | Collection[Status] | None,
    actor: str | type[Actor] | None,
    pool: str | None,
    lane: str | None,
    parent: str | None,
    after: str | None,
    limit: int,
) -> list[TaskInfo]:
    """Tasks in the order in which they were started; None filters nothing.

    Raises TaskNotFound for `after` and `parent`.
    """
    session.check()
    last, family = id_or_none("after", after), id_or_none("parent", parent)
    rows = await session.store.tasks(
        statuses=statuses_of(status),
        actors=actor_names(actor),
        pool=name_or_none("pool", pool),
        lane=name_or_none("lane", lane),
        parent=None if family is None else (await session.row(family)).key,
        after=0 if last is None else (await session.row(last)).key,
        limit=limit,
    )
    return await shown(session, rows)


async def shown(session: Session, rows: Sequence[TaskRow]) -> list[TaskInfo]:
    """What these rows say, with what is known of their tasks here."""
    known = session.catalogue.known()
    keys = {row.parent for row in rows if row.parent is not None}
    parents = await session.store.ids(keys) if keys else {}
    return [
        info_of(
            row,
            steps_running=session.steps_running(row.key),
            known=row.actor in known,
            parent=None if row.parent is None else parents.get(row.parent),
        )
        for row in rows
    ]
