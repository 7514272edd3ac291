"""The question of a step with `approval=`: a text with fields, and how a call fills them in."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import LONE_SURROGATE, BadActor, BadCall, checked_text, has_lone_surrogate

if TYPE_CHECKING:
    from .actor import Actor
    from .definition import StepDefinition
    from .scope import Call

__all__ = ["attributes_in", "check_fields", "prompt_of", "template_of"]

_ACTOR = "self"
_NAME = re.compile(r"[^.\[]*")
_ATTRIBUTE = re.compile(rf"{_ACTOR}\.(\w+)")


def template_of(value: Any) -> str | None:
    """The text, or None where no approval is asked for. Raises BadCall."""
    if value is None:
        return None
    if isinstance(value, str) and value.strip():
        return checked_text("approval", value)
    raise BadCall("approval", value, "is no text to be read", 'approval="Publish {self.topic}?"')


def check_fields(definition: StepDefinition) -> None:
    """Raise BadActor for a question with fields that no call of the step can fill in."""
    template = definition.options.approval
    if template is None:
        return
    known = (_ACTOR, *definition.parameters.names)
    try:
        unknown = [name for name in map(_name_in, _fields(template)) if name not in known]
        why = f"its approval names {unknown[0]!r}, which it has not" if unknown else None
    except ValueError as error:
        why = f"its approval cannot be filled in: {error}"
    if why is not None:
        instead = f"fields of {', '.join(known)}, as in {{self.topic}}, or {{{{ for a brace"
        raise BadActor(f"the step {definition.name}", why, instead)


def prompt_of(call: Call, view: Actor) -> str:
    """What a person is asked about this call, on the state that it works on.

    Raises BadCall where a field cannot be read, or what it says cannot be written.
    """
    definition = call.definition
    template = definition.options.approval or ""
    values: dict[str, Any] = {_ACTOR: view}
    for name in set(map(_name_in, _fields(template))) - {_ACTOR}:
        values[name] = definition.parameters.value(name, call.args, call.kwargs)
    try:
        prompt = template.format(**values)
    except Exception as error:  # attributes, items and formats of the user's
        why = f"cannot be filled in for {call.identity}: {type(error).__name__}: {error}"
        raise BadCall("approval", template, why, "fields that every call can fill in") from error
    if has_lone_surrogate(prompt):
        why = f"as filled in for {call.identity} {LONE_SURROGATE}"
        raise BadCall("approval", prompt, why, "{name!r}, which shows such characters by numbers")
    return prompt


def attributes_in(template: str) -> list[str]:
    """The attributes of the actor that are filled in, in order."""
    return [found[1] for field in _fields(template) if (found := _ATTRIBUTE.match(field))]


def _name_in(field: str) -> str:
    """The parameter that a field is of, or `self`."""
    found = _NAME.match(field)
    return found.group() if found else field


def _fields(template: str) -> Iterator[str]:
    """What is filled in, also in formats. Raises ValueError where it is malformed."""
    for _, field, form, _ in string.Formatter().parse(template):
        if field is not None:
            yield field
            yield from _fields(form or "")
