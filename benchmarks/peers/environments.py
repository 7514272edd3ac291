"""An environment for each peer: a folder in `.peers/` with its packages, made when missing."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PEERS", "TREE", "CannotInstall", "Peer", "python"]

TREE = Path(__file__).resolve().parent.parent.parent
_ENVIRONMENTS = TREE / ".peers"


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    packages: tuple[str, ...]
    """What is installed; the first is the peer itself."""
    module: str
    """The module of benchmarks.peers that runs the course on it."""
    durability: str

    @property
    def title(self) -> str:
        """Its name, with the version if one is pinned."""
        return self.packages[0].replace("==", " ") if self.packages else self.name


PEERS = (
    Peer("dbos", ("dbos==3.4.0",), "on_dbos", "power cut"),
    Peer(
        "langgraph",
        ("langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2"),
        "on_langgraph",
        "power cut",
    ),
    Peer("pydantic-graph", ("pydantic-graph==1.107.0",), "on_pydantic_graph", "SIGKILL"),
    Peer("huey", ("huey==3.5.4",), "on_huey", "what is queued"),
)


class CannotInstall(Exception):
    """The packages of a peer could not be installed."""


def python(peer: Peer) -> Path:
    """The interpreter of a peer's environment, which is made if it is missing or has other pins.

    Raises CannotInstall.
    """
    folder = _ENVIRONMENTS / peer.name
    interpreter, stamp = folder / "bin" / "python", folder / "installed"
    wanted = "\n".join(peer.packages)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        venv.create(folder, with_pip=True, clear=True)
        _install(interpreter, peer)
        stamp.write_text(wanted, encoding="utf-8")
    return interpreter


def _install(interpreter: Path, peer: Peer) -> None:
    options = ("--quiet", "--disable-pip-version-check")
    command = [str(interpreter), "-m", "pip", "install", *options, *peer.packages]
    done = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise CannotInstall(done.stderr.strip().rpartition("\n")[2])
