"""Calls by message: how they are kept, and what is answered to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from ..storage.mail import Mail, MessageRow
from .actor import Actor, actor_name, steps_of
from .definition import HandlerOptions, StepDefinition
from .errors import BadCall, StateUnreadable
from .failures import Failure, HandlerFailed, MessageRefused, failure_of, read_failure
from .foreign import is_kind, words_of
from .schema import join, split
from .step import definition_in
from .values import DEFAULT_LIMITS, Limits, ValueCodec, first_problem

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["Asker", "Errand", "Reply", "Unfit", "answer", "asked_for", "called", "failed_reply",
           "handler_of", "packed_call", "read_call", "read_reply", "refusal",
           "result_of"]  # fmt: skip

_NO_NAME = to_json("")


class Asker(NamedTuple):
    """The task that waits for the reply, which is sent to it as a message of this id."""

    key: int
    reply: str


class Unfit(ValueError):
    """A message that a server cannot handle, and why."""


def called(actor: type[Actor], method: object) -> StepDefinition:
    """The handler that a method of the actor is. Raises BadCall."""
    definition = definition_in(method)
    own = None if definition is None else handler_of(actor, definition.name)
    if own is None:
        why, name = f"is no handler of {actor.__name__}", actor.__name__
        raise BadCall("method", method, why, f"ask({name}.method, …), with @handler over it")
    return own


def handler_of(actor: type[Actor], name: str) -> StepDefinition | None:
    """The handler of this name."""
    found = steps_of(actor).get(name)
    if found is None or not isinstance(found.options, HandlerOptions):
        return None
    return found


# --- the call -----------------------------------------------------------------------------------


def packed_call(
    actor: type[Actor],
    definition: StepDefinition,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    limits: Limits = DEFAULT_LIMITS,
    asker: Asker | None = None,
) -> bytes:
    """A call of a handler as it is kept: what is its default is left out.

    Raises TypeError for arguments that do not fit the signature, NotSerializable and
    PayloadTooLarge for such as cannot be stored.
    """
    codecs = _codecs(actor, definition)
    given = definition.parameters.bind(definition.name, args, kwargs)
    stored = {
        name: codecs[name].settle(value, _argument(definition.name, name), limits)[0]
        for name, value in given.items()
    }
    parts = {"kind": _NO_NAME, "call": to_json(definition.name), "given": join(stored)}
    return join(parts if asker is None else {**parts, "asker": to_json(asker)})


def asked_for(body: bytes) -> str:
    """The name of the handler that a message is for; empty where it is for none."""
    return _name_in(split(body))


def _name_in(parts: dict[str, bytes]) -> str:
    return str(from_json(parts["call"])) if "call" in parts else ""


def read_call(actor: type[Actor], body: bytes) -> tuple[StepDefinition, dict[str, Any]]:
    """The handler of a message, and its arguments by name. Raises Unfit."""
    parts = split(body)
    name = _name_in(parts)
    definition = handler_of(actor, name)
    if definition is None:
        raise Unfit(f"there is no handler {name}" if name else "it is no call of a handler")
    codecs = _codecs(actor, definition)
    given: dict[str, Any] = {}
    for parameter, data in split(parts["given"]).items():
        if parameter not in codecs:
            raise Unfit(f"{name} has no parameter {parameter}")
        given[parameter] = _decoded(codecs[parameter], data, _argument(name, parameter))
    try:
        definition.parameters.bind(name, (), given)
    except TypeError as error:
        raise Unfit(str(error)) from error
    return definition, given


def _codecs(actor: type[Actor], definition: StepDefinition) -> dict[str, ValueCodec]:
    """The codecs of a handler's parameters, made once for each class."""
    known: dict[str, dict[str, ValueCodec]] | None = vars(actor).get("__everstep_inputs__")
    if known is None:
        known = {}
        type.__setattr__(actor, "__everstep_inputs__", known)
    if definition.name not in known:
        known[definition.name] = definition.inputs(actor)
    return known[definition.name]


def _decoded(codec: ValueCodec, data: bytes, where: str) -> Any:
    try:
        return codec.decode(data)
    except ValueError as error:
        why = first_problem(error) if is_kind(error, ValidationError) else words_of(error)
        raise Unfit(f"{where} is not valid: {why}") from error


def _argument(handler: str, name: str) -> str:
    return f"the argument {name} of {handler}"


# --- the reply ----------------------------------------------------------------------------------


class Reply(NamedTuple):
    """What a server answered to a message: one of the three."""

    output: bytes | None = None
    refused: str | None = None
    """Why the message could not be handled at all."""
    failure: Failure | None = None
    """With what the last of its `attempts` failed."""
    attempts: int = 0


def read_reply(data: bytes) -> Reply:
    """The reply as it was packed."""
    parts = split(data)
    if "output" in parts:
        return Reply(output=parts["output"])
    if "refused" in parts:
        return Reply(refused=str(from_json(parts["refused"])))
    attempts = int(from_json(parts["attempts"]))
    return Reply(failure=read_failure(parts["failure"]), attempts=attempts)


def refusal(why: str) -> bytes:
    """The reply to a message that cannot be handled."""
    return join({"kind": _NO_NAME, "refused": to_json(why)})


def answer(life: Incarnation, mail: Mail, reply: bytes) -> None:
    """Take a message with the next commit, and answer to it."""
    ledger = life.ledger
    ledger.take(mail._replace(reply=reply))
    asker = None
    if b'"asker"' in mail.body:  # most have none, and a body may be long
        asker = split(mail.body).get("asker")
    if asker is not None:
        key, name = from_json(asker)
        ledger.send(MessageRow(key, name, ledger.row.id, reply, ledger.clock.now()))
    life.waits.answered()


def result_of(
    actor: type[Actor], definition: StepDefinition, server: str, request: str, data: bytes
) -> Any:
    """What a reply means to who asked. Raises HandlerFailed, MessageRefused, StateUnreadable."""
    reply = read_reply(data)
    error = _error_of(reply, definition, server, request)
    if error is not None:
        raise error
    try:
        return definition.of(actor).output.decode(reply.output or b"null")
    except ValueError as error:
        where = f"the reply of {definition.name}"
        raise StateUnreadable(actor_name(actor), where, str(error)) from error


def _error_of(
    reply: Reply, definition: StepDefinition, server: str, request: str
) -> HandlerFailed | MessageRefused | None:
    if reply.refused is not None:
        return MessageRefused(server, definition.name, request, reply.refused)
    if reply.failure is not None:
        return HandlerFailed(server, definition.name, request, reply.attempts, reply.failure)
    return None


def failed_reply(
    definition: StepDefinition, server: str, request: str, data: bytes
) -> bytes | None:
    """The same reply, readable as the facts of what it raises; None for one with a value."""
    error = _error_of(read_reply(data), definition, server, request)
    return None if error is None else join({**split(data), **split(failure_of(error).encoded())})


class Errand:
    """The message that a step handles: taken and answered in the commit of its outcome."""

    __slots__ = ("mail", "refuses")

    def __init__(self, mail: Mail, definition: StepDefinition) -> None:
        self.mail = mail
        options = definition.options
        self.refuses = isinstance(options, HandlerOptions) and options.refuses

    def completed(self, life: Incarnation, output: bytes) -> None:
        """The step has this output."""
        answer(life, self.mail, join({"kind": _NO_NAME, "output": output}))

    def failed(self, life: Incarnation, attempts: int, failure: Failure) -> bool:
        """The step has used up its attempts; whether the message is answered with that."""
        if self.refuses:
            facts = {"attempts": to_json(attempts), "failure": failure.encoded()}
            answer(life, self.mail, join({"kind": _NO_NAME, **facts}))
        return self.refuses
