"""The statements that write the rows of steps.

To bind a None, bytes or an enum costs sqlite3 several times what a number or a string costs, and a
row of a step is mostly made of them. So the two rows that nearly all steps consist of, a first
attempt that has begun and a checkpoint, have statements in which what is known is written out.
"""

from __future__ import annotations

from typing import Any

from ..records import StepRow
from .inserts import NULLABLE

__all__ = ["step_write"]

_FIELDS = StepRow._fields


def _upsert(known: dict[str, str]) -> str:
    """The statement that writes a step's row; fenced by its outcome and its newest attempt."""
    return f"""
        INSERT INTO step ({", ".join(_FIELDS)})
        VALUES ({", ".join(known.get(field, "?") for field in _FIELDS)})
        ON CONFLICT (task, identity) DO UPDATE
        SET {", ".join(f"{field} = excluded.{field}" for field in _FIELDS[2:])}
        WHERE step.outcome IS NULL AND step.serial <= excluded.serial
    """


_NOT_DUE = {"due_at": "NULL", "due_boot": "NULL", "due_delay": "NULL"}
_ANY = _upsert({})
_COMPLETED = _upsert(
    {
        **_NOT_DUE,
        "outcome": "'completed'",
        "changes": NULLABLE,
        "appends": NULLABLE,
        "error": "NULL",
    }
)
_BEGUN = _upsert(
    {
        **_NOT_DUE,
        "outcome": "NULL",
        "seq": "NULL",
        "output": "NULL",
        "changes": "NULL",
        "appends": "NULL",
        "error": "NULL",
        "ended_at": "NULL",
    }
)

_DUE = _FIELDS.index("due_at")
_OUTCOME = _FIELDS.index("outcome")
_SEQ = _FIELDS.index("seq")
_DIGEST = _FIELDS.index("digest")
_OUTPUT = _FIELDS.index("output")
_FIRST_AT = _FIELDS.index("first_at")
_ENDED_AT = _FIELDS.index("ended_at")
_NO_DUE = (None,) * (_OUTCOME - _DUE)
_NO_CHECKPOINT = (None,) * (_DIGEST - _DUE)
_NO_RESULT = (None,) * (_FIRST_AT - _OUTPUT)


def step_write(row: StepRow) -> tuple[str, tuple[Any, ...]]:
    """The statement that writes a step's row, and its parameters."""
    if row.outcome == "completed":
        output, changes, appends = row.output, row.changes, row.appends
        if row[_DUE:_OUTCOME] == _NO_DUE and output and row.error is None:
            changed = bytearray(changes) if changes else ""
            left = bytearray(output), changed, bytearray(appends) if appends else ""
            return _COMPLETED, row[:_DUE] + row[_SEQ:_OUTPUT] + left + row[_FIRST_AT:]
    elif (
        row.ended_at is None
        and row[_DUE:_DIGEST] == _NO_CHECKPOINT
        and row[_OUTPUT:_FIRST_AT] == _NO_RESULT
    ):
        return _BEGUN, row[:_DUE] + row[_DIGEST:_OUTPUT] + row[_FIRST_AT:_ENDED_AT]
    return _ANY, row
