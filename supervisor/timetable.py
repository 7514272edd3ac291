"""The instants of a schedule: those of a cron expression in a time zone, or those of a beat."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from ..actors.errors import BadCall
from .errors import MissingExtra

if TYPE_CHECKING:
    from cronsim import CronSim

__all__ = ["MOST_COUNTED", "Beat", "Cron", "Timetable", "newest", "timetable"]

MOST_COUNTED = 10_000
"""So many instants of a cron expression are counted at once, which takes a fifth of a second."""

_DAY = 86_400


class Timetable(Protocol):
    """Instants in UTC seconds, all of them whole."""

    def instants(self, after: float) -> Iterator[float]:
        """Those after this one, in order. They may come to an end."""
        ...

    def counted(self, after: float, until: float) -> int:
        """How many come after the one and up to the other, as far as that can be counted."""
        ...


class Beat(NamedTuple):
    """Every so many seconds, counted from an instant that is none of them itself."""

    every: int
    anchor: float

    def instants(self, after: float) -> Iterator[float]:
        number = self._number(after)
        while True:
            number += 1
            yield self.anchor + number * self.every

    def counted(self, after: float, until: float) -> int:
        """How many come after the one and up to the other."""
        return max(self._number(until) - self._number(after), 0)

    def _number(self, at: float) -> int:
        return max(int((at - self.anchor) // self.every), 0)


class Cron(NamedTuple):
    """Those of a cron expression, in the clocks of a zone.

    Where minute and hour are numbers, each time of day comes once a day: one that the clocks leave
    out comes when they have been put forward, one that they show twice comes the first time. With a
    `*` in either, what counts is what the clocks show: nothing in the hour that is left out, and
    both of the hours that are shown twice. As in Debian's cron.
    """

    expression: str
    zone: ZoneInfo

    def instants(self, after: float) -> Iterator[float]:
        minute, hour = self.expression.split()[:2]
        if minute.startswith("*") or hour.startswith("*"):
            return self._as_shown(int(after // 1) + 1)
        return self._once_a_day(after)

    def counted(self, after: float, until: float) -> int:
        """How many come after the one and up to the other; at most MOST_COUNTED."""
        found = islice(_until(self, after, until), MOST_COUNTED)
        return sum(1 for _ in found)

    def _once_a_day(self, after: float) -> Iterator[float]:
        last = after
        for shown in _simulation(self.expression, datetime.fromtimestamp(after, self.zone)):
            instant = shown.timestamp()
            if instant > last:  # it knows a time of day that is shown twice only as the first one
                last = instant
                yield instant

    def _as_shown(self, at: int) -> Iterator[float]:
        """Those from `at` on, one stretch after the other in which the clocks are not changed.

        cronsim itself loses some where they are changed by half an hour.
        """
        while True:
            offset, end, changes = self._stretch(at)
            instant: float = end
            for shown in _simulation(self.expression, _clock_time(at - 1 + offset)):
                instant = shown.replace(tzinfo=UTC).timestamp() - offset
                if instant >= end:
                    break
                yield instant
            else:
                return
            # Until then the clocks show none, whatever is done to them on the way.
            at = end if changes else max(end, int(instant) - 2 * _DAY)

    def _stretch(self, at: int) -> tuple[int, int, bool]:
        """By how much the clocks are ahead of UTC, until when, and whether they change then."""
        offset, end = self._offset(at), at + _DAY
        if self._offset(end) == offset:
            return offset, end, False
        same = at
        while end - same > 1:
            middle = (same + end) // 2
            same, end = (middle, end) if self._offset(middle) == offset else (same, middle)
        return offset, end, True

    def _offset(self, at: int) -> int:
        offset = datetime.fromtimestamp(at, self.zone).utcoffset()
        assert offset is not None  # it has a zone
        return int(offset.total_seconds())


def timetable(cron: str | None, every: object, tz: object, anchor: float) -> Timetable:
    """The instants that are meant. Raises BadCall, and MissingExtra where cronsim is missing."""
    if cron is None:
        if every is None:
            instead = 'cron="0 7 * * *", or every=timedelta(hours=6)'
            raise BadCall("cron", cron, "is missing, and so is every", instead)
        if tz != "UTC":
            why = "is for cron: what comes every so often is the same in all time zones"
            raise BadCall("tz", tz, why, 'cron="0 7 * * *" with it, or leave it out')
        return Beat(_whole_seconds(every), anchor)
    if every is not None:
        raise BadCall("every", every, "is given beside cron", "one of the two")
    found = Cron(_expression(cron), _zone(tz))
    if next(found.instants(anchor), None) is None:
        raise BadCall("cron", cron, "names no day of the next 50 years", 'cron="0 7 * * *"')
    return found


def newest(table: Timetable, after: float, until: float, most: int) -> list[float]:
    """The last so many instants after `after` and up to `until`, in order; however many there are.

    It looks back from the end, ever further, so that a long time before costs little.
    """
    span = 60.0
    while True:
        begin = max(after, until - span)
        found = deque(_until(table, begin, until), maxlen=most)
        if len(found) == most or begin == after:
            return list(found)
        span *= 2


def _until(table: Timetable, after: float, until: float) -> Iterator[float]:
    return takewhile(lambda at: at <= until, table.instants(after))


def _clock_time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _whole_seconds(every: object) -> int:
    seconds = every.total_seconds() if isinstance(every, timedelta) else every
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 1 <= seconds < 1e9
        or seconds != int(seconds)
    ):
        why = "is no whole number of seconds from 1 on"
        raise BadCall("every", every, why, "every=90, or every=timedelta(hours=6)")
    return int(seconds)


def _expression(cron: object) -> str:
    if not isinstance(cron, str) or len(cron.split()) != 5:
        why = "is no cron expression of five fields: minute, hour, day, month, day of the week"
        raise BadCall("cron", cron, why, 'cron="0 7 * * MON-FRI"')
    expression = " ".join(cron.split())
    _simulation(expression, datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")))
    return expression


def _zone(tz: object) -> ZoneInfo:
    try:
        return ZoneInfo(tz if isinstance(tz, str) else "")
    except (KeyError, ValueError, OSError):
        why = "is no time zone that is known here"
        instead = 'tz="Asia/Shanghai"; where the machine has no zones at all, pip install tzdata'
        raise BadCall("tz", tz, why, instead) from None


def _simulation(expression: str, begin: datetime) -> CronSim:
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        raise MissingExtra("cron=", "cronsim", "cron") from None
    try:
        return CronSim(expression, begin)
    except CronSimError as error:
        why = f"is no cron expression: {error}"
        raise BadCall("cron", expression, why, 'cron="0 7 * * MON-FRI"') from None
