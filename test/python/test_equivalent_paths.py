# SPDX-License-Identifier: GPL-2.0-only
"""Ways through the simulator that must give the same results, byte by byte, over twenty configurations and seeds:
our simulator implementation and wheel beside ns-3's own, each kind of event that the link engine leaves out beside without it,
each node as a partition of its own, whose state no other may touch, beside all in one, the monitors' samples beside none, and somebody who looks at every frame of the hosts beside nobody."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import configurations  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
NAMES = list(configurations.CONFIGURATIONS)

NS3_OWN = ["--SimulatorImplementationType=ns3::DefaultSimulatorImpl", "--SchedulerType=ns3::MapScheduler"]
NO_SAMPLES = ["--set", "MON_START=1000000000", "--set", "MON_END=2000000000"]
EVENTS = {name: [f"--ns3::LinkEngine::{name}=true"] for name in ("ArrivalEvents", "SendEvents")}
APART = ["--ns3::RdmaFabric::PartitionPerNode=true"]
WATCHED = ["--set", "ENABLE_TRACE=1", "--set"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("inputs")
    configurations.prepare(directory)
    (directory / "hosts").write_text("16\n" + " ".join(map(str, range(16))) + "\n")
    return directory


@pytest.mark.parametrize("name", NAMES)
def test_results_do_not_depend_on_the_way_through_the_simulator(name, inputs, tmp_path):
    seed = 1 + NAMES.index(name)
    configurations.run(PROGRAM, name, inputs, tmp_path / "ours", seed)
    ours = configurations.fingerprint(tmp_path / "ours")
    assert {"fct.txt", "EndToEnd.csv", "collectives.csv", "run.json", "queue.txt"} <= set(ours)

    configurations.run(PROGRAM, name, inputs, tmp_path / "ns3", seed, NS3_OWN)
    assert configurations.fingerprint(tmp_path / "ns3") == ours

    for attribute, flags in EVENTS.items():
        configurations.run(PROGRAM, name, inputs, tmp_path / attribute, seed, flags)
        assert configurations.fingerprint(tmp_path / attribute) == ours, attribute

    configurations.run(PROGRAM, name, inputs, tmp_path / "watched", seed, [*WATCHED, f"TRACE_FILE={inputs / 'hosts'}"])
    watched = configurations.fingerprint(tmp_path / "watched")
    (trace,) = watched.keys() - ours.keys()
    del watched[trace]
    assert watched == ours

    configurations.run(PROGRAM, name, inputs, tmp_path / "unsampled", seed, NO_SAMPLES)
    samples = {"queue.txt", "bandwidth.txt", "rate.txt", "cnp.txt"}
    unsampled = configurations.fingerprint(tmp_path / "unsampled")
    assert any(unsampled[key] != ours[key] for key in samples)  # there was something to leave out
    assert {key: value for key, value in unsampled.items() if key not in samples} == \
        {key: value for key, value in ours.items() if key not in samples}


@pytest.mark.parametrize("name", NAMES)
def test_results_do_not_depend_on_what_nodes_are_partitions_of_their_own(name, inputs, tmp_path):
    seed = 1 + NAMES.index(name)
    for where, flags in (("together", []), ("apart", APART)):
        configurations.run(PROGRAM, name, inputs, tmp_path / where, seed, flags)
    assert configurations.fingerprint(tmp_path / "apart") == configurations.fingerprint(tmp_path / "together")


def test_the_configurations_meet_marks_pauses_losses_and_cuts(inputs, tmp_path):
    met = set()
    for name in ("dcqcn-star-marks", "pauses-star", "loss-go-back-n", "cut-link"):
        configurations.run(PROGRAM, name, inputs, tmp_path / name)
        record = configurations.record(tmp_path / name)
        met |= {key for key in ("pauses", "drops", "timeouts", "retransmitted_bytes") if record[key]}
        if len((tmp_path / name / "cnp.txt").read_text().splitlines()) > 1:
            met.add("marks")
    assert met == {"pauses", "drops", "timeouts", "retransmitted_bytes", "marks"}


def test_the_link_engine_leaves_events_out_unless_told_otherwise(inputs, tmp_path):
    events = {}
    for attribute, flags in {"neither": [], **EVENTS}.items():
        configurations.run(PROGRAM, "dcqcn-tensor", inputs, tmp_path / attribute, 1, flags)
        events[attribute] = configurations.record(tmp_path / attribute)["events"]
    assert events["ArrivalEvents"] > events["neither"]
    assert events["SendEvents"] > events["neither"]
