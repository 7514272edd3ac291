"""What an attempt has gathered that goes with its checkpoint, or went to streams before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..storage.mail import MessageRow
from ..storage.records import ChildRow

if TYPE_CHECKING:
    from .ledger import Ledger
    from .streaming import Stream

__all__ = ["Luggage"]


class Luggage:
    """Made when an attempt packs its first piece: most have none."""

    __slots__ = ("emitted", "sends", "starts", "streams")

    def __init__(self) -> None:
        self.emitted: list[tuple[str, bytes]] = []
        """Events of the user's."""
        self.sends: list[MessageRow] = []
        self.starts: list[ChildRow] = []
        self.streams: dict[str, Stream] = {}

    def put_on(self, ledger: Ledger, step: str) -> None:
        """Add it to the commit of the checkpoint of this step."""
        for name, data in self.emitted:
            ledger.event_bytes(name, step, data)
        for message in self.sends:
            ledger.send(message)
        for child in self.starts:
            ledger.start(child)
