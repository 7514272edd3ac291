"""One poisoned task in a crowd disturbs nobody."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest

from everstep import Actor, Pool, Restart, Retry, Runtime, Status, TaskFailed, none, step

CROWD = 10_000


class Healthy(Actor, name="survival.poisoned.Healthy"):
    """Counts how often its only step was executed, over all tasks."""

    executed: ClassVar[Counter[int]] = Counter()

    number: int

    @step
    async def work(self) -> int:
        self.executed[self.number] += 1
        return self.number


class Poisoned(Actor, name="survival.poisoned.Poisoned"):
    """Fails in each attempt."""

    executed: ClassVar[list[int]] = []

    @step(retry=Retry(max_attempts=3, backoff=none()))
    async def work(self) -> None:
        self.executed.append(len(self.executed))
        raise ValueError("poison")


@pytest.mark.slow
async def test_one_poisoned_task_among_ten_thousand_disturbs_none(tmp_path: Path) -> None:
    Healthy.executed = Counter()
    Poisoned.executed = []
    pool = Pool(max_running=200, restart=Restart(3))

    async with Runtime(tmp_path / "tasks.db", tree=pool) as runtime:
        before = [runtime.start(Healthy(number=n), id=str(n)) for n in range(CROWD // 2)]
        tasks = await asyncio.gather(*before)
        poisoned = await runtime.start(Poisoned(), id="poisoned")
        after = [runtime.start(Healthy(number=n), id=str(n)) for n in range(CROWD // 2, CROWD)]
        tasks += await asyncio.gather(*after)
        results = await asyncio.gather(*(task.result() for task in tasks))
        with pytest.raises(TaskFailed, match="poison"):
            await poisoned.result()
        crashed = [
            info.id
            for info in await runtime.tasks(status=Status.SUCCEEDED, limit=CROWD + 1)
            if info.crashes or info.deaths
        ]
        alone = await poisoned.status()
        running = runtime.tree.pool("tasks").info().running

    assert results == list(range(CROWD))
    assert set(Healthy.executed.values()) == {1}
    assert crashed == []
    assert (alone.crashes, len(Poisoned.executed)) == (4, 3 * (1 + 3))
    assert running == 0
