"""The table and the JSON say all that was measured, and what was not."""

import json
from pathlib import Path

import pytest

from benchmarks.plots import draw
from benchmarks.report import Report, as_text, read, write
from benchmarks.rows import NONE, POWER_CUT, Point, Row, Side, Unmeasured


def rate(at_once: int) -> Row:
    return Row(
        what=f"{at_once} tasks: steps",
        unit="steps/s",
        ours=Side("everstep", POWER_CUT, (50.0, 10.0, 20.0)),
        beside=(Side("sqlite3", POWER_CUT, (40.0, 80.0, 10.0)), Side("asyncio", NONE, (2000.0,))),
        aim="0.6 of sqlite3",
        met=False,
        point=Point("steps", "tasks at once", at_once),
    )


REPORT = Report(
    machine={"cores": 2, "load before": 0.5},
    seconds=12.0,
    rows=(rate(1), rate(100), Row("memory", "bytes", Side("everstep", POWER_CUT, (8000.0,)))),
    unmeasured=(Unmeasured("10,000 tasks", "takes too long"),),
)


def test_what_was_written_as_json_is_read_back_whole(tmp_path: Path) -> None:
    write(REPORT, tmp_path / "report.json")

    assert read(tmp_path / "report.json") == REPORT


def test_the_json_holds_every_repetition_and_the_ratio_of_the_medians(tmp_path: Path) -> None:
    write(REPORT, tmp_path / "report.json")

    row, *_ = json.loads((tmp_path / "report.json").read_bytes())["rows"]
    assert (row["ours"]["values"], row["ours"]["median"]) == ([50, 10, 20], 20)
    assert [(side["median"], side["ratio"]) for side in row["beside"]] == [(40, 0.5), (2000, 0.01)]


def test_the_table_has_a_line_for_each_baseline_with_what_each_side_survives() -> None:
    lines = [[cell.strip() for cell in line.split("|")] for line in as_text(REPORT).splitlines()]
    (first,) = (line for line in lines if "1 tasks: steps" in line)
    second = lines[lines.index(first) + 1]

    ours = ["1 tasks: steps", "steps/s", "20.0 (10.0-50.0)", "power cut"]
    raw = ["sqlite3", "40.0 (10.0-80.0)", "power cut", "0.500"]
    assert first[1:-1] == [*ours, *raw, "0.6 of sqlite3", "no"]
    assert second[1:-1] == [*[""] * 4, "asyncio", "2,000", "none", "0.01", "", ""]


def test_the_table_says_what_was_not_measured_and_why() -> None:
    (line,) = (line for line in as_text(REPORT).splitlines() if "10,000 tasks" in line)

    assert "not measured" in line
    assert "takes too long" in line


def test_each_picture_is_drawn_with_a_curve_for_each_side_from_what_was_written(
    tmp_path: Path,
) -> None:
    write(REPORT, tmp_path / "report.json")

    (picture,) = draw([read(tmp_path / "report.json")], tmp_path)

    assert picture.name == "bench-steps.svg"
    text = picture.read_text()
    assert all(name in text for name in ("everstep", "sqlite3", "asyncio", "tasks at once"))


def test_the_same_numbers_make_the_same_picture(tmp_path: Path) -> None:
    (picture,) = draw([REPORT], tmp_path)
    once = picture.read_bytes()

    draw([REPORT], tmp_path)

    assert picture.read_bytes() == once


@pytest.mark.parametrize("values", [(0.0,), (0.0, 0.0)])
def test_a_baseline_of_nothing_has_no_ratio(values: tuple[float, ...]) -> None:
    row = Row("memory", "MB", Side("everstep", NONE, (3.0,)), (Side("asyncio", NONE, values),))

    assert "nan" in as_text(Report({}, 1.0, (row,)))
