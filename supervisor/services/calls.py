"""How management calls are answered in every state of a child."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ...actors.foreign import shown
from ...storage.errors import EverstepError
from ..checks import check_option, check_whole
from ..errors import (
    AlreadyPresent,
    AlreadyStarted,
    BadCombination,
    MaxChildren,
    NotFound,
    Restarting,
    Running,
    SimpleOneForOne,
)
from ..pool_spec import Pool
from ..restart import Unset
from .entries import Entry, Ref, entry_in, name_for
from .jobs import Job, Purpose
from .machine import Core
from .messages import (
    Adapt,
    AdaptPool,
    Call,
    DeleteChild,
    Reconfigure,
    Reply,
    RestartChild,
    StartChild,
    Tell,
    TerminateChild,
)
from .spec import (
    AutoShutdown,
    Child,
    ChildSpec,
    Strategy,
    check_child,
    check_policy,
    check_significant,
    id_of,
    refuse_pools,
)

__all__ = ["Machine"]

T = TypeVar("T")


class Machine(Core):
    """A supervisor that answers management calls."""

    def answer(self, call: Call) -> None:
        try:
            _begin(self, call)
        except EverstepError as declined:
            self.do(Reply(call.token, declined))


def _begin(machine: Core, call: Call) -> None:
    match call.request:
        case StartChild(spec):
            _start(machine, spec, call.token)
        case TerminateChild(child):
            _terminate(machine, child, call.token)
        case RestartChild(child):
            _restart(machine, child, call.token)
        case DeleteChild(child):
            _delete(machine, child, call.token)
        case Reconfigure():
            _reconfigure(machine, call.request)
            machine.do(Reply(call.token, None))
        case AdaptPool(child, changes):
            _adapt_pool(machine, _get(machine, child), changes)
            machine.do(Reply(call.token, None))


def _start(machine: Core, spec: ChildSpec, token: int) -> None:
    check_child(machine.name, spec)
    _check_pools(machine, spec)
    check_significant(machine.name, spec, machine.auto_shutdown)
    if machine.dynamic:
        entry = _new_dynamic(machine, spec)
    else:
        entry = _new_static(machine, spec)
    machine.entries[entry.id] = entry
    job = Job(Purpose.START_CALL, starts=deque([entry.id]), entry=entry, token=token)
    machine.begin(job)


def _new_static(machine: Core, spec: ChildSpec) -> Entry:
    present = machine.entries.get(id_of(spec))
    if present is None:
        return Entry(id_of(spec), spec)
    if present.runs:
        raise AlreadyStarted(machine.name, present.id, present.number)
    raise AlreadyPresent(machine.name, present.id)


def _new_dynamic(machine: Core, spec: ChildSpec) -> Entry:
    if machine.max_children is not None and len(machine.entries) >= machine.max_children:
        raise MaxChildren(machine.name, machine.max_children)
    if machine.extra_args and not isinstance(spec, Child):
        raise BadCombination(
            f"dynamic supervisor {machine.name!r}",
            f"extra_args with the supervisor {id_of(spec)!r} as a child",
            "has no meaning, since a supervisor takes no arguments",
            "a dynamic supervisor of its own, without extra_args",
        )
    return Entry(name_for(spec, machine.next_number()), spec)


def _terminate(machine: Core, child: str | Ref, token: int) -> None:
    entry = _find(machine, child)
    if entry is not None:
        entry.held = True
        if entry.runs:
            stops = deque([entry.id])
            machine.begin(Job(Purpose.TERMINATE_CALL, stops=stops, entry=entry, token=token))
            return
        machine.cancel_restart(entry)
    machine.do(Reply(token, None))


def _find(machine: Core, child: str | Ref) -> Entry | None:
    """The child that is to be terminated; None for one of ours that has ended for good."""
    if not machine.dynamic:
        if isinstance(child, str):
            return _get(machine, child)
        raise NotFound(machine.name, shown(child))
    if not isinstance(child, Ref):
        raise SimpleOneForOne(machine.name, "terminate_child")
    if (child.supervisor, child.life) != (machine.name, machine.life):
        raise NotFound(machine.name, shown(child))
    return machine.entries.get(child.id)


def _restart(machine: Core, child: str, token: int) -> None:
    if machine.dynamic:
        raise SimpleOneForOne(machine.name, "restart_child")
    entry = _get_idle(machine, child)
    entry.held = False
    job = Job(Purpose.RESTART_CALL, starts=deque([entry.id]), entry=entry, token=token)
    machine.begin(job)


def _delete(machine: Core, child: str, token: int) -> None:
    if machine.dynamic:
        raise SimpleOneForOne(machine.name, "delete_child")
    del machine.entries[_get_idle(machine, child).id]
    machine.do(Tell("child_removed", child))
    machine.do(Reply(token, None))


def _get(machine: Core, child: object) -> Entry:
    return entry_in(machine.entries, child, machine.name)


def _get_idle(machine: Core, child: str) -> Entry:
    entry = _get(machine, child)
    if entry.status == "restarting":
        raise Restarting(machine.name, child)
    if entry.runs:
        raise Running(machine.name, child)
    return entry


def _check_pools(machine: Core, spec: ChildSpec) -> None:
    if not machine.durable:
        refuse_pools(machine.name, spec)


# --- new settings -------------------------------------------------------------------------


def _reconfigure(machine: Core, new: Reconfigure) -> None:
    """Check everything, then take it over; what runs goes on."""
    _check_meaning(machine, new)
    _check_options(machine, new)
    auto_shutdown: AutoShutdown = _new(new.auto_shutdown, machine.auto_shutdown)
    entries = _checked_children(machine, new, auto_shutdown)
    if not isinstance(new.restart, Unset):
        machine.restart = new.restart
        machine.warn_of_limit()
    machine.strategy = _new(new.strategy, machine.strategy)
    machine.max_children = _new(new.max_children, machine.max_children)
    machine.extra_args = _new(new.extra_args, machine.extra_args)
    machine.auto_shutdown = auto_shutdown
    machine.entries = entries
    if not isinstance(new.children, Unset):
        for entry in entries.values():
            _adapt(machine, entry)


def _adapt_pool(machine: Core, entry: Entry, changes: Mapping[str, Any]) -> None:
    """Upon the policy in force when it is their turn: others may have changed it meanwhile."""
    if not isinstance(entry.spec, Pool):
        raise NotFound(machine.name, entry.id)  # another child has taken the name
    entry.spec = replace(entry.spec, **changes)
    _adapt(machine, entry)


def _new(given: T | Unset, present: T) -> T:
    return present if isinstance(given, Unset) else given


def _check_options(machine: Core, new: Reconfigure) -> None:
    if not isinstance(new.restart, Unset):
        check_policy(machine.name, new.restart)
    if not isinstance(new.strategy, Unset):
        check_option("strategy", new.strategy, Strategy)
    if not isinstance(new.auto_shutdown, Unset):
        check_option("auto_shutdown", new.auto_shutdown, AutoShutdown)
    if not (isinstance(new.max_children, Unset) or new.max_children is None):
        check_whole("max_children", new.max_children, 0, "max_children=100, or None")


def _adapt(machine: Core, entry: Entry) -> None:
    """A pool takes a new policy at once; other children when they are started or stopped."""
    if isinstance(entry.spec, Pool) and entry.runs:
        machine.do(Adapt(entry.id, entry.spec))


def _checked_children(
    machine: Core, new: Reconfigure, auto_shutdown: AutoShutdown
) -> dict[str, Entry]:
    """The listed children in their order, then those no longer listed; new ones are not started."""
    if isinstance(new.children, Unset):
        return machine.entries
    for spec in new.children:
        _check_pools(machine, spec)
        if id_of(spec) not in machine.entries:
            check_significant(machine.name, spec, auto_shutdown)
    rest = dict(machine.entries)
    entries: dict[str, Entry] = {}
    for spec in new.children:
        entry = rest.pop(id_of(spec), None) or Entry(id_of(spec), spec)
        entry.spec = spec
        entries[entry.id] = entry
    return entries | rest


_OF_STATIC = ("strategy", "auto_shutdown", "children")
_OF_DYNAMIC = ("max_children", "extra_args")


def _check_meaning(machine: Core, new: Reconfigure) -> None:
    mine, others = (_OF_DYNAMIC, _OF_STATIC) if machine.dynamic else (_OF_STATIC, _OF_DYNAMIC)
    for name in others:
        if not isinstance(getattr(new, name), Unset):
            kind = "DynamicSupervisor" if machine.dynamic else "Supervisor"
            raise BadCombination(
                f"reconfigure of {machine.name!r}",
                f"{name}= of a {kind}",
                "has no meaning",
                " or ".join(f"{option}=" for option in ("restart", *mine)),
            )
