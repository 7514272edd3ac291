"""`Actor`: the class whose fields are the state of a task and whose steps are its work."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Coroutine, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import CoreSchema

from .definition import HandlerOptions, StepDefinition
from .errors import BadActor, NoRuntime
from .filling import fill, filling, view_of
from .log import Log
from .shared import share_cached_properties
from .written import check_class, check_settings, steps_written

if TYPE_CHECKING:
    from .ctx import Ctx
    from .errors import StateUnreadable
    from .state import View

__all__ = [
    "Actor",
    "Anchor",
    "actor_name",
    "actor_version",
    "all_actors",
    "check_plan",
    "is_flow",
    "is_generic",
    "is_server",
    "steps_of",
]


class Anchor(Protocol):
    """What runs a view of an actor: asked for `ctx`, and for each call of a step."""

    @property
    def ctx(self) -> Ctx: ...

    def call(
        self, definition: StepDefinition, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Coroutine[Any, Any, Any]: ...

    def unreadable(self, error: StateUnreadable) -> BaseException:
        """What to raise where a field is touched that does not load."""
        ...


class Actor(BaseModel):
    """A durable task: the fields are its state, the `@step` methods its work.

    With `async def run(self)` it is a flow, without it a plan: its steps run as they are written.
    With `@handler` methods it is a server, which is sent messages: `runtime.get(Chat, "42")`.
    `class Report(Actor, name="report", version=2)` sets the name and the version under which its
    tasks are stored; the name is that of the class where none is given.

    Fields are validated when a step has ended, not when they are assigned, each by itself.
    Private attributes and cached properties belong to one life of the actor in memory: all its
    steps share them, they are not stored, and `model_post_init` makes them anew at each load;
    what it does to fields counts at the start alone.
    """

    __slots__ = ("__everstep__",)
    if TYPE_CHECKING:
        __everstep__: ClassVar[View]  # of the instance; so written, it is no field

    # as in values.CONFIG, but written out: type checkers read it here
    model_config = ConfigDict(
        extra="forbid",
        ser_json_inf_nan="strings",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )

    __actor_name__: ClassVar[str] = "Actor"
    __actor_version__: ClassVar[int] = 1
    __actor_steps__: ClassVar[dict[str, StepDefinition]] = {}
    __actor_is_flow__: ClassVar[bool] = False
    __actor_is_server__: ClassVar[bool] = False

    def __init_subclass__(
        cls, *, name: str | None = None, version: int = 1, **settings: Any
    ) -> None:
        super().__init_subclass__(**settings)
        check_class(cls, Actor, name, version)
        cls.__actor_name__ = cls.__name__ if name is None else name
        cls.__actor_version__ = version

    @classmethod
    def __pydantic_init_subclass__(
        cls, *, name: str | None = None, version: int = 1, **settings: Any
    ) -> None:
        super().__pydantic_init_subclass__(**settings)
        check_settings(cls)
        cls.__actor_steps__ = steps = steps_written(cls)
        cls.__actor_is_flow__ = callable(getattr(cls, "run", None))
        cls.__actor_is_server__ = any(
            isinstance(one.options, HandlerOptions) for one in steps.values()
        )
        share_cached_properties(cls)
        if not is_generic(cls):
            for definition in steps.values():
                definition.check_output(cls)

    @property
    def ctx(self) -> Ctx:
        """What the actor can ask of the runtime. Raises NoRuntime where none runs it."""
        view = view_of(self)
        if view is None or view.anchor is None:
            raise NoRuntime(type(self).__name__)
        return view.anchor.ctx

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "__everstep__":
                raise AttributeError(name)
            try:
                view = self.__everstep__
            except AttributeError:
                return super().__getattr__(name)
            if name in view.schema.every_name:
                value = self.__dict__[name] = view.read(name)
                return value
            return super().__getattr__(name)

        def __setattr__(self, name: str, value: Any) -> None:
            try:
                super().__setattr__(name, value)
            except ValueError as error:
                if name in type(self).model_fields:
                    raise
                raise BadActor(
                    f"the attribute {name} of {type(self).__name__}",
                    "it is set and not declared, so no checkpoint would hold it",
                    f"{name}: … in the class as state, or _{name}: … = PrivateAttr() beside it",
                ) from error

    def __delattr__(self, name: str) -> None:
        if name in type(self).model_fields:
            raise AttributeError(
                f"the field {name!r} of {type(self).__name__} cannot be deleted: "
                f"it is state; set it, self.{name} = …"
            )
        super().__delattr__(name)

    # pydantic reads `__dict__`, in which a view of a running actor has only what was touched

    @model_serializer(mode="wrap")
    def _fill_and_serialize(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return written

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        try:
            schema = handler(source)
        except PydanticSchemaGenerationError as error:
            raise BadActor(
                f"the actor {cls.__name__}",
                f"a field of it cannot be stored: {str(error).partition('. ')[0]}",
                "a private attribute (_client) instead, made in model_post_init",
            ) from error
        own: Any = handler.resolve_ref_schema(schema)
        while own["type"] != "model" and "schema" in own:
            own = own["schema"]
        serializer = own.get("serialization", {})
        if serializer.get("type") == "function-wrap":
            serializer["function"] = filling(serializer["function"])
        return schema

    def __eq__(self, other: object) -> bool:
        fill(self)
        if isinstance(other, Actor):
            fill(other)
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # its state changes

    def __iter__(self) -> Generator[tuple[str, Any], None, None]:
        fill(self)
        yield from super().__iter__()

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        fill(self)
        yield from super().__repr_args__()

    def __copy__(self) -> Any:
        fill(self)
        copied = super().__copy__()
        values = vars(copied)
        for name in [name for name, value in values.items() if type(value) is Log]:
            values[name] = copy.copy(values[name])
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Any:
        fill(self)
        return super().__deepcopy__(memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        view = view_of(self)
        if view is not None and view.anchor is not None:
            raise TypeError(
                f"{type(self).__name__} is being run by a runtime and cannot be pickled; "
                "pickle self.model_copy(), or what the other side needs"
            )
        fill(self)
        return super().__reduce_ex__(protocol)


def actor_name(cls: type[Actor]) -> str:
    """The name under which tasks of this class are stored."""
    return cls.__actor_name__


def actor_version(cls: type[Actor]) -> int:
    """The version of the state that this class writes."""
    return cls.__actor_version__


def steps_of(cls: type[Actor]) -> Mapping[str, StepDefinition]:
    """The steps by name, in the order of a plan: as written, bases first, overrides in place."""
    return cls.__actor_steps__


def is_flow(cls: type[Actor]) -> bool:
    """Whether it has a `run` of its own."""
    return cls.__actor_is_flow__


def is_server(cls: type[Actor]) -> bool:
    """Whether it has handlers; else, without a `run`, it is a plan."""
    return cls.__actor_is_server__


def check_plan(cls: type[Actor]) -> None:
    """Refuse a class that cannot be started as a plan: BadActor, with the line to write."""
    if is_flow(cls) or is_server(cls):
        return
    name = cls.__name__
    if not cls.__actor_steps__:
        raise BadActor(
            f"the actor {name}",
            "it has neither steps nor run, and no handlers",
            "@step over a method",
        )
    for definition in cls.__actor_steps__.values():
        if definition.needs_arguments:
            raise BadActor(
                f"the step {definition.name} of {name}",
                "a plan calls its steps without arguments, and it needs some",
                f"async def run(self): …, which calls self.{definition.name}(…), "
                "or give the parameters defaults",
            )


def all_actors() -> list[type[Actor]]:
    """Every class of actor that exists now and can be started."""
    found: dict[type[Actor], None] = {}
    waiting: list[type[Actor]] = list(Actor.__subclasses__())
    while waiting:
        cls = waiting.pop(0)
        waiting.extend(cls.__subclasses__())
        if "__everstep_closed__" in vars(cls) or is_generic(cls) or inspect.isabstract(cls):
            continue
        found[cls] = None
    return list(found)


def is_generic(cls: type[Actor]) -> bool:
    """Whether it is generic, filled in or not: its name finds no class again after a restart."""
    facts = cls.__pydantic_generic_metadata__
    return bool(facts["parameters"]) or facts["origin"] is not None
