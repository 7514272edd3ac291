"""Random supervisors under random orders, held against a plain model of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everstep import (
    EverstepError,
    FailedToStartChild,
    NoProc,
    Restart,
    RestartLimitExceeded,
    RunningSupervisor,
    Supervisor,
)
from everstep.testing import IdleLoop, ManualClock

from .kit import Habit, Rig, states
from .model import Model, ModelChild

NAMES = "abcdef"


def growing(n: int) -> float:
    return 0.75 * n


children = st.builds(
    ModelChild,
    name=st.sampled_from(NAMES),
    restart=st.sampled_from(["permanent", "transient", "temporary"]),
    significant=st.booleans(),
    stuck=st.sampled_from([False, False, False, True]),
    bad_starts=st.sampled_from([0, 0, 0, 0, 1, 2]),
)
restarts = st.builds(
    Restart,
    max_restarts=st.integers(0, 6),
    within=st.sampled_from([0.5, 2, 5, 1000]),
    backoff=st.sampled_from([None, None, growing]),
    max_failures=st.sampled_from([None, None, 2]),
)
orders = st.one_of(
    st.tuples(
        st.sampled_from(["crash", "crash", "end", "shutdown"]),
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    ),
    st.tuples(st.sampled_from(["terminate", "restart", "delete"]), st.sampled_from(NAMES)),
    st.tuples(st.just("start"), children),
    st.tuples(st.just("wait"), st.sampled_from([0.25, 1.0, 3.0, 7.0])),
    st.tuples(st.just("spoil"), st.tuples(st.sampled_from(NAMES), st.integers(1, 3))),
)


def sensible(child: ModelChild) -> ModelChild:
    """A permanent child is never significant."""
    child.significant = child.significant and child.restart != "permanent"
    return child


@given(
    strategy=st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"]),
    restart=restarts,
    auto_shutdown=st.sampled_from(["never", "any", "all"]),
    static=st.lists(children, max_size=5, unique_by=lambda child: child.name),
    todo=st.lists(orders, max_size=25),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_supervisor_does_what_the_model_does(
    strategy: Any, restart: Restart, auto_shutdown: Any, static: list[ModelChild], todo: list[Any]
) -> None:
    for child in static:
        sensible(child).significant &= auto_shutdown != "never"
        child.bad_starts = 0 if child.bad_starts == 1 else child.bad_starts
    model = Model(strategy, restart, auto_shutdown, list(static))
    clock = ManualClock()
    with asyncio.Runner(loop_factory=lambda: IdleLoop(clock)) as runner:
        runner.run(Comparison(Rig(clock), model).run(todo))


class Comparison:
    """Runs the real supervisor beside the model."""

    def __init__(self, rig: Rig, model: Model) -> None:
        self.rig = rig
        self.model = model

    async def run(self, todo: list[Any]) -> None:
        model = self.model
        tree = Supervisor(
            "root",
            strategy=model.strategy,
            restart=model.restart,
            auto_shutdown=model.auto_shutdown,  # type: ignore[arg-type]
            children=[self.real(child) for child in model.children],
        )
        booted = model.boot()
        try:
            async with self.rig.run(tree) as running:
                assert booted
                await self.compare(running)
                for order in todo:
                    await self.give(running, *order)
                    await self.compare(running)
                    if model.ended:
                        break
        except (RestartLimitExceeded, FailedToStartChild) as error:
            if isinstance(error, FailedToStartChild):
                assert not booted
            else:
                assert model.ended == "gave up", error  # noqa: PT017
        else:
            assert model.ended != "gave up"
        if not model.ended:
            model.end("stopped")
        assert self.rig.log == model.log

    def real(self, child: ModelChild) -> Any:
        habit = Habit(starts=["fail"] * child.bad_starts, stuck=child.stuck)
        return self.rig.child(
            child.name, habit, restart=child.restart, significant=child.significant, shutdown=1
        )

    async def compare(self, running: RunningSupervisor) -> None:
        self.model.pass_time(0)
        behind = self.model.now - self.rig.clock.monotonic()
        await self.rig.clock.sleep(max(0.0, behind) + 1e-9)
        self.unsettle()
        if self.model.ended:
            return
        assert states(running) == self.model.states()
        assert self.rig.log == self.model.log
        active = list(self.model.running())
        assert running.count()[:2] == (len(self.model.children), len(active))

    def unsettle(self) -> None:
        """The model's clock has no part in how long the loop took to become quiet."""
        self.model.now = self.rig.clock.monotonic()

    async def give(self, running: RunningSupervisor, what: str, arg: Any) -> None:
        if what in ("crash", "end", "shutdown"):
            await self.exit(what, [name for name in arg if name in self.model.running()])
        elif what == "wait":
            self.model.pass_time(arg)
            await self.rig.clock.sleep(arg)
        elif what == "spoil":
            self.spoil(*arg)
        elif what == "start":
            await self.start(running, sensible(arg))
        else:
            call: Callable[[str], Awaitable[Any]] = getattr(running, f"{what}_child")
            answer = getattr(self.model, f"{what}_child")(arg)
            await self.same(answer, call(arg))

    def spoil(self, name: str, times: int) -> None:
        child = self.model.find(name)
        if child is not None:
            child.bad_starts = times
            self.rig.habits[name].starts = ["fail"] * times

    async def exit(self, how: str, names: list[str]) -> None:
        self.model.exit(names, how)
        for name in names:
            self.rig.orders[name].set_result(how)

    async def start(self, running: RunningSupervisor, child: ModelChild) -> None:
        known = self.model.find(child.name)
        habits = self.rig.habits.get(child.name)
        spec = self.real(child)
        if known is not None and habits is not None:
            self.rig.habits[child.name] = habits
        answer = self.model.start_child(child)
        await self.same(answer, running.start_child(spec))

    async def same(self, answer: str, call: Awaitable[Any]) -> None:
        try:
            result = await call
        except NoProc:
            assert self.model.ended
        except EverstepError as error:
            assert type(error).__name__ == answer  # noqa: PT017
        else:
            assert answer == ("ok" if result is None else result.status)
