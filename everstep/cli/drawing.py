"""What is known of a stopped store, as text for a person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ..storage.records import Status
from ..supervisor.services.drawing import Branch, draw, in_words, one_line
from ..supervisor.services.outline import Outline
from .overview import PoolContents, ScheduleLine, SomeTasks, StoppedStore, TaskLine

__all__ = ["drawn"]

_ABSENT = "pools that the tree lacks, whose tasks wait for a tree with a pool of that name:"
_TREELESS = "no tree is known: no runtime of this version of everstep has opened the store"


def drawn(file: str, store: StoppedStore) -> str:
    """The tree, and under each pool what the store holds for it."""
    return "\n".join([*_head(file, store), "", *_trees(store), *_schedules(store)])


def _head(file: str, store: StoppedStore) -> Iterator[str]:
    yield f"{one_line(file, 300)} (schema version {store.schema}), stopped"
    if store.owner is None:
        yield "no process has owned it yet"
        return
    owner = store.owner
    yield (
        f"last owned by process {owner.pid} on {one_line(owner.host)} "
        f"from {_at(owner.started_at)}, epoch {owner.epoch}"
    )
    if store.tree is not None and store.tree.epoch < owner.epoch:
        yield f"the tree is that of epoch {store.tree.epoch}; those after it have left none"


def _trees(store: StoppedStore) -> Iterator[str]:
    pools = {pool.name: pool for pool in store.pools}
    absent = tuple(_pool(pool) for pool in store.pools if not pool.in_tree)
    if store.tree is not None:
        yield draw(_branch(store.tree.outline, pools))
        if absent:
            yield ""
            yield draw(Branch(_ABSENT, below=absent))
    else:
        yield draw(Branch(_TREELESS, below=absent))


def _schedules(store: StoppedStore) -> Iterator[str]:
    if store.schedules:
        yield ""
        yield draw(Branch("schedules:", below=tuple(map(_schedule, store.schedules))))


def _schedule(schedule: ScheduleLine) -> Branch:
    due = "no next instant" if schedule.next_at is None else f"next at {_at(schedule.next_at)}"
    counts = f"{schedule.fired} fired, {schedule.skipped} skipped, {schedule.missed} missed"
    columns = (schedule.times, schedule.actor, "paused" if schedule.paused else due, counts)
    return Branch(one_line(schedule.name), tuple(map(one_line, columns)))


def _branch(outline: Outline, pools: dict[str, PoolContents]) -> Branch:
    """A child that does not run, as it was specified."""
    columns = (outline.kind, "not running", in_words(outline.settings))
    below = tuple(_branch(child, pools) for child in outline.children)
    notes = tuple(_notes(pools[outline.name])) if outline.kind == "pool" else ()
    return Branch(one_line(outline.name), columns, notes, below)


def _pool(pool: PoolContents) -> Branch:
    return Branch(one_line(pool.name), notes=tuple(_notes(pool)))


def _notes(pool: PoolContents) -> Iterator[str]:
    yield f"tasks: {', '.join(_counts(pool)) or 'none'}"
    for lane in pool.lanes:
        yield f"lane {one_line(lane.name)}: {lane.queued} queued, {lane.running} running"
    yield from _together("left running, recovered at the next start", pool.left_running)
    yield from _together("suspects, let in a few at a time", pool.suspects)
    yield from _one_by_one("paused", pool.paused)
    yield from _one_by_one("failed", pool.failed)


def _counts(pool: PoolContents) -> Iterator[str]:
    for status, count in pool.counts.items():
        yield f"{count} {status}"
        if status == Status.QUEUED:
            yield f"{pool.due} of them due now"
            if pool.next_due_in is not None:
                yield f"the next in {pool.next_due_in:.1f} s"


def _together(what: str, tasks: SomeTasks) -> Iterator[str]:
    """Tasks in one line, where there are any."""
    if tasks.total:
        names = [_named(task) for task in tasks.newest]
        more = tasks.total - len(names)
        yield f"{what}: {', '.join(names + [f'{more} more'] * bool(more))}"


def _one_by_one(what: str, tasks: SomeTasks) -> Iterator[str]:
    """A line for each task that is named, and how to go on where a person is waited for."""
    for task in tasks.newest:
        facts = filter(None, (task.reason, task.step and f"step {task.step}", task.error))
        yield one_line(f"{what}: {_named(task)}: {', '.join(facts)}", 200)
        if what == Status.PAUSED:
            yield f"    to go on: {task.to_go_on}"
    more = tasks.total - len(tasks.newest)
    if more:
        yield f"{what}: {more} more"


def _named(task: TaskLine) -> str:
    deaths = f", {task.deaths} death{'' if task.deaths == 1 else 's'}" if task.deaths else ""
    return one_line(f"{task.id} ({task.actor}{deaths})")


def _at(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S}Z"
