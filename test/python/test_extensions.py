# SPDX-License-Identifier: GPL-2.0-only
"""CONTRIBUTING's "to add X, touch these files": a congestion control, a loss recovery, a routing policy, a monitor, a
workload format, an algorithm, a collective, serving policies and a topology are added in a folder outside the tree,
without a change to any file of it."""
import csv
import json
import os
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PROGRAM_DIR", SOURCE / "build/release/bin")).parent

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(extensions LANGUAGES CXX)
find_package(cluster-sim REQUIRED PATHS {build} NO_DEFAULT_PATH)
add_simulator(extended-simulator rdma-fixed-rate.cc rdma-timer-only.cc last-port-routing.cc size-monitor.cc steps-format.cc
              one-shot.cc serving-policies.cc)
"""

CONGESTION_CONTROL = """
#include "ns3/data-rate.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-queue-pair.h"

namespace ns3
{

/// A quarter of the line rate unless Rate says otherwise, whatever comes back.
class RdmaFixedRate : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::RdmaFixedRate")
                                .SetParent<RdmaCongestionOps>()
                                .AddConstructor<RdmaFixedRate>()
                                .AddAttribute("Rate", "Sending rate", DataRateValue(DataRate("100Gb/s")),
                                              MakeDataRateAccessor(&RdmaFixedRate::m_rate), MakeDataRateChecker());
        return tid;
    }

    std::string GetName() const override
    {
        return "fixed";
    }

    void OnQpInit(RdmaQueuePair& qp) override
    {
        qp.SetRate(m_rate.GetBitRate());
    }

    void OnAck(RdmaQueuePair&, const RdmaAckView&) override
    {
    }

  private:
    DataRate m_rate;
};

NS_OBJECT_ENSURE_REGISTERED(RdmaFixedRate);

} // namespace ns3
"""

LOSS_RECOVERY = """
#include "ns3/nstime.h"
#include "ns3/rdma-loss-recovery.h"
#include "ns3/rdma-queue-pair.h"

namespace ns3
{

/// Receivers discard what is out of order and say nothing; a timer sends again from the first byte not acknowledged.
class RdmaTimerOnly : public RdmaLossRecovery
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::RdmaTimerOnly")
                                .SetParent<RdmaLossRecovery>()
                                .AddConstructor<RdmaTimerOnly>()
                                .AddAttribute("Timeout", "Without an acknowledgement", TimeValue(MilliSeconds(1)),
                                              MakeTimeAccessor(&RdmaTimerOnly::m_timeout), MakeTimeChecker());
        return tid;
    }

    Verdict OnUnexpected(RdmaRxQueuePair&, const QbbFrame&, int64_t) override
    {
        return Verdict::Silent;
    }

    void OnNack(RdmaQueuePair&, const QbbFrame&, int64_t) override
    {
    }

    void OnTimeout(RdmaQueuePair& qp, int64_t) override
    {
        qp.SetSndNxt(qp.sndUna);
    }

    int64_t GetTimeoutPs(const RdmaQueuePair&) const override
    {
        return m_timeout.GetTimeStep();
    }

  private:
    Time m_timeout;
};

NS_OBJECT_ENSURE_REGISTERED(RdmaTimerOnly);

} // namespace ns3
"""

ROUTING = """
#include "ns3/routing-policy.h"

namespace ns3
{

/// Always the last of the shortest paths.
class LastPortRouting : public RoutingPolicy
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::LastPortRouting").SetParent<RoutingPolicy>().AddConstructor<LastPortRouting>();
        return tid;
    }

    uint16_t Choose(std::span<const uint16_t> ports, const QbbFrame&, const SwitchNode&, int64_t) override
    {
        return ports.back();
    }

    bool Reorders() const override
    {
        return false;
    }
};

NS_OBJECT_ENSURE_REGISTERED(LastPortRouting);

} // namespace ns3
"""

MONITOR = """
#include "ns3/callback.h"
#include "ns3/cluster-topology.h"
#include "ns3/fabric-monitor.h"
#include "ns3/output-file.h"
#include "ns3/rdma-fabric.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-message.h"
#include "ns3/string.h"

#include <memory>

namespace ns3
{

/// Writes the size of each message that its sender knows to have arrived.
class SizeMonitor : public FabricMonitor
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::SizeMonitor")
                                .SetParent<FabricMonitor>()
                                .AddConstructor<SizeMonitor>()
                                .AddAttribute("File", "Name in the directory of results", StringValue("sizes.txt"),
                                              MakeStringAccessor(&SizeMonitor::m_name), MakeStringChecker());
        return tid;
    }

    void Start(RdmaFabric& fabric, const std::string& directory) override
    {
        m_file = std::make_unique<OutputFile>(directory + "/" + m_name);
        for (uint32_t host = 0; host < fabric.GetTopology().hostCount; ++host)
        {
            fabric.GetHw(host).TraceConnectWithoutContext("MessageSent", MakeCallback(&SizeMonitor::OnMessage, this));
        }
    }

    void Finish() override
    {
        m_file->Finish();
    }

  private:
    void OnMessage(const RdmaQueuePair&, const RdmaMessage& message)
    {
        m_file->Write(std::to_string(message.bytes) + "\\n");
    }

    std::string m_name;
    std::unique_ptr<OutputFile> m_file;
};

NS_OBJECT_ENSURE_REGISTERED(SizeMonitor);

} // namespace ns3
"""

WORKLOAD_FORMAT = """
#include "ns3/input-lines.h"
#include "ns3/units.h"
#include "ns3/workload-format.h"

namespace
{

using namespace AstraSim;

/// After the word STEPS, a line for each AllReduce of all ranks: its bytes.
LayerTable
ReadSteps(const std::string& path)
{
    ns3::InputLines lines(path);
    lines.Next();
    LayerTable table;
    table.microLines = true;
    while (lines.Next())
    {
        const auto bytes = ns3::ParseUnsigned(lines.Fields()[0]);
        if (!bytes)
        {
            lines.Fail("this is no size", "bytes of an AllReduce");
        }
        Layer layer;
        layer.name = "step" + std::to_string(table.layers.size());
        layer.line = static_cast<uint32_t>(lines.Line());
        layer.comm[0] = {CollectiveOp::AllReduce, GroupKind::Dp, false, *bytes};
        table.layers.push_back(layer);
    }
    return table;
}

const WorkloadFormat steps("STEPS", ReadSteps);

} // namespace
"""

ALGORITHM = """
#include "ns3/collective-algorithm.h"

namespace
{

using namespace AstraSim;

/// Each rank sends all it has to all others at once, and adds up what they send.
class OneShotGraph : public FlowGraph
{
  public:
    explicit OneShotGraph(const CollectiveTask& task)
        : FlowGraph(Ranks(task), Ranks(task) - 1, 1),
          m_bytes(task.request.bytes)
    {
    }

    static uint32_t Ranks(const CollectiveTask& task)
    {
        return static_cast<uint32_t>(task.servers.size());
    }

    // Lane i goes to the rank i + 1 places on, and lane i comes from the one so far back.
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override
    {
        Lane lane;
        lane.peer = (rank + (outbound ? index + 1 : GetRanks() - index - 1)) % GetRanks();
        lane.messages = 1;
        return lane;
    }

    uint64_t GetBytes(uint32_t, uint32_t, uint64_t) const override
    {
        return m_bytes;
    }

    // Nothing waits for anything.
    LaneRange GetSources(uint32_t, uint32_t) const override
    {
        return Lanes(0, 0);
    }

    LaneRange GetTargets(uint32_t, uint32_t, uint64_t) const override
    {
        return Lanes(0, 0);
    }

  private:
    uint64_t m_bytes;
};

bool
IsAllReduce(const CollectiveTask& task)
{
    return task.request.op == CollectiveOp::AllReduce;
}

/// 2 us, and the bytes that a rank sends at the rate of its NICs.
TimePs
TimeOf(const CollectiveTask& task)
{
    const double bytes = static_cast<double>(task.request.bytes) * (OneShotGraph::Ranks(task) - 1);
    return 2'000'000 + static_cast<TimePs>(bytes * 1000 / task.nicGBps);
}

const CollectiveAlgorithm oneShot("OneShot",
                                  {.can = IsAllReduce,
                                   .cost = TimeOf,
                                   .graph = [](const CollectiveTask& task) { return std::make_shared<OneShotGraph>(task); },
                                   .startLatency = 2'000'000});

} // namespace
"""

SERVING_POLICIES = """
#include "ns3/preemption.h"
#include "ns3/queue-order.h"
#include "ns3/request-router.h"

#include <algorithm>

namespace
{

using namespace AstraSim;

/// Always the same instance.
class StickyRouter : public RequestRouter
{
  public:
    std::size_t Choose(std::span<const Target> targets, const Sequence&) override
    {
        return std::min<std::size_t>(m_target, targets.size() - 1);
    }

    std::vector<ns3::Row> GetKeys() override
    {
        return {{"sticky_instance", ns3::Whole(m_target, 0, 1000), "that all requests go to"}};
    }

  private:
    uint32_t m_target{0};
};

/// The shortest prompt first.
class ShortestOrder : public QueueOrder
{
  public:
    std::size_t Choose(const std::deque<Sequence*>& waiting, const ServingReplica&) override
    {
        return std::ranges::min_element(waiting, {}, &Sequence::prompt) - waiting.begin();
    }
};

/// The oldest of the younger ones, computed again.
class OldestPreemption : public Preemption
{
  public:
    std::size_t Choose(std::span<Sequence* const>) const override
    {
        return 0;
    }
};

const PolicyKind<RequestRouter> sticky("sticky", "always the same instance", [] { return std::make_unique<StickyRouter>(); });
const PolicyKind<QueueOrder> shortest("shortest", "the shortest prompt", [] { return std::make_unique<ShortestOrder>(); });
const PolicyKind<Preemption> oldest("oldest", "the oldest of the younger ones", [] { return std::make_unique<OldestPreemption>(); });

} // namespace
"""

BYTES = 1_000_000
RATE_GBPS = 400
# Four hosts: two at each of two switches, which two others join.
TOPOLOGY = "8 4 8\n4 5 6 7\n" + "".join(
    f"{a} {b} {RATE_GBPS}Gbps 500ns 0\n" for a, b in
    ((0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)))


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    """A field of a protobuf message: a whole number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    return field(10, field(1, name.encode()) + field(13, value))


def trace(rank, ranks):
    """A broadcast from rank 0, as a Chakra trace: it sends to each, the others receive."""
    messages = [field(1, b"0.0.4")]
    peers = [(5, peer) for peer in range(1, ranks)] if rank == 0 else [(6, 0)]
    for number, (kind, peer) in enumerate(peers):
        src, dst = (rank, peer) if kind == 5 else (peer, rank)
        messages.append(field(1, number) + field(2, b"part") + field(3, kind) + attribute("comm_size", BYTES) +
                        attribute("comm_src", src) + attribute("comm_dst", dst) + attribute("comm_tag", dst))
    return b"".join(varint(len(message)) + message for message in messages)


@pytest.fixture(scope="module", name="folder")
def extended_simulator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extensions")
    (folder / "CMakeLists.txt").write_text(PROJECT.format(build=BUILD))
    (folder / "rdma-fixed-rate.cc").write_text(CONGESTION_CONTROL)
    (folder / "rdma-timer-only.cc").write_text(LOSS_RECOVERY)
    (folder / "last-port-routing.cc").write_text(ROUTING)
    (folder / "size-monitor.cc").write_text(MONITOR)
    (folder / "steps-format.cc").write_text(WORKLOAD_FORMAT)
    (folder / "one-shot.cc").write_text(ALGORITHM)
    (folder / "serving-policies.cc").write_text(SERVING_POLICIES)
    (folder / "topology.txt").write_text(TOPOLOGY)
    (folder / "workload.txt").write_text(f"1 ALLREDUCE {BYTES} DP\n")
    for rank in range(4):
        (folder / f"broadcast.{rank}.et").write_bytes(trace(rank, 4))
    (folder / "system.json").write_text(json.dumps(
        {"all-reduce-implementation-custom": [str(folder / "broadcast")], "endpoint-delay": 0}))
    for command in (["cmake", "-S", folder, "-B", folder / "build"], ["cmake", "--build", folder / "build"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


def simulate(folder, output, *flags):
    conf = [] if "-c" in flags else ["-c", SOURCE / "conf/none.conf"]
    done = subprocess.run([folder / "build/extended-simulator", "-n", folder / "topology.txt", "-w",
                           folder / "workload.txt",
                           "--system-configuration", folder / "system.json", *conf, "-o", output, *flags],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    fields = ("sip", "dip", "sport", "dport", "bytes", "start", "fct", "ideal")
    return [dict(zip(fields, line.split())) for line in (output / "fct.txt").read_text().splitlines()]


def test_a_collective_of_ones_own_sends_what_its_traces_say(folder, tmp_path):
    flows = simulate(folder, tmp_path / "out")
    assert [int(flow["bytes"]) for flow in flows] == [BYTES] * 3
    assert {flow["sip"] for flow in flows} == {"0b000001"}


def test_a_congestion_control_of_ones_own_decides_the_rate(folder, tmp_path):
    fast = simulate(folder, tmp_path / "fast", "--set", "CC_MODE=ns3::RdmaFixedRate",
                    "--ns3::RdmaFixedRate::Rate=50Gb/s")
    slow = simulate(folder, tmp_path / "slow", "--set", "CC_MODE=ns3::RdmaFixedRate",
                    "--ns3::RdmaFixedRate::Rate=25Gb/s")
    # Three flows leave one NIC, each at its own rate: the rate decides, not the link.
    for flow in fast:
        assert float(flow["fct"]) == pytest.approx(BYTES * 8 / 50, rel=0.05)
    for flow in slow:
        assert float(flow["fct"]) == pytest.approx(BYTES * 8 / 25, rel=0.05)


@pytest.mark.parametrize("timeout_us", [500, 2000])
def test_a_loss_recovery_of_ones_own_decides_when_lost_data_go_again(folder, tmp_path, timeout_us):
    conf = tmp_path / "cut.conf"
    conf.write_text("LOSS_RECOVERY ns3::RdmaTimerOnly\nLINK_DOWN 10 2 5\nLINK_UP 15 2 5\n")
    flows = simulate(folder, tmp_path / "out", "-c", conf, f"--ns3::RdmaTimerOnly::Timeout={timeout_us}us")
    cut = [flow for flow in flows if flow["dip"] == "0b000201"]
    assert len(cut) == 1
    # Nothing but the timer repairs what was under way to host 2 when its link was cut.
    assert timeout_us * 1000 < int(cut[0]["fct"]) < (timeout_us + 200) * 1000


def test_a_routing_policy_of_ones_own_chooses_the_links(folder, tmp_path):
    simulate(folder, tmp_path / "out", "--set", "ROUTING=ns3::LastPortRouting")
    with (tmp_path / "out/links.csv").open(newline="") as file:
        carried = {(int(row["node"]), int(row["peer"])): int(row["tx_bytes"]) for row in csv.DictReader(file)}
    assert carried[4, 7] > 2 * BYTES
    assert carried[4, 6] == 0


def test_a_monitor_of_ones_own_observes_both_programs(folder, tmp_path):
    flows = simulate(folder, tmp_path / "out", "--set", "MONITOR=ns3::SizeMonitor")
    assert (tmp_path / "out/sizes.txt").read_text() == "".join(flow["bytes"] + "\n" for flow in flows)
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["options"]["MONITOR"] == "ns3::SizeMonitor"

    (tmp_path / "flow.txt").write_text("1\n0 2 3 100 3000 0\n")
    conf = tmp_path / "flows.conf"
    conf.write_text(f"TOPOLOGY_FILE {folder}/topology.txt\nFLOW_FILE {tmp_path}/flow.txt\nMONITOR SizeMonitor\n")
    done = subprocess.run([folder / "build/extended-simulator-flows", conf, "-t", "2", "-o", tmp_path / "flows",
                           "--ns3::SizeMonitor::File=seen.txt"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "flows/seen.txt").read_text() == "3000\n"
    assert "one thread, as MONITOR needs" in done.stdout


def test_a_monitor_that_nobody_has_is_refused(folder, tmp_path):
    conf = tmp_path / "wrong.conf"
    conf.write_text("\nMONITOR ns3::RdmaFixedRate\n")
    done = subprocess.run([folder / "build/extended-simulator-flows", conf, "-o", tmp_path / "out"],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"{conf}:2: MONITOR cannot be 'ns3::RdmaFixedRate'; expected TypeId, "
                                              f"a class derived "
                                                 "from ns3::FabricMonitor; may be repeated\n")


def test_a_workload_format_of_ones_own_is_read_by_its_word(folder, tmp_path):
    steps = tmp_path / "steps.txt"
    steps.write_text("STEPS\n4000\n8000\n")
    command = [folder / "build/extended-simulator", "-n", folder / "topology.txt", "-w", steps, "--network",
               "analytical"]
    done = subprocess.run([*command, "-o", tmp_path / "out"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out/collectives.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["op"], int(row["bytes"])) for row in rows] == [("AllReduce", 4000), ("AllReduce", 8000)]

    steps.write_text("STEPS\n4000\nmany\n")
    done = subprocess.run([*command, "-o", tmp_path / "out"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"{steps}:3: this is no size; expected bytes of an AllReduce\n")


def reduce_all(folder, output, size, *flags, **environment):
    """The row of collectives.csv of one AllReduce of all ranks by NCCL's rules, and what was printed on standard
    error."""
    (output.parent / "w").write_text(f"1 ALLREDUCE {size} DP\n")
    done = subprocess.run([folder / "build/extended-simulator", "-n", folder / "topology.txt", "-w",
                           output.parent / "w", "-c",
                           SOURCE / "conf/none.conf", "--tp", "1", "-o", output, *flags], capture_output=True,
                          text=True, check=False,
                          env=os.environ | environment)
    if done.returncode:
        return None, done.stderr
    with (output / "collectives.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    return row, done.stderr


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_an_algorithm_of_ones_own_is_chosen_where_it_costs_least_or_is_named(folder, tmp_path, network):
    row, _ = reduce_all(folder, tmp_path / "small", 1000, "--network", network, "--check")
    assert (row["algorithm"], row["protocol"], int(row["flows"])) == ("OneShot", "-", 4 * 3)
    row, _ = reduce_all(folder, tmp_path / "large", 100_000_000, "--network", network)
    assert row["algorithm"] != "OneShot"
    row, _ = reduce_all(folder, tmp_path / "named", 10_000_000, "--network", network, "--check", NCCL_ALGO="oneshot")
    assert row["algorithm"] == "OneShot"
    # 2 us, then three messages share the NIC both ways; headers, and acknowledgements with packets, take a few per
    # cent.
    took = (float(row["end_ns"]) - float(row["start_ns"])) / 1e3
    assert took == pytest.approx(2 + 3 * 10_000_000 * 8 / RATE_GBPS / 1e3, rel=0.04)
    row, _ = reduce_all(folder, tmp_path / "other", 1000, "--network", network, NCCL_ALGO="^OneShot")
    assert row["algorithm"] != "OneShot"


def test_an_algorithm_of_ones_own_is_among_those_that_a_mistake_is_told(folder, tmp_path):
    _, error = reduce_all(folder, tmp_path / "out", 1000, NCCL_ALGO="twoshot")
    assert error.endswith("for all collectives a comma list of Tree, Ring, CollNetDirect, CollNetChain, NVLS, "
                          "NVLSTree, PAT, AllPairs, HcclMesh, HcclNHR, HcclPairs, HcclPipeline, HcclRing, OneShot\n")


def serve(folder, output, prompts, output_tokens, *keys):
    """The lines of requests.csv by request, and what was printed on standard error. All arrive at once; each token of a
    prompt takes 1 us."""
    output.mkdir()
    (output / "trace.csv").write_text("arrival_s,prompt_tokens,output_tokens\n"
                                      + "".join(f"0,{prompt},{output_tokens}\n" for prompt in prompts))
    file = output / "serve.txt"
    file.write_text("INFERENCE\ntrace trace.csv\nrow step all linear 0 1000 0 0 NONE 0\n"
                    + "".join(key + "\n" for key in keys) + "instances colocated 0-3\n")
    done = subprocess.run([folder / "build/extended-simulator", "-n", folder / "topology.txt", "-w", file, "--network",
                           "analytical", "-o", output / "run"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.replace(f"{file}:", "")
    with (output / "run/requests.csv").open(newline="") as table:
        return sorted(csv.DictReader(table), key=lambda row: int(row["request"])), ""


def test_serving_policies_of_ones_own_decide_what_they_are_asked(folder, tmp_path):
    # One at a time on one instance: the times of the prompts before are added.
    prompts, one_by_one = [30, 10, 20], ("router sticky", "max_num_seqs 1")
    for order, ends in (("fcfs", [30, 40, 60]), ("shortest", [60, 10, 30])):
        found, _ = serve(folder, tmp_path / order, prompts, 1, *one_by_one, f"scheduling_policy {order}")
        assert [float(row["e2e_us"]) for row in found] == pytest.approx(ends), order
    for where in (0, 2):
        found, _ = serve(folder, tmp_path / f"at{where}", prompts, 1, "router sticky", f"sticky_instance {where}")
        assert {row["prefill_instance"] for row in found} == {str(where)}
    # Five blocks of two tokens hold the prompts of 2, 3 and 3. The third token of the first needs a sixth; the fourth
    # of the others does not.
    for mode, preempted in (("recompute", [0, 0, 1]), ("oldest", [0, 1, 0])):
        found, _ = serve(folder, tmp_path / mode, [2, 3, 3], 2, "router sticky", "block_size 2", "num_gpu_blocks 5",
                         f"preemption_mode {mode}")
        assert [int(row["preemptions"]) for row in found] == preempted, mode


def test_serving_policies_of_ones_own_are_among_those_that_a_mistake_is_told(folder, tmp_path):
    _, error = serve(folder, tmp_path / "name", [1], 1, "router stiky")
    assert error == ("4: router is 'stiky'; expected kv_aware, least_loaded, round_robin, session or sticky; the nearest is "
                     "sticky\n")
    _, error = serve(folder, tmp_path / "key", [1], 1, "sticky_instance 1")
    assert error == "4: sticky_instance has no effect without router sticky; expected a file without it\n"
