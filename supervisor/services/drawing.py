"""A tree as text: a line for each child, what is known of it in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

__all__ = ["Branch", "draw", "in_words", "one_line"]

_GAP = "  "
_UNSAID = frozenset({"start_timeout", "reset_after", "restart_type"})
"""Settings that are left out of a line; they are in the data."""


class Branch(NamedTuple):
    """A line of a drawing, and what hangs below it."""

    name: str
    columns: tuple[str, ...] = ()
    """Aligned with those of the other lines, the last one excepted."""
    notes: tuple[str, ...] = ()
    """Lines of their own under it, out of all columns."""
    below: tuple[Branch, ...] = ()


def draw(root: Branch) -> str:
    """The tree with its root on top, without a line end after the last line.

    >>> print(draw(Branch("root", ("up", "x"), below=(Branch("a", ("down", "y")), Branch("b")))))
    root  up    x
    ├─ a  down  y
    └─ b
    """
    lines = list(_lines(root, "", "", ""))
    rows = [(name, *columns) for name, columns in lines if columns is not None]
    most = max(len(row) for row in rows)
    widths = [max(len(row[at]) for row in rows if len(row) > at) for at in range(most)]
    return "\n".join(
        name if columns is None else _aligned((name, *columns), widths) for name, columns in lines
    )


def _lines(
    branch: Branch, prefix: str, joint: str, further: str
) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Name and columns of each line, no columns for a note."""
    yield f"{prefix}{joint}{branch.name}", branch.columns
    below = f"{prefix}{further}"
    trunk = "│  " if branch.below else "   "
    for note in branch.notes:
        yield f"{below}{trunk}{note}", None
    for number, child in enumerate(branch.below, 1):
        last = number == len(branch.below)
        yield from _lines(child, below, "└─ " if last else "├─ ", "   " if last else "│  ")


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
    return _GAP.join(cells).rstrip()


def one_line(text: str, longest: int = 100) -> str:
    r"""A text for a line: no line ends nor other control characters, cut where it is too long.

    >>> one_line("connection\n  refused", 13)
    'connection r…'
    """
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def in_words(settings: Mapping[str, JsonValue]) -> str:
    """The settings of a child in a few words.

    >>> in_words({"strategy": "one_for_one", "restart": {"max_restarts": 3, "within": 5.0}})
    'one_for_one, 3 restarts within 5 s'
    """
    return one_line(", ".join(filter(None, _phrases(settings))), 200)


def _phrases(settings: Mapping[str, JsonValue]) -> Iterable[str]:
    for name, value in settings.items():
        match name, value:
            case "restart", dict():
                yield from _policy(value)
            case (("start" | "restart" | "strategy"), str()):
                yield value
            case "shutdown", _ if value is not None or "start" in settings:
                yield _budget(value)
            case "auto_shutdown", "never":
                pass
            case _:
                yield "" if name in _UNSAID else _setting(name, value)


def _policy(restart: Mapping[str, JsonValue]) -> Iterable[str]:
    most = restart.get("max_restarts")
    within = f" within {_said(restart['within'])} s" if "within" in restart else ""
    yield f"{most} restart{'' if most == 1 else 's'}{within}"
    for name, value in restart.items():
        if name not in _UNSAID | {"max_restarts", "within"}:
            yield _setting(name, value)


def _budget(seconds: JsonValue) -> str:
    if seconds is None:
        return "shutdown without limit"
    return "shutdown brutal" if seconds in ("brutal", 0) else f"shutdown {_said(seconds)} s"


def _setting(name: str, value: JsonValue) -> str:
    """A setting that is on, under its own name."""
    if value is None or value is False:
        return ""
    return name if value is True else f"{name} {_said(value)}"


def _said(value: JsonValue) -> str:
    if isinstance(value, list):
        return " in ".join(map(_said, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
