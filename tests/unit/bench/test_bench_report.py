"""What the benchmark says of its runs: medians, targets met and missed, marks, curves."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bench.calibrate import Calibration
from bench.catalog import WORKLOADS
from bench.load import Measured, percentile
from bench.machine import Cores
from bench.outcome import Outcome, Point
from bench.report import as_json, as_plot, as_tables
from bench.summary import Run, loads, verdicts
from bench.targets import OF_THE_BARE_ROUTE, TARGETS

BARE = Measured(
    operations=1000,
    requests=1000,
    seconds=0.5,
    latencies={"constant": (1.0, 2.0)},
    generator_share=0.2,
    server_share=1.0,
    database_share=None,
)
CORES = Cores(0, 1)


def run_of(
    *, cycles: float = 2500, generator: float = 0.1, problems: tuple[str, ...] = (), sizes: int = 3
) -> Run:
    """A run on SQLite whose supervisors did so many cycles in a second."""
    load = replace(BARE, seconds=500 / cycles, operations=500, generator_share=generator)
    outcome = Outcome(
        {"cycles/s": cycles, "requests/s": 2 * cycles, "claim p99 ms": 31, "report p99 ms": 29},
        {"task cycle": load},
        [*problems],
        [
            Point("ended tokens", size, {"cycles/s": cycles, "claim p50 ms": 1.5})
            for size in (0, 1000, 1_000_000)[:sizes]
        ],
    )
    return Run("sqlite", Calibration(BARE, 5000, None, 7000), {"cycles": outcome})


def measured(*runs: Run) -> dict[str, tuple[float, bool]]:
    return {each.target.figure: (each.measured, each.met) for each in verdicts(runs)}


def test_a_target_is_held_to_the_median() -> None:
    found = measured(run_of(cycles=1000), run_of(cycles=2100), run_of(cycles=9000))
    assert found["cycles/s"] == (2100, True)
    assert measured(run_of(cycles=1999))["cycles/s"] == (1999, False)


def test_less_is_better_for_times() -> None:
    found = measured(run_of())
    assert found["claim p99 ms"] == (31, False)
    assert found["report p99 ms"] == (29, True)


def test_the_ratio_to_the_bare_route_is_that_of_each_run() -> None:
    slower = replace(BARE, seconds=1.0)
    run = run_of(cycles=500)
    on_a_slower_machine = replace(run, calibration=replace(run.calibration, bare_route=slower))
    assert measured(run)[OF_THE_BARE_ROUTE] == (0.5, False)
    assert measured(on_a_slower_machine)[OF_THE_BARE_ROUTE] == (1.0, True)


def test_a_run_whose_generator_was_the_bottleneck_is_marked() -> None:
    runs = [run_of(), run_of(generator=0.9)]
    assert [(each.name, each.limited) for each in loads(runs)][1:] == [("task cycle", 1)]
    tables = as_tables(runs, CORES, quick=False)
    assert "† `task cycle`: the generator may have been the bottleneck in 1 of 2 runs." in tables
    assert "†" not in as_tables(runs[:1], CORES, quick=False)


def test_a_failed_check_is_told() -> None:
    runs = [run_of(problems=("attempt 1 of task 7 was granted twice",))]
    sentence = "cycles on sqlite: attempt 1 of task 7 was granted twice"
    assert f"SELF-CHECK {sentence}" in as_tables(runs, CORES, quick=False)
    made = as_json(runs, CORES, seconds=1.0, quick=False)
    assert made["databases"]["sqlite"]["problems"] == [sentence]


def test_a_workload_that_came_to_nothing_is_held_to_nothing() -> None:
    run = run_of()
    run.outcomes["starts"] = Outcome({}, problems=["it did not come to its end"])
    assert "starts/s" not in measured(run)
    assert "it did not come to its end" in as_tables([run], CORES, quick=False)


def test_a_smoke_run_is_held_to_no_target() -> None:
    made = as_json([run_of()], CORES, seconds=1.0, quick=True)
    assert made["databases"]["sqlite"]["targets"] == []
    assert "| met |" not in as_tables([run_of()], CORES, quick=True)


def test_each_target_is_one_of_a_workload_that_there_is() -> None:
    assert {target.workload for target in TARGETS} <= set(WORKLOADS)


@pytest.mark.parametrize("sizes", [2, 3])
def test_the_curves_are_an_image(sizes: int) -> None:
    image = ElementTree.fromstring(as_plot([run_of(sizes=sizes)]))
    lines = image.findall(".//{http://www.w3.org/2000/svg}polyline")
    # Throughput and latency: a point for each size, the first at the left edge.
    assert len(lines) == 2
    for line in lines:
        points = line.attrib["points"].split()
        assert len(points) == sizes
        assert points[0].startswith("0.0,")
        assert points[-1].startswith("360.0,")


def test_a_single_point_is_no_curve() -> None:
    assert "polyline" not in as_plot([run_of(sizes=1)])


@pytest.mark.parametrize(("part", "found"), [(0.5, 51_000), (0.99, 100_000), (0.0, 1000)])
def test_percentiles_are_milliseconds(part: float, found: float) -> None:
    assert percentile([float(each) for each in range(100, 0, -1)], part) == found
