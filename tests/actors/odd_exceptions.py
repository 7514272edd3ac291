"""Exceptions whose own code fails whoever looks at them, by a name for each oddity."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

__all__ = ["ODD", "odd_exception"]


def _raises(error: BaseException) -> Any:
    """A property that nobody can read."""

    def read(_: object) -> None:
        raise error

    return property(read)


class _Refusing(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)


class RefusingClass(Exception, metaclass=_Refusing):
    pass


class BadNotes(Exception):
    __notes__ = _raises(RuntimeError("no notes"))


class CancellingNotes(Exception):
    __notes__ = _raises(asyncio.CancelledError())


class LeavingNotes(Exception):
    __notes__ = _raises(BaseException("out of all"))


class BadCause(Exception):
    __cause__ = _raises(RuntimeError("no cause"))
    __context__ = _raises(RuntimeError("no context"))
    __traceback__ = _raises(RuntimeError("no traceback"))


class BadGetattr(Exception):
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class BadGetattribute(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class BadTruth(Exception):
    def __bool__(self) -> bool:
        raise RuntimeError("neither")


class Unequal(Exception):
    __hash__: Any = None

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")


class CancellingWords(Exception):
    retry_after = _raises(asyncio.CancelledError())

    def __str__(self) -> str:
        raise asyncio.CancelledError


class OddWords(Exception):
    class _Text(str):
        __slots__ = ()

        def encode(self, encoding: str = "utf-8", errors: str = "strict") -> Any:
            raise RuntimeError("no bytes")

    def __str__(self) -> str:
        return self._Text("half \ud800")


class HalfNamed(Exception):
    pass


HalfNamed.__qualname__ = "Half\ud800"


class Nowhere(Exception):
    pass


Nowhere.__module__ = 5  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]  # as asked


class BadGroup(ExceptionGroup[ValueError]):
    @property
    def exceptions(self) -> Any:
        raise RuntimeError("no members")


class EndlessGroup(ExceptionGroup[ValueError]):
    @property
    def exceptions(self) -> Any:
        return (self, self)


class EndlessCause(Exception):
    __cause__: Any = property(lambda _: EndlessCause())


def _group(words: str, *errors: Exception) -> Exception:
    return ExceptionGroup(words, errors)


def _two() -> list[ValueError]:
    return [ValueError("one"), ValueError("two")]


def _place(*parts: Any) -> Any:
    """Where a SyntaxError is, as a parser says that was written without types."""
    return parts


def _doubled() -> BaseException:
    """A group that is small, and huge for whoever goes through it by each path."""
    error: Exception = ValueError("at the bottom")
    for _ in range(60):
        error = _group("twice", error, error)
    return error


def _deep() -> BaseException:
    error: Exception = ValueError("at the bottom")
    for _ in range(3000):
        error = _group("one", error, ValueError("beside"))
    return error


ODD: dict[str, Callable[[], BaseException]] = {
    "offset": lambda: SyntaxError("bad input", _place("<template>", 3, "7", "text")),
    "syntax": lambda: SyntaxError("bad input", _place(5, "x", 1, 7, object(), 3)),
    "metaclass": RefusingClass,
    "notes": BadNotes,
    "notes that cancel": CancellingNotes,
    "notes that leave": LeavingNotes,
    "cause": BadCause,
    "getattr": BadGetattr,
    "getattribute": BadGetattribute,
    "truth": BadTruth,
    "equality": Unequal,
    "words that cancel": CancellingWords,
    "words": OddWords,
    "name": HalfNamed,
    "module": Nowhere,
    "group": lambda: BadGroup("g", _two()),
    "group in itself": lambda: EndlessGroup("g", _two()),
    "endless causes": EndlessCause,
    "doubled": _doubled,
    "deep": _deep,
    "in a group": lambda: ExceptionGroup("g", [BadNotes(), BadGetattribute()]),
}
"""Makes each; none is final, and none leaves the process."""


def odd_exception(name: str) -> BaseException:
    """A new one of this name."""
    return ODD[name]()
