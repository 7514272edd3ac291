"""What the check of a whole file says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep import StoreError, StoreUnreadable
from everstep.storage.sqlite import opening


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("Page 31: unable to get the page. error code=7", StoreError),  # SQLITE_NOMEM
        ("Page 31: unable to get the page. error code=10", StoreError),  # SQLITE_IOERR
        ("On tree page 9 cell 0: failed to get page 12", StoreError),
        ("*** in database main ***\n", StoreError),
        ("Page 31: unable to get the page. error code=11", StoreUnreadable),
        ("On tree page 9 cell 0: invalid page number 700", StoreUnreadable),
        ("wrong # of entries in index task_kin", StoreUnreadable),
    ],
)
def test_only_what_was_read_is_called_damaged(found: str, kind: type[StoreError]) -> None:
    with pytest.raises(StoreError) as caught:
        opening.judge(Path("tasks.db"), found)

    assert type(caught.value) is kind
