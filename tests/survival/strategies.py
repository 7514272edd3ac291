"""Little flows at random, and deaths."""

from __future__ import annotations

import os
from dataclasses import replace

from hypothesis import strategies as st

from tests.survival.flows import Flow, Gather, Op, Plain, Work

__all__ = [
    "LONG",
    "REAL_BOUNDARIES",
    "REAL_CHAINS",
    "SIMULATED_CHAINS",
    "crowds",
    "deaths",
    "flows",
    "tried",
]

LONG = os.environ.get("EVERSTEP_SURVIVAL") == "long"
"""Whether to take the hours that it takes."""

REAL_BOUNDARIES = None if LONG else 3
"""At how many boundaries a process is killed, where a pretended death is tried at all of them."""
REAL_CHAINS = 300 if LONG else 1
"""How many chains of lives are killed there at random."""
SIMULATED_CHAINS = 2000 if LONG else 8
"""How many chains of pretended deaths are tried."""


def tried(idle_after: float) -> int | None:
    """At how many boundaries death is pretended: at most where waits leave memory midway."""
    if LONG:
        return None
    return 40 if idle_after == 20 else 20


def _works(*, alone: bool, depth: int) -> st.SearchStrategy[Work]:
    """Steps; those that are `alone` may touch what parallel ones may not share."""
    inner = _works(alone=alone, depth=depth - 1) if depth else st.nothing()
    steps = st.lists(inner, max_size=2).map(tuple) if depth else st.just(())
    return st.builds(
        Work,
        label=st.just("?"),
        fails=st.sampled_from([0, 0, 0, 1, 2]),
        hopeless=st.sampled_from([False, False, False, False, True]),
        adds=st.sampled_from([0, 1, 10]) if alone else st.just(0),
        notes=st.booleans() if alone else st.just(False),
        logs=st.booleans(),
        effect=st.sampled_from(["", "", "probe", "retry"]),
        steps=steps,
        lazy=st.sampled_from([False, False, True]),
        wait=st.sampled_from([0.0, 0.0, 1.0]),
    )


_PLAIN = st.builds(
    Plain,
    what=st.sampled_from(
        ["add", "log", "draw", "count", "crash", "emit", "now", "sleep", "naps"],
    ),
    label=st.just("?"),
)
_GATHER = st.builds(
    Gather, st.lists(_works(alone=False, depth=1), min_size=2, max_size=4).map(tuple)
)
_CHAPTER = st.lists(
    st.one_of(_works(alone=True, depth=2), _GATHER, _PLAIN), min_size=1, max_size=4
).map(tuple)


class _Labels:
    """Gives each operation of a flow a label of its own."""

    def __init__(self) -> None:
        self._number = 0

    def work(self, work: Work) -> Work:
        label = self._next()
        return replace(work, label=label, steps=tuple(map(self.work, work.steps)))

    def op(self, op: Op) -> Op:
        match op:
            case Work():
                return self.work(op)
            case Gather():
                return Gather(tuple(map(self.work, op.steps)))
            case Plain():
                return replace(op, label=self._next())

    def _next(self) -> str:
        self._number += 1
        return f"n{self._number}"


def _labelled(chapters: list[tuple[Op, ...]]) -> Flow:
    return _all_labelled([chapters])[0]


def _all_labelled(flows: list[list[tuple[Op, ...]]]) -> list[Flow]:
    labels = _Labels()
    return [
        Flow(tuple(tuple(map(labels.op, chapter)) for chapter in chapters)) for chapters in flows
    ]


def flows() -> st.SearchStrategy[Flow]:
    """Flows of one or two chapters."""
    return st.lists(_CHAPTER, min_size=1, max_size=2).map(_labelled)


def crowds() -> st.SearchStrategy[list[Flow]]:
    """A few flows that run at once; labels are told apart, for the world outside is one."""
    return st.lists(st.lists(_CHAPTER, min_size=1, max_size=1), min_size=2, max_size=4).map(
        _all_labelled
    )


def deaths() -> st.SearchStrategy[list[int]]:
    """Where one life after the other dies: a few times at all, or often and early."""
    some = st.lists(st.integers(1, 60), min_size=1, max_size=4)
    often = st.lists(st.integers(1, 8), min_size=5, max_size=12)
    return st.one_of(some, often)
