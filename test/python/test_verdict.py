# SPDX-License-Identifier: GPL-2.0-only
"""The limits of each group: every share and every sentence is worked out from the records in view."""
import csv
import json
import os
import pathlib
import subprocess
import sys

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim.results import open_runs, tables  # noqa: E402
from clustersim.results.verdict import findings_of, overlap, sentences_of, union  # noqa: E402

# Servers 0-1 and 2-3 with NVSwitches 4 and 5, leaves 6 (GPUs 0 and 2) and 7 (1 and 3), spine 8.
TOPOLOGY = """9 2 2 3 10 H100
4 5 6 7 8
0 4 800Gbps 25ns 0
1 4 800Gbps 25ns 0
2 5 800Gbps 25ns 0
3 5 800Gbps 25ns 0
0 6 100Gbps 1us 0
2 6 100Gbps 1us 0
1 7 100Gbps 1us 0
3 7 100Gbps 1us 0
6 8 100Gbps 1us 0
7 8 100Gbps 1us 0
"""
HEAD = ("id,layer,pass,phase,group,ranks,op,bytes,algorithm,protocol,channels,start_ns,end_ns,algbw,busbw,flows,"
        "last_start_ns,busbw_last_start\n")
# DP is active from 100 to 200 us (its second rank comes 20 us late), EP from 300 to 400, TP from 0 to 50.
COLLECTIVES = HEAD + """1,a,0,fwd,TP0,2,AllReduce,1000000,Ring,LL128,2,0,50000,20,20,8,0,20
2,a,0,wg,DP0,4,AllReduce,1000000,Ring,Simple,2,80000,200000,8,12,8,100000,15
3,a,0,fwd,EP0,2,AllToAll,1000000,Direct,Simple,1,300000,400000,10,5,8,300000,5
"""
LINKS = """node,port,peer,rate_bps,tx_bytes,busy_ns,pause_ns,drops,messages,used_by,largest_flows
0,1,4,800000000000,4000000,40000,0,0,1,AllReduce TP 100%,
1,1,4,800000000000,3000000,30000,0,0,1,AllReduce TP 100%,
0,2,6,100000000000,1700000,136000,0,0,1,AllToAll EP 56%; AllReduce DP 44%,
6,3,8,100000000000,750000,{up},5000,0,1,AllReduce DP 100%,
7,3,8,100000000000,375000,30000,0,0,1,AllReduce DP 100%,
8,1,6,100000000000,500000,40000,0,0,1,AllReduce DP 100%,
6,1,0,100000000000,900000,72000,0,0,1,AllToAll EP 100%,
"""


def write(directory, cc="1", cnps=70, network="packet", collectives=COLLECTIVES, up=60000):
    directory.mkdir()
    (directory / "topology").write_text(TOPOLOGY)
    (directory / "collectives.csv").write_text(collectives)
    (directory / "links.csv").write_text(LINKS.format(up=up))
    (directory / "run.json").write_text(json.dumps({
        "status": "finished", "network": network, "cnps": cnps, "simulated_ns": 400000.0, "topology": "topology",
        "inputs": [{"role": "workload", "path": "w", "sha256": "1"}, {"role": "topology", "path": "topology"}],
        "options": {"CC_MODE": cc, "nvls": False}}))
    return directory


def verdict_of(runs):
    return next(table for table in tables.all_tables(runs) if table.key == "verdict")


def by_name(run, runs=()):
    return {finding.name: finding for finding in findings_of(run, runs)}


def sentence(run, name, runs=()):
    return next(text for text in sentences_of(run, runs) if text.startswith(name))


def test_a_purpose_with_no_percent_of_any_link_is_left_out(tmp_path):
    directory = write(tmp_path / "run")
    links = (directory / "links.csv").read_text().replace("AllReduce TP 100%", "AllToAll EP 100%; AllReduce TP 0%")
    (directory / "links.csv").write_text(links)
    run, = open_runs([directory])
    assert set(by_name(run)) == {"AllReduce DP", "AllToAll EP"}


def test_shares_are_of_the_time_from_the_last_start(tmp_path):
    run, = open_runs([write(tmp_path / "run")])
    found = by_name(run)
    # 60 of the 100 us from the last start to the end; PFC took 5 us; the other uplink sent 30 us.
    dp = found["AllReduce DP"]
    assert (dp.bound, dp.link_name) == ("switch up", "switch 6 (tier 1) to switch 8 (tier 2)")
    assert (dp.busy, dp.paused, dp.others, dp.waited_ns) == (0.6, 0.05, 0, 20000)
    assert dp.idle == pytest.approx(0.35)
    assert dp.uneven == pytest.approx(60 / 45)
    # Access links sent 0.44 x 1.7 MB for it, uplinks 1.125 MB.
    assert dp.above == pytest.approx(1.125 / (0.44 * 1.7))
    # 136 us x 56 % of 100 us; the link has other traffic at other times only.
    ep = found["AllToAll EP"]
    assert (ep.bound, ep.busy, ep.others) == ("GPU to switch", pytest.approx(0.7616), 0)
    assert found["AllReduce TP"].bound == "NVLink" and found["AllReduce TP"].busy == 0.8


def test_idle_time_of_a_congested_bottleneck_is_bounded_by_what_congestion_control_may_cost(tmp_path):
    congested, calm, hpcc, none = open_runs([
        write(tmp_path / "congested"), write(tmp_path / "calm", cnps=0), write(tmp_path / "hpcc", cc="3", cnps=0),
        write(tmp_path / "none", cc="0", cnps=0)])
    assert by_name(congested)["AllReduce DP"].lost == pytest.approx(0.35)
    assert by_name(congested)["AllReduce TP"].lost == 0, "NVLinks have no congestion control"
    assert by_name(hpcc)["AllReduce DP"].lost == pytest.approx(0.35)
    assert by_name(calm)["AllReduce DP"].lost == by_name(none)["AllReduce DP"].lost == 0
    text = sentence(congested, "AllReduce DP")
    assert ("The idle 35% are steps that wait for each other, and what congestion control (DCQCN) costs: 70 congestion "
            "notifications slowed senders. The same run with --network flow shows how much.") in text
    assert (
        "as congestion control" not in text and "another congestion control" not in text
    ), "a bound is no reason for another"
    row, = (row for row in verdict_of([congested]).records() if row["group"] == "DP")
    assert row["lost to CC %"] is None and row["lost to CC at most %"] == pytest.approx(35)
    assert "The idle 35% are steps that wait for each other." in sentence(calm, "AllReduce DP")


def test_a_send_latency_is_named_where_messages_wait_for_it(tmp_path):
    runs = open_runs([write(tmp_path / name) for name in ("newer", "usual", "small")])
    for run, latency in zip(runs, ("7200", "20", "4")):
        run.options["nccl_environment"] = {"AS_SEND_LAT": latency}
    # DP takes 100 us, of which the busiest link is idle for 35; 4 us is less than a twentieth.
    dp = [by_name(run)["AllReduce DP"] for run in runs]
    assert [finding.lost for finding in dp] == [0, 0, pytest.approx(0.35)]
    usual = sentence(runs[1], "AllReduce DP")
    assert ("The idle 35% are messages that wait for the send latency, AS_SEND_LAT (20 us before each), and for each "
            "other: a collective takes 5 times that latency.") in usual
    assert "steps that wait" not in usual and "To change: a shorter AS_SEND_LAT" in usual
    assert "To change: AS_SEND_LAT=7.2, which is in microseconds" in sentence(runs[0], "AllReduce DP")
    assert "AS_SEND_LAT" not in sentence(runs[2], "AllReduce DP")


def test_the_summary_of_a_run_names_the_send_latency(tmp_path):
    (tmp_path / "micro").write_text("1 ALLREDUCE 1048576 TP\n")
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "8", "-gt", "A100", "-o",
                tmp_path / "topology"], check=True)

    def said(latency):
        output = subprocess.run(
            [pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator", "-w", tmp_path / "micro", "-n",
             tmp_path / "topology", "-c", ROOT / "conf/SimAI.conf", "--network", "flow", "-o", tmp_path / latency],
            check=True, capture_output=True, text=True, env={**os.environ, "AS_SEND_LAT": latency}).stdout
        run, = open_runs([tmp_path / latency])
        return output, by_name(run)["AllReduce TP"]

    output, finding = said("7200")
    times = finding.mean_ns / 7.2e6
    assert f"Each message first waits for AS_SEND_LAT (7200 us); a collective takes {times:.3g} times that." in output
    assert times >= 14, "a ring of 8 sends at least 14 messages in a row"
    output, _ = said("0")
    assert "busiest on" in output and "AS_SEND_LAT" not in output


def test_a_run_that_shares_links_fairly_tells_what_congestion_control_costs(tmp_path):
    quicker = COLLECTIVES.replace("80000,200000", "80000,175000")
    quick = COLLECTIVES.replace("80000,200000", "80000,180000")
    runs = open_runs([write(tmp_path / "dcqcn"), write(tmp_path / "hpcc", cc="3", collectives=quick),
                      write(tmp_path / "flow", network="flow", collectives=quicker)])
    for run in runs:  # the same topology, by its checksum
        run.info["inputs"][1]["sha256"] = "2"
    # 75 us instead of 100, and 75 instead of 80.
    assert by_name(runs[0], runs)["AllReduce DP"].lost == pytest.approx(0.25)
    assert by_name(runs[1], runs)["AllReduce DP"].lost == pytest.approx(1 - 75 / 80)
    text = sentence(runs[0], "AllReduce DP", runs)
    assert "25% of its time is lost to congestion control" in text
    assert "with links shared fairly it takes 75 us instead of 100 us" in text
    assert "To change: HPCC as congestion control (80 us instead of 100 us)" in text
    assert "as congestion control" not in sentence(runs[1], "AllReduce DP", runs), "DCQCN is slower"


def test_idle_time_is_due_to_steps_as_far_as_links_shared_fairly_are_idle_too(tmp_path):
    quicker = COLLECTIVES.replace("80000,200000", "80000,196000")
    busier = LINKS.replace("{up}", "94000")
    runs = open_runs([write(tmp_path / "dcqcn"), write(tmp_path / "flow", network="flow", collectives=quicker)])
    (tmp_path / "flow" / "links.csv").write_text(busier.replace(",5000,0,1,", ",0,0,1,"))
    for run in runs:
        run.info["inputs"][1]["sha256"] = "2"
    # 4 of 100 us are lost. The busiest link is idle for 35 of 100 us, and for 2 of 96 without queues.
    text = sentence(runs[0], "AllReduce DP", runs)
    assert by_name(runs[0], runs)["AllReduce DP"].lost == pytest.approx(0.04)
    assert ("Of the idle 35%, 2% are steps that wait for each other, as with links shared fairly, where it takes 96 us "
            "instead of 100 us.") in text
    row = verdict_of(runs).records()[0]
    assert row["lost to CC %"] == pytest.approx(4) and row["lost to CC at most %"] is None
    assert "lost to CC at most %" not in verdict_of(runs).for_people().columns
    (tmp_path / "flow" / "links.csv").unlink()
    runs = open_runs([tmp_path / "dcqcn", tmp_path / "flow"])
    for run in runs:
        run.info["inputs"][1]["sha256"] = "2"
    finding = by_name(runs[0], runs)["AllReduce DP"]
    assert finding.lost == pytest.approx(0.04) and finding.fair_idle == finding.idle, "its links are not known"


def test_sentences_say_where_bytes_went_and_what_to_change(tmp_path):
    run, = open_runs([write(tmp_path / "run", up=95000)])
    dp, ep, tp = (sentence(run, name) for name in ("AllReduce DP", "AllToAll EP", "AllReduce TP"))
    assert "bounded by the bandwidth of the uplinks of switches" in dp
    # Four NICs of 100 Gb/s below, two uplinks of 100 Gb/s.
    assert "more capacity above the access switches (oversubscribed 2:1)" in dp
    assert "through spines" in dp and "Its ranks start 20 us apart" in dp
    assert "No byte of it goes above the access switches" in ep
    assert "NVLS is off" in tp and "AS_NVLS_ENABLE=1" in tp and "spines" not in tp
    run.options["nvls"] = True
    assert "NVLS is off" not in sentence(run, "AllReduce TP")


def test_the_hint_at_nvls_knows_the_gpu_table_of_the_run(tmp_path):
    run, = open_runs([write(tmp_path / "run")])
    table = tmp_path / "gpus.yaml"
    table.write_text("H100: {generation: Hopper, nvswitch: false}\n")
    run.info["inputs"].append({"role": "GPU table", "path": str(table)})
    assert "NVLS is off" not in sentence(run, "AllReduce TP")


def test_the_verdict_is_a_table_with_its_sentences(tmp_path):
    runs = open_runs([write(tmp_path / "run")])
    table = verdict_of(runs)
    assert [(row["op"], row["group"], row["busy %"]) for row in table.records()][0] == ("AllReduce", "DP", 60)
    assert "- AllReduce DP (4 ranks, Ring) is" in tables.as_text(table)
    assert "- AllReduce DP (4 ranks, Ring) is" in tables.as_markdown(table)


def test_busbw_from_the_last_start_has_a_column_of_its_own(tmp_path):
    runs = open_runs([write(tmp_path / "run")])
    table = next(each for each in tables.all_tables(runs) if each.key == "busbw")
    dp = next(row for row in table.records() if row["group"] == "DP")
    assert (dp["busbw GB/s"], dp["from last start GB/s"]) == (12, 15)
    assert "from the first rank's start" in table.note and "from last start" in table.note


def test_unions_and_overlaps():
    assert union([(5, 7), (0, 2), (1, 3), (9, 9)]) == [[0, 3], [5, 7]]
    assert overlap([[0, 3], [5, 7]], [[2, 6]]) == 2


def test_an_oversubscribed_fabric_has_the_verdict_of_its_completion_times(tmp_path):
    program = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", "32", "--nics_per_leaf", "16",
                "--oversubscription", "4", "-o", tmp_path / "topology"], check=True)
    (tmp_path / "micro").write_text("1 ALLTOALL 8388608 EP\n")
    said = {}
    for name, *flags in (("DCQCN", "--network", "packet"), ("flow", "--network", "flow")):
        said[name] = subprocess.run([program, "-w", tmp_path / "micro", "-n", tmp_path / "topology", "-c",
                                     ROOT / "conf/DCQCN.conf",
                                     "-o", tmp_path / "runs" / name, *flags], check=True, capture_output=True,
                                    text=True).stdout

    def time_of(name):
        with (tmp_path / "runs" / name / "collectives.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        return sum(float(row["end_ns"]) - float(row.get("last_start_ns", row["start_ns"])) for row in rows) / len(rows)

    runs = open_runs([tmp_path / "runs"])  # a folder of runs counts as its runs
    assert [run.name for run in runs] == ["DCQCN", "flow"]
    found = by_name(runs[0], runs)["AllToAll EP"]
    assert found.bound in ("switch up", "switch down")
    assert found.lost == pytest.approx(1 - time_of("flow") / time_of("DCQCN"))
    fair = by_name(runs[1], runs)["AllToAll EP"]
    assert fair.busy > 0.9 and fair.lost == 0
    cnps = runs[0].info["cnps"]
    assert cnps and f"{cnps} congestion notifications slowed senders; run the same with --network flow" in said["DCQCN"]
    assert "congestion notifications" not in said["flow"]
    for finding, name in ((found, "DCQCN"), (fair, "flow")):
        assert (
            f" sends for {100 * finding.busy:.0f}% of the time. {100 * finding.above:.0f}% of its network bytes cross"
            " spines."
            in said[name]
        )


def test_the_summary_says_what_stays_below_the_spines_and_that_nvls_is_off(tmp_path):
    (tmp_path / "micro").write_text("1 ALLREDUCE 1048576 TP\n1 ALLREDUCE 1048576 DP\n")
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gt", "H100", "-psn", "8",
                "-o", tmp_path / "topology"], check=True)

    def lines(nvls):
        output = subprocess.run(
            [pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator", "-w", tmp_path / "micro", "-n",
             tmp_path / "topology",
             "--network", "flow", "-o", tmp_path / nvls],
            check=True, capture_output=True, text=True, env={**os.environ, "AS_NVLS_ENABLE": nvls}).stdout
        return {line.split(" is ")[0]: line for line in output.splitlines() if " is busiest on " in line
                or " is bounded by " in line}

    off, on = lines("0"), lines("1")
    assert set(off) == set(on) == {"AllReduce TP (8 ranks)", "AllReduce DP (2 ranks)"}
    # On rails the GPUs at one place of all servers share an access switch; TP groups send nothing over the network.
    for each in (off, on):
        assert "None of its bytes leave the access switches." in each["AllReduce DP (2 ranks)"]
        assert "access switches" not in each["AllReduce TP (8 ranks)"]
        assert "NVLS" not in each["AllReduce DP (2 ranks)"]
    assert (
        "NVLS is off, so the NVSwitches reduce nothing; AS_NVLS_ENABLE=1 turns it on." in off["AllReduce TP (8 ranks)"]
    )
    assert "NVLS" not in on["AllReduce TP (8 ranks)"]
