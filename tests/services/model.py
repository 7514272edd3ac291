"""What a supervisor does, written once more: plainly, on the run, without phases or messages.

Children start and stop at once here, so each order is dealt with to its end before the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from everstep import Restart
from everstep.supervisor.services.spec import RestartType, Strategy


@dataclass
class ModelChild:
    name: str
    restart: RestartType
    significant: bool
    stuck: bool
    state: str = "undefined"
    held: bool = False
    bad_starts: int = 0
    failures: int = 0
    due: tuple[float, int] = (0.0, 0)


class GaveUp(Exception):
    """The supervisor has ended: by its limit, or by itself."""


@dataclass
class Model:
    """One supervisor; `log` is written as the rig's."""

    strategy: Strategy
    restart: Restart
    auto_shutdown: str
    children: list[ModelChild] = field(default_factory=list[ModelChild])
    log: list[str] = field(default_factory=list[str])
    now: float = 0.0
    restarts: list[float] = field(default_factory=list[float])
    ended: str = ""
    armed: int = 0

    # --- small things -----------------------------------------------------------------------

    def find(self, name: str) -> ModelChild | None:
        return next((child for child in self.children if child.name == name), None)

    def up(self, child: ModelChild) -> bool:
        """Start it; whether that went well."""
        if child.bad_starts:
            child.bad_starts -= 1
            self.log.append(f"!{child.name}")
            return False
        self.log.append(f"+{child.name}")
        child.state = "up"
        return True

    def down(self, child: ModelChild) -> None:
        """Stop it; a stuck one takes all of its second."""
        if child.state == "up":
            self.log.append(f"-{child.name}")
            self.now += 1.0 if child.stuck else 0.0
        child.state = "undefined"

    def forget_temporary(self) -> None:
        self.children = [
            child
            for child in self.children
            if child.restart != "temporary" or child.state != "undefined"
        ]

    def group(self, child: ModelChild) -> list[ModelChild]:
        if self.strategy == "one_for_one":
            return [child]
        if self.strategy == "one_for_all":
            return list(self.children)
        return self.children[self.children.index(child) :]

    def states(self) -> dict[str, str]:
        return {child.name: child.state for child in self.children}

    # --- what happens -----------------------------------------------------------------------

    def boot(self) -> bool:
        for child in self.children:
            if not self.up(child):
                self.end("failed to start")
                return False
        return True

    def exit(self, names: list[str], how: str) -> None:
        """These children end in one tick, in this order."""
        dead = [self.children_named(name) for name in names]
        for child in dead:
            child.state = "dead"
        for child in dead:
            if child.state == "dead" and not self.ended:
                self.exited(child, how)

    def children_named(self, name: str) -> ModelChild:
        child = self.find(name)
        assert child is not None
        return child

    def exited(self, child: ModelChild, how: str) -> None:
        again = child.restart == "permanent" or (child.restart == "transient" and how == "crash")
        child.state = "undefined"
        if again:
            self.failed(child)
            return
        child.failures = 0
        self.forget_temporary()
        others = [
            other for other in self.children if other.significant and other.state != "undefined"
        ]
        if child.significant and (
            self.auto_shutdown == "any" or (self.auto_shutdown == "all" and not others)
        ):
            self.end("auto_shutdown")

    def failed(self, child: ModelChild) -> None:
        """Count, then restart it now, or when its backoff is over."""
        while True:
            self.restarts = [at for at in self.restarts if self.now - at <= self.restart.within]
            self.restarts.append(self.now)
            child.failures += 1
            most = self.restart.max_failures
            if len(self.restarts) > self.restart.max_restarts or (
                most is not None and child.failures > most
            ):
                child.state = "undefined"
                self.end("gave up")
                return
            child.state = "restarting"
            self.stop_group(child)
            if self.restart.backoff is not None:
                self.armed += 1
                child.due = self.now + self.restart.backoff(child.failures), self.armed
                return
            unlucky = self.start_group(child)
            if unlucky is None:
                return
            child = unlucky

    def stop_group(self, child: ModelChild) -> None:
        for one in reversed(self.group(child)):
            if one.state in ("up", "dead"):
                self.down(one)
        self.forget_temporary()

    def start_group(self, child: ModelChild) -> ModelChild | None:
        """Start it and those with it; the one that did not start."""
        for one in self.group(child):
            if one.held or one.state == "up":
                continue
            if not self.up(one):
                one.state = "restarting"
                return one
        return None

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and with it the backoffs, the earliest first."""
        until = self.now + seconds
        while not self.ended:
            waiting = [child for child in self.children if child.state == "restarting"]
            child = min(waiting, key=lambda one: one.due, default=None)
            if child is None or child.due[0] > until:
                break
            self.now = max(self.now, child.due[0])
            self.stop_group(child)
            unlucky = self.start_group(child)
            if unlucky is not None:
                self.failed(unlucky)
        self.now = max(self.now, until)

    def end(self, why: str) -> None:
        for child in reversed(self.children):
            self.down(child)
        self.ended = why

    # --- what calls answer ------------------------------------------------------------------

    def start_child(self, child: ModelChild) -> str:
        if child.significant and self.auto_shutdown == "never":
            return "BadCombination"
        present = self.find(child.name)
        if present is not None:
            return "AlreadyStarted" if present.state == "up" else "AlreadyPresent"
        if not self.up(child):
            return "FailedToStartChild"
        self.children.append(child)
        return "up"

    def terminate_child(self, name: str) -> str:
        child = self.find(name)
        if child is None:
            return "NotFound"
        child.held = True
        self.down(child)
        self.forget_temporary()
        return "ok"

    def restart_child(self, name: str) -> str:
        child = self.find(name)
        if child is None:
            return "NotFound"
        if child.state != "undefined":
            return "Restarting" if child.state == "restarting" else "Running"
        child.held = False
        return "up" if self.up(child) else "FailedToStartChild"

    def delete_child(self, name: str) -> str:
        child = self.find(name)
        if child is None:
            return "NotFound"
        if child.state != "undefined":
            return "Restarting" if child.state == "restarting" else "Running"
        self.children.remove(child)
        return "ok"

    def running(self) -> Iterator[str]:
        return (child.name for child in self.children if child.state == "up")
