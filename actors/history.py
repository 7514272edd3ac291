"""From the rows of a task to its state: as it is now, or as its chapter began."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ..storage.record import record
from ..storage.records import Loaded, RunRow, StepRow
from .actor import Actor
from .log import Backing, Item
from .schema import Frame, Schema, join, join_items, split, split_items
from .state import open_view, place

if TYPE_CHECKING:
    from .actor import Anchor
    from .values import Limits

    Write = tuple[int, StepRow | RunRow]

__all__ = ["Begun", "chapter_view", "lifted", "present", "present_view"]


@record
class Begun(Loaded):
    """What the store holds of a task that begins here and now."""

    frame: Frame
    """Its state, which needs not be read from what was just written; without the Logs."""


def chapter_view(
    loaded: Loaded, actor: type[Actor], anchor: Anchor | None, limits: Limits, family: Actor | None
) -> Actor:
    """The state with which the present chapter began: where the replay of a flow starts.

    What is loaded must be in the form of the class: `lifted`. Raises StateUnreadable.
    """
    _check_logs(Schema.of(actor), loaded)
    return _base_view(loaded, actor, anchor, limits, family)


def _base_view(
    loaded: Loaded, actor: type[Actor], anchor: Anchor | None, limits: Limits, family: Actor | None
) -> Actor:
    schema = Schema.of(actor)
    if isinstance(loaded, Begun):
        frame = loaded.frame
    else:
        frame = schema.frame(split(loaded.base.state), limits)
    for name, backing in _appended(schema, loaded).items():
        frame = frame.grow(name, backing)
    return open_view(schema, frame, anchor, family=family)


def _check_logs(schema: Schema, loaded: Loaded) -> None:
    """Raise StateUnreadable for a log to which was appended and that the class lacks."""
    rows: tuple[StepRow | RunRow, ...] = (*loaded.steps, *loaded.runs)
    known = tuple(join_items({name: []})[:-2] for name in schema.log_fields)
    for row in rows:
        appends = row.appends
        if appends is None or (appends.startswith(known) and appends.count(b'":[') == 1):
            continue  # to one log, which it has: told without reading the items
        for name in split(appends):
            schema.log_field(name)


def _appended(schema: Schema, loaded: Loaded) -> dict[str, Backing]:
    """The logs as the base has them: what was appended up to it, in the order of the numbers."""
    logs: dict[str, Backing] = {}
    for seq, data in loaded.appends:
        for name, items in split_items(data).items():
            if name not in logs:
                schema.log_field(name)
                logs[name] = Backing()
            logs[name] = logs[name].add(seq, [Item(item) for item in items])
    return logs


def present_view(
    loaded: Loaded, actor: type[Actor], anchor: Anchor | None, limits: Limits, family: Actor | None
) -> Actor:
    """The state as the newest commit left it; of what is `lifted`, as `chapter_view`."""
    view = _base_view(loaded, actor, anchor, limits, family)
    for seq, changes, appends, owner in _since(loaded):
        place(view, split(changes), split_items(appends), seq, owner)
    return view


def present(loaded: Loaded, actor: type[Actor], limits: Limits) -> Actor:
    """A detached actor that shows the state as the newest commit left it."""
    return present_view(lifted(loaded, Schema.of(actor)), actor, None, limits, None)


def _since(loaded: Loaded) -> list[tuple[int, bytes | None, bytes | None, str]]:
    """What was written after the base, by number: of steps directly below `run`, and of `run`."""
    return [
        (seq, row.changes, row.appends, "run" if isinstance(row, RunRow) else row.identity)
        for seq, row in _writes(loaded)
        if isinstance(row, RunRow) or not row.above
    ]


# --- rows of an older version of the class ------------------------------------------------


def lifted(loaded: Loaded, schema: Schema) -> Loaded:
    """The same history in the form of the present class. Raises StateUnreadable.

    An upcast knows whole states only. So the state after each old row is put together in its old
    form and lifted, and what that differs by from the one before is what the row changed.
    """
    versions = {row.version for row in loaded.steps} | {row.version for row in loaded.runs}
    if loaded.base.version == schema.version and versions <= {schema.version}:
        return loaded
    writes = _writes(loaded)
    state, version = split(loaded.base.state), loaded.base.version
    before = schema.lift(state, version)
    base = loaded.base._replace(state=join(before), version=schema.version)
    changed: dict[int | None, bytes | None] = {}
    for seq, row in writes:
        if row.version != version:
            state, version = schema.lift(state, version, row.version), row.version
        with_row = {**state, **split(row.changes)}
        after = schema.lift(with_row, version)
        fields = {name: data for name, data in after.items() if before.get(name) != data}
        changed[seq] = join(fields) if fields else None
        if isinstance(row, RunRow) or not row.above:  # below a step, it is not yet the task's
            state, before = with_row, after
    return replace(
        loaded,
        base=base,
        steps=tuple(_with_changes(row, changed, schema.version) for row in loaded.steps),
        runs=tuple(_with_changes(row, changed, schema.version) for row in loaded.runs),
    )


Row = TypeVar("Row", StepRow, RunRow)


def _with_changes(row: Row, changed: dict[int | None, bytes | None], version: int) -> Row:
    if row.seq not in changed:
        return row
    return row._replace(changes=changed[row.seq], version=version)


def _writes(loaded: Loaded) -> list[Write]:
    """The rows that changed the state after the base, in the order of their numbers."""
    base = loaded.base.seq
    steps = [(row.seq, row) for row in loaded.steps if row.seq is not None and row.seq > base]
    runs = [(row.seq, row) for row in loaded.runs if row.seq > base]
    return sorted([*steps, *runs], key=lambda write: write[0])
