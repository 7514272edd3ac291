"""Lives one after the other on one store, and what must be true of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..storage.record import record
from .trail import Entry
from .zygote import Outcome

__all__ = ["History", "violations"]


@record
class History:
    """What became of a scenario that was lived once or more, on one store."""

    outcomes: tuple[Outcome, ...]
    """One for each life."""
    deaths: tuple[int, ...]
    """The boundaries at which the lives were to end; the life after the last one was left alone."""
    trail: tuple[Entry, ...]

    @property
    def outcome(self) -> Outcome:
        """How the last life went."""
        return self.outcomes[-1]

    @property
    def result(self) -> Any:
        """What the scenario returned in its last life. Raises AssertionError if it did not."""
        assert self.outcome.how == "ended", str(self)
        return self.outcome.result

    @property
    def passed(self) -> int:
        """How many boundaries the last life passed."""
        last = len(self.outcomes)
        return sum(entry.kind == "boundary" and entry.life == last for entry in self.trail)

    def facts(self, name: str, /, **facts: Any) -> list[Entry]:
        """What was noted under this name and with these facts, in order."""
        return [entry for entry in self.trail if entry.says(name, facts)]

    def executions(self) -> Counter[str]:
        """How often each step noted `executed`, over all lives."""
        return Counter(str(entry.facts["step"]) for entry in self.facts("executed"))

    def __str__(self) -> str:
        lives = (f"life {n}: {outcome}" for n, outcome in enumerate(self.outcomes, 1))
        return "\n".join([f"deaths at {self.deaths}", *lives, *map(str, self.trail)])


def violations(history: History, *, max_attempts: int = 3) -> list[str]:
    """What a death must never cause, and did. Empty when all is well.

    Code under test notes `executed` at the beginning of each step, and `effect` with its
    `operation` where a side effect happens. Steps called by steps are not counted against
    `max_attempts`: each attempt of the step above may have them fail anew.
    """
    return [*_repeated(history.trail), *_too_often(history.trail, max_attempts)]


def _repeated(trail: tuple[Entry, ...]) -> Iterator[str]:
    """No step with a checkpoint is executed again, and no effect with a receipt."""
    done: set[tuple[Any, Any]] = set()
    known: set[Any] = set()
    for entry in trail:
        facts = entry.facts
        if entry.kind == "durable":
            if entry.name == "step_completed":
                done.add((facts["task"], facts["step"]))
            if entry.name == "effect_receipt":
                known.add(facts["data"]["operation"])
            if entry.name == "receipt":
                known.add(facts["operation"])
        elif entry.kind == "fact":
            if entry.name == "executed" and (facts["task"], facts["step"]) in done:
                yield f"{facts['step']} was executed although it had its checkpoint: {entry}"
            if entry.name == "effect" and facts.get("operation") in known:
                yield f"an effect happened again although it had its receipt: {entry}"


def _too_often(trail: tuple[Entry, ...], max_attempts: int) -> Iterator[str]:
    """No step is executed more than `max_attempts` times between two crashes of its task.

    What was cut in order, or cancelled by its caller, does not count.
    """
    since: Counter[tuple[Any, Any]] = Counter()
    for entry in trail:
        facts = entry.facts
        if entry.kind == "durable" and entry.name in ("step_cut", "step_cancelled"):
            since[facts["task"], facts["step"]] -= 1
        elif entry.kind == "durable" and entry.name in ("task_crashed", "task_resumed"):
            for step in [step for step in since if step[0] == facts["task"]]:
                del since[step]
        elif entry.kind == "fact" and entry.name == "executed" and "/" not in facts["step"]:
            since[facts["task"], facts["step"]] += 1
            if since[facts["task"], facts["step"]] > max_attempts:
                yield f"{facts['step']} was executed more than {max_attempts} times: {entry}"
