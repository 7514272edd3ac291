"""Exceptions and values of strangers, looked at whatever their own code does.

Their classes may answer an attribute, a comparison or a question for their truth by raising. So
we go by what the interpreter itself keeps of them, and guard what is left.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import Any, TypeGuard, TypeVar, TypeVarTuple, cast

__all__ = [
    "bases_of",
    "exc_info_of",
    "is_any_of",
    "is_kind",
    "log_error",
    "members",
    "members_within",
    "name_of",
    "origins",
    "printable",
    "qualified",
    "read",
    "shown",
    "single",
    "traceback_of",
    "twice_on_fault",
    "words_of",
]

E = TypeVar("E", bound=BaseException)
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Kinds = type[BaseException] | tuple[type[BaseException], ...]
ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]

_FRAMES = 40
_MOST = 10_000
"""Exceptions in one, as `traceback` goes through them, up to which it is asked to show them."""

_own_mro = vars(type)["__mro__"].__get__
_own_name = vars(type)["__name__"].__get__
_own_qualname = vars(type)["__qualname__"].__get__
_own_module = vars(type)["__module__"].__get__
_own_members = vars(BaseExceptionGroup)["exceptions"].__get__
_own_traceback = vars(BaseException)["__traceback__"].__get__
_own_links = tuple(vars(BaseException)[name].__get__ for name in ("__cause__", "__context__"))


def read(look: Callable[[], T], instead: Callable[[BaseException], T]) -> T:
    """What `look` finds, or what is said `instead` where a stranger's code raises.

    Raises KeyboardInterrupt and SystemExit alone, which a signal may put there.
    """
    try:
        return look()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as broken:  # noqa: BLE001  (code of the user)
        return instead(broken)


def printable(text: str) -> str:
    """Text that can be written as UTF-8: lone surrogates are replaced."""
    return str.encode(text, "utf-8", "replace").decode("utf-8")


def shown(value: object) -> str:
    """A value in one line; the name of its type where its `repr` fails."""
    return read(lambda: str.__str__(repr(value)), lambda _: f"<{name_of(value)}>")


# --- its class ------------------------------------------------------------------------------


def is_kind(error: object, kinds: type[E] | tuple[type[E], ...]) -> TypeGuard[E]:
    """As `isinstance` for classes of ours, and as `except`: by the class that it really has."""
    return issubclass(type(error), kinds)


def is_any_of(error: BaseException, kinds: Kinds) -> bool:
    """As `isinstance` for classes of the user, which may answer that by code of their own."""
    return read(lambda: isinstance(error, kinds), lambda _: is_kind(error, kinds))


def bases_of(error: BaseException) -> tuple[type, ...]:
    """Its class with all bases."""
    return cast("tuple[type, ...]", _own_mro(type(error)))


def name_of(value: object) -> str:
    """The name of the class of anything."""
    return printable(_own_name(type(value)))


def qualified(kind: type) -> str:
    """The name of a class with that of its module, the same whenever it is asked for."""
    name = printable(_own_qualname(kind))
    module: object = read(lambda: _own_module(kind), lambda _: None)
    if not isinstance(module, str):
        module = "?"
    return name if module == "builtins" else f"{printable(module)}.{name}"


# --- what it is made of ---------------------------------------------------------------------


def members(error: BaseException) -> tuple[BaseException, ...]:
    """The errors directly inside a group, as `except*` has them; none if it is not a group."""
    if not is_kind(error, BaseExceptionGroup):
        return ()
    return cast("tuple[BaseException, ...]", _own_members(error))


def single(error: BaseException) -> BaseException:
    """The error; of a group with a single member, that of the member."""
    while len(inner := members(error)) == 1:
        error = inner[0]
    return error


def members_within(error: BaseException) -> Iterator[BaseException]:
    """The error, and all in it where it is a group, however deep: each once."""
    return _each(error, members)


def origins(error: BaseException) -> Iterator[BaseException]:
    """An exception and all it stems from: causes, contexts, members of groups; each once."""
    return _each(error, lambda one: (*members(one), *(link(one) for link in _own_links)))


def _each(
    error: BaseException, inner: Callable[[BaseException], Iterable[BaseException | None]]
) -> Iterator[BaseException]:
    """Without recursion, the last one first."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        left.extend(inner(one))


# --- in words -------------------------------------------------------------------------------


def words_of(error: BaseException) -> str:
    """The exception's own words, or that it has none to be read."""
    return read(
        lambda: printable(str(error)),
        lambda broken: f"(its message cannot be read: {name_of(broken)})",
    )


def traceback_of(error: BaseException) -> str:
    """As Python shows it; where it cannot, the frames and the words alone."""
    return read(
        lambda: printable(_formatted(error)), lambda broken: _frames_alone(error, name_of(broken))
    )


def _formatted(error: BaseException) -> str:
    if not _is_bounded(error):
        raise RecursionError
    return "".join(traceback.format_exception(error, limit=-_FRAMES))


def _is_bounded(error: BaseException) -> bool:
    """Whether `traceback`, which goes by attributes, comes to an end soon."""
    seen: dict[int, object] = {}  # keeps them, so that no id is given twice
    left: list[Any] = [error]
    for _ in range(_MOST):
        if not left:
            return True
        one = left.pop()
        for linked in (one.__cause__, one.__context__):
            if linked is not None and id(linked) not in seen:
                seen[id(linked)] = linked
                left.append(linked)
        if is_kind(one, BaseExceptionGroup):
            left.extend(islice(cast("Any", one).exceptions, _MOST))
    return False


def _frames_alone(error: BaseException, why: str) -> str:
    frames = read(
        lambda: "".join(traceback.format_tb(_own_traceback(error), -_FRAMES)),
        lambda broken: f"  (its frames cannot be shown: {name_of(broken)})\n",
    )
    what = f"{_in_a_line(error)}\n(no more can be shown: {why})\n"
    return printable(f"Traceback (most recent call last):\n{frames}{what}")


def _in_a_line(error: BaseException) -> str:
    kind, words = qualified(type(error)), words_of(error)
    return f"{kind}: {words}" if words else kind


# --- for logging ----------------------------------------------------------------------------


def exc_info_of(error: BaseException | None) -> ExcInfo | None:
    """What `logging` is given to show an exception; a stand-in for one that it could not show."""
    if error is None:
        return None
    shown = read(lambda: bool(_formatted(error).encode()), lambda _: False)
    frames: TracebackType | None = _own_traceback(error)
    if shown:
        return type(error), error, frames
    told = RuntimeError(f"{_in_a_line(error)} (no more can be shown)")
    return RuntimeError, told, frames


def log_error(error: BaseException, words: str, *what: object) -> None:
    """An error in the log of everstep, with its traceback."""
    log = logging.getLogger("everstep")
    log.error(words, *what, exc_info=exc_info_of(error), stacklevel=2)


def twice_on_fault(words: str, what: object, work: Callable[[*Ts], None], *args: *Ts) -> None:
    """Do it, and once more where a fault came, such as a MemoryError: `words` log that of `what`.

    Raises what comes the second time.
    """
    try:
        work(*args)
    except Exception as fault:  # noqa: BLE001  (whatever it was)
        work(*args)
        log_error(fault, words, what)
