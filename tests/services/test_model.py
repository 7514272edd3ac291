"""Random trees under random orders, held against a plain model of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everstep import (
    Child,
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
from .model import ChildModelSpec, Model, ModelChild, ModelSpec, ModelWorld, pass_time, settle

LEAVES = "abcdefgh"
SUPERVISORS = "ST"


def growing(n: int) -> float:
    return 0.75 * n


leaves = st.builds(
    ChildModelSpec,
    name=st.sampled_from(LEAVES),
    restart=st.sampled_from(["permanent", "permanent", "transient", "temporary"]),
    significant=st.booleans(),
)
stuck_leaves = st.builds(
    ChildModelSpec,
    name=st.sampled_from(LEAVES),
    restart=st.sampled_from(["permanent", "permanent", "transient", "temporary"]),
    significant=st.booleans(),
    stuck=st.sampled_from([False, False, False, True]),
)
limits = st.builds(
    Restart,
    max_restarts=st.integers(0, 6),
    within=st.sampled_from([0.5, 2, 5, 1000]),
    backoff=st.sampled_from([None, None, growing]),
    max_failures=st.sampled_from([None, None, 2]),
)


def supervisors(children: st.SearchStrategy[ChildModelSpec]) -> st.SearchStrategy[ModelSpec]:
    return st.builds(
        ModelSpec,
        strategy=st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"]),
        restart=limits,
        auto_shutdown=st.sampled_from(["never", "any", "all"]),
        children=st.lists(children, max_size=5),
    )


inner = st.builds(
    ChildModelSpec,
    name=st.sampled_from(SUPERVISORS),
    restart=st.sampled_from(["permanent", "permanent", "transient", "temporary"]),
    significant=st.booleans(),
    tree=supervisors(leaves),
)


def orders(
    children: st.SearchStrategy[ChildModelSpec], bad: list[str]
) -> st.SearchStrategy[list[Any]]:
    """Each with the place of the supervisor that it is for, among those that run.

    Children are given by their places too; beyond the last one is a child that is not there.
    """
    places = st.integers(0, 4)
    one = st.one_of(
        st.tuples(
            st.sampled_from(["crash", "crash", "end", "shutdown"]),
            st.tuples(
                st.lists(places, min_size=1, max_size=3, unique=True),
                st.lists(st.sampled_from(bad), max_size=2),
            ),
        ),
        st.tuples(st.just("terminate"), places),
        st.tuples(st.just("restart"), places),
        st.tuples(st.just("delete"), places),
        st.tuples(st.just("start"), children),
        st.tuples(st.just("stop"), st.none()),
        st.tuples(st.just("wait"), st.sampled_from([0.25, 1.0, 3.0, 7.0])),
        st.tuples(st.just("spoil"), st.tuples(places, st.lists(st.sampled_from(bad), max_size=3))),
    )
    return st.lists(st.tuples(st.integers(0, 5), one), min_size=6, max_size=30)


def tidy(spec: ModelSpec, taken: set[str]) -> ModelSpec:
    """Give each name once in the whole tree, and significance only where it can be."""
    kept: list[ChildModelSpec] = []
    for child in spec.children:
        if child.name in taken:
            continue
        taken.add(child.name)
        child.significant &= child.restart != "permanent" and spec.auto_shutdown != "never"
        if child.tree is not None:
            tidy(child.tree, taken)
        kept.append(child)
    spec.children = kept
    return spec


def play(spec: ModelSpec, todo: list[Any]) -> None:
    clock = ManualClock()
    with asyncio.Runner(loop_factory=lambda: IdleLoop(clock)) as runner:
        runner.run(Comparison(Rig(clock), tidy(spec, set())).run(todo))


@given(spec=supervisors(stuck_leaves), todo=orders(stuck_leaves, ["fail", "hang"]))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_supervisor_does_what_the_model_does(spec: ModelSpec, todo: list[Any]) -> None:
    play(spec, todo)


@given(spec=supervisors(st.one_of(leaves, inner)), todo=orders(leaves, ["fail"]))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_tree_does_what_the_model_does(spec: ModelSpec, todo: list[Any]) -> None:
    play(spec, todo)


def name_at(model: Model, place: int) -> str:
    return model.children[place].name if place < len(model.children) else "nobody"


def can_end(child: ModelChild) -> bool:
    return child.state == "up" and child.model is None


class Comparison:
    """Runs the real tree beside the model."""

    def __init__(self, rig: Rig, spec: ModelSpec) -> None:
        self.rig = rig
        self.world = ModelWorld()
        self.model = Model(spec, self.world)

    async def run(self, todo: list[Any]) -> None:
        tree = self.real_supervisor("root", self.model.spec)
        booted = self.model.boot()
        try:
            async with self.rig.run(tree) as running:
                assert booted
                await self.compare(running)
                for place, order in todo:
                    await self.give(running, place, *order)
                    await self.compare(running)
                    if self.model.ended:
                        break
        except (RestartLimitExceeded, FailedToStartChild) as error:
            self.catch_up()
            gave_up = isinstance(error, RestartLimitExceeded)
            assert self.model.ended == ("gave up" if gave_up else "failed to start")
        else:
            assert self.model.ended != "gave up"
        if not self.model.ended:
            self.model.end("stopped")
        assert self.rig.log == self.world.log

    def real(self, spec: ChildModelSpec) -> Child | Supervisor:
        if spec.tree is not None:
            return self.real_supervisor(
                spec.name, spec.tree, restart_type=spec.restart, significant=spec.significant
            )
        return self.rig.child(
            spec.name,
            Habit(stuck=spec.stuck),
            restart=spec.restart,
            significant=spec.significant,
            shutdown=1,
            start_timeout=1,
        )

    def real_supervisor(self, name: str, spec: ModelSpec, **as_child: Any) -> Supervisor:
        return Supervisor(
            name,
            strategy=spec.strategy,
            restart=spec.restart,
            auto_shutdown=spec.auto_shutdown,
            children=[self.real(child) for child in spec.children],
            **as_child,
        )

    def catch_up(self) -> None:
        """Let the model deal with what has come up, and with what fell due meanwhile."""
        settle(self.model)
        pass_time(self.model, 0.0)

    async def compare(self, running: RunningSupervisor) -> None:
        self.catch_up()
        behind = self.world.now - self.rig.clock.monotonic()
        await self.rig.clock.sleep(max(0.0, behind) + 1e-9)
        self.world.now = self.rig.clock.monotonic()
        if not self.model.ended:
            assert self.rig.log == self.world.log
            self.same_states(running, self.model)

    def same_states(self, running: RunningSupervisor, model: Model) -> None:
        assert states(running) == {child.name: child.state for child in model.children}
        active = sum(child.state == "up" for child in model.children)
        assert running.count()[:2] == (len(model.children), active)
        for child in model.children:
            if child.model is not None:
                self.same_states(running.supervisor(child.name), child.model)

    # --- orders ---------------------------------------------------------------------------

    async def give(self, running: RunningSupervisor, place: int, what: str, arg: Any) -> None:
        models = list(self.model.below())
        model = models[place % len(models)]
        handle = running if model is self.model else self.handle_of(running, model)
        match what:
            case "wait":
                pass_time(self.model, arg)
                await self.rig.clock.sleep(arg)
            case "spoil":
                self.spoil(name_at(model, arg[0]), arg[1])
            case "start":
                await self.start(handle, model, arg)
            case "stop":
                if model is not self.model:
                    model.end("stopped", tells="normal")
                    await handle.stop()
            case "terminate" | "restart" | "delete":
                call: Callable[[str], Awaitable[Any]] = getattr(handle, f"{what}_child")
                name = name_at(model, arg)
                await self.same(getattr(model, f"{what}_child")(name), call(name))
            case _:
                up = [child.name for child in model.children if can_end(child)]
                places: list[int] = arg[0]
                names = [up[at] for at in places if at < len(up)]
                self.spoil(names[0] if names else "nobody", arg[1])
                self.exit(model, what, names)

    def handle_of(self, running: RunningSupervisor, model: Model) -> RunningSupervisor:
        name = next(child.name for child in self.model.children if child.model is model)
        return running.supervisor(name)

    def exit(self, model: Model, how: str, names: list[str]) -> None:
        model.exit(names, how)
        for name in names:
            self.rig.orders[name].set_result(how)

    def spoil(self, name: str, starts: list[Any]) -> None:
        if name in self.rig.habits:
            self.world.spoiled[name] = list(starts)
            self.rig.habits[name].starts = list(starts)

    async def start(self, handle: RunningSupervisor, model: Model, spec: ChildModelSpec) -> None:
        if spec.name in self.names_but_of(model):
            return
        spec.significant &= spec.restart != "permanent"
        known = self.rig.habits.get(spec.name)
        real = self.real(spec)
        if known is not None:
            self.rig.habits[spec.name].starts = known.starts
            if model.find(spec.name) is not None:
                self.rig.habits[spec.name] = known
        await self.same(model.start_child(spec), handle.start_child(real))

    def names_but_of(self, model: Model) -> set[str]:
        """All names in the tree that `model` must not take, those of its own children apart."""
        names: set[str] = set()
        specs = [self.model.spec]
        while specs:
            for child in specs.pop().children:
                names.add(child.name)
                specs += [child.tree] if child.tree is not None else []
        for other in self.model.below():
            names |= {child.name for child in other.children}
        return names - {child.name for child in model.children}

    async def same(self, answer: str, call: Awaitable[Any]) -> None:
        try:
            result = await call
        except NoProc:
            assert self.model.ended
        except EverstepError as error:
            assert type(error).__name__ == answer  # noqa: PT017
        else:
            assert answer == ("ok" if result is None else result.status)
