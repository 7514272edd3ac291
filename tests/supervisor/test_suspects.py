"""Those that kill their process are found alone, and their neighbours go free."""

import math

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from everstep.storage.records import Status
from everstep.supervisor.restart import Restart
from everstep.supervisor.suspects import Lineup, Orphans, Suspect, counted
from tests.supervisor.killers import Habit, World
from tests.supervisor.rows import progress

RECOVERED = 300.0


def suspect(key: int, brushes: int = 0, died: int = 1, claimed: float = 0.0) -> Suspect:
    return Suspect(key, brushes, died, claimed)


def test_suspects_are_let_in_one_then_two_then_four() -> None:
    lineup = Lineup()
    waiting = [suspect(key) for key in range(9)]
    sizes: list[int] = []

    while waiting:
        batch = lineup.next_batch(waiting, room=100)
        sizes.append(len(batch))
        waiting = [one for one in waiting if one.key not in batch]
        for key in batch:
            assert lineup.next_batch(waiting, room=100) == []
            assert lineup.checkpoint(key)

    assert sizes == [1, 2, 4, 2]


def test_a_group_is_no_larger_than_the_room() -> None:
    lineup = Lineup()

    assert lineup.next_batch([suspect(1)], room=0) == []
    assert lineup.next_batch([suspect(1)], room=1) == [1]


def test_those_with_brushes_come_first_then_the_newest_death_then_the_last_let_in() -> None:
    waiting = [
        suspect(1, died=9, claimed=5),
        suspect(2, died=9, claimed=6),
        suspect(3, died=8, claimed=7),
        suspect(4, brushes=1, died=3),
    ]
    lineup = Lineup()
    order: list[int] = []

    while waiting:
        batch = lineup.next_batch(waiting, room=1)
        order += batch
        waiting = [one for one in waiting if one.key not in batch]
        for key in batch:
            lineup.through(key)

    assert order == [4, 2, 1, 3]


def test_a_suspect_without_brushes_is_tried_beside_others() -> None:
    lineup = Lineup()

    lineup.next_batch([suspect(1)], room=9)

    assert lineup.tried(1)
    assert not lineup.exclusive


def test_a_suspect_with_brushes_is_tried_alone_until_one_checkpoint_more_than_brushes() -> None:
    lineup = Lineup()
    lineup.next_batch([suspect(1, brushes=2)], room=9)

    assert lineup.exclusive
    assert [lineup.checkpoint(1) for _ in range(4)] == [False, False, True, False]
    assert not lineup.exclusive


def test_a_task_that_is_not_tried_is_through_with_nothing() -> None:
    lineup = Lineup()

    assert not lineup.checkpoint(1)
    assert not lineup.through(1)


def test_the_only_one_that_ran_was_alone_and_one_in_a_backoff_did_not_run() -> None:
    first = progress(epoch=4)
    backing_off = progress(epoch=4, due_at=10.0)
    orphans = Orphans([first, backing_off])

    assert orphans.alone(first)


def test_of_two_in_one_epoch_neither_was_alone_and_other_epochs_do_not_matter() -> None:
    both, other = progress(epoch=4), progress(epoch=5)
    orphans = Orphans([both, both, other])

    assert not orphans.alone(both)
    assert orphans.alone(other)


def test_a_recovery_that_died_half_way_makes_nobody_look_alone() -> None:
    suspected = progress(epoch=4, deaths=2)
    first_recovery = Orphans([suspected, progress(epoch=4)])

    assert first_recovery.to_mark(suspected, suspects_from=2)
    marked = suspected._replace(death_epoch=4)
    second_recovery = Orphans([marked])

    assert not second_recovery.alone(marked)
    assert not first_recovery.to_mark(marked, suspects_from=2)


def test_only_those_whose_last_death_is_at_stake_are_marked() -> None:
    orphans = Orphans([progress(epoch=4, deaths=1), progress(epoch=4, deaths=2)])

    assert not orphans.to_mark(progress(epoch=4, deaths=1), suspects_from=2)
    assert not orphans.to_mark(progress(epoch=4, deaths=2, due_at=1.0), suspects_from=2)


seconds = st.floats(2, 40, allow_nan=False)
healthy = st.builds(
    Habit,
    step=st.one_of(seconds, st.just(math.inf)),
    steps=st.one_of(st.integers(1, 40), st.just(1_000_000)),
    kills_after=st.none(),
)


@st.composite
def killers(draw: st.DrawFn) -> Habit:
    """Kills at once, or after a few checkpoints, but before it counts as recovered."""
    after = draw(st.integers(0, 5))
    step = draw(st.floats(1, RECOVERED / (after + 1) / 2))
    return Habit(step=step, kills_after=after)


worlds = st.lists(st.one_of(healthy, killers()), min_size=1, max_size=25)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(habits=worlds, max_deaths=st.integers(2, 4))
def test_every_killer_is_found_and_no_neighbour_is_wronged(
    habits: list[Habit], max_deaths: int
) -> None:
    world = World(habits, Restart(max_deaths=max_deaths, reset_after=RECOVERED), room=100)
    found = len(world.unfound())
    limit = 10 + found * 40

    while world.unfound():
        assert world.lives < limit
        assert world.live(), "nothing kills the process, yet a killer is not found"
        assert world.wronged() == []


@pytest.mark.parametrize("after", [0, 3])
def test_one_killer_among_a_hundred_is_found_within_a_few_deaths(after: int) -> None:
    habits = [Habit(step=5.0) for _ in range(100)]
    habits[61] = Habit(step=5.0, kills_after=after)
    world = World(habits, Restart(reset_after=RECOVERED), room=1000)

    while world.unfound():
        world.live()

    assert world.lives <= 14
    assert world.wronged() == []


def test_a_task_that_waited_when_the_process_died_is_charged_nothing() -> None:
    waited = progress(status=Status.WAITING, epoch=4)
    ran = progress(epoch=4)

    assert not counted(waited)
    assert Orphans([waited, ran]).alone(ran)
