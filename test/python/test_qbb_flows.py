# SPDX-License-Identifier: GPL-2.0-only
"""bin/qbb-flows as a user runs it: files in, files and exit status out."""
import csv
import hashlib
import json
import os
import pathlib
import subprocess

import pytest
from others_files import OTHERS_FILES
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")) / "qbb-flows"
STAR = "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n"
CONF = "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nMON_END 1000\nQP_MON_INTERVAL 10\nQLEN_MON_INTERVAL 10\n"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="qbb-flows is not built")


def run(tmp_path, topology=STAR, flows="1\n0 1 3 100 100000 0\n", conf=CONF, flags=(), output="out"):
    for name, text in (("topology.txt", topology), ("flow.txt", flows), ("run.conf", conf)):
        (tmp_path / name).write_text(text)
    return subprocess.run([PROGRAM, "run.conf", "-n", "topology.txt", "-f", "flow.txt", "-o", output,
                           *flags], cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)


def fct(tmp_path, output="out"):
    return [line.split() for line in (tmp_path / output / "fct.txt").read_text().splitlines()]


def test_a_flow_alone_takes_the_time_of_its_frames_and_path(tmp_path):
    result = run(tmp_path, conf="CC_MODE 0\nHAS_WIN 0\n")
    assert result.returncode == 0, result.stderr
    # 100 frames of 86.56 ns, a store-and-forward hop, two delays; then an ACK's way back.
    expected_ps = 100 * 86560 + 86560 + 2 * 1000000 + 2 * (6720 + 1000000)
    assert fct(tmp_path)[0][:7] == ["0b000001", "0b000101", "10000", "100", "100000", "0",
                                    str(round(expected_ps / 1000))]
    assert "1 of 1 flows finished" in result.stdout


def test_links_tell_what_each_port_sent(tmp_path):
    assert run(tmp_path).returncode == 0
    with (tmp_path / "out/links.csv").open(newline="") as file:
        sent = {(int(row["node"]), int(row["peer"])): (int(row["tx_bytes"]), float(row["busy_ns"]))
                for row in csv.DictReader(file)}
    # 100 frames of 1082 bytes at 100 Gb/s one way, 100 ACKs of 84 bytes the other.
    assert sent[0, 3] == sent[3, 1] == (108200, pytest.approx(8656))
    assert sent[1, 3] == sent[3, 0] == (8400, pytest.approx(672))
    assert sent[2, 3] == sent[3, 2] == (0, 0)


def test_two_runs_are_identical_to_the_byte(tmp_path):
    flows = "4\n" + "".join(f"{src} {dst} 3 100 300000 {src}e-6\n" for src, dst in
                            ((0, 2), (1, 2), (1, 0), (2, 0)))
    for output in ("a", "b"):
        assert run(tmp_path, flows=flows.replace("2e-6", "1e-5"), output=output).returncode == 0
    # run.json tells the wall time, so it differs
    names = sorted(path.name for path in (tmp_path / "a").iterdir() if path.name != "run.json")
    assert {"fct.txt", "pfc.txt", "queue.txt", "rate.txt", "cnp.txt", "bandwidth.txt"} <= set(names)
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert len((tmp_path / "a/queue.txt").read_text().splitlines()) > 1


def test_run_json_tells_inputs_options_and_results(tmp_path):
    assert run(tmp_path, flags=["--set", "SEED=7"]).returncode == 0
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["status"] == "finished" and record["seed"] == 7 and record["flows"] == 1
    assert record["options"]["SEED"] == "7" and record["options"]["QP_MON_INTERVAL"] == "10"
    assert record["options"]["RP_TIMER"] == "300", "defaults are options in force too"
    assert hashlib.sha256(STAR.encode()).hexdigest() in json.dumps(record["inputs"])
    assert record["packet_hops"] == 400 and record["drops"] == 0


@pytest.mark.parametrize("change, expected", [
    ({"topology": ""}, "topology.txt: the topology is empty"),
    ({"topology": STAR.replace("100Gbps", "fast", 1)}, "topology.txt:3: 'fast' is not a valid link rate"),
    ({"flows": "1\n0 3 3 100 1 0\n"}, "flow.txt:2: destination 3 is a switch"),
    ({"flows": "2\n0 1 3 100 1 0\n"}, "flow.txt:2: the file ends after 1 of 2 flows"),
    ({"conf": "CC_MOD 1\n"}, "run.conf:1: unknown key CC_MOD; expected a known key; the nearest is CC_MODE"),
    ({"conf": "EWMA_GAIN 2\n"}, "run.conf:1: EWMA_GAIN cannot be '2'; expected number, above 0 to 1"),
    ({"conf": "LINK_DOWN 1 0 1\n"}, "run.conf:1: LINK_DOWN names 0 and 1, which no link joins"),
    ({"conf": "LINK_RATE 1 0 1 9Gbps\n"}, "run.conf:1: LINK_RATE names 0 and 1, which no link joins"),
    ({"conf": "LINK_RATE 1 0 3 101Gbps\n"}, "run.conf:1: LINK_RATE gives 0 and 3 101Gbps; expected at most 100"),
    ({"conf": "LINK_RATE 1 0 3 0Gbps\n"}, "run.conf:1: LINK_RATE cannot be '0Gbps'"),
    ({"conf": "LINK_RATE 1 0 3 9Gbps 2\n"}, "run.conf:1: LINK_RATE names link 2 of 0 and 3, which 1 joins"),
    ({"conf": "LINK_RATE 1 0 3\n"}, "run.conf:1: LINK_RATE"),
    ({"conf": "ROUTING_AT spray core\n"}, "run.conf:1: ROUTING_AT names core, which no network switch"),
    ({"conf": "CC_MODE ns3::NoSuch\n"}, "run.conf:1: CC_MODE cannot be 'ns3::NoSuch'; expected number or TypeId"),
    ({"conf": "LOSS_RECOVERY sack\n"}, "run.conf:1: LOSS_RECOVERY cannot be 'sack'; expected word or TypeId, gbn or irn, "
     "or a class derived from ns3::RdmaLossRecovery\n"),
    ({"flags": ["--set", "SEED=x"]}, "--set SEED=x: SEED cannot be 'x'"),
    ({"flags": ["--set", "=3"]}, "--set =3: no key is named; expected KEY=value"),
    ({"conf": "MON_END 5\nCC_MODE 1\nMON_START 6\n"}, "run.conf:3: MON_END is before MON_START; expected a later time"),
    ({"conf": "MON_END 5\n", "flags": ["--set", "MON_START=6"]}, "--set MON_START=6: MON_END is before MON_START"),
    ({"conf": "KMIN 6000\nCC_MODE 1\nKMAX 5000\n"}, "run.conf:3: KMIN is larger than KMAX"),
    ({"conf": "CC_MODE 1\nBUFFER_SIZE 20000\n"}, "run.conf:2: BUFFER_SIZE of 20000 bytes cannot hold"),
    ({"flags": ["--set", "BUFFER_SIZE=20000"]}, "--set BUFFER_SIZE=20000: BUFFER_SIZE of 20000 bytes cannot hold"),
    ({"conf": "CC_MODE 1\n", "flags": ["--set", "LINK_DOWN=1 0 1"]}, "--set LINK_DOWN=1 0 1: LINK_DOWN names 0 and 1"),
    ({"flags": ["--set", "ROUTING_AT=spray core"]}, "--set ROUTING_AT=spray core: ROUTING_AT names core"),
    ({"flags": ["--ns3::RdmaHw::Mtuu=1"]}, "ns3::RdmaHw has no attribute Mtuu; expected one that --PrintAttributes "
     "ns3::RdmaHw lists; the nearest is Mtu"),
    ({"flags": ["--ns3::RdmaHv::Mtu=1"]}, "no class is called ns3::RdmaHv; expected a class of ns-3; the nearest is "
     "ns3::RdmaHw"),
    ({"flags": ["--ns3::RdmaHw::Mtu=foo"]}, '"foo" is not a valid value of --ns3::RdmaHw::Mtu; expected uint32_t'),
    ({"flags": ["--RngRun=foo"]}, '"foo" is not a valid value of --RngRun; expected uint64_t'),
    ({"flags": ["--RngRn=3"]}, "unknown flag '--RngRn=3'"),
    ({"flags": ["more.conf"]}, "argument 'more.conf' belongs to no flag"),
    ({"conf": "FOO 1\n"}, "run.conf:1: unknown key FOO; expected a known key\n"),
    ({"output": "topology.txt"}, "topology.txt: is not a directory"),
])
def test_a_mistake_ends_with_status_2_and_one_line(tmp_path, change, expected):
    result = run(tmp_path, **change)
    assert result.returncode == 2
    assert expected in result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr


def test_missing_files_are_named(tmp_path):
    result = subprocess.run([PROGRAM, "none.conf"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 2 and "none.conf: cannot be read" in result.stderr
    result = subprocess.run([PROGRAM], capture_output=True, text=True)
    assert result.returncode == 2 and "no configuration file" in result.stderr


def test_a_topology_and_flows_need_no_configuration(tmp_path):
    """Defaults are those of an empty file."""
    assert run(tmp_path, conf="").returncode == 0
    done = subprocess.run([PROGRAM, "-n", "topology.txt", "-f", "flow.txt", "-o", "plain"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plain/fct.txt").read_bytes() == (tmp_path / "out/fct.txt").read_bytes()
    done = subprocess.run([PROGRAM, "-n", "topology.txt"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_flows_that_cannot_finish_are_named_and_the_status_is_1(tmp_path):
    result = run(tmp_path, conf="LINK_DOWN 1 1 3\nSIMULATOR_STOP_TIME 0.02\n",
                 flows="2\n0 2 3 100 1000 0\n0 1 3 100 10000000 0\n")
    assert result.returncode == 1
    assert "1 flows are not finished" in result.stderr
    assert "10000000 bytes from node 0 to node 1" in result.stderr
    assert json.loads((tmp_path / "out/run.json").read_text())["status"] in ("stopped", "stuck")


def test_every_flow_ends_on_links_that_lose_one_frame_in_a_hundred(tmp_path):
    flows = "20\n" + "".join(f"{i % 3} {(i + 1) % 3} 3 100 200000 {i}e-6\n" for i in range(10))
    flows += "".join(f"{i % 3} {(i + 2) % 3} 3 100 {i} 1e-4\n" for i in range(1, 11))
    result = run(tmp_path, conf=CONF + "ERROR_RATE_PER_LINK 0.01\n", flows=flows)
    assert result.returncode == 0, result.stderr
    assert len(fct(tmp_path)) == 20
    assert "wire losses 0," not in result.stdout


def leaf_spine(spines):
    """Hosts 0..3 at switch 8, 4..7 at switch 9, and spines from 10 on; every link 100 Gb/s and 1 us."""
    lines = [f"{10 + spines} {2 + spines} {8 + 2 * spines}",
             " ".join(str(8 + i) for i in range(2 + spines))]
    lines += [f"{host} {8 + host // 4} 100Gbps 1us 0" for host in range(8)]
    lines += [f"{leaf} {10 + i} 100Gbps 1us 0" for i in range(spines) for leaf in (8, 9)]
    return "\n".join(lines) + "\n"


def test_spraying_undoes_collisions_of_ecmp(tmp_path):
    flows = "4\n" + "".join(f"{i} {i + 4} 3 100 4000000 0\n" for i in range(4))
    conf = "CC_MODE 0\nHAS_WIN 0\n"
    slowest = {}
    for routing in ("ecmp", "spray", "adaptive", "random-spray"):
        result = run(tmp_path, topology=leaf_spine(3), flows=flows, conf=conf, output=routing,
                     flags=["--set", f"ROUTING={routing}"])
        assert result.returncode == 0, result.stderr
        record = json.loads((tmp_path / routing / "run.json").read_text())
        assert record["drops"] == record["nacks"] == record["retransmitted_bytes"] == 0
        # In turn, equal flows in step do not overtake each other; at random they do.
        assert routing != "ecmp" or record["out_of_order_packets"] == 0
        assert routing != "random-spray" or record["out_of_order_packets"] > 0
        assert ("out of order" in result.stdout) == (record["out_of_order_packets"] > 0)
        slowest[routing] = max(int(row[6]) for row in fct(tmp_path, routing))
    # Four flows of 4000 frames of 86.56 ns, and the path. ECMP puts at least two of them on one of the
    # three uplinks; per frame, the uplinks share the work.
    frames, path = 4000 * 86.56, 3 * 86.56 + 4000 + 4 * (6.72 + 1000)
    assert slowest["ecmp"] > 2 * frames + path - 1
    for routing in ("spray", "adaptive", "random-spray"):
        assert 4 / 3 * frames + path - 1 <= slowest[routing] < 1.03 * (4 / 3 * frames + path), routing


def ring():
    """Five switches 5..9 in a ring, host i at switch 5 + i."""
    lines = ["10 5 10", "5 6 7 8 9"]
    lines += [f"{i} {5 + i} 100Gbps 1us 0" for i in range(5)]
    lines += [f"{5 + i} {5 + (i + 1) % 5} 100Gbps 1us 0" for i in range(5)]
    return "\n".join(lines) + "\n"


# Two steps around the ring, all the same way: its buffers wait for each other in a circle.
AROUND = "5\n" + "".join(f"{i} {(i + 2) % 5} 3 100 2000000 0\n" for i in range(5))
LITTLE_BUFFER = "CC_MODE 0\nHAS_WIN 0\nBUFFER_SIZE 200000\nPFC_WATCHDOG 500\n"


def test_a_pfc_deadlock_ends_the_run_and_its_circle_is_named(tmp_path):
    result = run(tmp_path, topology=ring(), flows=AROUND, conf=LITTLE_BUFFER)
    assert result.returncode == 1
    assert "5 flows are not finished, and the network is deadlocked" in result.stderr
    assert "5 queues wait for each other in a circle" in result.stderr
    for i in range(5):
        assert f"node {5 + i} port" in result.stderr and f"paused by node {5 + i} since" in result.stderr
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["status"] == "stuck" and record["pfc_storms"] >= 5
    rows = [line.split(",") for line in (tmp_path / "out/pauses.csv").read_text().splitlines()]
    assert rows[0] == ["node", "port", "priority", "paused_by", "pauses", "paused_ns", "longest_ns", "storms"]
    # The run ends at the first storms, those of the hosts; the ring's own pauses began soon after.
    waiting = {(int(row[0]), int(row[3])) for row in rows[1:] if float(row[6]) > 400e3}
    assert waiting == {(5 + i, 5 + (i + 1) % 5) for i in range(5)} | {(i, 5 + i) for i in range(5)}
    assert max(float(row[6]) for row in rows[1:]) == record["longest_pause_ns"] >= 500e3


@pytest.mark.parametrize("loss", ["0", "0.000001"])
def test_a_deadlock_of_credits_ends_the_run_and_its_circle_is_named(tmp_path, loss):
    # Where the wire may lose frames, senders ask for credit for ever.
    conf = f"CC_MODE 0\nHAS_WIN 0\nLINK_CREDITS 20000\nPFC_WATCHDOG 0\nERROR_RATE_PER_LINK {loss}\n"
    result = run(tmp_path, topology=ring(), flows=AROUND, conf=conf)
    assert result.returncode == 1
    assert "5 flows are not finished, and the network is deadlocked" in result.stderr
    assert "Credit deadlock found at" in result.stderr
    assert "5 queues wait for each other in a circle" in result.stderr
    for i in range(5):
        assert f"of priority 3, without credit of node {5 + i}" in result.stderr
    assert json.loads((tmp_path / "out/run.json").read_text())["status"] == "stuck"


def lossy_leaf_spine(error):
    """@return hosts 0 to 3 at leaves 4 and 5, spine 6; every link loses frames"""
    pairs = ((0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6))
    return "7 3 6\n4 5 6\n" + "".join(f"{a} {b} 100Gbps 1us {error}\n" for a, b in pairs)


def links(tmp_path):
    with open(tmp_path / "out/links.csv", newline="") as file:
        return {(int(row["node"]), int(row["peer"])): row for row in csv.DictReader(file)}


TO_HOST_3 = "3\n" + "".join(f"{host} 3 3 100 2000000 0\n" for host in range(3))


@pytest.mark.parametrize("keys, retried", [
    ("LINK_RETRY_AT 1 switches\n", {(4, 6), (5, 6)}),
    ("LINK_RETRY 1\nLINK_RETRY_AT 0 switches 1-4\n", {(0, 4), (2, 5), (3, 5)}),
    ("LINK_RETRY_AT 1 hosts\nLINK_RETRY_AT 0 hosts\nLINK_RETRY_AT 1 6-5\n", {(5, 6)}),
])
def test_link_retry_of_some_links(tmp_path, keys, retried):
    result = run(tmp_path, topology=lossy_leaf_spine(0.01), flows=TO_HOST_3, conf=CONF + keys)
    assert result.returncode == 0, result.stderr
    counters = links(tmp_path)
    for ends, row in counters.items():
        both = int(row["replays"]) + int(counters[ends[::-1]]["replays"])
        assert (both > 0) == (tuple(sorted(ends)) in retried), ends
    assert sum(int(row["drops"]) for row in counters.values()) > 0, "the others lose frames"


def test_credits_of_some_links_stand_beside_pauses_of_others(tmp_path):
    conf = "CC_MODE 0\nHAS_WIN 0\nBUFFER_SIZE 1000000\nLINK_CREDITS_AT 60000 switches\n"
    result = run(tmp_path, topology=lossy_leaf_spine(0), flows=TO_HOST_3, conf=conf)
    assert result.returncode == 0 and not result.stderr, result.stderr
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["drops"] == record["lossless_drops"] == 0 and record["pauses"] > 0
    paused = [line.split(",") for line in (tmp_path / "out/pauses.csv").read_text().splitlines()[1:]]
    assert paused and {int(row[0]) for row in paused} <= {0, 1, 2, 3}, "leaves and the spine wait for credit"
    alone = run(tmp_path, topology=lossy_leaf_spine(0), flows=TO_HOST_3, conf=conf.replace("60000", "0"))
    assert alone.returncode == 0
    paused = [line.split(",") for line in (tmp_path / "out/pauses.csv").read_text().splitlines()[1:]]
    assert any(int(row[0]) == 6 for row in paused), "without credits, the spine is paused"


def test_a_link_that_the_network_lacks_has_no_retry(tmp_path):
    result = run(tmp_path, topology=lossy_leaf_spine(0), flows=TO_HOST_3, conf=CONF + "LINK_RETRY_AT 1 0-1\n")
    assert result.returncode == 2
    assert "LINK_RETRY_AT names 0-1, which no network link of " in result.stderr
    assert "; expected hosts, switches, or the two ends of a link but NVLinks" in result.stderr


def test_files_of_conweave_and_ns3_datacenter_run_as_they_are(tmp_path):
    """Headers, flows without a port, and keys as these two write them."""
    conf = ("FCT_OUTPUT_FILE mix/output/1/1_out_fct.txt\nCNP_OUTPUT_FILE mix/output/1/1_out_cnp.txt\n"
            "VOQ_MON_FILE mix/output/1/1_out_voq.txt\nSW_MONITORING_INTERVAL 10000\nFLOWGEN_START_TIME 2.0\n"
            "FLOWGEN_STOP_TIME 2.1\nBUFFER_SIZE 9\nCC_MODE 1\nLB_MODE 6\nENABLE_PFC 1\nENABLE_IRN 0\n"
            "CONWEAVE_TX_EXPIRY_TIME 300\nRATE_AI 40.0Mb/s\nLOAD 50\nRANDOM_SEED 1\nDATA_RATE 100Gbps\n")
    pairs = ((0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6))
    topology = "7 3 2 6\n4 5 6\n" + "".join(f"{a} {b} 25000000000.0 1us 0\n" for a, b in pairs)
    result = run(tmp_path, topology=topology, flows="1\n0 3 3 20000 2.000000001\n", conf=conf)
    assert result.returncode == 0, result.stderr
    assert {line.split(": ")[-1] for line in result.stderr.splitlines()} == {
        f"{key} is accepted and has no effect"
        for key in ("VOQ_MON_FILE", "CONWEAVE_TX_EXPIRY_TIME", "LOAD", "DATA_RATE")}
    assert (tmp_path / "out/mix/output/1/1_out_fct.txt").read_text().split()[5] == "2000000001"
    assert (tmp_path / "out/mix/output/1/1_out_cnp.txt").exists()


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_depth_of_reordering_is_recorded_by_queue_pair(tmp_path, threads):
    """Frames in turn over two spines, of which one is 2 us farther."""
    pairs = [(host, 4 + host // 2, 1) for host in range(4)] + [(4, 6, 1), (5, 6, 1), (4, 7, 3), (5, 7, 1)]
    topology = "8 4 8\n4 5 6 7\n" + "".join(f"{a} {b} 100Gbps {us}us 0\n" for a, b, us in pairs)
    flows = "3\n0 2 3 100 200000 0\n1 3 3 100 100000 0\n0 1 3 100 100000 0\n"
    result = run(tmp_path, topology=topology, flows=flows, conf="CC_MODE 0\nHAS_WIN 0\nROUTING spray\n",
                 flags=["-t", threads])
    assert result.returncode == 0, result.stderr
    with open(tmp_path / "out/reordering.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert [(row["src"], row["dst"]) for row in rows] == [("0", "2"), ("1", "3")], "frames in one rack keep their order"
    assert sum(int(row["out_of_order_packets"]) for row in rows) == record["out_of_order_packets"] > 0
    assert max(int(row["reorder_bytes"]) for row in rows) == record["reorder_bytes"]
    # Of 2 us, 23 frames of 86.56 ns; those by the nearer spine come first.
    assert all(20_000 < int(row["reorder_bytes"]) < 50_000 for row in rows)
    result = run(tmp_path, topology=topology, flows=flows, conf="CC_MODE 0\nHAS_WIN 0\n")
    assert result.returncode == 0 and not (tmp_path / "out/reordering.csv").exists(), "the run before had it"


def test_a_deadlock_ends_the_run_without_a_watchdog_too(tmp_path):
    conf = LITTLE_BUFFER.replace("PFC_WATCHDOG 500", "PFC_WATCHDOG 0")
    result = run(tmp_path, topology=ring(), flows=AROUND, conf=conf)
    assert result.returncode == 1
    assert "the network is deadlocked" in result.stderr and "PFC deadlock found at" in result.stderr


@pytest.mark.parametrize("action", ["drop", "forward"])
def test_the_pfc_watchdog_can_break_a_deadlock(tmp_path, action):
    result = run(tmp_path, topology=ring(), flows=AROUND,
                 conf=LITTLE_BUFFER + f"PFC_WATCHDOG_ACTION {action}\n")
    assert result.returncode == 0, result.stderr
    assert "warning: PFC deadlock found at" in result.stderr and "PFC storm" in result.stderr
    assert len(fct(tmp_path)) == 5


def test_pauses_injected_at_nics_delay_what_arrives(tmp_path):
    result = run(tmp_path, flows="1\n0 1 3 100 10000 0\n",
                 conf="CC_MODE 0\nHAS_WIN 0\nNIC_TOTAL_PAUSE_TIME 51\n")
    assert result.returncode == 0, result.stderr
    # Resumed after a PFC frame and its wire; then ten frames and an acknowledgement.
    expected_ps = 51e6 + 6720 + 1e6 + 10 * 86560 + 1e6 + 2 * (6720 + 1e6)
    assert fct(tmp_path)[0][6] == str(round(expected_ps / 1000))
    rows = (tmp_path / "out/pauses.csv").read_text().splitlines()[1:]
    assert rows == [f"3,{port},3,{port - 1},1,51000.000,51000.000,0" for port in (1, 2, 3)]


def test_weights_share_a_link_between_priorities(tmp_path):
    flows = "2\n0 2 3 100 4000000 0\n1 2 5 100 4000000 0\n"
    for weight, share in (("1", 1 / 2), ("4", 4 / 5)):
        result = run(tmp_path, flows=flows, conf="CC_MODE 0\nHAS_WIN 0\n",
                     flags=["--set", f"QUEUE_WEIGHT=5 {weight}"])
        assert result.returncode == 0, result.stderr
        first = min(int(row[6]) for row in fct(tmp_path))
        assert first == pytest.approx(4000 * 86.56 / share, rel=0.03), "the heavier ends with its share"


def test_outputs_that_point_elsewhere_come_to_the_output_directory(tmp_path):
    conf = CONF + "FCT_OUTPUT_FILE /no/such/place/llama_fct.txt\nPFC_OUTPUT_FILE ../../x/pfc.txt\n"
    result = run(tmp_path, conf=conf)
    assert result.returncode == 0
    assert (tmp_path / "out/llama_fct.txt").exists() and (tmp_path / "out/pfc.txt").exists()
    [warning] = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert "FCT_OUTPUT_FILE /no/such/place/llama_fct.txt, PFC_OUTPUT_FILE ../../x/pfc.txt" in warning


def test_help_shows_flags_and_keys():
    assert "--set" in subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).stdout
    keys = subprocess.run([PROGRAM, "--help-conf"], capture_output=True, text=True)
    assert keys.returncode == 0 and "EWMA_GAIN" in keys.stdout and "above 0 to 1" in keys.stdout


@pytest.mark.others_files
def test_the_hpcc_simulators_configuration_runs_unchanged(tmp_path):
    conf = OTHERS_FILES / "hpcc/config.txt"
    # The trace of all its packets is 400 MB; everything else is as the file says.
    result = subprocess.run([PROGRAM, conf, "-o", "out", "--set", "ENABLE_TRACE=0"], cwd=tmp_path,
                            capture_output=True, text=True, timeout=HANGS)
    assert result.returncode == 0, result.stderr
    assert "TOPOLOGY_FILE mix/topology.txt: using" in result.stdout
    rows = [line.split() for line in (tmp_path / "out/mix/fct.txt").read_text().splitlines()]
    assert sorted(row[0] for row in rows) == ["0b000201", "0b000301"]
    assert {row[4] for row in rows} == {"200000000"}
    # Two flows share one link, and HPCC keeps it 95% busy: between twice the ideal and 1 / 0.95 of that.
    slowest = max(int(row[6]) / int(row[7]) for row in rows)
    assert 2.0 < slowest < 2.0 / 0.95 * 1.01


@pytest.mark.others_files
def test_astra_sims_network_configuration_runs_unchanged(tmp_path):
    conf = OTHERS_FILES / "astra-sim/network/config.txt"
    result = subprocess.run([PROGRAM, conf, "-o", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0 and "there is nothing to simulate" in result.stderr
    (tmp_path / "flow.txt").write_text("2\n0 7 3 100 1000000 0\n1 7 3 100 1000000 0\n")
    result = subprocess.run([PROGRAM, conf, "-f", "flow.txt", "-o", "out"], cwd=tmp_path,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert len((tmp_path / "out/fct.txt").read_text().splitlines()) == 2


INCAST = "2\n0 2 3 100 300000 0\n1 2 4 100 300000 0\n"
SMALL_BUFFER = "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nUSE_DYNAMIC_PFC_THRESHOLD 0\nBUFFER_SIZE 300000\n"


@pytest.mark.parametrize("mode", ["1", "8", "RdmaDcqcnHpccArtifact"])
def test_every_mark_is_counted_where_it_is_made_and_where_it_is_heard(tmp_path, mode):
    conf = (f"CC_MODE {mode}\nHAS_WIN 1\nPACKET_PAYLOAD_SIZE 1000\nKMIN 1000\nKMAX 20000\nPMAX 0.5\n"
            "MON_END 100000\nQP_MON_INTERVAL 1\n")
    assert run(tmp_path, conf=conf, flows="2\n0 2 3 100 300000 0\n1 2 3 100 300000 0\n").returncode == 0
    record = json.loads((tmp_path / "out/run.json").read_text())
    with (tmp_path / "out/links.csv").open(newline="") as file:
        marks = {(int(row["node"]), int(row["peer"])): int(row["ecn_marks"]) for row in csv.DictReader(file)}
    assert marks.pop((3, 2)) == record["ecn_marks"] > 0 and not any(marks.values()), "one port is congested"
    heard = {}
    for line in (tmp_path / "out/cnp.txt").read_text().splitlines()[1:]:
        _, source, *_, count, _ = line.split(",")
        heard[source] = int(count)  # so far
    assert record["cnps"] == sum(heard.values()), "one name, one meaning"
    if mode != "1":
        assert record["cnps"] == record["ecn_marks"], "each marked frame has an acknowledgement, which tells of it"


def test_pauses_have_their_priority_unless_hpccs_file_is_asked_for(tmp_path):
    assert run(tmp_path, conf=SMALL_BUFFER, flows=INCAST).returncode == 0
    assert run(tmp_path, conf=SMALL_BUFFER + "PFC_OUTPUT_FILE mix/pfc.txt\n", flows=INCAST,
               output="hpcc").returncode == 0
    lines = [line.split() for line in (tmp_path / "out/pfc.txt").read_text().splitlines()]
    assert {line[5] for line in lines} == {"3", "4"}
    paused = set()
    for _, node, _, port, kind, priority in lines:
        assert ((node, port, priority) in paused) == (kind == "0")
        (paused.add if kind == "1" else paused.discard)((node, port, priority))
    path = next(path for path in (tmp_path / "hpcc").rglob("pfc.txt"))
    assert [line.split() for line in path.read_text().splitlines()] == [line[:5] for line in lines]


@pytest.mark.parametrize("given, place", [("mix/new/fct.txt", "mix/new/fct.txt"), ("mix/../fct.txt", None),
                                          ("fct.txt", None)])
def test_files_with_folders_are_in_folders_of_the_output(given, place, tmp_path):
    result = run(tmp_path, conf=CONF + f"FCT_OUTPUT_FILE {given}\n")
    assert result.returncode == 0 and result.stderr == "", result.stderr
    assert (tmp_path / "out" / (place or "fct.txt")).stat().st_size > 0
    assert result.stdout.endswith("results in out" + (f", flows in out/{place}" if place else "") + "\n")


def test_changes_of_links_count_from_2_s_in_hpccs_files(tmp_path):
    # Two ways from host 0 to host 1; one of them goes down 10 us into the traffic and loses what is on it.
    topology = "4 2 4\n2 3\n0 2 100Gbps 1us 0\n2 1 100Gbps 1us 0\n2 3 100Gbps 1us 0\n3 1 100Gbps 1us 0\n"
    conf = "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nLINK_DOWN 10 2 1\n"
    dropped = {}
    for name, start in (("hpcc", "2"), ("own", "0")):
        result = run(tmp_path, topology=topology, conf=conf, flows=f"1\n0 1 3 100 1000000 {start}\n", output=name)
        assert result.returncode == 0, result.stderr
        assert ("count from 2 s, as in the HPCC simulator" in result.stderr) == (name == "hpcc")
        dropped[name] = (json.loads((tmp_path / name / "run.json").read_text())["drops"], fct(tmp_path, name)[0][6])
    assert dropped["hpcc"] == dropped["own"] and dropped["hpcc"][0] > 0


def test_one_run_names_all_keys_that_are_unknown(tmp_path):
    result = run(tmp_path, conf=CONF + "XYZZY 50\nCONN_FILE x\n")
    assert result.returncode == 2
    assert result.stderr == "run.conf:6: unknown key XYZZY and 1 more: CONN_FILE (line 7); expected a known key\n"


def test_the_shipped_configuration_marks_at_200_gbps_as_simais_does(tmp_path):
    conf = pathlib.Path(__file__).resolve().parents[2] / "conf/SimAI.conf"
    result = run(tmp_path, conf=conf.read_text(), topology=STAR.replace("100Gbps", "200Gbps"))
    assert result.returncode == 0, result.stderr
    options = json.loads((tmp_path / "out/run.json").read_text())["options"]
    for key, value in (("KMIN_MAP", "300"), ("KMAX_MAP", "1200"), ("PMAX_MAP", "0.8")):
        _, *pairs = options[key].split()
        assert dict(zip(pairs[::2], pairs[1::2]))["200000000000"] == value, key
    assert (tmp_path / "out/queue.txt").exists(), "as SimAI's manual names it"
