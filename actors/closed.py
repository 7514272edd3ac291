"""The twin of a class of actor, to which a view is switched when its attempt has ended."""

from __future__ import annotations

from abc import ABCMeta
from typing import TYPE_CHECKING, Any, cast

from ..storage.errors import StaleAttempt

if TYPE_CHECKING:
    from .actor import Actor
    from .ctx import Ctx
    from .definition import StepDefinition
    from .errors import StateUnreadable
    from .state import View

__all__ = ["Ended", "closed_twin", "stale"]

_DETAIL = "its attempt has ended: nothing can be read from it or written to it"

_ASKED_BY_ISINSTANCE = frozenset({"__class__", "__pydantic_decorators__"})


def stale(task_id: str, what: str) -> StaleAttempt:
    """The error of using something of an attempt that has ended."""
    return StaleAttempt(task_id, f"{what}: {_DETAIL}")


class Ended:
    """The anchor of a closed view. The attempt is not kept by it, and so is freed at once."""

    __slots__ = ("_task_id",)

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id

    @property
    def ctx(self) -> Ctx:
        raise stale(self._task_id, "ctx")

    def call(
        self, definition: StepDefinition, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        raise stale(self._task_id, definition.name)

    def unreadable(self, error: StateUnreadable) -> BaseException:
        return stale(self._task_id, error.where)


def closed_twin(cls: type[Actor]) -> type[Actor]:
    """The class of closed views of `cls`, made once."""
    found: type[Actor] | None = cls.__dict__.get("__everstep_twin__")
    if found is None:
        found = _make_twin(cls)
        type.__setattr__(cls, "__everstep_twin__", found)
    return found


def _make_twin(cls: type[Actor]) -> type[Actor]:
    view_in: Any = cast("Any", cls).__everstep__.__get__  # the slot

    def get(self: Any, name: str) -> Any:
        if name in _ASKED_BY_ISINSTANCE:
            return object.__getattribute__(self, name)
        return refuse(self, name)

    def refuse(self: Any, name: str, *_: Any) -> Any:
        view: View = view_in(self)
        raise stale(view.task_id, f"{cls.__name__}.{name}")

    def shown(self: Any) -> str:
        return f"<{cls.__name__}, a view whose attempt has ended>"

    namespace: dict[str, Any] = {
        "__slots__": (),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__everstep_closed__": True,
        "__getattribute__": get,
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__repr__": shown,
        "__str__": shown,
    }
    twin: Any = ABCMeta.__new__(type(cls), cls.__name__, (cls,), namespace)
    return twin  # type: ignore[no-any-return]  # made by hand, past pydantic's metaclass
