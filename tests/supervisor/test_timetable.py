"""The instants of a schedule, on the days on which clocks are changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everstep.supervisor.timetable import MOST_COUNTED, Beat, Cron, newest, timetable

DAY = 86_400


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def in_utc(expression: str, zone: str, day: str, count: int) -> list[str]:
    """The first instants after a day's beginning in UTC, as text."""
    found = timetable(expression, None, zone, instant(day)).instants(instant(day))
    return [f"{datetime.fromtimestamp(at, UTC):%d %H:%M}" for at in islice(found, count)]


# The clocks of Berlin go from 2:00 to 3:00 on 29 March 2026, and from 3:00 to 2:00 on 25 October.


def test_a_time_of_day_that_the_clocks_leave_out_comes_when_they_have_been_put_forward() -> None:
    found = in_utc("30 2 * * *", "Europe/Berlin", "2026-03-28", 3)
    assert found == ["28 01:30", "29 01:00", "30 00:30"]


def test_a_time_of_day_that_is_shown_twice_comes_the_first_time() -> None:
    found = in_utc("30 2 * * *", "Europe/Berlin", "2026-10-24", 3)
    assert found == ["24 00:30", "25 00:30", "26 01:30"]


def test_with_a_star_what_counts_is_what_the_clocks_show() -> None:
    found = in_utc("*/30 2 * * *", "Europe/Berlin", "2026-03-28", 3)
    assert found == ["28 01:00", "28 01:30", "30 00:00"]
    found = in_utc("*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", 5)
    assert found == ["25 00:00", "25 00:30", "25 01:00", "25 01:30", "26 01:00"]


def test_clocks_that_are_changed_by_half_an_hour_lose_nothing() -> None:
    found = in_utc("0 * * * *", "Australia/Lord_Howe", "2026-10-03T14:00", 4)
    assert found == ["03 14:30", "03 16:00", "03 17:00", "03 18:00"]


def test_a_day_without_a_beginning_has_its_midnight_when_it_begins() -> None:
    found = in_utc("0 0 * * *", "Asia/Beirut", "2024-03-30", 3)
    assert found == ["30 22:00", "31 21:00", "01 21:00"]


def test_a_day_that_a_country_left_out_has_its_times_when_the_next_one_begins() -> None:
    found = in_utc("0 7 * * *", "Pacific/Apia", "2011-12-29", 3)
    assert found == ["29 17:00", "30 10:00", "30 17:00"]


def numbers(field: str, top: int) -> set[int]:
    if field.startswith("*"):
        return set(range(0, top + 1, int(field[2:] or "1")))
    return {int(number) for number in field.split(",")}


def model(expression: str, zone: ZoneInfo, after: int, until: int) -> list[int]:
    """All of them, minute by minute, or day by day where each time of day is to come once."""
    minute, hour = expression.split()[:2]
    minutes, hours = numbers(minute, 59), numbers(hour, 23)
    if "*" in minute[0] + hour[0]:
        shown = ((at, datetime.fromtimestamp(at, zone)) for at in range(after + 60, until + 1, 60))
        return [at for at, time in shown if time.minute in minutes and time.hour in hours]
    days = (datetime.fromtimestamp(after, UTC) + timedelta(days=n) for n in range(-2, 6))
    times = [datetime(d.year, d.month, d.day, h, m) for d in days for h in hours for m in minutes]
    found = {int(shown_first(time, zone).timestamp()) for time in times}
    return sorted(at for at in found if after < at <= until)


def shown_first(time: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which the clocks of a zone show a time first, or have passed it over."""
    while (there := time.replace(tzinfo=zone)).astimezone(UTC).astimezone(zone) != there:
        time += timedelta(minutes=1)
    return there


CHANGES = {
    "Europe/Berlin": ["2026-03-29T01:00", "2026-10-25T01:00"],
    "America/New_York": ["2026-03-08T07:00", "2026-11-01T06:00"],
    "America/Sao_Paulo": ["2018-11-04T03:00", "2019-02-17T02:00"],
    "Australia/Lord_Howe": ["2026-04-04T15:00", "2026-10-03T15:30"],
    "America/St_Johns": ["2011-03-13T03:31", "2010-11-07T02:31"],
    "Africa/Casablanca": ["2026-02-15T02:00", "2026-03-22T02:00"],
    "Africa/Cairo": ["2026-04-23T22:00", "2026-10-29T21:00"],
    "Asia/Shanghai": ["2026-05-01T00:00"],
    "Asia/Kathmandu": ["2026-05-01T00:00"],
    "UTC": ["2026-05-01T00:00"],
}


def fields(top: int) -> st.SearchStrategy[str]:
    listed = st.lists(st.integers(0, top), min_size=1, max_size=3)
    steps = st.sampled_from(["*", "*/2", "*/3", "*/7", "*/15", "*/20"])
    return st.one_of(steps, listed.map(lambda some: ",".join(map(str, some))))


PLACES = [(zone, change) for zone, changes in CHANGES.items() for change in changes]


@given(fields(59), fields(5) | fields(23), st.sampled_from(PLACES), st.integers(-1500, 300))
@example("0", "*", ("Australia/Lord_Howe", "2026-10-03T15:30"), -120)
@example("*", "1,8", ("America/St_Johns", "2011-03-13T03:31"), -60)
def test_around_every_change_of_clocks_the_instants_are_those_of_a_plain_model(
    minute: str, hour: str, where: tuple[str, str], minutes: int
) -> None:
    zone, change = where
    expression, tz = f"{minute} {hour} * * *", ZoneInfo(zone)
    after = instant(change) + minutes * 60
    until = after + 2 * DAY

    found = list(takewhile(lambda at: at <= until, Cron(expression, tz).instants(after)))

    assert found == model(expression, tz, after, until)


@given(st.sampled_from(["*/20 1,2,3 * * *", "0,20,40 1,2,3 * * *"]), st.floats(0, 2 * DAY))
def test_the_instants_after_any_moment_are_the_rest_of_all(expression: str, passed: float) -> None:
    table = Cron(expression, ZoneInfo("Europe/Berlin"))
    begin = instant("2026-10-24")
    known = list(takewhile(lambda at: at < begin + 3 * DAY, table.instants(begin)))

    rest = list(takewhile(lambda at: at < begin + 3 * DAY, table.instants(begin + passed)))

    assert rest == [at for at in known if at > begin + passed]


@given(st.integers(1, 5000), st.integers(0, 10**9), st.floats(-1e5, 1e7))
def test_a_beat_is_what_counting_up_from_its_anchor_gives(
    every: int, anchor: int, passed: float
) -> None:
    moment = anchor + passed
    first = next(Beat(every, anchor).instants(moment))

    assert first > moment and first > anchor
    assert (first - anchor) % every == 0
    assert first - every <= max(moment, anchor)


@given(st.integers(1, 500), st.integers(0, 10**9), st.floats(-1e4, 1e7), st.floats(0, 1e4))
def test_a_beat_counts_what_listing_its_instants_gives(
    every: int, anchor: int, passed: float, span: float
) -> None:
    table, after = Beat(every, anchor), anchor + passed
    listed = list(takewhile(lambda at: at <= after + span, table.instants(after)))

    assert table.counted(after, after + span) == len(listed)


@pytest.mark.parametrize("expression", ["*/7 3 * * *", "0 7 * * *", "0 0 1 1 *", "* * 1 1 *"])
@pytest.mark.parametrize("span", [30, 3600, 40 * DAY, 800 * DAY])
@pytest.mark.parametrize("most", [1, 5, 1001])
def test_the_newest_instants_are_the_last_of_all(expression: str, span: int, most: int) -> None:
    table = Cron(expression, ZoneInfo("Europe/Berlin"))
    until = instant("2026-03-01T12:34")
    after = until - span
    all_of_them = list(takewhile(lambda at: at <= until, table.instants(after)))

    assert newest(table, after, until, most) == all_of_them[-most:]
    assert table.counted(after, until) == min(len(all_of_them), MOST_COUNTED)
