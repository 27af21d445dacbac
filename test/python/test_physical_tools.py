# SPDX-License-Identifier: GPL-2.0-only
"""Calibration, clusters of namespaces, back ends side by side: what scripts make of SimAI_phynet."""
import csv
import os
import pathlib
import subprocess
import sys

import pytest
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]

from clustersim.physical import calibration, launch  # noqa: E402
from clustersim.topology import reader  # noqa: E402
from clustersim_lab.box import comparison, namespaces  # noqa: E402
from test_simulator import servers, star, workload  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
pytestmark = pytest.mark.real_time
needs_phynet = pytest.mark.skipif(not (PROGRAMS / "SimAI_phynet").exists(),
                                  reason="built without libfabric or MPI: there is no SimAI_phynet")


def permitted():
    try:
        name = f"{namespaces.PREFIX}-{os.getpid()}-0"
        namespaces._run("ip", "netns", "add", name)
        namespaces._run("ip", "netns", "exec", name, "sysctl", "-q", "-w", *namespaces.SWITCH_SETTINGS)
        namespaces._run("ip", "netns", "del", name)
    except (namespaces.NotPermitted, OSError):
        return False
    return True


needs_namespaces = pytest.mark.skipif(not permitted(), reason="network namespaces are not permitted here")


# libfabric makes many buffers of this size when ranks connect. With the 600,000 bytes that the scripts set, this takes
# each rank seconds of CPU time.
SMALL_BUFFERS = {"FI_OFI_RXM_BUFFER_SIZE": "65536"}


def script(name, *arguments, timeout=HANGS):
    return subprocess.run([ROOT / name, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          env=os.environ | SMALL_BUFFERS, check=False)


@needs_phynet
def test_a_calibration_leaves_inputs_that_the_programs_read(tmp_path):
    result = script("scripts/calibrate.py", "-np", 2, "--provider", "tcp", "--smallest", "64K", "--largest", "1M",
                    "--iterations", 3,
                    "--bound", 1000, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    with (tmp_path / "out" / "calibration.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["bytes"]) for row in rows] == [1 << k for k in range(16, 21)]
    assert [row["role"] for row in rows] == ["fit", "check", "fit", "check", "fit"]
    topology = reader.read(tmp_path / "out" / "topology")
    assert len(topology.gpus) == 2 and topology.gpu_type == "Host"
    w = workload(tmp_path / "w.txt", 2, [("layer", "NONE", 0, "ALLREDUCE", 1 << 19)])
    # The inputs that were written have the time that the table says.
    simulated = comparison.simulate(calibration.write_workload(tmp_path / "size.txt", "ALLREDUCE", [1 << 19]),
                                    tmp_path / "out" / "topology", tmp_path / "simulated", "flow",
                                    ("--tp", "2", "--gpu-table", str(tmp_path / "out" / "hosts.yaml")))
    assert simulated > 0
    with (tmp_path / "simulated" / "collectives.csv").open(newline="") as file:
        last = list(csv.DictReader(file))[-1]
    expected = float(next(row for row in rows if row["bytes"] == str(1 << 19))["simulated_us"])
    assert (float(last["end_ns"]) - float(last["start_ns"])) / 1000 == pytest.approx(expected, rel=0.01)
    analytical = subprocess.run([PROGRAMS / "SimAI_analytical", "-w", w, "-g", "2", "-busbw",
                                 tmp_path / "out" / "busbw.yaml",
                                 "-r_f", tmp_path / "estimate"], capture_output=True, text=True, check=False)
    assert analytical.returncode == 0, analytical.stderr


def test_topologies_that_are_no_hosts_are_refused(tmp_path):
    result = script("lab/netns_cluster.py", servers(tmp_path / "n.txt", 2, gpus=2), "--", "true")
    assert result.returncode == 2
    assert "has servers of 2 GPUs with 2 NVSwitches; expected one GPU per server, a host" in result.stderr


@needs_namespaces
def test_hosts_of_a_box_reach_each_other_and_nothing_stays_behind(tmp_path):
    (tmp_path / "n.txt").write_text(comparison.leaves(4, 2, "100Gbps"))
    topology = reader.read(tmp_path / "n.txt")
    with pytest.raises(ZeroDivisionError):
        with namespaces.NamespaceCluster(topology, 1000) as cluster:
            assert len(namespaces.namespaces()[os.getpid()]) == topology.nodes
            # Host 3 is behind the other leaf, by either of two spines.
            ping = "import socket,sys; s=socket.socket(); s.bind((sys.argv[1],0)); s.settimeout(5); " \
                   "print(s.connect_ex((sys.argv[2],9)))"
            for host in (1, 2, 3):
                result = cluster.execute(0, ["/usr/bin/python3", "-c", ping, cluster.address(0), cluster.address(host)],
                                         capture_output=True)
                assert result.stdout.strip() == "111", "connection refused: the host answers"
            routes = cluster.execute(0, ["ip", "-n", cluster.name(4), "route", "show", cluster.address(3)],
                                     capture_output=True).stdout
            assert routes.count("nexthop") == 2
            raise ZeroDivisionError
    assert os.getpid() not in namespaces.namespaces()


@needs_namespaces
def test_a_link_of_a_box_has_the_rate_of_its_file(tmp_path):
    topology = reader.read(star(tmp_path / "n.txt", 2))
    size, rate = 2_000_000, 100e9 / 2500
    server = ("import socket,time; s=socket.create_server(('0.0.0.0',7)); c,_=s.accept(); n=len(c.recv(1)); "
              "b=time.monotonic()\n"
              f"while n<{size}: n+=len(c.recv(65536))\nprint(time.monotonic()-b)")
    client = (
        "import socket,sys,time\nfor _ in range(100):\n  try: s=socket.create_connection((sys.argv[1],7)); break\n"
        f"  except OSError: time.sleep(0.1)\ns.sendall(bytes({size}))"
    )
    with namespaces.NamespaceCluster(topology, 2500) as cluster:
        receiver = subprocess.Popen(["ip", "netns", "exec", cluster.name(1), "/usr/bin/python3", "-c", server],
                                    stdout=subprocess.PIPE, text=True)
        cluster.execute(0, ["/usr/bin/python3", "-c", client, cluster.address(1)])
        seconds = float(receiver.communicate(timeout=HANGS)[0])
    assert seconds >= 0.95 * (size - namespaces.BURST_BYTES) * 8 / rate
    assert seconds <= 2 * size * 8 / rate


@needs_namespaces
@needs_phynet
def test_a_workload_runs_on_the_hosts_of_a_box(tmp_path):
    w = workload(tmp_path / "w.txt", 3, [("layer", "NONE", 0, "ALLREDUCE", 300_000)])
    n = star(tmp_path / "n.txt", 3)
    result = script("lab/netns_cluster.py", n, "--scale", 1000, "-w", w, "-o", tmp_path / "out", "--iterations", 1)
    assert result.returncode == 0, result.stderr
    with (tmp_path / "out" / "collectives.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    # Never faster than the links: two thirds of the data out of each host, twice.
    assert float(row["end_ns"]) - float(row["start_ns"]) >= 0.95 * 300_000 * 4 / 3 * 8 / 0.1
    assert (tmp_path / "out" / "fct.txt").read_text().count("\n") == int(row["flows"])


@needs_phynet
def test_back_ends_stand_side_by_side(tmp_path):
    n = star(tmp_path / "n.txt", 2)
    w = workload(tmp_path / "w.txt", 2, [("layer", "NONE", 0, "ALLREDUCE", 1 << 20)])
    result = script("lab/compare_backends.py", "--workload", w, "--topology", n, "--ranks", 2, "--provider", "tcp",
                    "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    with (tmp_path / "out" / "side-by-side.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["collective", "physical_us", "packet_us", "flow_us", "analytical_us"]
    assert rows[0]["collective"] == "AllReduce 1048576 DP0"
    # 2 x 1/2 of a MiB at 100 Gb/s, headers, and steps that follow each other.
    assert 1 < float(rows[0]["flow_us"]) / (1048576 * 8 / 1e5) < 1.3
    assert (tmp_path / "out" / "side-by-side.svg").stat().st_size > 1000
    assert launch.environment()["FI_OFI_RXM_BUFFER_SIZE"] == "600000"
