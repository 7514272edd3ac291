"""Views behave like plain deep copies, whatever is done with them in whatever order."""

import copy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from pydantic import BaseModel

from everstep.actors.actor import Actor
from everstep.actors.errors import ConflictingChange
from everstep.actors.log import Log
from everstep.actors.schema import Frame, Schema
from everstep.actors.state import adopt, close_view, collect, frame_of, open_view, rebase, total
from tests.actors.views_kit import FakeAnchor


class Point(BaseModel):
    x: int = 0
    tags: list[str] = []


class Everything(Actor):
    count: int = 0
    text: str | None = None
    items: list[int] = []
    tree: dict[str, list[int]] = {}
    members: set[int] = set()
    point: Point = Point()
    numbers: Log[int] = Log()
    points: Log[Point] = Log()


LOGS = ("numbers", "points")
FIELDS = tuple(name for name in Everything.model_fields if name not in LOGS)
SCHEMA = Schema.of(Everything)


def change(state: Any, kind: int, value: int) -> None:
    """One change, the same for a view and for a plain copy."""
    match kind:
        case 0:
            state.count = value
        case 1:
            state.text = None if value % 3 == 0 else str(value)
        case 2:
            state.items.append(value)
        case 3:
            state.tree.setdefault(str(value % 3), []).append(value)
        case 4:
            state.members ^= {value}
        case 5:
            state.point.tags.append(str(value))
        case 6:
            state.point = Point(x=value)
        case 7:
            state.items = state.items[:1]
        case 8:
            state.tree.clear()
        case _:
            state.numbers.append(value)
            if value % 2:
                state.points.append(Point(x=value))


def read(state: Any, kind: int) -> None:
    """A look at something, and a change to an item of a Log, which nobody may see."""
    match kind:
        case 0:
            _ = state.items, state.tree
        case 1:
            _ = [len(point.tags) for point in state.points]
        case 2:
            state.model_dump()
        case _:
            _ = state == state, state.numbers[-2:], repr(state)


class Node:
    """A view, what it should show, and the frame and the versions of fields it was given."""

    def __init__(self, view: Any, expected: Everything, above: "Node | None", base: Frame) -> None:
        self.view = view
        self.expected = expected
        self.above = above
        self.base = base
        self.steps: list[Node] = []
        self.settled = copy.deepcopy(expected)
        self.versions = dict.fromkeys(FIELDS, 0)
        self.given: dict[str, int] = {}
        self.began = copy.deepcopy(expected)

    def settle(self) -> None:
        """What this level has changed by itself is collected, as before each call and return."""
        rebase(self.view, collect(self.view, owner="above"))
        for name in FIELDS:
            if getattr(self.expected, name) != getattr(self.settled, name):
                self.versions[name] += 1
        self.settled = copy.deepcopy(self.expected)

    def all_below(self) -> "list[Node]":
        return [self, *(below for node in self.steps for below in node.all_below())]


def grown(name: str, node: Node) -> list[Any]:
    """What was appended since the node began, where nothing but appending happened."""
    before = len(getattr(node.began, name))
    return list(getattr(node.expected, name))[before:]


class Views(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        frame = SCHEMA.frame(SCHEMA.dump(Everything())[0])
        view = open_view(SCHEMA, frame, FakeAnchor(), family=None)
        self.run = Node(view, Everything(), None, frame)
        self.closed: list[Actor] = []

    def pick(self, which: int) -> Node:
        nodes = self.run.all_below()
        return nodes[which % len(nodes)]

    @rule(which=st.integers(0, 20), kind=st.integers(0, 10), value=st.integers(0, 9))
    def change(self, which: int, kind: int, value: int) -> None:
        node = self.pick(which)
        change(node.view, kind, value)
        change(node.expected, kind, value)

    @rule(which=st.integers(0, 20), kind=st.integers(0, 3))
    def read(self, which: int, kind: int) -> None:
        read(self.pick(which).view, kind)

    @precondition(lambda self: len(self.run.all_below()) < 7)
    @rule(which=st.integers(0, 20))
    def call(self, which: int) -> None:
        above = self.pick(which)
        above.settle()
        base = frame_of(above.view)
        view = open_view(SCHEMA, base, FakeAnchor(), family=self.run.view)
        node = Node(view, copy.deepcopy(above.expected), above, base)
        node.given = dict(above.versions)
        above.steps.append(node)

    @precondition(lambda self: self.run.steps)
    @rule(which=st.integers(0, 20))
    def fail(self, which: int) -> None:
        node = self.pick(which)
        if node.above is None:
            return
        self.end(node)

    @precondition(lambda self: self.run.steps)
    @rule(which=st.integers(0, 20))
    def finish(self, which: int) -> None:
        node = self.pick(which)
        if node.above is None or node.steps:
            return
        changes = total(node.view, node.base, owner="step")
        node.above.settle()
        changed = [
            name for name in FIELDS if getattr(node.expected, name) != getattr(node.began, name)
        ]
        assert set(changes.fields) == set(changed)
        conflict = any(node.above.versions[name] != node.given[name] for name in changed)
        try:
            adopt(node.above.view, node.base, changes, "step")
        except ConflictingChange:
            assert conflict
        else:
            assert not conflict
            self.take_over(node, node.above, changed)
        self.end(node)

    @staticmethod
    def take_over(node: Node, above: Node, changed: list[str]) -> None:
        for name in changed:
            setattr(above.expected, name, copy.deepcopy(getattr(node.expected, name)))
            above.versions[name] += 1
        for name in LOGS:
            getattr(above.expected, name).extend(grown(name, node))
        above.settled = copy.deepcopy(above.expected)

    def end(self, node: Node) -> None:
        assert node.above is not None
        node.above.steps.remove(node)
        for below in node.all_below():
            close_view(below.view, "task-1")
            self.closed.append(below.view)

    @invariant()
    def every_view_shows_what_it_should(self) -> None:
        for node in self.run.all_below():
            shown = copy.deepcopy(node.view) if node.above else node.view.model_copy()
            assert shown == node.expected


TestViews = Views.TestCase
TestViews.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)


class Unread(Views):
    """The same without looking at everything after each step, which would touch every field."""

    @invariant()
    def every_view_shows_what_it_should(self) -> None:
        """Looked at in the end alone."""

    def teardown(self) -> None:
        if hasattr(self, "run"):
            super().every_view_shows_what_it_should()


TestUnread = Unread.TestCase
TestUnread.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
