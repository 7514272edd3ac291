"""`Log`: the append-only sequence, of which a checkpoint holds only what was appended."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_args, overload

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from .closed import stale
from .errors import StateUnreadable
from .shapes import IMMUTABLE
from .values import UNLIMITED, Limits, ValueCodec, why_unreadable

if TYPE_CHECKING:
    from .actor import Anchor

__all__ = ["LIVE", "UNNUMBERED", "Backing", "Item", "Log", "LogField", "LogView"]

T = TypeVar("T")

LIVE: Final = math.inf
"""The number of items appended in this life: higher than that of any recorded ones."""
UNNUMBERED: Final = -math.inf
"""The number of items that nothing recorded ever goes before: a start's, and those of `run`."""
_UNREAD: Final = object()


class Log(Sequence[T]):
    """A sequence that only grows: `append` and `extend` are all that changes it.

    As a field of an actor, `log: Log[str] = Log()`, it costs a checkpoint what was appended, not
    what is in it. Steps that overlap may all append. There an item is written when it is appended:
    what is read is a copy, and changing that, or the appended object, changes nothing.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] | LogView = list(items)

    @classmethod
    def standing_on(cls, view: LogView) -> Log[Any]:
        """A log that reads from, and appends to, the state of a running actor."""
        log: Log[Any] = Log()
        log._items = view
        return log

    @property
    def view(self) -> LogView | None:
        """What the log of a running actor stands on; None for one of its own."""
        return self._items if isinstance(self._items, LogView) else None

    def close(self, task_id: str) -> None:
        """End the log of a view whose attempt has ended: any use of it raises StaleAttempt."""
        self._items = _ClosedItems(task_id)  # type: ignore[assignment]  # it only refuses

    def append(self, item: T) -> None:
        """Add one item at the end."""
        self._items.append(item)

    def extend(self, items: Iterable[T]) -> None:
        """Add items at the end: all of them, or none where one cannot be stored."""
        self._items.extend(items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        return cast("T | list[T]", self._items[index])

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Log | list):
            return NotImplemented
        return list(self) == list(cast("Sequence[Any]", other))

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in islice(self, 20))
        more = f", … {len(self) - 20} more" if len(self) > 20 else ""
        return f"Log([{shown}{more}])"

    def __copy__(self) -> Log[T]:
        return Log(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Log[T]:
        from copy import deepcopy

        return Log([deepcopy(item, memo) for item in self])

    def __reduce__(self) -> tuple[Any, ...]:
        return Log, (list(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        given = get_args(source)
        items = core_schema.list_schema(handler.generate_schema(given[0] if given else Any))
        made = core_schema.no_info_after_validator_function(cls, items)
        return core_schema.json_or_python_schema(
            json_schema=made,
            python_schema=core_schema.no_info_before_validator_function(_as_list, made),
            serialization=core_schema.plain_serializer_function_ser_schema(
                _as_list, return_schema=items
            ),
        )


def _as_list(value: Any) -> Any:
    return list(cast("Iterable[Any]", value)) if isinstance(value, Log) else value


class _ClosedItems:
    """Stands for the items of a log whose attempt has ended."""

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id

    def _refuse(self, *_: Any) -> Any:
        raise stale(self._task_id, "a Log")

    append = extend = __getitem__ = __len__ = __iter__ = _refuse


class Item:
    """One item of a running actor's log. Its bytes never change."""

    __slots__ = ("_data", "_write", "number", "shared")

    def __init__(
        self, data: bytes | None, shared: Any = _UNREAD, write: LogField | None = None
    ) -> None:
        """An immutable value that is `shared` may be written later, by `write`."""
        self._data = data
        self.shared = shared
        self._write = write
        self.number: float = UNNUMBERED

    @property
    def data(self) -> bytes:
        if self._data is None:
            assert self._write is not None
            self._data = self._write.codec.encode(self.shared, self._write.where, UNLIMITED)
            self._write = None
        return self._data

    def __repr__(self) -> str:
        return f"<item {self.data[:80]!r}>"


class LogField:
    """A field that is a Log: how its items are written and read."""

    __slots__ = ("actor", "codec", "name", "where")

    def __init__(self, actor: str, name: str, codec: ValueCodec) -> None:
        self.actor = actor
        self.name = name
        self.codec = codec
        self.where = f"an item of the field {name!r} of {actor}"

    def item(self, value: Any, limits: Limits = UNLIMITED) -> Item:
        """The item that holds `value`. Raises NotSerializable, NotValid."""
        if type(value) in self.codec.exact:
            return Item(None, value, self)
        data, valid = self.codec.settle(value, self.where, limits)
        return Item(data, valid if type(valid) in IMMUTABLE else _UNREAD)

    def read(self, item: Item) -> Any:
        """The value of an item: a fresh object, unless it is immutable. Raises StateUnreadable."""
        if item.shared is not _UNREAD:
            return item.shared
        try:
            value = self.codec.decode(item.data)
        except ValueError as error:
            where, why = f"an item of the field {self.name!r}", why_unreadable(error)
            raise StateUnreadable(self.actor, where, why) from error
        if type(value) in IMMUTABLE:
            item.shared = value
        return value


class Backing:
    """The items that a frame has of one log. Immutable: `add` gives another one.

    Backings share one list as long as each adds at its end, so adding costs what is added.
    """

    __slots__ = ("_highest", "_list", "length")

    def __init__(self, items: list[Item] | None = None) -> None:
        """`items` belong to the backing from now on, and their numbers to `add`."""
        self._list: list[Item] = [] if items is None else items
        self.length = len(self._list)
        self._highest: float = UNNUMBERED

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: int) -> Item:
        return self._list[place]

    def __iter__(self) -> Iterator[Item]:
        return islice(self._list, self.length)

    def between(self, start: int, stop: int) -> list[Item]:
        """The items at these places, which must be there."""
        return self._list[start:stop]

    def add(self, number: float, items: Sequence[Item]) -> Backing:
        """With `items` before the first ones that have a higher number, at the end if none has."""
        for item in items:
            item.number = number
        place = (
            self.length
            if number >= self._highest or number == UNNUMBERED
            else self._first_above(number)
        )
        added = Backing.__new__(Backing)
        if place == self.length == len(self._list):
            self._list.extend(items)
            added._list = self._list
        else:
            added._list = [*self._list[:place], *items, *self._list[place : self.length]]
        added.length = self.length + len(items)
        added._highest = max(self._highest, number)
        return added

    def since(self, base: Backing) -> list[Item]:
        """The items that `base` lacks, in their order."""
        if self.continues(base):
            return self._list[base.length : self.length]
        known = set(map(id, base))
        return [item for item in self if id(item) not in known]

    def continues(self, other: Backing) -> bool:
        """Whether the items of `other` are the first ones of this, at the same places."""
        return self._list is other._list and self.length >= other.length

    def _first_above(self, number: float) -> int:
        place = self.length
        for index in range(self.length - 1, -1, -1):
            there = self._list[index].number
            if there > number:
                place = index
            elif there != UNNUMBERED:
                break
        return place


class LogView:
    """What one view sees of a log: a backing, and its own tail of appended items.

    An item that does not load raises what the anchor says, and StateUnreadable without one.
    """

    __slots__ = ("_anchor", "_given", "_read", "backing", "field", "tail")

    def __init__(self, field: LogField, backing: Backing, anchor: Anchor | None = None) -> None:
        self.field = field
        self.backing = backing
        self._anchor = anchor
        self.tail: list[Item] = []
        self._read: dict[int, Any] = {}
        self._given: list[tuple[Item, Any]] = []

    def append(self, value: Any) -> None:
        item = self.field.item(value)
        self.tail.append(item)
        if item.shared is _UNREAD:
            self._given.append((item, value))

    def extend(self, values: Iterable[Any]) -> None:
        given = list(values)
        items = [self.field.item(value) for value in given]
        self.tail.extend(items)
        self._given.extend(
            (item, value)
            for item, value in zip(items, given, strict=True)
            if item.shared is _UNREAD
        )

    def __len__(self) -> int:
        return self.backing.length + len(self.tail)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._slice(range(*index.indices(len(self))))
        place = index.__index__()
        if place < 0:
            place += len(self)
        if not 0 <= place < len(self):
            raise IndexError("Log index out of range")
        return self._at(place)

    def __iter__(self) -> Iterator[Any]:
        """Over what is there now and what is appended meanwhile, like a list's."""
        unread = _UNREAD
        place = -1
        for place, item in enumerate(self.backing):
            yield self._at(place) if item.shared is unread else item.shared
        while (place := place + 1) < len(self):
            yield self._at(place)

    def _slice(self, places: range) -> list[Any]:
        if places.step == 1 and places.stop <= self.backing.length:
            found = [item.shared for item in self.backing.between(places.start, places.stop)]
            if not any(value is _UNREAD for value in found):
                return found
        return [self._at(place) for place in places]

    def _at(self, place: int) -> Any:
        before = self.backing.length
        item = self.backing[place] if place < before else self.tail[place - before]
        if item.shared is not _UNREAD:
            return item.shared
        found = self._read.get(place, _UNREAD)
        if found is _UNREAD:
            try:
                found = self.field.read(item)
            except StateUnreadable as error:
                if self._anchor is None:
                    raise
                raise self._anchor.unreadable(error) from error
            if item.shared is _UNREAD:
                self._read[place] = found
        return found

    def stand_on(self, backing: Backing, taken: int) -> None:
        """Go over to another backing, which holds the first `taken` items of the tail."""
        if not backing.continues(self.backing) or len(self.tail) > taken:
            self._read.clear()
        self.backing = backing
        del self.tail[:taken]
        if not self.tail:
            self._given.clear()

    def changed_items(self) -> list[int]:
        """Places of items that were changed after they were appended or read: nobody sees that."""
        found = {place for place, value in self._read.items() if self._differs(place, value)}
        places = {id(item): self.backing.length + at for at, item in enumerate(self.tail)}
        for item, value in self._given:
            if id(item) in places and self._write(value) != item.data:
                found.add(places[id(item)])
        return sorted(found)

    def _differs(self, place: int, value: Any) -> bool:
        before = self.backing.length
        item = self.backing[place] if place < before else self.tail[place - before]
        return self._write(value) != item.data

    def _write(self, value: Any) -> bytes:
        return self.field.codec.settle(value, self.field.where, UNLIMITED)[0]
