"""The handle of a running pool: looks at it, and changes its policy while it runs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ..pool_info import PoolInfo
from ..pool_spec import Pool
from ..restart import UNSET, Restart, Unset
from .messages import AdaptPool

if TYPE_CHECKING:
    from .pool_member import PoolMember
    from .shell import Shell

__all__ = ["RunningPool"]


class RunningPool:
    """One life of a pool. When its supervisor has started it again, ask for the new handle.

    Its tasks are those of the store; `runtime.tasks(…)` lists them.
    """

    def __init__(self, shell: Shell, id: str, member: PoolMember) -> None:  # noqa: A002
        self._shell = shell
        self._id = id
        self._member = member

    def __repr__(self) -> str:
        return f"<RunningPool {self.path}>"

    @property
    def path(self) -> str:
        """The names from the root down, joined by `/`."""
        return f"{self._shell.path}/{self._id}"

    @property
    def spec(self) -> Pool:
        """The policy in force. Raises NoProc."""
        return self._member.pool().spec

    def info(self) -> PoolInfo:
        """The pool at this moment, as data; nothing is read for it. Raises NoProc."""
        return self._member.pool().info()

    def info_or_none(self) -> PoolInfo | None:
        """The same; None once it is to end, of which its supervisor may not know yet."""
        return self.info() if self._member.works else None

    async def reconfigure(
        self,
        *,
        max_running: int | Unset = UNSET,
        max_running_per_lane: int | Unset | None = UNSET,
        rate: tuple[int, float] | Unset | None = UNSET,
        storm: tuple[int, float] | Unset | None = UNSET,
        restart: Restart | Unset = UNSET,
    ) -> None:
        """Go on by another policy, without touching what runs. What is left out stays.

        A lower limit ends nothing: nobody is let in until enough have ended. A higher one lets in
        at once. Delays that were chosen stay. It lasts for this life of its supervisor, also when
        that starts the pool again. Raises BadCall, BadCombination and NoProc, and then nothing
        has changed.
        """
        given: dict[str, Any] = {
            "max_running": max_running,
            "max_running_per_lane": max_running_per_lane,
            "rate": rate,
            "storm": storm,
            "restart": restart,
        }
        changes = {name: value for name, value in given.items() if value is not UNSET}
        dataclasses.replace(self.spec, **changes)  # refused here, where the caller wrote it
        await self._shell.ask(AdaptPool(self._id, changes))
