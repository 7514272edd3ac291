"""Durable tasks: actors whose state is checkpointed after each step."""

from .actors.actor import Actor
from .actors.backoff import exponential, fixed, from_tenacity, none
from .actors.ctx import Ctx
from .actors.effects import Done, NotDone
from .actors.errors import (
    AmbiguousStep,
    BadActor,
    BadCall,
    ConflictingChange,
    DuplicateKey,
    EffectMismatch,
    EffectMoved,
    EffectUnknown,
    HeartbeatMissed,
    LogItemChanged,
    NoRuntime,
    NotSerializable,
    NotValid,
    PayloadTooLarge,
    ProcessDied,
    ReplayMismatch,
    StateUnreadable,
    StepTimeout,
    UnaskedCancellation,
    UnknownActor,
)
from .actors.failures import Failure, StepFailed
from .actors.log import Log
from .actors.never_sent import never_sent
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
from .supervisor.errors import (
    AlreadyPresent,
    AlreadyStarted,
    BadCombination,
    DuplicateChild,
    DuplicatePool,
    EndedBeforeStarted,
    FailedToStartChild,
    MaxChildren,
    NoProc,
    NotFound,
    PoolInUse,
    Restarting,
    RestartLimitExceeded,
    Running,
    SimpleOneForOne,
    StartTimeout,
    SupervisorFailed,
    Unsupervised,
)
from .supervisor.pool_info import PoolInfo
from .supervisor.pool_spec import Pool
from .supervisor.restart import Restart
from .supervisor.services.entries import ChildInfo, Counts, Ref
from .supervisor.services.events import EventStream, SupervisionEvent
from .supervisor.services.exits import Ignore, Shutdown
from .supervisor.services.handle import RunningSupervisor
from .supervisor.services.pool_handle import RunningPool
from .supervisor.services.running import supervise
from .supervisor.services.spec import Child, DynamicSupervisor, Supervisor
from .supervisor.services.view import ChildView, SupervisorView
from .task import Task

__all__ = [
    "Actor",
    "AlreadyPresent",
    "AlreadyStarted",
    "AmbiguousStep",
    "BadActor",
    "BadCall",
    "BadCombination",
    "Child",
    "ChildInfo",
    "ChildView",
    "Clock",
    "ConflictingChange",
    "Counts",
    "Ctx",
    "Done",
    "DuplicateChild",
    "DuplicateKey",
    "DuplicatePool",
    "DynamicSupervisor",
    "EffectMismatch",
    "EffectMoved",
    "EffectRecord",
    "EffectUnknown",
    "EndedBeforeStarted",
    "Event",
    "EventStream",
    "EverstepError",
    "FailedToStartChild",
    "Failure",
    "ForeignStore",
    "HeartbeatMissed",
    "Ignore",
    "Limits",
    "Log",
    "LogItemChanged",
    "LostLease",
    "MaxChildren",
    "NetworkFilesystem",
    "NoProc",
    "NoRuntime",
    "NotDone",
    "NotFound",
    "NotSerializable",
    "NotValid",
    "Outcome",
    "PayloadTooLarge",
    "Pool",
    "PoolInUse",
    "PoolInfo",
    "ProcessDied",
    "Ref",
    "Refused",
    "ReplayMismatch",
    "Restart",
    "RestartLimitExceeded",
    "Restarting",
    "Retry",
    "Running",
    "RunningPool",
    "RunningSupervisor",
    "Runtime",
    "RuntimeClosed",
    "Shutdown",
    "SimpleOneForOne",
    "StaleAttempt",
    "StaleIncarnation",
    "StartTimeout",
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
    "SupervisionEvent",
    "Supervisor",
    "SupervisorFailed",
    "SupervisorView",
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
    "Unsupervised",
    "exponential",
    "fixed",
    "from_tenacity",
    "never_sent",
    "none",
    "run",
    "step",
    "supervise",
    "upcast",
]
