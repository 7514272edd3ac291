"""A copy of the file that another process makes while the runtime runs."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from everstep import Runtime, Status
from tests.runtime.kit import Gate, Plain, Waiting

BACKUP = """
import sqlite3, sys
source, copy = sqlite3.connect(sys.argv[1]), sqlite3.connect(sys.argv[2])
source.backup(copy)
copy.close()
source.close()
"""
VACUUM = """
import sqlite3, sys
source = sqlite3.connect(sys.argv[1])
source.execute("VACUUM INTO ?", sys.argv[2:])
source.close()
"""


@pytest.mark.real
@pytest.mark.parametrize("way", [BACKUP, VACUUM], ids=["backup", "vacuum into"])
async def test_a_backup_beside_commits_has_all_that_was_acknowledged_and_goes_on(
    tmp_path: Path, gate: Gate, way: str
) -> None:
    file, copy = tmp_path / "tasks.db", tmp_path / "copy.db"
    async with Runtime(file, grace=0) as runtime:
        ended = await runtime.start(Plain(), id="ended")
        await ended.result()
        await runtime.start(Waiting(name="w"), id="waits")
        await gate.until("w")
        command = [sys.executable, "-c", way, str(file), str(copy)]
        copying = asyncio.create_task(asyncio.to_thread(subprocess.run, command, check=True))
        while not copying.done():
            await runtime.start(Plain())
        await copying
        await runtime.task("waits").cancel()

    gate.open("w")
    async with Runtime(copy) as restored:
        assert await restored.task("ended").result() == "refunds: 2"
        assert await restored.task("waits").result() == "w"
    async with Runtime(file) as runtime:
        assert (await runtime.task("waits").status()).status is Status.CANCELLED
