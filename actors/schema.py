"""The fields of one class of actor: how each is written, read, and given a default."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from json.decoder import JSONDecoder
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from .actor import actor_name, actor_version, is_generic
from .digest import exact_digest
from .errors import BadActor, PayloadTooLarge, StateUnreadable
from .fields import codecs_of
from .log import Backing, LogField
from .shapes import IMMUTABLE
from .upcast import lift, upcasts_of
from .values import DEFAULT_LIMITS, Limits, why_unreadable

if TYPE_CHECKING:
    from .actor import Actor

__all__ = ["UNSHARED", "Cell", "Frame", "Schema", "join", "join_items", "split", "split_items"]

T = TypeVar("T")

UNSHARED: Final = object()
"""Stands for a value of which each view makes its own."""
_NO_LOGS: Final[dict[str, Backing]] = {}


class Cell:
    """One committed value of a field. Immutable: another value is another cell."""

    __slots__ = ("data", "owner", "shared")

    def __init__(self, data: bytes, value: Any, owner: str) -> None:
        """`owner` is who wrote it, for messages. The value is kept where it is immutable."""
        self.data = data
        self.owner = owner
        immutable = type(value) in IMMUTABLE
        self.shared = value if immutable else UNSHARED

    def __repr__(self) -> str:
        return f"<cell of {self.owner}: {self.data[:80]!r}>"


class Frame:
    """What a view of an actor stands on: the committed value of each field, and the logs.

    Immutable: `put` and `grow` give another one. So views and calls share one as it is.
    """

    __slots__ = ("cells", "logs", "shared", "size")

    def __init__(
        self,
        cells: dict[str, Cell],
        logs: dict[str, Backing],
        shared: dict[str, Any],
        size: int,
    ) -> None:
        self.cells = cells
        self.logs = logs
        self.shared = shared
        """The values of those fields that are immutable."""
        self.size = size
        """Bytes of the state, without Logs."""

    def put(self, changed: Mapping[str, Cell]) -> Frame:
        """The frame with other values of some fields."""
        cells, shared, size = {**self.cells, **changed}, self.shared.copy(), self.size
        for name, cell in changed.items():
            size += len(cell.data) - len(self.cells[name].data)
            if cell.shared is not UNSHARED:
                shared[name] = cell.shared
            else:
                shared.pop(name, None)
        return Frame(cells, self.logs, shared, size)

    def grow(self, name: str, backing: Backing) -> Frame:
        """The frame with one log grown."""
        return Frame(self.cells, self.logs | {name: backing}, self.shared, self.size)


class Schema:
    """The fields of one concrete class of actor."""

    __slots__ = (
        "actor",
        "actor_name",
        "every_name",
        "fields",
        "log_fields",
        "names",
        "upcasts",
        "version",
    )

    def __init__(self, actor: type[Actor]) -> None:
        _complete(actor)
        self.actor = actor
        self.actor_name = actor_name(actor)
        self.version = actor_version(actor)
        self.names: tuple[str, ...] = tuple(actor.model_fields)
        self.every_name = set(self.names)
        """Shared by all views as the set of fields that are set; nobody takes one out."""
        self.fields, items = codecs_of(actor)
        self.log_fields = {
            name: LogField(self.actor_name, name, codec) for name, codec in items.items()
        }
        self.upcasts = upcasts_of(actor, actor.__name__, self.version)

    @classmethod
    def of(cls, actor: type[Actor]) -> Schema:
        """The schema of a class, made once. Raises BadActor for a field that cannot be stored."""
        found: Schema | None = vars(actor).get("__everstep_schema__")
        if found is None:
            found = cls(actor)
            type.__setattr__(actor, "__everstep_schema__", found)
        return found

    def where(self, name: str) -> str:
        """A field, for messages."""
        return f"the field {name!r} of {self.actor_name}"

    def begun(
        self, actor: Actor, limits: Limits = DEFAULT_LIMITS
    ) -> tuple[Frame, dict[str, list[bytes]]]:
        """The frame of an actor that is to be started, and the items of its Logs, which it lacks.

        Raises NotValid, NotSerializable and PayloadTooLarge.
        """
        cells = {name: self._settled(name, getattr(actor, name), limits) for name in self.fields}
        logs = {
            name: [field.item(value, limits).data for value in getattr(actor, name)]
            for name, field in self.log_fields.items()
        }
        frame = self._frame(cells)
        self.check_size(frame.size, limits)
        return frame, logs

    def dump(
        self, actor: Actor, limits: Limits = DEFAULT_LIMITS
    ) -> tuple[dict[str, bytes], dict[str, list[bytes]]]:
        """All fields, and the items of Logs, of an actor. Raises what `begun` does."""
        frame, logs = self.begun(actor, limits)
        return {name: cell.data for name, cell in frame.cells.items()}, logs

    def holds(self, actor: Actor, data: bytes) -> bool:
        """Whether stored state is that of the actor's fields, in whatever order a set came out."""
        stored, (fields, _) = split(data), self.dump(actor)
        if stored.keys() != fields.keys():
            return False
        others = [name for name, encoded in fields.items() if stored[name] != encoded]
        return all(
            self.fields[name].unordered and self.fields[name].same(vars(actor)[name], stored[name])
            for name in others
        )

    def given(self, actor: Actor) -> str:
        """A digest of the fields that the caller has set: equal for equal ones, in any process."""
        named = (name for name in self.names if name in actor.model_fields_set)
        return exact_digest({name: self._plain(name, getattr(actor, name)) for name in named})

    def frame(
        self,
        fields: Mapping[str, bytes],
        limits: Limits = DEFAULT_LIMITS,
        version: int | None = None,
    ) -> Frame:
        """The frame that stored state makes; a field that it lacks gets its default.

        `version` is that of the stored state, which is lifted where it is older than the class.
        Raises StateUnreadable. Logs are empty.
        """
        present = self.lift(fields, self.version if version is None else version)
        for name in present.keys() - self.fields.keys():
            raise self._unknown(name, "field")
        cells = {
            name: self.cell(name, present[name], "the start")
            if name in present
            else self._default(name, limits)
            for name in self.fields
        }
        return self._frame(cells)

    def _frame(self, cells: dict[str, Cell]) -> Frame:
        shared = {name: cell.shared for name, cell in cells.items() if cell.shared is not UNSHARED}
        size = sum([len(cell.data) for cell in cells.values()])
        logs = {name: Backing() for name in self.log_fields} if self.log_fields else _NO_LOGS
        return Frame(cells, logs, shared, size)

    def lift(
        self, fields: Mapping[str, bytes], version: int, to: int | None = None
    ) -> dict[str, bytes]:
        """Stored fields of an older version in the form of this one. Raises StateUnreadable."""
        target = self.version if to is None else to
        if version == target:
            return dict(fields)
        return lift(fields, version, self.actor_name, target, self.upcasts)

    def cell(self, name: str, data: bytes, owner: str) -> Cell:
        """A recorded value. Raises StateUnreadable for a field that the class lacks."""
        if name not in self.fields:
            raise self._unknown(name, "field")
        if data[:1] in {b"[", b"{"}:  # read when it is touched
            return Cell(data, UNSHARED, owner)
        return Cell(data, self.read(name, data), owner)

    def log_field(self, name: str) -> LogField:
        """A field that is a Log. Raises StateUnreadable for one that the class lacks."""
        if name not in self.log_fields:
            raise self._unknown(name, "Log")
        return self.log_fields[name]

    def read(self, name: str, data: bytes) -> Any:
        """The value that the bytes of a field hold, a fresh object. Raises StateUnreadable."""
        try:
            return self.fields[name].decode(data)
        except ValueError as error:
            why = why_unreadable(error)
            raise StateUnreadable(self.actor_name, f"the field {name!r}", why) from error

    def check_size(self, size: int, limits: Limits) -> None:
        """Raise PayloadTooLarge for a state that takes too many bytes."""
        if size > limits.state:
            raise PayloadTooLarge(f"the state of {self.actor_name}", size, limits.state)

    def _unknown(self, name: str, kind: str) -> StateUnreadable:
        if name in self.every_name:
            why = f"it is stored as another kind of field than this class has: no {kind}"
        else:
            why = f"the class {self.actor.__name__} has no such field"
        return StateUnreadable(self.actor_name, f"the field {name!r}", why)

    def _settled(self, name: str, value: Any, limits: Limits) -> Cell:
        data, valid = self.fields[name].settle(value, self.where(name), limits)
        return Cell(data, valid, "the start")

    def _plain(self, name: str, value: Any) -> Any:
        if name in self.log_fields:
            return list(value)
        return self.fields[name].validate(value)

    def _default(self, name: str, limits: Limits) -> Cell:
        field = self.actor.model_fields[name]
        if field.is_required():
            raise StateUnreadable(
                self.actor_name,
                f"the field {name!r}",
                "the stored state lacks it, and the class gives it no default",
            )
        value = field.get_default(call_default_factory=True, validated_data={})
        return self._settled(name, value, limits)


def _complete(actor: type[Actor]) -> None:
    if is_generic(actor):
        raise BadActor(
            f"the actor {actor.__name__}",
            "it is generic, and a stored task must find its types again by name",
            f"class Mine({actor.__name__.partition('[')[0]}[…]): …, and start that",
        )
    try:
        actor.model_rebuild()
    except (PydanticUndefinedAnnotation, PydanticUserError) as error:
        raise BadActor(
            f"the actor {actor.__name__}",
            f"a field is annotated with something that is not defined ({error.message})",
            "annotations whose names can be imported from its module",
        ) from error


# --- several values in one JSON text ------------------------------------------------------


def join(parts: Mapping[str, bytes]) -> bytes:
    """A JSON object of values that are JSON already."""
    return b"{" + b",".join([_key(name) + data for name, data in parts.items()]) + b"}"


def join_items(parts: Mapping[str, list[bytes]]) -> bytes:
    """A JSON object of arrays of items that are JSON already."""
    return join({name: b"[" + b",".join(items) + b"]" for name, items in parts.items()})


def split(data: bytes | None) -> dict[str, bytes]:
    """What `join` put together, byte for byte."""
    return {} if data is None else _members(data.decode(), _value)


def split_items(data: bytes | None) -> dict[str, list[bytes]]:
    """What `join_items` put together, byte for byte."""
    return {} if data is None else _members(data.decode(), _items)


_scan: Final[Any] = vars(JSONDecoder(strict=False))["scan_once"]


@functools.lru_cache(maxsize=4096)
def _key(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode() + b":"


def _members(text: str, read: Callable[[str, int], tuple[T, int]]) -> dict[str, T]:
    """What `read` makes of the values of an object that has no space between its parts.

    It is told where a value begins, and tells where it ends.
    """
    found: dict[str, T] = {}
    place = 1
    while text[place] != "}":
        name, end = _scan(text, place)
        found[name], place = read(text, end + 1)
        if text[place] == ",":
            place += 1
    return found


def _end(text: str, start: int) -> int:
    """Where the value that begins at `start` ends."""
    quote = text.find('"', start + 1) if text[start] == '"' else -1
    if quote != -1 and text.find("\\", start, quote) < 0:  # the two cost less than a scan
        return quote + 1
    end: int = _scan(text, start)[1]
    return end


def _value(text: str, start: int) -> tuple[bytes, int]:
    end = _end(text, start)
    return text[start:end].encode(), end


def _items(text: str, start: int) -> tuple[list[bytes], int]:
    """The items of an array that has no space between its parts, and where it ends."""
    items: list[bytes] = []
    place = start + 1
    while text[place] != "]":
        end = _end(text, place)
        items.append(text[place:end].encode())
        place = end + 1 if text[end] == "," else end
    return items, place + 1
