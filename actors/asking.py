"""`ctx.ask_human`: a question to a person, what may answer it, and how an answer is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from ..storage.mail import Mail
from .errors import LONE_SURROGATE, BadCall, checked_text, has_lone_surrogate
from .halting import decoded
from .messages import ANSWER
from .schema import join, split
from .taking import take
from .values import DEFAULT_LIMITS, Limits, ValueCodec

if TYPE_CHECKING:
    from .scope import Call

__all__ = [
    "ASK",
    "answer_id",
    "ask",
    "heard",
    "packed_answer",
    "question_of",
    "schema_of",
    "type_of",
]

ASK = "ctx.ask_human"
_PLAIN: tuple[type, ...] = (bool, int, float, str)
_NO_NAME = to_json("")


def answer_id(question: str) -> str:
    """The id of the message that answers a question: none that anybody else can give."""
    return f"{ANSWER}{question}"


def packed_answer(
    kind: Any, data: object, by: str | None, where: str, limits: Limits = DEFAULT_LIMITS
) -> bytes:
    """An answer as it is kept. Raises pydantic's ValidationError where it is none of `kind`."""
    codec = ValueCodec.of(kind)
    valid = TypeAdapter[Any](kind).validate_python(data)
    value = codec.encode(valid, where, limits)
    return join({"kind": _NO_NAME, "value": value, "by": to_json(by)})


def question_of(prompt: object, kind: Any) -> bytes:
    """What is kept of a question. Raises BadCall for one that nobody could answer."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise BadCall("prompt", prompt, "is no text to be read", 'ask_human("Publish it?")')
    text = checked_text("prompt", prompt)
    return join({"prompt": to_json(text), "schema": to_json(schema_of(kind))})


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema of the answers.

    Raises BadCall for types that a name does not find again, and choices that cannot be written.
    """
    if not _is_found_again(kind):
        why = "is neither a pydantic model, nor bool, int, float, str or a Literal"
        raise BadCall("schema", kind, why, "schema=Decision, with class Decision(BaseModel)")
    for choice in get_args(kind):
        if isinstance(choice, str) and has_lone_surrogate(choice):
            raise BadCall("schema", kind, LONE_SURROGATE, 'schema=Literal["yes", "no"]')
    return TypeAdapter[Any](kind).json_schema()


def _is_found_again(kind: object) -> bool:
    """Whether `type_of` finds the type from its schema."""
    model = isinstance(kind, type) and issubclass(kind, BaseModel)
    return model or kind in _PLAIN or get_origin(kind) is Literal


def type_of(schema: dict[str, Any]) -> Any:
    """The type that has this schema, of those that exist here; None where there is none."""
    for plain in _PLAIN:
        if schema_of(plain) == schema:
            return plain
    values = cast(
        "list[Any] | None", schema.get("enum", [schema["const"]] if "const" in schema else None)
    )
    if values is not None:
        return Literal[tuple(values)]
    return next((model for model in _models(BaseModel) if _has(model, schema)), None)


def _has(model: type[BaseModel], schema: dict[str, Any]) -> bool:
    if model.__name__ != schema.get("title") and model.model_config.get("title") is None:
        return False
    return model.__pydantic_complete__ and model.model_json_schema() == schema


def _models(kind: type[BaseModel]) -> list[type[BaseModel]]:
    """All models that exist, the newest definition of a class first."""
    found: list[type[BaseModel]] = []
    for below in reversed(kind.__subclasses__()):
        found += [below, *_models(below)]
    return found


async def ask(
    call: Call, question: bytes, kind: Any, timeout: object, remind: float | None = None
) -> Any:
    """The answer of a person, read as `kind`. Raises WaitTimeout."""
    body = await heard(call, question, timeout, remind)
    where = f"the answer to {call.identity}"
    return decoded(call.scope, ValueCodec.of(kind), split(body)["value"], where)


async def heard(
    call: Call, question: bytes, timeout: object = None, remind: float | None = None
) -> bytes:
    """The answer of a person as it is kept. Raises WaitTimeout."""
    wanted = answer_id(call.identity)

    def fits(mail: Mail) -> bool:
        return mail.id == wanted

    return await take(call, fits, timeout, question, remind)
