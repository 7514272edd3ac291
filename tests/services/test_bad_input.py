"""A specification that cannot work is refused when it is made, with what to write instead."""

import asyncio
import functools
import gc
import math
import pickle
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any

import pytest

from everstep import (
    BadCall,
    BadCombination,
    Child,
    DuplicateChild,
    DynamicSupervisor,
    Pool,
    Restart,
    Supervisor,
    supervise,
)


async def poll(*args: object) -> None:
    await asyncio.Event().wait()


class Poller:
    async def __call__(self) -> None:
        await asyncio.Event().wait()

    async def method(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (poll, "poll"),
        (functools.partial(poll, 1), "poll"),
        (Poller(), "Poller"),
        (Poller().method, "method"),
    ],
)
def test_every_kind_of_async_function_is_a_start_and_names_the_child(start: Any, name: str) -> None:
    assert Child(start).id == name


def blocking() -> None:
    return None


def hands_on() -> Coroutine[Any, Any, None]:
    return poll()


def generator() -> Iterator[int]:
    yield 1


async def stream() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    "start",
    [print, blocking, hands_on, generator, generator(), stream, stream(), 7, None, Poller],
    ids=lambda start: type(start).__name__,
)
def test_a_start_that_is_not_async_is_refused(start: Any) -> None:
    with pytest.raises(BadCall, match="is not an async function; write async def"):
        Child(start)


def test_a_function_that_was_called_is_refused_and_leaves_no_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    def mistaken() -> None:
        Child(poll(1))  # type: ignore[arg-type]

    with pytest.raises(BadCall, match=r"Child\(poll, args=\(…\)\), not Child\(poll\(…\)\)"):
        mistaken()
    gc.collect()

    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({"id": ""}, "id='poller'"),
        ({"id": "a\nb"}, "id='poller'"),
        ({"id": 7}, "id='poller'"),
        ({"args": "abc"}, "args=('abc',)"),
        ({"args": b"abc"}, "args=(b'abc',)"),
        ({"args": 5}, "args=(5,)"),
        ({"restart": "always"}, "'permanent' or 'transient' or 'temporary'"),
        ({"shutdown": -1}, "None for no limit"),
        ({"shutdown": math.inf}, "None for no limit"),
        ({"shutdown": math.nan}, "None for no limit"),
        ({"shutdown": True}, "None for no limit"),
        ({"shutdown": "gently"}, "None for no limit"),
        ({"shutdown": "5"}, "None for no limit"),
        ({"shutdown": 10**400}, "None for no limit"),
        ({"significant": 1}, "significant=True"),
        ({"significant": "yes"}, "significant=True"),
        ({"start_timeout": 0}, "None for no limit"),
        ({"start_timeout": -1}, "None for no limit"),
        ({"start_timeout": math.inf}, "None for no limit"),
        ({"start_timeout": math.nan}, "None for no limit"),
        ({"start_timeout": True}, "None for no limit"),
        ({"start_timeout": "5"}, "None for no limit"),
        ({"start_timeout": 10**400}, "None for no limit"),
    ],
)
def test_a_child_that_makes_no_sense_is_refused(fields: dict[str, Any], advice: str) -> None:
    with pytest.raises(BadCall, match=next(iter(fields))) as caught:
        Child(poll, **fields)

    assert advice in str(caught.value)


@pytest.mark.parametrize("shutdown", [0, 0.5, "brutal", None])
def test_these_are_budgets(shutdown: Any) -> None:
    assert Child(poll, shutdown=shutdown).shutdown == shutdown


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({"name": ""}, "name='poller'"),
        ({"name": None}, "name='poller'"),
        ({"name": "web/client"}, "name='web-client'"),
        ({"strategy": None}, "'one_for_one' or 'one_for_all' or 'rest_for_one'"),
        ({"strategy": "simple_one_for_one"}, "'one_for_one' or 'one_for_all' or 'rest_for_one'"),
        ({"auto_shutdown": True}, "'never' or 'any' or 'all'"),
        ({"restart": 3}, "Restart"),
        ({"children": [poll]}, "Child(an_async_function)"),
        ({"children": Child(poll)}, "children=[Child(…), …]"),
        ({"children": None}, "children=[Child(…), …]"),
        ({"children": "ab"}, "Child(an_async_function)"),
        ({"restart_type": "always"}, "'permanent'"),
        ({"shutdown": -1}, "None for no limit"),
    ],
)
def test_a_supervisor_that_makes_no_sense_is_refused(fields: dict[str, Any], advice: str) -> None:
    named: dict[str, Any] = {"name": "root", **fields}

    with pytest.raises(BadCall) as caught:
        Supervisor(**named)

    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({"name": ""}, "name='poller'"),
        ({"name": "a/b"}, "name='a-b'"),
        ({"max_children": -1}, "max_children=100, or None"),
        ({"max_children": 1.5}, "max_children=100, or None"),
        ({"max_children": math.inf}, "max_children=100, or None"),
        ({"max_children": True}, "max_children=100, or None"),
        ({"max_children": "3"}, "max_children=100, or None"),
        ({"extra_args": "abc"}, "extra_args=('abc',)"),
        ({"extra_args": 5}, "extra_args=(5,)"),
        ({"restart": 3}, "Restart"),
        ({"restart_type": "always"}, "'permanent'"),
        ({"shutdown": math.inf}, "None for no limit"),
    ],
)
def test_a_dynamic_supervisor_that_makes_no_sense_is_refused(
    fields: dict[str, Any], advice: str
) -> None:
    named: dict[str, Any] = {"name": "root", **fields}

    with pytest.raises(BadCall, match=next(iter(fields)).partition("_type")[0]) as caught:
        DynamicSupervisor(**named)

    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (Child, "supervisor"),
        (Supervisor, "max_children"),
        (DynamicSupervisor, "children"),
        (DynamicSupervisor, "strategy"),
        (DynamicSupervisor, "auto_shutdown"),
        (Restart, "intensity"),
    ],
)
def test_an_option_that_does_not_exist_is_an_error(kind: Any, option: str) -> None:
    with pytest.raises(TypeError, match=option):
        kind("root", **{option: 1})


def test_no_restart_at_all_is_a_limit() -> None:
    assert Supervisor("root", restart=Restart(0)).restart.max_restarts == 0


def test_two_children_with_one_id_are_refused() -> None:
    with pytest.raises(DuplicateChild, match='id="poll-2"') as caught:
        Supervisor("root", children=[Child(poll), Child(poll)])

    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.supervisor, copy.child) == ("root", "poll")


@pytest.mark.parametrize("restart", [{}, {"restart": "permanent"}])
def test_significant_and_permanent_exclude_each_other(restart: dict[str, Any]) -> None:
    with pytest.raises(BadCombination) as caught:
        Child(poll, significant=True, **restart)

    assert "significant=True with restart='permanent'" in str(caught.value)
    assert "restart='transient' or 'temporary'" in str(caught.value)


@pytest.mark.parametrize(
    "child",
    [
        Child(poll, restart="transient", significant=True),
        Supervisor("inner", restart_type="transient", significant=True),
        DynamicSupervisor("inner", restart_type="temporary", significant=True),
    ],
)
def test_a_significant_child_needs_an_automatic_shutdown(child: Any) -> None:
    with pytest.raises(BadCombination, match="auto_shutdown='never'"):
        Supervisor("root", children=[child])


@pytest.mark.parametrize("fields", [{"max_deaths": 3}, {"on_give_up": "fail"}])
@pytest.mark.parametrize("kind", [Supervisor, DynamicSupervisor])
def test_what_only_tasks_have_is_refused_for_services(kind: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(BadCombination, match=f"{next(iter(fields))}=.* for the tasks of a Pool"):
        kind("root", restart=Restart(**fields))


@pytest.mark.parametrize("fields", [{"within": 5}, {"max_failures": 3}])
def test_what_only_services_have_is_refused_for_pools(fields: dict[str, Any]) -> None:
    with pytest.raises(BadCombination, match=next(iter(fields))):
        Pool("agents", restart=Restart(**fields))


def test_a_pool_needs_a_store() -> None:
    tree = Supervisor("root", children=[Supervisor("inner", children=[Pool("agents")])])

    with pytest.raises(BadCombination, match=r"'root/inner/agents'.*without a store"):
        supervise(tree)


def test_a_tree_begins_with_a_supervisor() -> None:
    with pytest.raises(BadCall, match="is no supervisor"):
        supervise(Child(poll))  # type: ignore[arg-type]
