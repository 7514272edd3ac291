"""The policies of a pool refuse what makes no sense, and say what to write."""

import math
from typing import Any

import pytest

from everstep.actors.backoff import exponential
from everstep.actors.errors import BadCall
from everstep.supervisor.pool_spec import Pool
from everstep.supervisor.restart import Restart


def test_a_pool_restarts_three_times_with_a_growing_backoff_unless_told_otherwise() -> None:
    restart = Pool().restart

    assert (restart.max_restarts, restart.max_deaths, restart.on_give_up) == (3, 3, "fail")
    assert restart.backoff is not None
    assert [restart.backoff(n) for n in (1, 2, 3, 1100)] == [1, 2, 4, 60]


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({"max_restarts": -1}, "max_restarts=3"),
        ({"max_restarts": 1.5}, "max_restarts=3"),
        ({"max_restarts": True}, "max_restarts=3"),
        ({"max_deaths": 1}, "max_deaths=2"),
        ({"backoff": 5}, "exponential"),
        ({"backoff": exponential}, "exponential(1, maximum=60)"),
        ({"backoff": "5"}, "exponential"),
        ({"jitter": "half"}, "'full' or 'equal' or 'none'"),
        ({"jitter": None}, "'full' or 'equal' or 'none'"),
        ({"max_failures": -1}, "max_failures=10"),
        ({"max_failures": math.nan}, "max_failures=10"),
        ({"max_failures": True}, "max_failures=10"),
        ({"max_restarts": "3"}, "max_restarts=3"),
        ({"max_restarts": math.inf}, "max_restarts=3"),
        ({"max_restarts": 10**400}, "max_restarts=3"),
        ({"within": 0}, "within=5"),
        ({"within": -1}, "within=5"),
        ({"within": math.inf}, "within=5"),
        ({"within": math.nan}, "within=5"),
        ({"within": True}, "within=5"),
        ({"within": "5"}, "within=5"),
        ({"within": 10**400}, "within=5"),
        ({"on_give_up": "explode"}, "'fail' or 'pause' or 'escalate'"),
        ({"reset_after": 0}, "reset_after=300"),
        ({"reset_after": math.inf}, "reset_after=300"),
        ({"reset_after": math.nan}, "reset_after=300"),
        ({"reset_after": "5"}, "reset_after=300"),
        ({"reset_after": 10**400}, "reset_after=300"),
    ],
)
def test_a_restart_that_makes_no_sense_is_refused(fields: dict[str, Any], advice: str) -> None:
    with pytest.raises(BadCall, match=next(iter(fields))) as caught:
        Restart(**fields)

    assert advice in str(caught.value)


@pytest.mark.parametrize(
    "fields", [{"name": ""}, {"name": "a\nb"}, {"max_running": 0}, {"restart": 3}, {"name": 7}]
)
def test_a_pool_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadCall, match=next(iter(fields))):
        Pool(**fields)
