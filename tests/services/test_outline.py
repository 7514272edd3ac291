"""The specification of a tree as plain data."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from everstep import (
    Child,
    DynamicSupervisor,
    Pool,
    Restart,
    Supervisor,
    exponential,
    fixed,
    from_tenacity,
    none,
)
from everstep.supervisor.services.drawing import in_words
from everstep.supervisor.services.outline import Outline, outline, read_outline


async def poll(*_: object) -> None:
    """A service."""


class Service:
    async def serve(self) -> None:
        """A service that is a method."""

    async def __call__(self) -> None:
        """A service that is an object."""


def own_backoff(number: int) -> float:
    return float(number)


POLLER = Child(poll, id="poller", args=("secret",), restart="transient", significant=True)
TREE = Supervisor(
    "root",
    strategy="rest_for_one",
    auto_shutdown="any",
    children=[
        POLLER,
        Pool("agents", max_running=20, restart=Restart(5, backoff=exponential(1), max_deaths=4)),
        DynamicSupervisor("jobs", max_children=7, extra_args=("secret",), shutdown="brutal"),
    ],
)


def test_an_outline_names_every_child_in_order() -> None:
    root = outline(TREE)

    assert [(one.kind, one.name) for one in root.walk()] == [
        ("supervisor", "root"),
        ("worker", "poller"),
        ("pool", "agents"),
        ("supervisor", "jobs"),
    ]


def test_an_outline_holds_the_options_under_their_names() -> None:
    root = outline(TREE)
    poller, agents, jobs = root.children

    assert root.settings == {
        "strategy": "rest_for_one",
        "restart": {
            "max_restarts": 3,
            "within": 5.0,
            "backoff": None,
            "max_failures": None,
            "reset_after": 300.0,
        },
        "auto_shutdown": "any",
        "restart_type": "permanent",
        "shutdown": None,
        "significant": False,
    }
    assert poller.settings == {
        "start": f"{__name__}.poll",
        "restart": "transient",
        "shutdown": 5,
        "significant": True,
        "start_timeout": 30,
    }
    assert agents.settings["max_running"] == 20
    assert agents.settings["restart"] == {
        "max_restarts": 5,
        "backoff": "exponential(1, factor=2, maximum=60)",
        "reset_after": 300.0,
        "max_deaths": 4,
        "on_give_up": "fail",
    }
    assert (jobs.settings["max_children"], jobs.settings["shutdown"]) == (7, "brutal")


def test_an_outline_comes_back_from_json_as_it_was() -> None:
    root = outline(TREE)

    text = root.encoded()

    assert read_outline(text) == root
    assert json.loads(text) == json.loads(json.dumps(asdict(root)))


def test_an_outline_has_no_arguments_in_it() -> None:
    assert "secret" not in outline(TREE).encoded()


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (poll, f"{__name__}.poll"),
        (functools.partial(poll, 1), f"{__name__}.poll"),
        (Service().serve, f"{__name__}.Service.serve"),
        (Service(), f"{__name__}.Service"),
    ],
)
def test_a_function_is_named_by_where_it_is_defined(start: Any, name: str) -> None:
    assert outline(Child(start, id="a")).settings["start"] == name


@pytest.mark.parametrize(
    ("backoff", "name"),
    [
        (None, None),
        (none(), "none()"),
        (fixed(5), "fixed(5)"),
        (exponential(0.5, maximum=3), "exponential(0.5, factor=2, maximum=3)"),
        (from_tenacity(own_backoff), f"from_tenacity({__name__}.own_backoff)"),
        (own_backoff, f"{__name__}.own_backoff"),
    ],
)
def test_a_backoff_is_named_as_one_writes_it(
    backoff: Callable[[int], float] | None, name: str | None
) -> None:
    policy = outline(Pool("tasks", restart=Restart(3, backoff=backoff))).settings["restart"]

    assert isinstance(policy, dict)
    assert policy["backoff"] == name


def test_what_a_newer_everstep_adds_does_not_hinder_reading() -> None:
    text = '{"kind": "cluster", "name": "all", "settings": {"x": [1, null]}, "of": 3}'

    assert read_outline(text) == Outline("cluster", "all", {"x": [1, None]})


@pytest.mark.parametrize("text", ["", "[]", '{"kind": "pool"}', '{"kind": 1, "name": "a"}'])
def test_what_is_no_outline_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_outline(text)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (TREE, "rest_for_one, 3 restarts within 5 s, auto_shutdown any"),
        (POLLER, f"{__name__}.poll, transient, shutdown 5 s, significant"),
        (
            DynamicSupervisor("jobs", max_children=7, shutdown="brutal"),
            "dynamic, 3 restarts within 5 s, max_children 7, shutdown brutal",
        ),
        (Child(poll, shutdown=None), f"{__name__}.poll, permanent, shutdown without limit"),
        (
            Pool("agents", max_running=20, restart=Restart(1, on_give_up="pause")),
            "max_running 20, 1 restart, max_deaths 3, on_give_up pause",
        ),
    ],
)
def test_settings_are_said_in_words(spec: Any, words: str) -> None:
    assert in_words(outline(spec).settings) == words
