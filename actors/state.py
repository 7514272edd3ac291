"""Views of an actor's state: what one attempt sees and changes, and how that is taken over."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from .actor import Actor
from .closed import Ended, closed_twin
from .errors import BadActor, ConflictingChange, PayloadTooLarge, StateUnreadable
from .log import LIVE, UNNUMBERED, Backing, Item, Log, LogView
from .schema import UNSHARED, Cell, Frame, Schema, join, join_items
from .values import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from .actor import Anchor

__all__ = [
    "NOTHING",
    "Changes",
    "View",
    "adopt",
    "changed_items",
    "close_view",
    "collect",
    "encoded_state",
    "frame_of",
    "open_view",
    "place",
    "rebase",
    "total",
]

_MISSING: Final = object()
_NO_LOGS: Final[dict[str, Log[Any]]] = {}
"""Of all views of actors without a Log, so that none needs one of its own."""


class View:
    """What ties one view of an actor to the runtime; the actor itself is what a user sees."""

    __slots__ = ("anchor", "family", "frame", "logs", "schema", "task_id")

    def __init__(
        self, schema: Schema, frame: Frame, anchor: Anchor | None, family: dict[str, Any]
    ) -> None:
        self.schema = schema
        self.frame = frame
        self.anchor = anchor
        self.task_id = ""
        """For messages, once the attempt has ended."""
        self.family = family
        """Cached properties, shared by all views of one life of the actor."""
        self.logs: dict[str, Log[Any]] = {} if schema.log_fields else _NO_LOGS
        """Those that were touched."""

    def read(self, name: str) -> Any:
        """The value of a field as the frame has it: what the view sees at its first touch.

        One that does not load raises what its anchor says, and StateUnreadable without one.
        """
        cell = self.frame.cells.get(name)
        if cell is None:
            field, backing = self.schema.log_fields[name], self.frame.logs[name]
            log = self.logs[name] = Log.standing_on(LogView(field, backing, self.anchor))
            return log
        if cell.shared is not UNSHARED:
            return cell.shared
        try:
            return self.schema.read(name, cell.data)
        except StateUnreadable as error:
            if self.anchor is None:
                raise
            raise self.anchor.unreadable(error) from error


class Changes:
    """What a view changed against its frame: new values of fields, and items appended to Logs."""

    __slots__ = ("appends", "fields")

    def __init__(
        self,
        fields: dict[str, Cell] | None = None,
        appends: dict[str, list[Item]] | None = None,
    ) -> None:
        self.fields: dict[str, Cell] = {} if fields is None else fields
        self.appends: dict[str, list[Item]] = {} if appends is None else appends

    def __repr__(self) -> str:
        return f"<changes of {[*self.fields]}, appends to {[*self.appends]}>"

    def __bool__(self) -> bool:
        return bool(self.fields or self.appends)

    def parts(self) -> tuple[dict[str, bytes], dict[str, list[bytes]]]:
        """The bytes of both: changed fields by name, appended items by name."""
        fields = {name: cell.data for name, cell in self.fields.items()}
        return fields, {name: [item.data for item in new] for name, new in self.appends.items()}

    def encoded(self) -> tuple[bytes | None, bytes | None, int]:
        """(changed fields, appended items, size of both) as JSON; None where there are none."""
        if self is NOTHING:
            return None, None, 0
        changed, appended = self.parts()
        fields = join(changed) if changed else None
        appends = join_items(appended) if appended else None
        return fields, appends, len(fields or b"") + len(appends or b"")


NOTHING: Final = Changes()
"""What a view has changed that changed nothing: told by what it is, not by what is in it."""


def open_view(
    schema: Schema, frame: Frame, anchor: Anchor | None, *, family: Actor | None
) -> Actor:
    """An actor that stands on `frame`. Costs what its immutable fields are in number.

    Without an anchor nothing runs it: it shows the state. `family` is a view of the same life,
    whose private attributes and cached properties are shared; without one they are made anew, by
    `model_post_init`.
    """
    actor: Actor = _new(schema.actor)
    _set_dict(actor, frame.shared.copy())
    _set_names(actor, schema.every_name)
    _set_extra(actor, None)
    if family is not None:
        _set_view(actor, View(schema, frame, anchor, family.__everstep__.family))
        _set_private(actor, family.__pydantic_private__)
        return actor
    view = View(schema, frame, anchor, {})
    _set_view(actor, view)
    _set_private(actor, None)
    if schema.actor.__pydantic_post_init__:
        actor.model_post_init(None)
        _set_dict(actor, frame.shared.copy())  # what it does to fields counts at the start alone
        view.logs.clear()
    return actor


_new: Final[Any] = object.__new__
_set_class: Final[Any] = vars(object)["__class__"].__set__
_set_view: Final[Any] = vars(Actor)["__everstep__"].__set__


def _slot(name: str) -> Any:
    for base in Actor.__mro__:
        if name in vars(base):
            return vars(base)[name].__set__
    raise AssertionError(name)


_set_dict: Final[Any] = _slot("__dict__")
_set_names: Final[Any] = _slot("__pydantic_fields_set__")
_set_extra: Final[Any] = _slot("__pydantic_extra__")
_set_private: Final[Any] = _slot("__pydantic_private__")


def collect(actor: Actor, *, owner: str, limits: Limits = DEFAULT_LIMITS) -> Changes:
    """What the view changed since it was opened or last rebased, or NOTHING. Changes nothing.

    Raises NotValid, NotSerializable, PayloadTooLarge, and BadActor where a Log
    was replaced.
    """
    view = actor.__everstep__
    own, shared = actor.__dict__, view.frame.shared
    if len(own) == len(shared) and all(map(is_, own.values(), map(shared.get, own))):
        return NOTHING
    cells = view.frame.cells
    changes = Changes()
    size = view.frame.size
    for name, value in own.copy().items():
        if value is shared.get(name, _MISSING):
            continue
        cell = cells.get(name)
        if cell is None:
            _collect_log(view, name, value, changes, limits)
            continue
        changed = _changed(view.schema, name, value, cell, owner, limits)
        if changed is not None:
            changes.fields[name] = changed
            size += len(changed.data) - len(cell.data)
    if changes.fields:
        view.schema.check_size(size, limits)
    return changes or NOTHING


def total(actor: Actor, base: Frame, *, owner: str, limits: Limits = DEFAULT_LIMITS) -> Changes:
    """The same since the view stood on `base`, also through steps that it has adopted.

    Raises what `collect` raises.
    """
    found = collect(actor, owner=owner, limits=limits)
    frame = actor.__everstep__.frame
    changes = Changes()
    for name, before in base.cells.items():
        cell = found.fields.get(name, frame.cells[name])
        if cell is not before and cell.data != before.data:
            changes.fields[name] = cell
    for name, backing in base.logs.items():
        items = frame.logs[name].since(backing) + found.appends.get(name, [])
        if items:
            changes.appends[name] = items
    return changes or NOTHING


def _changed(
    schema: Schema, name: str, value: Any, before: Cell, owner: str, limits: Limits
) -> Cell | None:
    codec = schema.fields[name]
    data, valid = codec.settle(value, schema.where(name), limits)
    if data == before.data or (codec.unordered and codec.same(valid, before.data)):
        return None
    return Cell(data, valid, owner)


def _collect_log(view: View, name: str, value: Any, changes: Changes, limits: Limits) -> None:
    log_field = view.schema.log_fields.get(name)
    if log_field is None:
        return
    log = view.logs.get(name)
    if log is not value or log is None or log.view is None:
        raise BadActor(
            f"the field {name!r} of {view.schema.actor_name}",
            "it is a Log and was replaced, but a Log only grows",
            f"self.{name}.append(…), or make it a list",
        )
    for item in log.view.tail:
        if len(item.data) > limits.value:
            raise PayloadTooLarge(log_field.where, len(item.data), limits.value)
    if log.view.tail:
        changes.appends[name] = list(log.view.tail)


def rebase(actor: Actor, changes: Changes) -> None:
    """Make what `collect` found part of the view's own frame; the view keeps its objects."""
    view = actor.__everstep__
    if changes.fields:
        view.frame = view.frame.put(changes.fields)
    for name, cell in changes.fields.items():
        if cell.shared is not UNSHARED:
            vars(actor)[name] = cell.shared
    for name, items in changes.appends.items():
        _grow(view, name, view.frame.logs[name].add(UNNUMBERED, items), len(items))


def adopt(actor: Actor, base: Frame, changes: Changes, step: str) -> None:
    """Take what a finished step changed into the view above it, which has been rebased.

    `base` is the frame that the step was given. Raises ConflictingChange where a field has been
    changed since, and then changes nothing. A changed field is a new object; a Log grows in place.
    """
    view = actor.__everstep__
    cells = view.frame.cells
    for name in changes.fields:
        if cells[name] is not base.cells[name]:
            raise ConflictingChange(step, name, cells[name].owner)
    _replace(actor, view, changes.fields)
    for name, items in changes.appends.items():
        _grow(view, name, view.frame.logs[name].add(LIVE, items), 0)


def place(
    actor: Actor,
    fields: Mapping[str, bytes],
    appends: Mapping[str, list[bytes]],
    seq: int,
    owner: str,
) -> None:
    """Set fields to recorded values, and put recorded items into Logs in the order of numbers.

    Raises StateUnreadable for what the class lacks, and then changes nothing.
    """
    view = actor.__everstep__
    cells = {name: view.schema.cell(name, data, owner) for name, data in fields.items()}
    for name in appends:
        view.schema.log_field(name)
    _replace(actor, view, cells)
    for name, datas in appends.items():
        items = [Item(data) for data in datas]
        _grow(view, name, view.frame.logs[name].add(seq, items), 0)


def _replace(actor: Actor, view: View, cells: Mapping[str, Cell]) -> None:
    if not cells:
        return
    view.frame = view.frame.put(cells)
    touched = vars(actor)
    for name, cell in cells.items():
        if cell.shared is not UNSHARED:
            touched[name] = cell.shared
        else:
            touched.pop(name, None)


def _grow(view: View, name: str, backing: Backing, taken: int) -> None:
    view.frame = view.frame.grow(name, backing)
    log = view.logs.get(name)
    if log is not None and log.view is not None:
        log.view.stand_on(backing, taken)


def close_view(actor: Actor, task_id: str) -> None:
    """End a view: whatever is done with it from now on raises StaleAttempt, in any thread."""
    view = actor.__everstep__
    view.task_id = task_id
    _set_class(actor, closed_twin(view.schema.actor))
    view.anchor = Ended(task_id)
    for log in view.logs.values():
        log.close(task_id)


def changed_items(actor: Actor) -> dict[str, list[int]]:
    """Items of Logs that were changed after they were appended or read: places by field.

    Nobody else sees such a change. Costs the encoding of what was touched.
    """
    found = {
        name: log.view.changed_items()
        for name, log in actor.__everstep__.logs.items()
        if log.view is not None
    }
    return {name: places for name, places in found.items() if places}


def frame_of(actor: Actor) -> Frame:
    """The frame of a view: what a step called now is given, after a `rebase`."""
    return actor.__everstep__.frame


def encoded_state(of: Actor | Frame) -> dict[str, bytes]:
    """All fields that are no Log as bytes, as they are in a frame, or in the frame of a view."""
    frame = of if isinstance(of, Frame) else of.__everstep__.frame
    return {name: cell.data for name, cell in frame.cells.items()}
