"""Random histories of writes leave in the store what they leave in a dictionary."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everstep.storage import (
    ENDED,
    Commit,
    EffectRow,
    EffectState,
    MemoryStore,
    Outcome,
    Progress,
    Receipt,
    SqliteStore,
    Status,
    StepReset,
    StepRow,
    Store,
)
from everstep.testing import ManualClock
from tests.storage.kit import Life, begun_row, effect_row, event_row, names, settle, step_row

Verb = tuple[str, int, int, int]
"""What is done, to which task, going out from how many writes ago, and which step or effect."""

VERBS = [
    "start",
    "event",
    "begin",
    "complete",
    "fail",
    "reset",
    "crash",
    "end",
    "resume",
    "claim",
    "intend",
    "settle",
    "receipt",
]

histories = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(VERBS),
            st.integers(0, 2),
            st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2]),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=8,
    ),
    max_size=12,
)


@dataclass
class Kept:
    """What a task has in the dictionary."""

    life: Life
    past: list[Progress] = field(default_factory=list[Progress])
    steps: dict[str, StepRow] = field(default_factory=dict[str, StepRow])
    effects: dict[str, EffectRow] = field(default_factory=dict[str, EffectRow])
    events: int = 0

    @property
    def now(self) -> Progress:
        return self.past[-1]


class Model:
    """A store that is a dictionary: it decides what each write is to be answered."""

    def __init__(self, store: Store) -> None:
        self.epoch = store.epoch
        self.kept = [Kept(Life(store, id=f"task-{number}")) for number in range(3)]

    def write(self, verb: Verb) -> tuple[Commit | Receipt, str]:
        """The write of a verb, and the name of its refusal, if any; applied if there is none."""
        what, number, ago, which = verb
        kept = self.kept[number]
        if what == "start" or not kept.past:
            return self._start(kept)
        if what == "receipt":
            return self._receipt(kept, which)
        before = kept.past[max(len(kept.past) - 1 - ago, 0)]
        commit = self._commit(kept, what, before, which)
        refusal = self._refusal(kept, commit)
        if not refusal:
            self._apply(kept, commit)
        return commit, refusal

    def _start(self, kept: Kept) -> tuple[Commit, str]:
        life = Life(kept.life.store, id=kept.life.id)
        commit = life.run()
        if kept.past:
            return commit, "Superseded"
        kept.life = life
        kept.past.append(commit.after)
        return commit, ""

    def _receipt(self, kept: Kept, which: int) -> tuple[Receipt, str]:
        key = kept.life.key
        operation = f"op-{key}-{which}"
        row = effect_row(key, operation, state=EffectState.RECEIPT, value=b"late", epoch=self.epoch)
        there = kept.effects.get(operation)
        if there is None or there.state is not EffectState.INTENT:
            return Receipt(kept.life.id, row), "Superseded"
        kept.effects[operation] = there._replace(state=EffectState.RECEIPT, value=b"late")
        return Receipt(kept.life.id, row), ""

    def _commit(self, kept: Kept, what: str, before: Progress, which: int) -> Commit:
        key, identity = kept.life.key, f"0/{which}"
        there = kept.steps.get(identity)
        serial = (there.serial if there else 0) + (what == "begin")
        event = before.event_seq + 1
        changes: dict[str, Any] = {"event_seq": event}
        rows: dict[str, Any] = {"events": (event_row(key, event, kind=what),)}
        if what == "begin":
            rows["steps"] = (begun_row(key, identity, serial=serial),)
        elif what in ("complete", "fail"):
            outcome = Outcome.COMPLETED if what == "complete" else Outcome.FAILED
            changes["seq"] = before.seq + 1
            row = step_row(key, identity, serial=serial, seq=before.seq + 1, outcome=outcome)
            rows["steps"] = (row,)
        elif what == "reset":
            rows["resets"] = (StepReset(key, identity, 3),)
        elif what in ("intend", "settle"):
            state = EffectState.INTENT if what == "intend" else EffectState.NOT_DONE
            rows["effects"] = (effect_row(key, f"op-{key}-{which}", state=state, epoch=self.epoch),)
        else:
            changes |= self._progress(what, before)
        after = before._replace(**changes)
        return Commit(key, kept.life.id, before, after, **rows)

    def _progress(self, what: str, before: Progress) -> dict[str, Any]:
        changes: dict[str, dict[str, Any]] = {
            "event": {},
            "crash": {"status": Status.QUEUED, "epoch": None, "crashes": before.crashes + 1},
            "end": {
                "status": Status.SUCCEEDED,
                "epoch": None,
                "generation": before.generation + 1,
                "output": b"1",
            },
            "resume": {"status": Status.QUEUED, "generation": before.generation + 1},
            "claim": {
                "status": Status.RUNNING,
                "epoch": self.epoch,
                "incarnation": before.incarnation + 1,
            },
        }
        return changes[what]

    def _refusal(self, kept: Kept, commit: Commit) -> str:
        now, before = kept.now, commit.before
        assert before is not None
        if now.incarnation > before.incarnation:
            return "StaleIncarnation"
        fences = ("epoch", "incarnation", "generation", "status", "seq", "event_seq")
        if any(getattr(now, name) != getattr(before, name) for name in fences):
            return "Superseded"
        for step in commit.steps:
            there = kept.steps.get(step.identity)
            if there is not None and there.outcome is not None:
                return "Superseded"
            if there is not None and there.serial > step.serial:
                return "StaleAttempt"
        for effect in commit.effects:
            known = kept.effects.get(effect.operation)
            if known is not None and known.state is EffectState.RECEIPT:
                return "Superseded"
        return ""

    def _apply(self, kept: Kept, commit: Commit) -> None:
        kept.past.append(commit.after)
        kept.events += len(commit.events)
        for reset in commit.resets:
            there = kept.steps.get(reset.identity)
            if there is not None and there.outcome is not Outcome.COMPLETED:
                kept.steps[reset.identity] = forgotten(there, reset.deaths_seen)
        kept.steps |= {step.identity: step for step in commit.steps}
        kept.effects |= {effect.operation: effect for effect in commit.effects}


def forgotten(row: StepRow, deaths_seen: int) -> StepRow:
    """A step whose failure has been forgotten."""
    return row._replace(
        outcome=None,
        seq=None,
        error=None,
        output=None,
        changes=None,
        appends=None,
        due_at=None,
        due_boot=None,
        due_delay=None,
        attempts=0,
        open=0,
        deaths_seen=deaths_seen,
    )


async def compare(store: Store, history: list[list[Verb]]) -> None:
    """Play a history to a store and to the model; see that they agree on every answer and row."""
    await store.open()
    try:
        model = Model(store)
        for batch in history:
            writes, expected = zip(*[model.write(verb) for verb in batch], strict=True)
            assert names(await settle(store, *writes)) == list(expected)
        for kept in filter(lambda kept: kept.past, model.kept):
            await compare_task(store, kept)
    finally:
        await store.close()


async def compare_task(store: Store, kept: Kept) -> None:
    row = await store.task(kept.life.id)
    assert row is not None
    assert row.progress == kept.now
    assert (row.progress.epoch is None) or row.progress.status not in ENDED
    steps = {step.identity: step for _, step in await store.steps(row.key)}
    assert steps == kept.steps
    assert {effect.operation: effect for effect in await store.effects(row.key)} == kept.effects
    events = await store.events(row.key, limit=10_000)
    assert [found.event.seq for found in events] == list(range(1, kept.events + 1))


@given(histories)
@settings(max_examples=100, deadline=None)
def test_a_history_in_memory_equals_the_model(history: list[list[Verb]]) -> None:
    store = MemoryStore(clock=ManualClock())

    asyncio.run(compare(store, history))

    store.discard()


@pytest.mark.slow
@given(histories)
@settings(max_examples=25, deadline=None)
def test_a_history_in_a_file_equals_the_model(history: list[list[Verb]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "tasks.db", clock=ManualClock(), durability="normal")

        asyncio.run(compare(store, history))
