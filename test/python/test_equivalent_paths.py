# SPDX-License-Identifier: GPL-2.0-only
"""Ways through the simulator that must give the same results, byte by byte, over twenty configurations and seeds: two
threads beside one, ends of transmissions as events beside left out, the monitors' samples beside none, and somebody who
looks at every frame of the hosts beside nobody; and, where the network is not divided, our simulator implementation and
wheel, with each node as a partition of its own, beside ns-3's own."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import configurations  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
NAMES = list(configurations.CONFIGURATIONS)

NS3_OWN = ["--SimulatorImplementationType=ns3::DefaultSimulatorImpl", "--SchedulerType=ns3::MapScheduler"]
NO_SAMPLES = ["--set", "MON_START=1000000000", "--set", "MON_END=2000000000"]
SEND_EVENTS = ["--ns3::LinkEngine::SendEvents=true"]
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

    for way, flags in (("threads", ["-t", "2"]), ("events", SEND_EVENTS)):
        configurations.run(PROGRAM, name, inputs, tmp_path / way, seed, flags)
        assert configurations.fingerprint(tmp_path / way) == ours, way

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
def test_a_network_that_is_not_divided_runs_as_on_ns_3s_own_implementation(name, inputs, tmp_path):
    seed = 1 + NAMES.index(name)
    for implementation, flags in (("ours", APART), ("ns3", NS3_OWN)):
        configurations.run(PROGRAM, name, inputs, tmp_path / implementation, seed, flags)
    assert configurations.fingerprint(tmp_path / "ours") == configurations.fingerprint(tmp_path / "ns3")


def test_the_configurations_meet_marks_pauses_losses_and_cuts(inputs, tmp_path):
    met = set()
    for name in ("dcqcn-star-marks", "pauses-star", "loss-go-back-n", "cut-link"):
        configurations.run(PROGRAM, name, inputs, tmp_path / name)
        record = configurations.record(tmp_path / name)
        met |= {key for key in ("pauses", "drops", "timeouts", "retransmitted_bytes") if record[key]}
        if len((tmp_path / name / "cnp.txt").read_text().splitlines()) > 1:
            met.add("marks")
    assert met == {"pauses", "drops", "timeouts", "retransmitted_bytes", "marks"}


def test_ends_of_transmissions_as_events_change_only_ties_where_all_links_are_equal(inputs, tmp_path):
    links = [f"{host} {16 + host // 8} 100Gbps 500ns 0" for host in range(16)]
    links += [f"{leaf} {spine} 100Gbps 500ns 0" for leaf in (16, 17) for spine in range(18, 26)]
    topology = tmp_path / "equal"
    topology.write_text(f"26 1 0 10 {len(links)} A100\n{' '.join(map(str, range(16, 26)))}\n" + "\n".join(links) + "\n")
    conf = ROOT / "conf" / "SimAI.conf"
    for name in configurations.WORKLOADS:
        records, flows = [], []
        for where, flags in (("left out", []), ("events", SEND_EVENTS)):
            output = tmp_path / name / where
            subprocess.run([PROGRAM, "-w", inputs / f"{name}.txt", "-n", topology, "-c", conf, "-o", output, "-q",
                            *flags], check=True)
            records.append(configurations.record(output))
            flows.append(sorted(line.split()[:5] for line in (output / "fct.txt").read_text().splitlines()))
        assert flows[0] == flows[1], name
        for key in ("packet_hops", "flows", "collectives", "drops"):
            assert records[0][key] == records[1][key], (name, key)
        assert records[0]["simulated_ns"] == pytest.approx(records[1]["simulated_ns"], rel=1e-3), name


def test_the_link_engine_leaves_events_out_unless_told_otherwise(inputs, tmp_path):
    events = {}
    for attribute, flags in (("left out", []), ("events", SEND_EVENTS)):
        configurations.run(PROGRAM, "dcqcn-tensor", inputs, tmp_path / attribute, 1, flags)
        events[attribute] = configurations.record(tmp_path / attribute)["events"]
    assert events["events"] > events["left out"]
