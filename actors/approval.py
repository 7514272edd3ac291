"""`@step(approval=…)`: a step that a person must agree to before its first attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, StrictBool, model_validator
from pydantic_core import from_json, to_json

from .actor import is_flow
from .asking import ASK, heard, question_of
from .errors import ReplayMismatch
from .failures import Rejected
from .halting import decoded
from .prompt import prompt_of
from .schema import join, split
from .scope import Call
from .state import open_view
from .values import ValueCodec
from .verbs import verb_of
from .wait_errors import WaitInStep

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["Approval", "approval_of", "approved"]


class Approval(BaseModel):
    """What a person says to a step that waits for it; True and False are short for it."""

    model_config = ConfigDict(extra="forbid")

    approved: StrictBool
    comment: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _said_shortly(cls, data: Any) -> Any:
        return {"approved": data} if isinstance(data, bool) else data


def approval_of(identity: str) -> str:
    """The identity of the wait in which a step stands; no step can have it."""
    return f"{identity}@approval"


async def approved(life: Incarnation, call: Call) -> None:
    """Return when a person has agreed to this call; at once where it is recorded that one has.

    A caller that cancels it takes the question back.

    Raises:
        Rejected: the answer is no, now or in an earlier life.
        WaitInStep: the step was called in a step.
        ReplayMismatch: it was put to a person with other arguments; the task is halted.
    """
    if call.scope.identity:
        raise WaitInStep(call.definition.name, call.scope.identity, approval=True)
    view = open_view(life.schema, call.frame, call.scope, family=life.root.view)
    prompt = prompt_of(call, view)
    wait = _wait(call, prompt)
    known = life.journal.recollection.get(wait.identity)
    if known is not None and known.digest != wait.digest:
        example, was = call.definition.key_example(), "was put to a person"
        error = ReplayMismatch(call.identity, known.preview, wait.preview, example, was)
        life.halt(call.scope, "replay_mismatch", error, "resume()")
        raise error
    question = {**split(question_of(prompt, Approval)), "step": to_json(call.identity)}
    parts = split(await heard(wait, join(question)))
    codec = ValueCodec.of(Approval)
    said = decoded(call.scope, codec, parts["value"], f"the answer to {wait.identity}")
    if not said.approved:
        by = from_json(parts.get("by", b"null"))
        in_plan = not is_flow(life.actor)
        raise Rejected(call.definition.name, call.identity, by, said.comment, in_plan=in_plan)


def _wait(call: Call, prompt: str) -> Call:
    """The call of the wait, asked about these very arguments."""
    wait = Call(call.scope, verb_of(ASK), (), {}, call.identity, 1, call.frame, None)
    wait.identity = approval_of(call.identity)
    wait.digest = f"approval {call.digest}"
    wait.preview = f"{prompt[:200]} ({call.preview})" if call.args or call.kwargs else prompt[:200]
    return wait
