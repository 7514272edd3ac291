"""Durable tasks: actors whose state is checkpointed after each step."""

from .actors.actor import Actor
from .actors.approval import Approval
from .actors.backoff import exponential, fixed, from_tenacity, none
from .actors.children import ChildTask
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
    ReadonlyChanged,
    ReplayMismatch,
    StateUnreadable,
    StepTimeout,
    StreamFull,
    Suspended,
    UnaskedCancellation,
    UnknownActor,
)
from .actors.failures import (
    ChildCancelled,
    ChildFailed,
    Failure,
    HandlerFailed,
    MessageRefused,
    Rejected,
    StepFailed,
)
from .actors.handler import handler
from .actors.log import Log
from .actors.never_sent import never_sent
from .actors.retry import Retry
from .actors.step import step
from .actors.streaming import Stream
from .actors.upcast import upcast
from .actors.values import Limits
from .actors.wait_errors import WaitInStep, WaitTimeout
from .errors import (
    AlreadyAnswered,
    NotAsked,
    RuntimeClosed,
    ScheduleNotFound,
    TaskCancelled,
    TaskFailed,
    TaskPaused,
    WrongAnswer,
)
from .inbox import Question
from .piece_stream import Piece
from .reading import EffectRecord, Event, StepRecord, TaskInfo
from .running import run
from .runtime import Runtime
from .schedule import Schedule, ScheduleInfo
from .server import Server
from .storage.clock import Clock, SystemClock
from .storage.errors import (
    EverstepError,
    ForeignStore,
    LostLease,
    MailboxFull,
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
    TaskEnded,
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
    MissingExtra,
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
    "AlreadyAnswered",
    "AlreadyPresent",
    "AlreadyStarted",
    "AmbiguousStep",
    "Approval",
    "BadActor",
    "BadCall",
    "BadCombination",
    "Child",
    "ChildCancelled",
    "ChildFailed",
    "ChildInfo",
    "ChildTask",
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
    "HandlerFailed",
    "HeartbeatMissed",
    "Ignore",
    "Limits",
    "Log",
    "LogItemChanged",
    "LostLease",
    "MailboxFull",
    "MaxChildren",
    "MessageRefused",
    "MissingExtra",
    "NetworkFilesystem",
    "NoProc",
    "NoRuntime",
    "NotAsked",
    "NotDone",
    "NotFound",
    "NotSerializable",
    "NotValid",
    "Outcome",
    "PayloadTooLarge",
    "Piece",
    "Pool",
    "PoolInUse",
    "PoolInfo",
    "ProcessDied",
    "Question",
    "ReadonlyChanged",
    "Ref",
    "Refused",
    "Rejected",
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
    "Schedule",
    "ScheduleInfo",
    "ScheduleNotFound",
    "Server",
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
    "Stream",
    "StreamFull",
    "Superseded",
    "SupervisionEvent",
    "Supervisor",
    "SupervisorFailed",
    "SupervisorView",
    "Suspended",
    "SystemClock",
    "Task",
    "TaskCancelled",
    "TaskEnded",
    "TaskExists",
    "TaskFailed",
    "TaskInfo",
    "TaskNotFound",
    "TaskPaused",
    "UnaskedCancellation",
    "UnknownActor",
    "Unsupervised",
    "WaitInStep",
    "WaitTimeout",
    "WrongAnswer",
    "exponential",
    "fixed",
    "from_tenacity",
    "handler",
    "never_sent",
    "none",
    "run",
    "step",
    "supervise",
    "upcast",
]
