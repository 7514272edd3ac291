"""What a caller may hand to `Runtime` and `start`: checked at once, with the line to write."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, cast

from .actors.actor import Actor, actor_name
from .actors.backoff import number_of
from .actors.errors import BadCall, checked_text
from .ids import check_name
from .storage.records import Status
from .storage.sqlite import Durability
from .supervisor.checks import MOST
from .supervisor.errors import DuplicatePool
from .supervisor.pool_spec import Pool
from .supervisor.services.spec import DynamicSupervisor, Supervisor, SupervisorSpec, pools_of

__all__ = [
    "actor_class",
    "actor_names",
    "actors_of",
    "count_of",
    "durability_of",
    "id_or_none",
    "kinds_of",
    "limit_of",
    "name_or_none",
    "path_of",
    "place_of",
    "priority_of",
    "said_of",
    "seconds_of",
    "statuses_of",
    "text_of",
    "tree_of",
]


_LONGEST_SAYING = 2000


def path_of(value: object) -> str:
    """A path of a file, or ":memory:"."""
    path = os.fspath(cast("str", value)) if hasattr(value, "__fspath__") else value
    if not isinstance(path, str) or not path or "\0" in path:
        raise BadCall("path", value, "is no path of a file", 'Runtime("tasks.db")')
    return path


def durability_of(value: object) -> Durability:
    """What a power cut may take."""
    if value == "full":
        return "full"
    if value == "normal":
        return "normal"
    raise BadCall("durability", value, "is unknown", 'durability="full", or "normal"')


def tree_of(value: object) -> SupervisorSpec:
    """The tree: a supervisor, with one pool where only that, or nothing, is given.

    Raises DuplicatePool where two pools have one name.
    """
    if value is None or isinstance(value, Pool):
        return Supervisor("root", children=[value or Pool()])
    if not isinstance(value, Supervisor | DynamicSupervisor):
        instead = 'tree=Pool(restart=Restart(3)), or Supervisor("root", children=[Pool(), …])'
        raise BadCall("tree", value, "is neither a supervisor nor a pool", instead)
    paths: dict[str, str] = {}
    for path, pool in pools_of(value, value.name):
        if pool.name in paths:
            raise DuplicatePool(pool.name, paths[pool.name], path)
        paths[pool.name] = path
    return value


def actors_of(value: object) -> list[type[Actor]] | None:
    """The classes that may run; None for all there are."""
    if value is None:
        return None
    given: list[Any] = list(cast("Iterable[Any]", value)) if _is_iterable(value) else [value]
    if not _is_iterable(value) or not all(_is_actor(one) for one in given):
        raise BadCall("actors", value, "is no list of classes of Actor", "actors=[Report]")
    return given


def _is_iterable(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | type)


def _is_actor(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Actor)


def said_of(what: str, value: object) -> str | None:
    """What an operator says of an action: a text that can be stored, or nothing."""
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _LONGEST_SAYING:
        why = f"is no text of at most {_LONGEST_SAYING} characters"
        raise BadCall(what, value, why, f'{what}="ops@example.org"')
    return checked_text(what, value)


def seconds_of(name: str, value: object) -> float:
    """A number of seconds, not negative."""
    seconds = number_of(value)
    if seconds is None or not seconds >= 0:
        raise BadCall(name, value, "is not a number of seconds", f"{name}=10")
    return seconds


def count_of(name: str, value: object) -> int:
    """A whole number, at least 1."""
    return _whole(name, value, 1, "is not a whole number from 1 on", f"{name}=1000")


def limit_of(value: object) -> int:
    """How many are asked for at most: a whole number, at least 0."""
    return _whole("limit", value, 0, "is not a whole number from 0 on", "limit=100")


def place_of(name: str, value: object) -> int:
    """A place to go on after: a whole number, 0 for the beginning."""
    why = "is no place of an event, a piece or a question"
    return _whole(name, value, 0, why, f"{name}=0, or the place of the last one seen")


def _whole(name: str, value: object, least: int, why: str, instead: str) -> int:
    """A whole number that the store can hold."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
        raise BadCall(name, value, why, instead)
    return value


def kinds_of(value: object) -> list[str]:
    """The kinds of events that are meant: one, some, or none for all."""
    given = _one_or_some(value)
    wrong = [one for one in given if not isinstance(one, str) or not one]
    if wrong:
        raise BadCall("kind", wrong[0], "is no kind of event", 'kind="step_failed"')
    return [checked_text("kind", one) for one in cast("list[str]", given)]


def statuses_of(value: object) -> list[Status]:
    """The statuses that are meant: one, some, or none for all."""
    try:
        return [Status(cast("str", one)) for one in _one_or_some(value)]
    except ValueError:
        known = ", ".join(Status)
        raise BadCall("status", value, f"is none of {known}", 'status="paused"') from None


def _one_or_some(value: object) -> list[object]:
    """What a filter is given: one, or some, or None."""
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(cast("Iterable[object]", value))


def priority_of(value: object) -> int:
    """A whole number; a higher one goes first."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 31:
        raise BadCall("priority", value, "is not a whole number of 32 bits", "priority=10")
    return value


def name_or_none(what: str, value: str | None) -> str | None:
    """A name that can be stored, or None. Raises BadCall."""
    return None if value is None else check_name(what, value)


def id_or_none(what: str, value: object) -> str | None:
    """The id of a task, as a text that may be one, or None. Raises BadCall."""
    return None if value is None else text_of(what, value, "is no id of a task", f"{what}=task.id")


def text_of(what: str, value: object, why: str, instead: str) -> str:
    """A text that can be stored; else BadCall says why it is none, and what to write."""
    if not isinstance(value, str):
        raise BadCall(what, value, why, instead)
    return checked_text(what, value)


def actor_names(actor: str | type[Actor] | None) -> list[str]:
    """The stored names of the actors that are meant; none for all."""
    if actor is None:
        return []
    if isinstance(actor, str):
        return [checked_text("actor", actor)]
    if not _is_actor(actor):
        raise BadCall("actor", actor, "is neither a class of Actor nor its name", "actor=Report")
    return [actor_name(actor)]


def actor_class(value: object, instead: str) -> type[Actor]:
    """A class of Actor."""
    if not _is_actor(value):
        raise BadCall("actor", value, "is no class of Actor", instead)
    return cast("type[Actor]", value)
