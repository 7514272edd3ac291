"""Random trees under random orders, held against a plain model of them."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everstep import Restart

from .comparison import play
from .model import ChildModelSpec, ModelSpec

LEAVES = "abcdefgh"
SUPERVISORS = "STUV"
TYPES = st.sampled_from(["permanent", "permanent", "transient", "temporary"])
STRATEGIES = st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"])
MODES = st.sampled_from(["never", "any", "all"])


def growing(n: int) -> float:
    return 0.75 * n


quick = st.builds(
    ChildModelSpec,
    name=st.sampled_from(LEAVES),
    restart=TYPES,
    significant=st.booleans(),
    shutdown=st.sampled_from([None, 1.0, 0.0]),
)
slow = st.builds(
    ChildModelSpec,
    name=st.sampled_from(LEAVES),
    restart=TYPES,
    significant=st.booleans(),
    stuck=st.sampled_from([False, False, False, True]),
    cleanup=st.sampled_from([0.0, 0.0, 0.3, 2.0]),
    shutdown=st.sampled_from([1.0, 1.0, 1.0, 0.0]),
)

passing = st.builds(
    ChildModelSpec,
    name=st.sampled_from(LEAVES),
    restart=st.sampled_from(["transient", "transient", "temporary"]),
    significant=st.sampled_from([True, True, False]),
    shutdown=st.just(1.0),
)


def limits(*backoffs: Any) -> st.SearchStrategy[Restart]:
    return st.builds(
        Restart,
        max_restarts=st.integers(0, 6),
        within=st.sampled_from([0.5, 2, 5, 1000]),
        backoff=st.sampled_from(backoffs),
        max_failures=st.sampled_from([None, None, 2]),
        reset_after=st.sampled_from([300, 2.1]),
    )


def supervisors(
    children: st.SearchStrategy[ChildModelSpec],
    restart: st.SearchStrategy[Restart],
    *,
    dynamic: tuple[bool, ...] = (False, False, False, True),
    modes: tuple[str, ...] = ("never", "any", "all"),
) -> st.SearchStrategy[ModelSpec]:
    return st.builds(
        ModelSpec,
        strategy=STRATEGIES,
        restart=restart,
        auto_shutdown=st.sampled_from(modes),
        children=st.lists(children, max_size=5),
        dynamic=st.sampled_from(dynamic),
        max_children=st.sampled_from([None, None, 2]),
    )


def below(
    children: st.SearchStrategy[ChildModelSpec],
    restart: st.SearchStrategy[Restart],
    budgets: list[float | None],
) -> st.SearchStrategy[ChildModelSpec]:
    """A supervisor as a child; what is dynamic among them starts empty."""
    return st.builds(
        ChildModelSpec,
        name=st.sampled_from(SUPERVISORS),
        restart=TYPES,
        significant=st.booleans(),
        shutdown=st.sampled_from(budgets),
        tree=supervisors(children, restart),
    )


def orders(
    children: st.SearchStrategy[ChildModelSpec],
    restart: st.SearchStrategy[Restart],
    bad: list[str],
) -> st.SearchStrategy[list[Any]]:
    """Each with the place of the supervisor that it is for, among those that run.

    Children are given by their places too; beyond the last one is a child that is not there.
    """
    places = st.integers(0, 4)
    several = st.lists(places, min_size=1, max_size=3, unique=True)
    ends = st.lists(
        st.tuples(places, st.sampled_from(["crash", "crash", "end", "shutdown"])),
        min_size=1,
        max_size=3,
        unique_by=lambda one: one[0],
    )
    one = st.one_of(
        st.tuples(st.just("ends"), st.tuples(ends, st.lists(st.sampled_from(bad), max_size=2))),
        st.tuples(st.just("terminate"), places),
        st.tuples(st.just("restart"), places),
        st.tuples(st.just("delete"), places),
        st.tuples(st.just("start"), children),
        st.tuples(st.just("start"), children),
        st.tuples(st.just("stop"), st.none()),
        st.tuples(
            st.just("reconfigure"),
            st.tuples(restart, st.tuples(STRATEGIES, MODES), several, children),
        ),
        st.tuples(st.just("wait"), st.sampled_from([0.25, 1.0, 3.0, 7.0])),
        st.tuples(st.just("spoil"), st.tuples(places, st.lists(st.sampled_from(bad), max_size=3))),
    )
    return st.lists(st.tuples(st.integers(0, 5), one), min_size=6, max_size=30)


ANY = limits(None, None, growing)
AT_ONCE = limits(None)
BACKING_OFF = limits(growing)
BUDGETS: list[float | None] = [None, 1.55, 0.45, 0]
thorough = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(spec=supervisors(slow, ANY), todo=orders(slow, ANY, ["fail", "hang", "ignore"]))
@thorough
def test_a_supervisor_does_what_the_model_does(spec: ModelSpec, todo: list[Any]) -> None:
    play(spec, todo)


@given(
    spec=supervisors(slow, ANY, dynamic=(True,)),
    todo=orders(slow, ANY, ["fail", "hang", "ignore"]),
)
@thorough
def test_a_dynamic_supervisor_does_what_the_model_does(spec: ModelSpec, todo: list[Any]) -> None:
    play(spec, todo)


@given(
    spec=supervisors(passing, BACKING_OFF, dynamic=(False,), modes=("any", "all")),
    todo=orders(passing, BACKING_OFF, ["fail", "ignore"]),
)
@thorough
def test_a_supervisor_of_significant_children_does_what_the_model_does(
    spec: ModelSpec, todo: list[Any]
) -> None:
    play(spec, todo)


@given(
    spec=supervisors(
        st.one_of(quick, below(st.one_of(quick, below(quick, ANY, [None, 0])), ANY, [None, 0])), ANY
    ),
    todo=orders(quick, ANY, ["fail", "ignore"]),
)
@thorough
def test_a_tree_whose_children_are_quick_does_what_the_model_does(
    spec: ModelSpec, todo: list[Any]
) -> None:
    play(spec, todo)


@given(
    spec=supervisors(
        st.one_of(slow, below(st.one_of(slow, below(slow, AT_ONCE, BUDGETS)), AT_ONCE, BUDGETS)),
        AT_ONCE,
    ),
    todo=orders(slow, AT_ONCE, ["fail", "hang", "ignore"]),
)
@thorough
def test_a_tree_whose_children_take_their_time_does_what_the_model_does(
    spec: ModelSpec, todo: list[Any]
) -> None:
    play(spec, todo)
