# SPDX-License-Identifier: GPL-2.0-only
"""The plug-ins of docs/source/howto/own-plug-ins, built outside the tree, keep to the closed forms of their papers; and
plug-ins that add nothing change nothing."""
import csv
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "build/release/bin")).resolve().parent
FRAME = 1082  # bytes on the wire of 1000 bytes
GBPS = 100

# Derived from the plug-ins of the tree, and the same as these; and two that decide by a queue's length.
PLAIN = """
#include "ns3/buffer-thresholds.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-transport.h"
#include "ns3/switch-mmu.h"
#include "ns3/switch-node.h"
namespace ns3
{
template <typename Base, const char* NAME>
struct Same : public Base
{
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId(NAME).SetParent<Base>().template AddConstructor<Same<Base, NAME>>();
        return tid;
    }
};
template <BufferPolicy::Verdict VERDICT, const char* NAME>
struct Above : public DynamicThresholds
{
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId(NAME).SetParent<DynamicThresholds>().AddConstructor<Above<VERDICT, NAME>>();
        return tid;
    }
    Verdict OnArrival(const QbbFrame& frame, uint16_t port, const SwitchNode& node, int64_t) override
    {
        const uint64_t queue = node.GetMmu()->GetCounts().GetEgressBytes(port, frame.priority);
        return frame.priority > 0 && queue > 80'000 ? VERDICT : Verdict::Admit;
    }
};
struct Silent : public RdmaTransport // never lets anything go
{
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::Silent").SetParent<RdmaTransport>().AddConstructor<Silent>();
        return tid;
    }
    void OnQpInit(RdmaQueuePair& qp) override
    {
        qp.SetVariableWindow(false);
        qp.SetWindow(0);
    }
};
constexpr char DYNAMIC[] = "ns3::SameDynamic", STATIC[] = "ns3::SameStatic", TRANSPORT[] = "ns3::SameTransport";
constexpr char MARK[] = "ns3::MarkAbove", DROP[] = "ns3::DropAbove";
const TypeId types[] = {Same<DynamicThresholds, DYNAMIC>::GetTypeId(), Same<StaticThresholds, STATIC>::GetTypeId(),
                        Same<RdmaTransport, TRANSPORT>::GetTypeId(), Silent::GetTypeId(),
                        Above<BufferPolicy::Verdict::Mark, MARK>::GetTypeId(),
                        Above<BufferPolicy::Verdict::Drop, DROP>::GetTypeId()};
} // namespace ns3
"""


@pytest.fixture(scope="module", name="program")
def own_flows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(ROOT / "docs/source/howto/own-plug-ins", folder / "project")
    (folder / "project/plain.cc").write_text(PLAIN)
    project = folder / "project/CMakeLists.txt"
    project.write_text(project.read_text().replace("trim.cc)", "trim.cc plain.cc)"))
    checked = "CHECKED_BUILD:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
    flags = "-fsanitize=address,undefined" if checked else "-O1"
    for command in (["cmake", "-B", folder / "build", "-S", folder / "project", f"-DCLUSTER_SIM={ROOT}",
                     f"-DCLUSTER_SIM_BUILD={BUILD}", f"-DCMAKE_CXX_FLAGS={flags}"],
                    ["cmake", "--build", folder / "build", "--target", "own-flows"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "build/own-flows"


def star(hosts):
    """Hosts on one switch, which has the number after theirs."""
    return f"{hosts + 1} 1 {hosts}\n{hosts}\n" + "".join(f"{host} {hosts} {GBPS}Gbps 1us 0\n" for host in range(hosts))


def start(program, folder, topology, flows, conf, *flags):
    """Simulate the flows in the folder, which gets all files."""
    folder.mkdir()
    (folder / "topology.txt").write_text(topology)
    (folder / "flow.txt").write_text(f"{len(flows)}\n" + "".join(
        f"{src} {dst} 3 {100 + number} {size} {start:.9f}\n" for number, (src, dst, size, start) in enumerate(flows)))
    (folder / "run.conf").write_text("PACKET_PAYLOAD_SIZE 1000\n" + conf)
    return subprocess.run([program, folder / "run.conf", "-n", folder / "topology.txt", "-f", folder / "flow.txt", "-o",
                           folder / "out", *flags], capture_output=True, text=True, timeout=HANGS, check=False)


def run(program, folder, *given):
    """Returns the results of run.json."""
    done = start(program, folder, *given)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "out/run.json").read_text())


def queues(folder, switch):
    """The samples of the switch's queues of data: (time in ns, port): bytes."""
    with (folder / "out/queue.txt").open(newline="") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    return {(float(row["time"]), int(row["port_id"])): int(row["q_len"]) for row in rows
            if int(row["sw_id"]) == switch and row["q_id"] == "3"}


def last_fct(folder):
    return max(int(line.split()[5]) + int(line.split()[6]) for line in
               (folder / "out/fct.txt").read_text().splitlines())


@pytest.mark.parametrize(("key", "built_in", "own"), [
    ("BUFFER_POLICY", "dynamic", "ns3::SameDynamic"), ("BUFFER_POLICY", "static", "ns3::SameStatic"),
    ("TRANSPORT", "roce", "ns3::SameTransport")])
def test_a_plug_in_that_adds_nothing_changes_nothing(program, tmp_path, key, built_in, own):
    flows = [(src, 8 + src % 2, 2_000_000, src * 1e-6) for src in range(8)]
    texts = []
    for choice in (built_in, own):
        folder = tmp_path / choice.rpartition(":")[2]
        record = run(program, folder, star(10), flows, "CC_MODE 1\nBUFFER_SIZE 1\n", "--set", f"{key}={choice}",
                     "--check", "--ns3::SwitchMmu::StaticThreshold=50000")
        assert record["pauses"] > 0
        texts.append([(folder / "out" / name).read_text() for name in ("fct.txt", "pfc.txt", "cnp.txt")])
    assert texts[0] == texts[1]


def test_a_switch_marks_the_frames_that_its_buffer_policy_marks(program, tmp_path):
    flows = [(src, 4, 1_000_000, 0) for src in range(4)]
    conf = "CC_MODE 8\nENABLE_QCN 0\n"
    assert run(program, tmp_path / "none", star(5), flows, conf)["ecn_marks"] == 0
    record = run(program, tmp_path / "own", star(5), flows, conf + "BUFFER_POLICY ns3::MarkAbove\n", "--check")
    assert record["ecn_marks"] > 0


@pytest.mark.parametrize("congested", [1, 2, 4])
def test_abm_gives_congested_queues_of_a_priority_one_share_in_all(program, tmp_path, congested):
    # Two hosts at line rate to each receiver. In balance, each of n queues has alpha / n of what is free:
    # q = alpha (B - n q) / n.
    alpha, buffer = 0.5, 1 << 20
    flows = [(2 * receiver + half, 2 * congested + receiver, 8_000_000, 0)
             for receiver in range(congested) for half in (0, 1)]
    hosts = 3 * congested
    run(program, tmp_path / "run", star(hosts), flows,
        "CC_MODE 0\nHAS_WIN 0\nLOSS_RECOVERY irn\nBUFFER_POLICY ns3::Abm\nBUFFER_SIZE 1\n"
        "QLEN_MON_INTERVAL 10\nQLEN_MON_START 300\nQLEN_MON_END 600\n", "--ns3::SwitchMmu::LosslessMask=0",
        "--ns3::SwitchMmu::ReserveBytes=0", f"--ns3::Abm::QueueAlpha={alpha}", "--ns3::RdmaIrn::BdpCap=4000000")
    samples = queues(tmp_path / "run", hosts).values()
    assert len(samples) >= 20 * congested
    expected = alpha / (1 + alpha) * buffer / congested
    assert sum(samples) / len(samples) == pytest.approx(expected, rel=0.03)
    assert max(samples) <= expected * 1.03


def test_trimming_repairs_an_incast_without_a_timeout(program, tmp_path):
    senders, size = 4, 1_000_000
    flows = [(src, senders, size, 0) for src in range(senders)]
    records = {}
    for policy in ("Trimming", "DropAbove"):
        records[policy] = run(program, tmp_path / policy, star(senders + 1), flows,
                              f"CC_MODE 0\nLOSS_RECOVERY irn\nBUFFER_POLICY ns3::{policy}\n", "--check",
                              "--ns3::SwitchMmu::LosslessMask=0")
    assert records["Trimming"]["timeouts"] == 0 and records["Trimming"]["drops"] == 0
    assert records["DropAbove"]["drops"] > 0
    # Each round trip, all windows reach the port and one leaves it; the headers of the others take 84 bytes each.
    least = senders * size / 1000 * FRAME * 8 / GBPS
    most = least * (1 + (senders - 1) * 84 / FRAME) + 20_000
    assert least < last_fct(tmp_path / "Trimming") < most
    assert records["Trimming"]["nacks"] > 0


@pytest.mark.parametrize("senders", [1, 12, 64])
@pytest.mark.parametrize("threads", [(), ("-t", "2")])
def test_credits_keep_an_incast_at_line_rate_and_its_queue_short(program, tmp_path, senders, threads):
    size = 100_000
    record = run(program, tmp_path / "run", star(senders + 1), [(src, senders, size, 0) for src in range(senders)],
                 "CC_MODE 0\nTRANSPORT ns3::Credits\nQLEN_MON_INTERVAL 1\nQLEN_MON_END 10000\n",
                 *(threads or ("--check",)))
    assert record["timeouts"] == 0
    # Request, credit, the first frame's way and the last acknowledgement's: two links of 1 us each. Then frame by
    # frame.
    control, frame = 84 * 8 / GBPS, FRAME * 8 / GBPS
    expected = 3 * 2 * (1000 + control) + 2 * (1000 + frame) + (senders * size // 1000 - 1) * frame
    assert last_fct(tmp_path / "run") == pytest.approx(expected, rel=0.005)
    assert max(queues(tmp_path / "run", senders + 1).values(), default=0) <= 4 * FRAME


def test_a_run_whose_credits_never_come_ends_and_says_so(program, tmp_path):
    done = start(program, tmp_path / "run", star(3), [(0, 2, 100_000, 0), (1, 2, 100_000, 0)],
                 "CC_MODE 0\nTRANSPORT ns3::Silent\n")
    assert done.returncode == 1
    assert "2 flows are not finished, and nothing is left to simulate" in done.stderr


def test_without_credits_the_same_incast_queues_a_window_of_each_sender(program, tmp_path):
    run(program, tmp_path / "run", star(13), [(src, 12, 100_000, 0) for src in range(12)],
        "CC_MODE 0\nQLEN_MON_INTERVAL 1\nQLEN_MON_END 10000\n")
    assert max(queues(tmp_path / "run", 13).values()) > 100 * FRAME


def test_conga_sends_by_the_congestion_of_whole_paths(program, tmp_path):
    # Leaves 8 and 9, spines 10 and 11. The link from spine 11 to leaf 9 has a quarter of the others' rate.
    links = [(host, 8 + host // 4, 100) for host in range(8)] + [
        (leaf, spine, 25 if (leaf, spine) == (9, 11) else 100) for leaf in (8, 9) for spine in (10, 11)]
    topology = "12 4 12\n8 9 10 11\n" + "".join(f"{a} {b} {rate}Gbps 500ns 0\n" for a, b, rate in links)
    # 75 Gb/s in flows of 20 KB.
    flows = [(src, 4 + (src + number) % 4, 20_000, number * 8.5e-6 + src * 2.1e-6)
             for number in range(200) for src in range(4)]
    shares, ends = {}, {}
    for routing in ("ecmp", "ns3::CongaRouting"):
        folder = tmp_path / routing.rpartition(":")[2]
        run(program, folder, topology, flows, f"CC_MODE 0\nROUTING {routing}\n", "--check",
            "--ns3::CongaRouting::AveragingTime=400us", "--ns3::CongaRouting::Age=2ms",
            "--ns3::CongaRouting::Levels=64")
        with (folder / "out/links.csv").open(newline="") as file:
            sent = {(int(row["node"]), int(row["peer"])): int(row["tx_bytes"]) for row in csv.DictReader(file)}
        shares[routing] = sent[8, 11] / (sent[8, 10] + sent[8, 11])
        fct = [line.split() for line in (folder / "out/fct.txt").read_text().splitlines()]
        ends[routing] = sum(int(line[6]) / int(line[7]) for line in fct) / len(fct)
    assert shares["ecmp"] == pytest.approx(0.5, abs=0.06)
    # Both paths are equally loaded at 60 and 15 Gb/s, as far as flows of 20 KB can be averaged and levels tell.
    assert shares["ns3::CongaRouting"] == pytest.approx(0.2, abs=0.03)
    assert ends["ns3::CongaRouting"] < 0.5 * ends["ecmp"]


@pytest.mark.parametrize("senders", [1, 2, 4, 8])
def test_senders_that_read_csig_tags_share_a_link_and_leave_no_queue(program, tmp_path, senders):
    # Half of them start 1 ms late. Target C + N Increase, from the law of the control.
    flows = [(src, 8, 80_000_000 // senders, 0 if 2 * src < senders else 1e-3) for src in range(senders)]
    run(program, tmp_path / "run", star(9), flows,
        "CC_MODE ns3::RdmaCsig\nVAR_WIN 1\nROUTING ns3::CsigRouting\nQP_MON_INTERVAL 50\nMON_END 6000\n"
        "QLEN_MON_INTERVAL 20\nQLEN_MON_START 3000\nQLEN_MON_END 6000\n", "--check")
    rates = {}
    with (tmp_path / "run/out/rate.txt").open(newline="") as file:
        for row in csv.DictReader(file, skipinitialspace=True):
            if 4e6 < float(row["time"]) < 6e6:
                rates.setdefault(row["time"], []).append(float(row["curr_rate"]))
    assert {len(each) for each in rates.values()} == {senders}
    mean = sum(map(sum, rates.values())) / len(rates)
    assert mean == pytest.approx(0.9 * GBPS + 0.5 * senders, rel=0.01)
    for each in rates.values():
        assert sum(each) ** 2 / senders / sum(rate * rate for rate in each) > 0.99  # Jain's index
    assert max(queues(tmp_path / "run", 9).values(), default=0) <= 6 * FRAME


def test_a_csig_tag_tells_of_the_narrowest_link_both_ways_and_captures_show_it(program, tmp_path):
    # Hosts 0 and 1, switches 2 and 3: idle links of 100, 40 and 25 Gb/s.
    topology = "4 2 3\n2 3\n0 2 100Gbps 1us 0\n2 3 40Gbps 1us 0\n3 1 25Gbps 1us 0\n"
    run(program, tmp_path / "run", topology, [(0, 1, 1000, 0)], "CC_MODE ns3::RdmaCsig\nROUTING ns3::CsigRouting\n",
        "--ns3::CsigRouting::Signal=0", "--pcap", "0:0", "--pcap", "1:0", "--pcap", "2:1")

    def tag(gbps, switch):
        return (0x9900 << 48 | gbps * 1000 << 16 | switch).to_bytes(8, "big")
    at = [(tmp_path / f"run/out/node-{node}-port-{port}.pcap").read_bytes() for node, port in ((0, 0), (1, 0), (2, 1))]
    short = tag(25, 3)[:6]  # an acknowledgement has room for 6 bytes
    assert at[0].count(short) == at[2].count(short) == 1 and tag(25, 3) not in at[0] + at[2]
    assert at[1].count(tag(25, 3)) == 1 and at[1].count(short) == 2  # data, and the acknowledgement that reflects it
    assert at[2].count(tag(40, 2)) == 1
