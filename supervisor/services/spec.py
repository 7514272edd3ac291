"""What a tree is to be, as frozen records that refuse what makes no sense."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import KW_ONLY, field
from typing import Any, Literal

from ...actors.errors import BadCall
from ...storage.record import record
from ..checks import check_name, check_option, check_seconds, check_whole
from ..errors import BadCombination, DuplicateChild
from ..pool_spec import Pool
from ..restart import Restart, check_meaning

__all__ = [
    "AutoShutdown",
    "Child",
    "ChildKind",
    "ChildSpec",
    "DynamicSupervisor",
    "RestartType",
    "Strategy",
    "Supervisor",
    "SupervisorSpec",
    "check_arguments",
    "check_child",
    "check_children",
    "check_limit",
    "check_policy",
    "check_significant",
    "id_of",
    "kind_of",
    "pools_of",
    "refuse_pools",
]

ChildKind = Literal["worker", "supervisor", "pool"]
RestartType = Literal["permanent", "transient", "temporary"]
Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]
AutoShutdown = Literal["never", "any", "all"]

_DEFAULT = Restart()


@record
class Child:
    """A service: an async function, and how it is to be watched.

    - `start`: the async function, called with `args`. If it has a parameter `task_status`, the
      child is started when it calls `task_status.started(value)`, otherwise at once. Returning is
      a normal exit, raising `Shutdown` a shutdown, any other exception a crash.
    - `id`: its name among the children of its supervisor; by default that of the function.
    - `restart`: `"permanent"` is started again after every exit, `"transient"` after a crash,
      `"temporary"` never.
    - `shutdown`: seconds from the cancellation that asks it to stop until it is cut off; `0` or
      `"brutal"` cuts it off at once, its `finally` does not run; None waits without limit.
    - `significant`: its exit may end its supervisor, see `Supervisor(…, auto_shutdown=…)`.
    - `start_timeout`: seconds to call `task_status.started()`; None is no limit.

    Raises BadCall and BadCombination.
    """

    start: Callable[..., Coroutine[Any, Any, Any]]
    args: tuple[Any, ...]
    id: str
    restart: RestartType
    shutdown: float | Literal["brutal"] | None
    significant: bool
    start_timeout: float | None
    tells_when_started: bool = field(init=False, compare=False, repr=False)
    """Whether `start` takes `task_status`."""

    def __init__(
        self,
        start: Callable[..., Coroutine[Any, Any, Any]],
        *,
        args: Iterable[Any] = (),
        id: str | None = None,  # noqa: A002  (the word of OTP and of the design)
        restart: RestartType = "permanent",
        shutdown: float | Literal["brutal"] | None = 5,
        significant: bool = False,
        start_timeout: float | None = 30,
    ) -> None:
        _check_start(start)
        _set(self, "start", start)
        _set(self, "args", check_arguments("args", args))
        _set(self, "id", _name_of(start) if id is None else id)
        _set(self, "restart", restart)
        _set(self, "shutdown", shutdown)
        _set(self, "significant", significant)
        _set(self, "start_timeout", start_timeout)
        _set(self, "tells_when_started", _takes_task_status(start))
        check_name("id", self.id, "id='poller'")
        _check_as_child(f"Child({self.id!r})", self.restart, self.shutdown, self.significant)
        check_limit("start_timeout", start_timeout, zero=False)


@record
class Supervisor:
    """A supervisor and its children, started from left to right and stopped from right to left.

    - `strategy`: who is restarted with a child that failed: only itself (`"one_for_one"`), all
      (`"one_for_all"`), or those started after it (`"rest_for_one"`).
    - `restart`: how often, shared by all children; one more and the supervisor gives up.
    - `auto_shutdown`: whether the exit of `"any"` significant child, or of the last of `"all"`,
      ends the supervisor.
    - `restart_type`, `shutdown`, `significant`: what it is as a child of another supervisor.

    Raises BadCall, BadCombination and DuplicateChild.
    """

    name: str
    _: KW_ONLY
    strategy: Strategy = "one_for_one"
    restart: Restart = _DEFAULT
    children: Iterable[ChildSpec] = ()
    auto_shutdown: AutoShutdown = "never"
    restart_type: RestartType = "permanent"
    shutdown: float | Literal["brutal"] | None = None
    significant: bool = False

    def __post_init__(self) -> None:
        _check_path("name", self.name)
        check_option("strategy", self.strategy, Strategy)
        check_option("auto_shutdown", self.auto_shutdown, AutoShutdown)
        check_policy(self.name, self.restart)
        _set(self, "children", check_children(self.name, self.children))
        for child in self.children:
            check_significant(self.name, child, self.auto_shutdown)
        _check_as_child(
            f"Supervisor({self.name!r})", self.restart_type, self.shutdown, self.significant
        )


@record
class DynamicSupervisor:
    """A supervisor that starts empty, and whose children come and go by calls.

    Its children are known by reference, so one id may be given often. Each is restarted by itself
    (one_for_one); all are stopped side by side.

    - `max_children`: how many there may be, those that are being restarted included; None is any.
    - `extra_args`: put before the `args` of every child, also when it is started again.

    Raises BadCall and BadCombination.
    """

    name: str
    _: KW_ONLY
    restart: Restart = _DEFAULT
    max_children: int | None = None
    extra_args: tuple[Any, ...] = ()
    restart_type: RestartType = "permanent"
    shutdown: float | Literal["brutal"] | None = None
    significant: bool = False

    def __post_init__(self) -> None:
        _check_path("name", self.name)
        check_policy(self.name, self.restart)
        if self.max_children is not None:
            check_whole("max_children", self.max_children, 0, "max_children=100, or None")
        _set(self, "extra_args", check_arguments("extra_args", self.extra_args))
        _check_as_child(
            f"DynamicSupervisor({self.name!r})", self.restart_type, self.shutdown, self.significant
        )


SupervisorSpec = Supervisor | DynamicSupervisor
ChildSpec = Child | Supervisor | DynamicSupervisor | Pool

_set = object.__setattr__


def id_of(spec: ChildSpec) -> str:
    """What the child is called among the children of its supervisor."""
    return spec.id if isinstance(spec, Child) else spec.name


def kind_of(spec: ChildSpec) -> ChildKind:
    """What kind of a child it specifies."""
    if isinstance(spec, Child):
        return "worker"
    return "pool" if isinstance(spec, Pool) else "supervisor"


def pools_of(spec: ChildSpec, path: str) -> Iterator[tuple[str, Pool]]:
    """The pools at and below a specification that stands at `path`, with their own paths."""
    if isinstance(spec, Pool):
        yield path, spec
    elif isinstance(spec, Supervisor):
        for child in spec.children:
            yield from pools_of(child, f"{path}/{id_of(child)}")


# --- checks -------------------------------------------------------------------------------


def check_child(supervisor: str, child: object) -> ChildSpec:
    """Raise BadCall unless `child` is the specification of a child."""
    if isinstance(child, Child | Supervisor | DynamicSupervisor | Pool):
        return child
    where = f"a child of supervisor {supervisor!r}"
    raise BadCall(where, child, "is no specification of a child", "Child(an_async_function)")


def check_children(supervisor: str, children: Any) -> tuple[ChildSpec, ...]:
    """The children as a tuple. Raises BadCall, DuplicateChild."""
    try:
        listed: tuple[object, ...] = tuple(children)
    except TypeError:
        instead = "children=[Child(…), …]"
        raise BadCall("children", children, "is no list of children", instead) from None
    checked = tuple(check_child(supervisor, child) for child in listed)
    seen: set[str] = set()
    for child in checked:
        if id_of(child) in seen:
            raise DuplicateChild(supervisor, id_of(child))
        seen.add(id_of(child))
    return checked


def refuse_pools(supervisor: str, child: ChildSpec) -> None:
    """Raise BadCombination for a pool where there is no store."""
    for path, _ in pools_of(child, f"{supervisor}/{id_of(child)}"):
        raise BadCombination(
            f"the pool {path!r}",
            "a Pool without a store",
            "has no tasks to run",
            "async with Runtime(file, tree=…)",
        )


def check_arguments(name: str, value: Any) -> tuple[Any, ...]:
    """The arguments as a tuple. Raises BadCall for one that is alone, a text among them."""
    try:
        listed: tuple[Any, ...] = tuple(value)
    except TypeError:
        raise BadCall(name, value, "is no list of arguments", f"{name}=({value!r},)") from None
    if isinstance(value, str | bytes):
        raise BadCall(name, value, "is one argument, and no list", f"{name}=({value!r},)")
    return listed


def check_significant(supervisor: str, child: ChildSpec, auto_shutdown: AutoShutdown) -> None:
    """Raise BadCombination for a significant child where no exit ends the supervisor."""
    if auto_shutdown == "never" and not isinstance(child, Pool) and child.significant:
        raise BadCombination(
            f"child {id_of(child)!r} of supervisor {supervisor!r}",
            "significant=True with auto_shutdown='never'",
            "has no effect",
            "auto_shutdown='any' or 'all', or leave out significant",
        )


def check_policy(supervisor: str, restart: object) -> None:
    """Raise unless `restart` is a policy for services."""
    why = "has a meaning for the tasks of a Pool only"
    check_meaning(f"supervisor {supervisor!r}", restart, ("max_deaths", "on_give_up"), why)


def _check_as_child(what: str, restart: object, shutdown: object, significant: object) -> None:
    check_option("restart", restart, RestartType)
    if shutdown != "brutal":
        check_limit("shutdown", shutdown, zero=True)
    if not isinstance(significant, bool):
        raise BadCall("significant", significant, "is neither True nor False", "significant=True")
    if significant and restart == "permanent":
        raise BadCombination(
            what,
            "significant=True with restart='permanent'",
            "never takes effect, since a permanent child is always started again",
            "restart='transient' or 'temporary'",
        )


def check_limit(name: str, value: object, *, zero: bool) -> None:
    """Raise BadCall unless it is a number of seconds, or None for no limit."""
    if value is not None:
        check_seconds(name, value, f"{name}=5 (seconds), or None for no limit", zero=zero)


def _check_path(what: str, value: str) -> None:
    check_name(what, value, f"{what}='poller'")
    if "/" in value:
        instead = f"{what}={value.replace('/', '-')!r}"
        raise BadCall(what, value, "has a slash, which joins the names of supervisors", instead)


def _check_start(start: object) -> None:
    function = start
    while isinstance(function, functools.partial):
        function = function.func
    asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  (an object may be an async function)
    )
    if not asynchronous or inspect.isclass(function):
        if inspect.iscoroutine(start):
            start.close()  # it was called by mistake, and is awaited by nobody
        instead = "async def poll(…), and Child(poll, args=(…)), not Child(poll(…))"
        raise BadCall("start", start, "is not an async function", instead)


def _takes_task_status(start: Any) -> bool:
    try:
        return "task_status" in inspect.signature(start).parameters
    except (TypeError, ValueError):
        return False


def _name_of(start: Any) -> str:
    while isinstance(start, functools.partial):
        start = start.func
    return getattr(start, "__name__", type(start).__name__)
