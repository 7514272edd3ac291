"""Durable tasks: actors whose state is checkpointed after each step."""

from .actors.actor import Actor
from .actors.backoff import exponential, fixed, from_tenacity, none
from .actors.ctx import Ctx
from .actors.effects import Done, NotDone, never_sent
from .actors.errors import (
    AmbiguousStep,
    BadActor,
    BadCall,
    ConflictingChange,
    DuplicateKey,
    EffectMismatch,
    EffectUnknown,
    HeartbeatMissed,
    NoRuntime,
    NotSerializable,
    PayloadTooLarge,
    ReplayMismatch,
    StateUnreadable,
    StepTimeout,
    UnaskedCancellation,
    UnknownActor,
)
from .actors.failures import Failure, StepFailed
from .actors.log import Log
from .actors.retry import Retry
from .actors.step import step
from .actors.upcast import upcast
from .actors.values import Limits
from .errors import RuntimeClosed, TaskCancelled, TaskFailed, TaskPaused
from .reading import EffectRecord, Event, StepRecord, TaskInfo
from .running import run
from .runtime import Runtime
from .storage.clock import Clock, SystemClock
from .storage.errors import (
    EverstepError,
    ForeignStore,
    LostLease,
    NetworkFilesystem,
    Refused,
    StaleAttempt,
    StaleIncarnation,
    StoreClosed,
    StoreError,
    StoreFailed,
    StoreInUse,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
    StoreUnreadable,
    Superseded,
    TaskExists,
    TaskNotFound,
)
from .storage.records import Outcome, Status
from .supervisor.pool_spec import Pool
from .supervisor.restart import Restart
from .task import Task

__all__ = [
    "Actor",
    "AmbiguousStep",
    "BadActor",
    "BadCall",
    "Clock",
    "ConflictingChange",
    "Ctx",
    "Done",
    "DuplicateKey",
    "EffectMismatch",
    "EffectRecord",
    "EffectUnknown",
    "Event",
    "EverstepError",
    "Failure",
    "ForeignStore",
    "HeartbeatMissed",
    "Limits",
    "Log",
    "LostLease",
    "NetworkFilesystem",
    "NoRuntime",
    "NotDone",
    "NotSerializable",
    "Outcome",
    "PayloadTooLarge",
    "Pool",
    "Refused",
    "ReplayMismatch",
    "Restart",
    "Retry",
    "Runtime",
    "RuntimeClosed",
    "StaleAttempt",
    "StaleIncarnation",
    "StateUnreadable",
    "Status",
    "StepFailed",
    "StepRecord",
    "StepTimeout",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "StoreInUse",
    "StoreMissing",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreUnreadable",
    "Superseded",
    "SystemClock",
    "Task",
    "TaskCancelled",
    "TaskExists",
    "TaskFailed",
    "TaskInfo",
    "TaskNotFound",
    "TaskPaused",
    "UnaskedCancellation",
    "UnknownActor",
    "exponential",
    "fixed",
    "from_tenacity",
    "never_sent",
    "none",
    "run",
    "step",
    "upcast",
]
