"""What a supervisor does, written once more: plainly, on the run, without phases or messages.

Children start and stop at once here, so each order is dealt with to its end before the next.
"""

from __future__ import annotations

from collections import deque
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
    due: tuple[float, int] | None = None
    """When its backoff is over, and how many were armed before."""
    number: int = 0
    """Counts its starts, so that what is left over of an earlier one is dropped."""


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
    queue: deque[tuple[str, ModelChild, int]] = field(
        default_factory=deque[tuple[str, ModelChild, int]]
    )
    """What is to be dealt with: exits, then backoffs that are over and restarts that failed."""

    # --- small things -----------------------------------------------------------------------

    def find(self, name: str) -> ModelChild | None:
        return next((child for child in self.children if child.name == name), None)

    def up(self, child: ModelChild) -> bool:
        """Start it; whether that went well."""
        child.number += 1
        child.due = None
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
        for name in names:
            child = self.children_named(name)
            child.state = "dead"
            self.queue.append((how, child, child.number))
        self.work_off()

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
        due = [child for child in self.children if child.due and child.due[0] <= self.now]
        for child in sorted(due, key=lambda one: one.due or (0.0, 0)):
            child.due = None
            self.queue.append(("due", child, child.number))

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
        if self.restart.backoff is None:
            self.attempt(child)
            return
        self.stop_group(child)
        self.armed += 1
        child.due = self.now + self.restart.backoff(child.failures), self.armed

    def attempt(self, child: ModelChild) -> None:
        """Restart it and its group; one that does not start is tried again, behind what waits."""
        self.stop_group(child)
        unlucky = self.start_group(child)
        if unlucky is not None:
            self.collect_due()
            self.queue.append(("again", unlucky, unlucky.number))

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
        self.work_off()
        while not self.ended:
            due = min((child.due[0] for child in self.children if child.due), default=until + 1)
            if due > until:
                break
            self.now = max(self.now, due)
            self.work_off()
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
        child.due = None
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
