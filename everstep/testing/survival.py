"""Kill a scenario at each of its boundaries, let it go on, and compare."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .history import History, violations
from .simulation import simulate
from .trail import FileTrail
from .zygote import Outcome, Scenario, Zygote, trail_of

__all__ = ["Check", "live_through", "some_of", "survive", "survive_simulated"]

Check = Callable[[History, History], None]
"""Is given the undisturbed history and another one; raises AssertionError."""
_Live = Callable[[tuple[int, ...]], History]


def live_through(
    zygote: Zygote,
    scenario: Scenario,
    path: Path,
    *args: Any,
    deaths: Iterable[int] = (),
    timeout: float = 30.0,
) -> History:
    """Live a scenario on `path` again and again, until a life ends otherwise than by a kill.

    The first life dies at the first of the boundaries `deaths`, and so on; the one after the
    last of them is left alone.
    """
    planned = tuple(deaths)
    outcomes: list[Outcome] = []
    for number, die_at in enumerate((*planned, None), 1):
        outcome = zygote.run(scenario, path, *args, life=number, die_at=die_at, timeout=timeout)
        outcomes.append(outcome)
        if outcome.how != "killed":
            break
    return History(tuple(outcomes), planned, tuple(FileTrail(trail_of(path))))


def survive(
    zygote: Zygote,
    scenario: Scenario,
    folder: Path,
    *args: Any,
    boundaries: int | None = None,
    chains: int = 0,
    check: Check | None = None,
    max_attempts: int = 3,
    timeout: float = 30.0,
) -> list[History]:
    """Live a scenario undisturbed, then once with a death at each of its boundaries.

    After each death it is lived again on the same file, to the end. Every history must end with
    the result of the undisturbed one and violate nothing (see `violations`); `check` may ask for
    more. `boundaries` limits how many are tried, `chains` adds so many histories of two and
    three deaths at boundaries that are drawn by a fixed seed.

    Returns all histories, the undisturbed one first. Raises AssertionError with the whole story
    of the first one that is wrong.
    """

    def live(deaths: tuple[int, ...]) -> History:
        path = folder / f"{'-'.join(map(str, deaths)) or 'undisturbed'}.db"
        return live_through(zygote, scenario, path, *args, deaths=deaths, timeout=timeout)

    return _survive(live, boundaries, chains, check, max_attempts)


def survive_simulated(
    scenario: Scenario,
    *args: Any,
    boundaries: int | None = None,
    chains: int = 0,
    check: Check | None = None,
    max_attempts: int = 3,
) -> list[History]:
    """As `survive`, with deaths that are only pretended: see `simulate`."""

    def live(deaths: tuple[int, ...]) -> History:
        return simulate(scenario, *args, deaths=deaths)

    return _survive(live, boundaries, chains, check, max_attempts)


def some_of(count: int, limit: int | None) -> list[int]:
    """The numbers from 1 to `count`, or `limit` of them, evenly spread with both ends."""
    if limit is None or count <= limit:
        return list(range(1, count + 1))
    return sorted({1 + round(place * (count - 1) / (limit - 1)) for place in range(limit)})


def _survive(
    live: _Live, boundaries: int | None, chains: int, check: Check | None, max_attempts: int
) -> list[History]:
    undisturbed = live(())
    compare = partial(_compare, undisturbed, check=check, max_attempts=max_attempts)
    compare(undisturbed)
    histories = [undisturbed]
    for deaths in _plans(undisturbed.passed, boundaries, chains):
        histories.append(live(deaths))
        compare(histories[-1])
    return histories


def _plans(count: int, boundaries: int | None, chains: int) -> Iterator[tuple[int, ...]]:
    for number in some_of(count, boundaries):
        yield (number,)
    chance = random.Random(f"{count} {chains}")
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < min(chains, count * count):  # each is lived on a file of its own
        drawn[tuple(chance.randint(1, count) for _ in range(chance.randint(2, 3)))] = None
    yield from drawn


def _compare(
    undisturbed: History, history: History, *, check: Check | None, max_attempts: int
) -> None:
    outcome = history.outcome
    assert outcome.how == "ended", f"a life did not end by itself\n{history}"
    assert not outcome.complaints, f"a life left something behind\n{history}"
    assert outcome.result == undisturbed.outcome.result, f"another result\n{history}"
    wrong = violations(history, max_attempts=max_attempts)
    assert not wrong, "\n".join([*wrong, str(history)])
    if check is not None:
        try:
            check(undisturbed, history)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{history}") from error
