"""Which command is meant, and what becomes of its errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..storage.errors import EverstepError
from . import events, tree
from .answer import Answer

__all__ = ["main"]

_REFUSED = 2
"""Exit status of a command that could not do what it was asked."""


class _Command(NamedTuple):
    help: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Answer]
    """What is to be said. Raises EverstepError with the next step in its message."""


_COMMANDS = {
    "tree": _Command(tree.HELP, tree.options, tree.run),
    "events": _Command(events.HELP, events.options, events.run),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` names, by default that of the process; its exit status.

    0 is done; a line on stderr may tell what is not shown. 2 is refused: then it says why, and what
    to do.
    """
    asked = _parser().parse_args(argv)
    name: str = asked.command
    try:
        answer = _COMMANDS[name].run(asked)
    except EverstepError as error:
        sys.stderr.write(f"everstep {name}: {error}\n")
        return _REFUSED
    _print(answer.text)
    if answer.note:
        sys.stderr.write(f"everstep {name}: {answer.note}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="everstep", description=_ABOUT)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in _COMMANDS.items():
        command.options(commands.add_parser(name, help=command.help, description=command.help))
    return parser


_ABOUT = "Look at the stores of everstep."


def _sayable(text: str) -> str:
    """The text as far as the encoding of stdout can say it."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _print(text: str) -> None:
    """Print what there is; a reader that has gone away, as `head` does, is no error."""
    try:
        sys.stdout.write(_sayable(text) + "\n" if text else "")
        sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # so that the flush at the exit is quiet too
        os.close(nowhere)
