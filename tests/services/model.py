"""What supervisors do, written once more: plainly, on the run, without phases or messages.

Children start and stop within one call here, so an order is dealt with to its end before the next.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from everstep import Restart
from everstep.supervisor.services.spec import AutoShutdown, RestartType, Strategy

from .kit import Beginning

NEVER = float("inf")


@dataclass
class ModelSpec:
    """A supervisor as it is to be."""

    strategy: Strategy
    restart: Restart
    auto_shutdown: AutoShutdown
    children: list[ChildModelSpec]
    dynamic: bool = False
    max_children: int | None = None


@dataclass
class ChildModelSpec:
    """A child as it is to be: with `tree`, a supervisor."""

    name: str
    restart: RestartType
    significant: bool
    stuck: bool = False
    cleanup: float = 0.0
    shutdown: float | None = None
    """Seconds; 0 is brutal."""
    tree: ModelSpec | None = None


@dataclass
class ModelWorld:
    """What all supervisors of a tree share. `log` is written as the rig's."""

    now: float = 0.0
    armed: int = 0
    log: list[str] = field(default_factory=list[str])
    spoiled: dict[str, list[Beginning]] = field(
        default_factory=lambda: defaultdict(list[Beginning])
    )
    """What the next starts of a child are like."""

    def stop(self, leaves: list[ChildModelSpec], until: float) -> None:
        """Stop children side by side; at `until` those that are left are cut off."""
        began = self.now
        took: list[tuple[float, str]] = []
        for leaf in leaves:
            if leaf.shutdown == 0:
                continue
            self.log.append(f"-{leaf.name}")
            needs = NEVER if leaf.stuck else leaf.cleanup
            limit = min(NEVER if leaf.shutdown is None else leaf.shutdown, until - began)
            took.append((min(needs, limit), f".{leaf.name}" if 0 < needs <= limit else ""))
        took.sort(key=lambda one: one[0])
        self.log += [said for _, said in took if said]
        self.now = began + max([seconds for seconds, _ in took], default=0.0)


@dataclass
class ModelChild:
    spec: ChildModelSpec
    state: str = "undefined"
    held: bool = False
    failures: int = 0
    since: float = 0.0
    due: tuple[float, int] | None = None
    """When its backoff is over, and how many were armed before."""
    number: int = 0
    """Counts its starts, so that what is left over of an earlier one is dropped."""
    model: Model | None = None
    """A supervisor that is up."""

    @property
    def name(self) -> str:
        return self.spec.name


class Model:
    """One life of a supervisor."""

    def __init__(self, spec: ModelSpec, world: ModelWorld, above: Model | None = None) -> None:
        self.strategy = spec.strategy
        self.restart = spec.restart
        self.auto_shutdown = spec.auto_shutdown
        self.dynamic = spec.dynamic
        self.max_children = spec.max_children if spec.dynamic else None
        self.world = world
        self.above = above
        self.children = [ModelChild(child) for child in spec.children]
        self.known: set[str] = set()
        """Of a dynamic one: whom it ever had."""
        self.restarts: list[float] = []
        self.ended = ""
        self.queue: deque[tuple[str, ModelChild, int]] = deque()
        """What is to be dealt with: exits, backoffs that are over, restarts that failed."""

    # --- small things -----------------------------------------------------------------------

    def find(self, name: str) -> ModelChild | None:
        return next((child for child in self.children if child.name == name), None)

    def below(self) -> Iterator[Model]:
        """This supervisor and all that run below it."""
        yield self
        for child in self.children:
            if child.model is not None:
                yield from child.model.below()

    def up(self, child: ModelChild) -> str:
        """Start it: `up`, `failed`, or `undefined` where it asked to be left out."""
        child.number += 1
        child.due = None
        how: Beginning = "ok"
        if child.spec.tree is not None:
            child.model = Model(child.spec.tree, self.world, self)
            if not child.model.boot():
                child.model = None
                return "failed"
        elif self.world.spoiled[child.name]:
            how = self.world.spoiled[child.name].pop(0)
            self.world.now += 1.0 if how == "hang" else 0.0  # until its start is timed out
            if how != "hang" or child.spec.shutdown != 0:  # else it is cut off, and says nothing
                self.world.log.append(f"!{child.name}")
        else:
            self.world.log.append(f"+{child.name}")
        if how != "ok":
            return "undefined" if how == "ignore" else "failed"
        child.state = "up"
        child.since = self.world.now
        return "up"

    def down(self, child: ModelChild, until: float = NEVER) -> None:
        """Stop it in its time, at the latest until the supervisor itself is cut off."""
        if child.model is not None:
            budget = NEVER if child.spec.shutdown is None else child.spec.shutdown
            child.model.end("stopped", until=min(until, self.world.now + budget))
            child.model = None
        elif child.state == "up":
            self.world.stop([child.spec], until)
        child.state = "undefined"

    def forget(self) -> None:
        """Drop those that are down for good: temporary ones, and all of a dynamic supervisor."""
        self.children = [
            child
            for child in self.children
            if child.state != "undefined" or not (self.dynamic or child.spec.restart == "temporary")
        ]

    def group(self, child: ModelChild) -> list[ModelChild]:
        if self.strategy == "one_for_one":
            return [child]
        if self.strategy == "one_for_all":
            return list(self.children)
        return self.children[self.children.index(child) :]

    # --- what happens -----------------------------------------------------------------------

    def boot(self) -> bool:
        for child in self.children:
            if self.up(child) == "failed":
                self.end("failed to start")
                return False
        self.forget()
        return True

    def child_ended(self, child: ModelChild, how: str) -> None:
        child.state = "dead"
        child.model = None
        self.queue.append((how, child, child.number))

    def work_off(self) -> None:
        """Deal with everything in the order in which it came up."""
        self.collect_due()
        while self.queue and not self.ended:
            what, child, number = self.queue.popleft()
            stale = child.number != number or child not in self.children
            if what == "due" and child.state == "restarting" and not stale:
                self.attempt(child)
            elif what == "again" and child.state == "restarting" and not stale:
                self.failed(child)
            elif child.state == "dead" and not stale:
                self.exited(child, what)
            self.collect_due()

    def collect_due(self) -> None:
        """Queue the children whose backoff is over, the earliest first."""
        due = [child for child in self.children if child.due and child.due[0] <= self.world.now]
        for child in sorted(due, key=lambda one: one.due or (0.0, 0)):
            child.due = None
            self.queue.append(("due", child, child.number))

    def exited(self, child: ModelChild, how: str) -> None:
        restart = child.spec.restart
        child.state = "undefined"
        if restart == "permanent" or (restart == "transient" and how == "crash"):
            stable = self.world.now - child.since >= self.restart.reset_after
            child.failures = 0 if stable else child.failures
            self.failed(child)
            return
        child.failures = 0
        self.forget()
        others = any(
            other.spec.significant and other.state != "undefined" for other in self.children
        )
        mode = self.auto_shutdown
        if child.spec.significant and (mode == "any" or (mode == "all" and not others)):
            self.end("auto_shutdown", tells="shutdown")

    def failed(self, child: ModelChild) -> None:
        """Count, then restart it now, or when its backoff is over."""
        limit, now = self.restart, self.world.now
        self.restarts = [at for at in self.restarts if now - at <= limit.within]
        self.restarts.append(now)
        child.failures += 1
        in_a_row = limit.max_failures is not None and child.failures > limit.max_failures
        if len(self.restarts) > limit.max_restarts or in_a_row:
            child.state = "undefined"
            self.end("gave up", tells="crash")
            return
        child.state = "restarting"
        if limit.backoff is None:
            self.attempt(child)
            return
        self.stop_group(child)
        self.world.armed += 1
        child.due = self.world.now + limit.backoff(child.failures), self.world.armed

    def attempt(self, child: ModelChild) -> None:
        """Restart it and its group; one that does not start is tried again, behind what waits."""
        self.stop_group(child)
        unlucky = self.start_group(child)
        if unlucky is not None:
            self.collect_due()
            self.queue.append(("again", unlucky, unlucky.number))

    def stop_group(self, child: ModelChild) -> None:
        for one in reversed(self.group(child)):
            if one is not child and one.state != "undefined":
                self.down(one)
                one.due = None
        self.forget()

    def start_group(self, child: ModelChild) -> ModelChild | None:
        """Start it and those with it; the one that did not start."""
        for one in self.group(child):
            if one.held or one.state == "up":
                continue
            one.state = "undefined"
            if self.up(one) == "failed":
                one.state = "restarting"
                return one
        self.forget()
        return None

    def end(self, why: str, *, tells: str = "", until: float = NEVER) -> None:
        """Stop all; `tells` is how the supervisor above takes it, unless it has ordered it.

        At `until` it is cut off, with all that is left below.
        """
        last_first = self.children[::-1]
        if self.dynamic and self.world.now < until:
            self.world.stop([one.spec for one in last_first if one.state == "up"], until)
        for child in [] if self.dynamic else last_first:
            if self.world.now < until:
                self.down(child, until)
        self.ended = why
        if tells and self.above is not None:
            me = next(child for child in self.above.children if child.model is self)
            self.above.child_ended(me, tells)

    # --- what calls answer ------------------------------------------------------------------

    def start_child(self, spec: ChildModelSpec) -> str:
        if spec.significant and self.auto_shutdown == "never":
            return "BadCombination"
        if self.max_children is not None and len(self.children) >= self.max_children:
            return "MaxChildren"
        present = self.find(spec.name)
        if present is not None:
            return "AlreadyStarted" if present.state == "up" else "AlreadyPresent"
        child = ModelChild(spec)
        self.children.append(child)
        self.known.add(spec.name)
        how = self.up(child)
        if how == "failed":
            self.children.remove(child)
        self.forget()
        return "FailedToStartChild" if how == "failed" else how

    def terminate_child(self, name: str) -> str:
        child = self.find(name)
        if child is None:
            return "ok" if self.dynamic and name in self.known else "NotFound"
        child.held = True
        child.due = None
        self.down(child)
        self.forget()
        return "ok"

    def restart_child(self, name: str) -> str:
        child = self.find(name)
        if child is None:
            return "NotFound"
        if child.state != "undefined":
            return "Restarting" if child.state == "restarting" else "Running"
        child.held = False
        how = self.up(child)
        self.forget()
        return "FailedToStartChild" if how == "failed" else how

    def delete_child(self, name: str) -> str:
        child = self.find(name)
        if child is None:
            return "NotFound"
        if child.state != "undefined":
            return "Restarting" if child.state == "restarting" else "Running"
        self.children.remove(child)
        return "ok"

    def reconfigure(self, listed: list[ChildModelSpec]) -> None:
        """Put the listed children first, in that order; new ones are known and not started."""
        first = [self.find(spec.name) or ModelChild(spec) for spec in listed]
        self.children = first + [child for child in self.children if child not in first]


def settle(root: Model) -> None:
    """Deal with all that has come up anywhere."""
    while busy := [model for model in root.below() if model.queue and not model.ended]:
        busy[-1].work_off()


def pass_time(root: Model, seconds: float) -> None:
    """Let time pass, and with it the backoffs, the earliest first."""
    world = root.world
    until = world.now + seconds
    while not root.ended:
        dues = [
            (child.due, model) for model in root.below() for child in model.children if child.due
        ]
        due, model = min(dues, key=lambda one: one[0], default=((until + 1, 0), root))
        if due[0] > until:
            break
        world.now = max(world.now, due[0])
        model.collect_due()
        settle(root)
    world.now = max(world.now, until)
