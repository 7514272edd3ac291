"""A pool that cannot be meant is refused when it is made, with what to write instead."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from everstep import BadCall, BadCombination, Pool


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"max_running": 0}, "max_running=1 or more"),
        ({"max_running": 10**400}, "max_running=1 or more"),
        ({"max_running_per_lane": 0}, "max_running_per_lane=5"),
        ({"max_running_per_lane": 1.5}, "max_running_per_lane=5"),
        ({"rate": 5}, "rate=(100, 60)"),
        ({"rate": (1, 2, 3)}, "rate=(100, 60)"),
        ({"rate": [1, 2]}, "rate=(100, 60)"),
        ({"rate": (0, 60)}, "rate=(100, 60)"),
        ({"rate": (1.5, 60)}, "rate=(100, 60)"),
        ({"rate": (True, 60)}, "rate=(100, 60)"),
        ({"rate": (5, 0)}, "rate=(100, 60)"),
        ({"rate": (5, "60")}, "rate=(100, 60)"),
        ({"rate": (5, True)}, "rate=(100, 60)"),
        ({"rate": (5, math.inf)}, "rate=(100, 60)"),
        ({"rate": (5, math.nan)}, "rate=(100, 60)"),
        ({"rate": (5, 10**400)}, "rate=(100, 60)"),
        ({"rate": (10**400, 60)}, "rate=(100, 60)"),
        ({"storm": (0, 60)}, "storm=(20, 60)"),
        ({"storm": (-1, 60)}, "storm=(20, 60)"),
        ({"storm": 20}, "storm=(20, 60)"),
        ({"storm": (20, 10**400)}, "storm=(20, 60)"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(options: dict[str, Any], advice: str) -> None:
    with pytest.raises(BadCall, match=next(iter(options))) as caught:
        Pool("agents", **options)

    assert advice in str(caught.value)


def test_a_limit_of_lanes_that_limits_nothing_is_refused() -> None:
    with pytest.raises(BadCombination, match="limits nothing") as caught:
        Pool("agents", max_running=4, max_running_per_lane=5)

    assert "max_running_per_lane=4 or less" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert Pool(max_running=4, max_running_per_lane=4).max_running_per_lane == 4


def test_a_name_that_no_task_could_be_asked_for_by_is_refused() -> None:
    with pytest.raises(BadCall, match="more than 200 characters"):
        Pool("x" * 201)

    assert len(Pool("x" * 200).name) == 200
