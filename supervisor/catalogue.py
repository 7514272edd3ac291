"""Which class is meant by the stored name of an actor."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ..actors.actor import Actor, actor_name, all_actors
from ..actors.errors import UnknownActor

__all__ = ["Catalogue"]


class Catalogue:
    """The classes that a runtime knows: those it was told, or all that exist when it looks.

    A class that `start` was given counts as told. Two classes of one name matter only where
    neither was told and a stored task needs one of them.
    """

    def __init__(self, actors: Iterable[type[Actor]] | None = None) -> None:
        self._told: dict[str, type[Actor]] = {}
        self._all = actors is None
        for actor in actors or ():
            self.tell(actor)

    def tell(self, actor: type[Actor]) -> None:
        """Say that its name means this class. Raises UnknownActor where another one was told."""
        name = actor_name(actor)
        told = self._told.setdefault(name, actor)
        if told is actor:
            return
        if _path(told) != _path(actor):
            raise UnknownActor(name, f"two classes have this name: {_path(told)}, {_path(actor)}")
        self._told[name] = actor

    def known(self) -> dict[str, type[Actor]]:
        """The class for every name that means one class."""
        found, _ = self._look()
        return found

    def ambiguous(self) -> dict[str, UnknownActor]:
        """Names that mean more than one class, with the error that says so."""
        _, doubtful = self._look()
        return {
            name: UnknownActor(name, f"more than one class has this name: {', '.join(paths)}")
            for name, paths in doubtful.items()
        }

    def get(self, name: str) -> type[Actor] | None:
        """The class for a stored name; None where there is none, or more than one.

        One that was told and that its module still shows needs no look at all the others.
        """
        told = self._told.get(name)
        if told is not None and _is_shown(told):
            return told
        return self.known().get(name)

    def _look(self) -> tuple[dict[str, type[Actor]], dict[str, list[str]]]:
        by_name: dict[str, dict[str, type[Actor]]] = {}
        existing = all_actors()
        for actor in existing if self._all else ():
            # of a class that was defined again, the newest counts
            by_name.setdefault(actor_name(actor), {})[_path(actor)] = actor
        found = {name: next(iter(paths.values())) for name, paths in by_name.items()}
        doubtful = {
            name: sorted(paths)
            for name, paths in by_name.items()
            if len(paths) > 1 and name not in self._told
        }
        for name in doubtful:
            del found[name]
        newest = {_path(actor): actor for actor in existing}
        told = {name: newest.get(_path(actor), actor) for name, actor in self._told.items()}
        return found | told, doubtful


def _is_shown(actor: type[Actor]) -> bool:
    """Whether its module has this very class under its name: so it was not defined again."""
    return getattr(sys.modules.get(actor.__module__), actor.__qualname__, None) is actor


def _path(actor: type[Actor]) -> str:
    return f"{actor.__module__}.{actor.__qualname__}"
