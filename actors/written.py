"""What a class of actor must look like: checked when it is written, with the line to write."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from .definition import HandlerOptions, StepDefinition
from .errors import BadActor
from .handler import NO_APPROVAL
from .prompt import attributes_in
from .step import definition_in

if TYPE_CHECKING:
    from .actor import Actor

__all__ = ["check_class", "check_questions", "check_settings", "steps_written"]

_PYDANTIC_OWN: Final = frozenset({"model_config", "model_post_init"})
_SETTINGS: Final[dict[str, tuple[Any, str]]] = {
    "extra": ("forbid", "a field that the class lacks would be stored and never read"),
    "validate_assignment": (False, "fields are validated when a step has ended"),
    "ser_json_inf_nan": ("strings", "NaN would be stored as null"),
}


def check_class(cls: type, actor: type, name: str | None, version: int) -> None:
    """Refuse names, steps and `run` that cannot work. Called before pydantic looks at the class."""
    what = f"the actor {cls.__name__}"
    if name is not None and not (type(cast("object", name)) is str and name.strip()):
        raise BadActor(what, f"name={name!r} is no name", f'class {cls.__name__}(Actor, name="…")')
    if type(cast("object", version)) is not int or version < 1:
        raise BadActor(what, f"version={version!r} is no number from 1 on", "version=2")
    for field in _annotated(cls):
        _check_field(cls, actor, field)
    for attribute, value in vars(cls).items():
        _check_attribute(cls, actor, attribute, value)
    _check_resolved(cls)
    _check_run(cls)
    _check_approvals(cls)


def steps_written(cls: type) -> dict[str, StepDefinition]:
    """The steps of a class, bases first; an override keeps the place of what it overrides."""
    found: dict[str, StepDefinition] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            definition = definition_in(value)
            if definition is not None:
                found[name] = definition
    return found


def check_settings(cls: type[Actor]) -> None:
    """Refuse a model_config under which state would not come back."""
    for setting, (needed, why) in _SETTINGS.items():
        found = cls.model_config.get(setting, needed)
        if found != needed:
            raise BadActor(
                f"the actor {cls.__name__}",
                f"with {setting}={found!r} {why}",
                f"no {setting} in its model_config",
            )


def check_questions(cls: type[Actor], actor: type[Actor]) -> None:
    """Refuse approvals that name what no instance has. A base may leave that to its subclasses."""
    own = inspect.getattr_static(cls, "__getattr__") is not inspect.getattr_static(
        actor, "__getattr__"
    )
    if own:
        return
    for step in steps_written(cls).values():
        for name in attributes_in(step.options.approval or ""):
            if not _has(cls, name):
                fields = ", ".join(cls.model_fields) or "none"
                why = f"its approval names self.{name}, which it has not (its fields: {fields})"
                instead = f"one of them, or {name}: … in the class"
                raise BadActor(f"the step {step.name} of {cls.__name__}", why, instead)


def _has(cls: type[Actor], name: str) -> bool:
    """Whether an instance may have this attribute."""
    declared = (cls.model_fields, cls.__private_attributes__, cls.__class_vars__)
    return any(name in names for names in declared) or any(
        name in vars(base) for base in cls.__mro__
    )


def _annotated(cls: type) -> list[str]:
    return [name for name in inspect.get_annotations(cls) if not name.startswith("_")]


def _check_field(cls: type, actor: type, name: str) -> None:
    if name in _PYDANTIC_OWN:
        return
    what = f"the field {name!r} of {cls.__name__}"
    if name == "run" or hasattr(actor, name):
        why = "is what a flow runs" if name == "run" else "is a name of Actor"
        raise BadActor(what, f"{name} {why}", f"another name: {_free(cls, name, 'value')}")
    if definition_in(vars(cls).get(name)) is not None or name in steps_written(cls):
        raise BadActor(
            what, "there is a step of that name", f"another name: {_free(cls, name, 'value')}"
        )


def _check_attribute(cls: type, actor: type, name: str, value: Any) -> None:
    what = f"the step {name} of {cls.__name__}"
    if any(definition_in(inner) is not None for inner in _inside(value)):
        kind = type(value).__name__
        raise BadActor(
            what, f"it stands under @{kind}, so it is no method", f"@step alone over {name}"
        )
    definition = definition_in(value)
    if definition is None:
        return
    if definition.name != name:
        raise BadActor(
            what,
            f"its function is called {definition.name}, and a checkpoint is found by that name",
            f"@step over def {name}(self)",
        )
    if name == "run" or hasattr(actor, name):
        why = "run calls steps, and is none" if name == "run" else f"{name} is a name of Actor"
        raise BadActor(what, why, f"another name: {_free(cls, name, 'step')}")
    if any(name in getattr(base, "model_fields", {}) for base in cls.__mro__[1:]):
        raise BadActor(
            what, "there is a field of that name", f"another name: {_free(cls, name, 'step')}"
        )


def _inside(value: Any) -> Iterator[Any]:
    """What a descriptor wraps."""
    for name in ("__func__", "fget", "func"):
        if hasattr(value, name):
            yield getattr(value, name)


def _check_resolved(cls: type) -> None:
    for name in steps_written(cls):
        found = inspect.getattr_static(cls, name)
        if definition_in(found) is None:
            raise BadActor(
                f"{name} of {cls.__name__}",
                "it stands over a step of that name, which would never run",
                f"@step over it, or another name: {_free(cls, name, 'value')}",
            )


def _check_run(cls: type) -> None:
    run = inspect.getattr_static(cls, "run", None)
    if run is None:
        return
    what = f"run of {cls.__name__}"
    if any(isinstance(one.options, HandlerOptions) for one in steps_written(cls).values()):
        why = "it has handlers, and a server does nothing but handle its messages"
        raise BadActor(what, why, "two actors, or handlers alone")
    if not inspect.iscoroutinefunction(run):
        raise BadActor(what, "it is no async def", "async def run(self): …")
    for parameter in list(inspect.signature(run).parameters.values())[1:]:
        if parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            why = f"it is run without arguments, and needs {parameter.name!r}"
            raise BadActor(what, why, f"async def run(self): …, and a field {parameter.name}")


def _check_approvals(cls: type) -> None:
    steps = steps_written(cls).values()
    if any(isinstance(one.options, HandlerOptions) for one in steps):
        for one in steps:
            if one.options.approval is not None:
                raise BadActor(f"the step {one.name} of {cls.__name__}", *NO_APPROVAL)


def _free(cls: type, name: str, ending: str) -> str:
    taken = set(steps_written(cls)) | set(_annotated(cls))
    for base in cls.__mro__:
        taken |= set(getattr(base, "model_fields", {})) | set(vars(base))
    candidate = f"{name}_{ending}"
    while candidate in taken:
        candidate += "_"
    return candidate
