"""Messages as they are kept, with the name of their type; and which of them fit a type."""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

from pydantic_core import from_json, to_json

from .errors import BadCall
from .schema import join, split
from .values import DEFAULT_LIMITS, Limits, ValueCodec

__all__ = ["ANSWER", "REPLY", "Matcher", "packed", "shown_id"]

ANSWER = "\x01"
"""Begins the id of the message that answers a question, before the identity of its wait."""
REPLY = "\x02"
"""The same of one by which a server replies to a task. No id that a user gives has either."""

_CONTAINERS = frozenset({"list", "dict", "tuple", "set", "frozenset"})


def packed(message: object, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """The message as it is kept. Raises NotSerializable, PayloadTooLarge."""
    kind = type(message)
    value = ValueCodec.of(kind).encode(message, f"the message {kind.__name__}", limits)
    return join({"kind": to_json(kind.__name__), "value": value})


def shown_id(message: str) -> str:
    """The id of a message for people: of one that answers, what it answers."""
    return message.lstrip(ANSWER + REPLY)


class Matcher:
    """Tells which messages are of a type, and reads them.

    A message is of a type if it was sent under the name of that class and is valid as such.
    """

    __slots__ = ("_members", "shown")

    def __init__(self, annotation: Any) -> None:
        self._members = [
            (_names_of(member), _codec_of(member)) for member in _members_of(annotation)
        ]
        named = isinstance(annotation, type) and not get_args(annotation)
        self.shown = annotation.__name__ if named else repr(annotation)

    def fits(self, body: bytes) -> bool:
        """Whether a message is of this type."""
        try:
            self.read(body)
        except ValueError:
            return False
        return True

    def read(self, body: bytes) -> Any:
        """The value of a message that fits. Raises ValueError where it does not."""
        parts = split(body)
        name, value = str(from_json(parts["kind"])), parts["value"]
        if not name:
            raise ValueError("it answers a question")
        # what is in a container was written under no name, so its own type must tell
        strict = True if name in _CONTAINERS else None
        failure: ValueError | None = None
        for names, codec in self._members:
            if names is None or name in names:
                try:
                    return codec.decode(value, strict=strict)
                except ValueError as error:
                    failure = error
        raise failure or ValueError(f"it was sent as {name}, and {self.shown} is asked for")


def _members_of(annotation: Any) -> list[Any]:
    """The types of which a message may be any."""
    if get_origin(annotation) in (Union, types.UnionType):
        return [one for member in get_args(annotation) for one in _members_of(member)]
    return [annotation]


def _codec_of(annotation: Any) -> ValueCodec:
    codec = ValueCodec.of(Any if annotation is object else annotation)
    if codec.refusal is not None:
        why = f"is no type of a message ({codec.refusal})"
        raise BadCall("kind", annotation, why, "receive(Approval), with a pydantic model")
    return codec


def _names_of(annotation: Any) -> frozenset[str] | None:
    """Names of the classes whose messages may be of this type; None for any."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _names_of(args[0])
    if origin is Literal:
        return frozenset(type(value).__name__ for value in args)
    if annotation is None:
        return frozenset({"NoneType"})
    if is_typeddict(annotation):
        return frozenset({"dict"})
    kind = origin or annotation
    if annotation in (Any, object) or not isinstance(kind, type):
        return None
    if kind.__module__ in (collections.abc.__name__, typing.__name__):
        return None
    return frozenset({kind.__name__})
