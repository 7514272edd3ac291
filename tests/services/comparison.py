"""Runs a real tree beside the model, and holds one against the other after every order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from everstep import (
    Child,
    DynamicSupervisor,
    EverstepError,
    FailedToStartChild,
    NoProc,
    Ref,
    Restart,
    RestartLimitExceeded,
    RunningSupervisor,
    Supervisor,
)
from everstep.testing import IdleLoop, ManualClock

from .kit import Habit, Rig
from .model import ChildModelSpec, Model, ModelChild, ModelSpec, ModelWorld, pass_time, settle

__all__ = ["play"]


def play(spec: ModelSpec, todo: list[Any]) -> None:
    """Start the tree and give it the orders. Raises AssertionError where it differs."""
    clock = ManualClock()
    with asyncio.Runner(loop_factory=lambda: IdleLoop(clock)) as runner:
        runner.run(Comparison(Rig(clock), tidy(spec, set())).run(todo))


def tidy(spec: ModelSpec, taken: set[str]) -> ModelSpec:
    """Give each name once in the whole tree, and significance only where it can be."""
    kept: list[ChildModelSpec] = []
    spec.auto_shutdown = "never" if spec.dynamic else spec.auto_shutdown
    spec.strategy = "one_for_one" if spec.dynamic else spec.strategy
    for child in [] if spec.dynamic else spec.children:
        if child.name in taken:
            continue
        taken.add(child.name)
        child.significant &= child.restart != "permanent" and spec.auto_shutdown != "never"
        if child.tree is not None:
            tidy(child.tree, taken)
        kept.append(child)
    spec.children = kept
    return spec


def name_at(model: Model, place: int) -> str:
    return model.children[place].name if place < len(model.children) else "nobody"


def can_end(child: ModelChild) -> bool:
    return child.state == "up" and child.model is None


class Comparison:
    """Runs the real tree beside the model."""

    def __init__(self, rig: Rig, spec: ModelSpec) -> None:
        self.rig = rig
        self.world = ModelWorld()
        self.spec = spec
        self.model = Model(spec, self.world)
        self.refs: dict[str, Ref] = {}

    async def run(self, todo: list[Any]) -> None:
        tree = self.real_supervisor("root", self.spec)
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

    def real(self, spec: ChildModelSpec) -> Child | Supervisor | DynamicSupervisor:
        if spec.tree is not None:
            return self.real_supervisor(
                spec.name,
                spec.tree,
                restart_type=spec.restart,
                significant=spec.significant,
                shutdown=spec.shutdown,
            )
        return self.rig.child(
            spec.name,
            Habit(stuck=spec.stuck, cleanup=spec.cleanup),
            restart=spec.restart,
            significant=spec.significant,
            shutdown=spec.shutdown,
            start_timeout=1,
        )

    def real_supervisor(
        self, name: str, spec: ModelSpec, **as_child: Any
    ) -> Supervisor | DynamicSupervisor:
        if spec.dynamic:
            return DynamicSupervisor(
                name, restart=spec.restart, max_children=spec.max_children, **as_child
            )
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
        real = [(info.id.partition("#")[0], info.status) for info in running.children()]
        assert real[::-1] == [(child.name, child.state) for child in model.children]
        active = sum(child.state == "up" for child in model.children)
        assert running.count()[:2] == (len(model.children), active)
        for child in model.children:
            if child.model is not None:
                self.same_states(running.supervisor(child.name), child.model)
            elif not model.dynamic:
                assert running.child(child.name).failures == child.failures

    # --- orders ---------------------------------------------------------------------------

    async def give(self, running: RunningSupervisor, place: int, what: str, arg: Any) -> None:
        models = list(self.model.below())
        model = models[place % len(models)]
        handle = self.handle_of(running, model)
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
                call: Callable[[str | Ref], Awaitable[Any]] = getattr(handle, f"{what}_child")
                name = name_at(model, arg)
                if not model.dynamic:
                    await self.same(getattr(model, f"{what}_child")(name), call(name))
                elif what == "terminate" and name in self.refs:
                    await self.same(model.terminate_child(name), call(self.refs[name]))
                else:
                    await self.same("SimpleOneForOne", call(name))
            case "reconfigure":
                await self.reconfigure(handle, model, *arg)
            case _:
                up = [child for child in model.children if can_end(child)]
                wanted: list[tuple[int, str]] = arg[0]
                ends = [(up[at], how) for at, how in wanted if at < len(up)]
                self.spoil(ends[0][0].name if ends else "nobody", arg[1])
                self.end(model, ends)

    def handle_of(self, running: RunningSupervisor, model: Model) -> RunningSupervisor:
        if model.above is None:
            return running
        name = next(child.name for child in model.above.children if child.model is model)
        return self.handle_of(running, model.above).supervisor(name)

    def end(self, model: Model, ends: list[tuple[ModelChild, str]]) -> None:
        """These children end in one turn of the loop, in this order."""
        for child, how in ends:
            model.child_ended(child, how)
            self.rig.orders[child.name].set_result(how)

    def spoil(self, name: str, starts: list[Any]) -> None:
        if name in self.rig.habits:
            self.world.spoiled[name] = list(starts)
            self.rig.habits[name].starts = list(starts)

    async def start(self, handle: RunningSupervisor, model: Model, spec: ChildModelSpec) -> None:
        if spec.name in self.names_but_of(model) or (model.dynamic and model.find(spec.name)):
            return
        spec.significant &= spec.restart != "permanent"
        known = self.rig.habits.get(spec.name)
        real = self.real(spec)
        if known is not None:
            self.rig.habits[spec.name].starts = known.starts
            if model.find(spec.name) is not None:
                self.rig.habits[spec.name] = known
        info = await self.same(model.start_child(spec), handle.start_child(real))
        if info is not None:
            self.refs[spec.name] = info.ref

    async def reconfigure(
        self,
        handle: RunningSupervisor,
        model: Model,
        restart: Restart,
        mode: tuple[Any, Any],
        order: list[int],
        new: ChildModelSpec,
    ) -> None:
        """Change everything at once: limits, strategy, mode, and the order of the children."""
        model.restart = restart
        if model.dynamic:
            model.max_children = len(order)
            await handle.reconfigure(restart=restart, max_children=model.max_children)
            return
        model.strategy, model.auto_shutdown = mode
        known = [model.children[at] for at in order if at < len(model.children)]
        specs = [child.spec for child in known]
        listed = [handle.spec(child.name) for child in known]
        if new.name not in self.names_but_of(model) and model.find(new.name) is None:
            new.significant = False
            new.restart = "transient" if new.restart == "temporary" else new.restart
            starts = self.rig.habits.get(new.name, Habit()).starts
            specs.insert(0, new)
            listed.insert(0, self.real(new))
            self.rig.habits[new.name].starts = starts
        model.reconfigure(specs)
        strategy, auto_shutdown = mode
        await handle.reconfigure(
            restart=restart, strategy=strategy, auto_shutdown=auto_shutdown, children=listed
        )

    def names_but_of(self, model: Model) -> set[str]:
        """All names in the tree that `model` must not take, those of its own children apart."""
        names: set[str] = set()
        specs = [self.spec]
        while specs:
            for child in specs.pop().children:
                names.add(child.name)
                specs += [child.tree] if child.tree is not None else []
        for other in self.model.below():
            names |= {child.name for child in other.children}
        return names - {child.name for child in model.children}

    async def same(self, answer: str, call: Awaitable[Any]) -> Any:
        try:
            result = await call
        except NoProc:
            assert self.model.ended
        except EverstepError as error:
            assert type(error).__name__ == answer  # noqa: PT017
        else:
            assert answer == ("ok" if result is None else result.status)
            return result
        return None
