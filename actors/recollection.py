"""What the store remembers of a task when a life of it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..storage.records import Loaded, Outcome, RunRow, StepRow
from .schema import join, join_items, split, split_items
from .state import Changes, encoded_state

if TYPE_CHECKING:
    from .actor import Actor
    from .scope import Call

__all__ = ["Recollection", "RunChanges", "run_row"]

_RUN = ""
"""The writer of a field that `run` itself changed; steps are named by their identity."""


class Recollection:
    """The recorded steps of the present chapter, until the code asks for them again."""

    __slots__ = ("_found",)

    def __init__(self, steps: tuple[StepRow, ...]) -> None:
        self._found = {row.identity: row for row in steps}

    def take(self, call: Call) -> StepRow | None:
        """What is recorded of this call; a keyed call also finds an unkeyed one by its digest.

        It goes on under the identity of that one, under which its effects and what it called are.
        """
        if not self._found:
            return None
        row = self._found.get(call.identity)
        if row is None:
            row = self._unkeyed(call) if call.key else None
            if row is not None:
                call.goes_on_as(row.identity)
        if row is not None and not row.above:
            del self._found[row.identity]
        return row

    def _unkeyed(self, call: Call) -> StepRow | None:
        found = [
            row
            for row in self._found.values()
            if row.name == call.definition.name
            and not row.key
            and row.above == call.scope.identity
            and row.digest == call.digest
            and row.identity not in call.scope.nested
        ]
        return min(found, key=lambda row: row.occurrence, default=None)

    def put(self, row: StepRow) -> None:
        """Keep a row for a later call: of a step below a step, or one whose call was refused."""
        self._found[row.identity] = row

    def drop(self, identities: Iterable[str]) -> None:
        for identity in identities:
            self._found.pop(identity, None)

    def drop_finished(self) -> list[StepRow]:
        """Keep nothing of what is finished and never asked for again, as of a server.

        What that was, of the steps directly below `run`.
        """
        over = {i: row for i, row in self._found.items() if not row.above and _is_done(row)}
        kept = {i: row for i, row in self._found.items() if i.partition("/")[0] not in over}
        self._found = kept
        return list(over.values())

    def get(self, identity: str) -> StepRow | None:
        return self._found.get(identity)

    def unused(self) -> list[str]:
        """Finished steps directly below `run` that it has not asked for."""
        return [row.identity for row in self._found.values() if row.outcome and not row.above]

    def begun(self) -> list[str]:
        """Steps directly below `run` without an outcome that it has not asked for again."""
        return [row.identity for row in self._found.values() if not (row.outcome or row.above)]

    def awaits(self, identity: str) -> bool:
        """Whether this step has a checkpoint that was not asked for yet."""
        row = self._found.get(identity)
        return row is not None and row.outcome is Outcome.COMPLETED


def _is_done(row: StepRow) -> bool:
    return row.outcome is Outcome.COMPLETED


class RunChanges:
    """Tells what `run` itself changed, so that readers see it; a replay makes it anew.

    Until `run` has come to something new, nothing is recorded: it only repeats itself. At that
    moment what it left differently from what the store shows is recorded, and from then on
    everything.
    """

    __slots__ = ("_repeated", "_stored_appends")

    def __init__(self, loaded: Loaded) -> None:
        self._repeated = _Repeated(loaded) if loaded.steps or loaded.runs else None
        self._stored_appends: Counter[str] | None = None
        if loaded.runs:
            self._stored_appends = Counter(
                name
                for run in loaded.runs
                for name, items in split_items(run.appends).items()
                for _ in items
            )

    @property
    def live(self) -> bool:
        """Whether `run` has come to something new."""
        return self._repeated is None

    def note(self, changes: Changes) -> tuple[dict[str, bytes], dict[str, list[bytes]]]:
        """`run` was seen to change this; what of it is to be recorded now."""
        fields, appends = changes.parts()
        if self._repeated is not None:
            self._repeated.note(fields, appends)
            return {}, {}
        return fields, self._new(appends)

    def go_live(
        self, view: Actor, recollection: Recollection
    ) -> tuple[dict[str, bytes], dict[str, list[bytes]]]:
        """`run` has come to something new: what it left differently from what is stored."""
        repeated, self._repeated = self._repeated, None
        if repeated is None:
            return {}, {}
        return repeated.differences(view, recollection), self._new(repeated.appended)

    def _new(self, appends: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
        """The appended items that are not stored yet."""
        stored = self._stored_appends
        if not stored:
            return appends
        new = dict[str, list[bytes]]()
        for name, items in appends.items():
            known = min(stored[name], len(items))
            stored[name] -= known
            if items[known:]:
                new[name] = items[known:]
        return new


class _Repeated:
    """What `run` has changed while it only repeated itself, beside what the store shows of that."""

    __slots__ = ("_base", "_dirty", "_writers", "appended")

    def __init__(self, loaded: Loaded) -> None:
        self._base = loaded.base.state
        self._writers = _last_writers(loaded)
        self._dirty: set[str] = set()
        self.appended: dict[str, list[bytes]] = {}

    def note(self, fields: Iterable[str], appends: dict[str, list[bytes]]) -> None:
        self._dirty.update(fields)
        for name, items in appends.items():
            self.appended.setdefault(name, []).extend(items)

    def differences(self, view: Actor, recollection: Recollection) -> dict[str, bytes]:
        """The fields that `run` left differently from what is stored."""
        mine = {name for name, (writer, _) in self._writers.items() if writer == _RUN}
        candidates = self._dirty | mine
        if not candidates:
            return {}
        present, base = encoded_state(view), split(self._base)
        return {
            name: present[name]
            for name in candidates
            if name in present and self._differs(name, present[name], base, recollection)
        }

    def _differs(
        self, name: str, data: bytes, base: dict[str, bytes], recollection: Recollection
    ) -> bool:
        writer, stored = self._writers.get(name, (_RUN, base.get(name)))
        if writer != _RUN and recollection.awaits(writer):
            return False
        return stored != data


def _last_writers(loaded: Loaded) -> dict[str, tuple[str, bytes]]:
    """For each field changed since the base: who changed it last, and to what."""
    writes = [
        (row.seq, row.identity, row.changes)
        for row in loaded.steps
        if row.seq is not None and row.changes is not None and not row.above
    ]
    writes += [(run.seq, _RUN, run.changes) for run in loaded.runs if run.changes is not None]
    last: dict[str, tuple[str, bytes]] = {}
    for _, writer, changes in sorted(writes, key=lambda write: write[0]):
        for name, data in split(changes).items():
            last[name] = (writer, data)
    return last


def run_row(
    task: int,
    seq: int,
    chapter: int,
    version: int,
    fields: dict[str, bytes],
    appends: dict[str, list[bytes]],
) -> tuple[RunRow, int]:
    """The row of a change of `run`, and its size in bytes."""
    changed = join(fields) if fields else None
    appended = join_items(appends) if appends else None
    size = len(changed or b"") + len(appended or b"")
    return RunRow(task, seq, chapter, version, changed, appended), size
