/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Cost of each congestion control per acknowledgement: the packet path pays this once per frame.

#include "ns3/object-factory.h"
#include "ns3/qbb-frame.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-queue-pair.h"

#include <benchmark/benchmark.h>

namespace
{

using namespace ns3;

/// Acknowledge frame after frame of a busy 100 Gb/s link of five hops; one in 64 is marked.
void
OnAck(benchmark::State& state, const char* algorithm)
{
    auto ops = ObjectFactory(algorithm).Create<RdmaCongestionOps>();
    RdmaQueuePair qp;
    qp.lineRateBps = 100'000'000'000;
    qp.baseRttPs = 10'000'000;
    qp.endSeq = UINT64_MAX;
    qp.NoteSent(1082, 0);
    qp.SetRate(qp.lineRateBps);
    ops->OnQpInit(qp);

    QbbTelemetry telemetry;
    telemetry.hopCount = 5;
    telemetry.pintPower = 126;
    uint64_t frames = 0;
    for (auto _ : state)
    {
        ++frames;
        const auto nowPs = static_cast<int64_t>(frames * 86560);
        for (uint32_t hop = 0; hop < telemetry.hopCount; ++hop)
        {
            telemetry.hops[hop] = {qp.lineRateBps, frames * 1082, nowPs, 2000};
        }
        telemetry.sentPs = nowPs - 11'000'000;
        qp.sndUna += 1000;
        qp.SetSndNxt(qp.sndUna + 125'000);
        ops->OnAck(qp, {nowPs, qp.sndUna, 1000, frames % 64 == 0, &telemetry});
        benchmark::DoNotOptimize(qp.GetRate());
    }
    ops->OnQpClose(qp);
}

BENCHMARK_CAPTURE(OnAck, none, "ns3::RdmaNoCongestionControl");
BENCHMARK_CAPTURE(OnAck, Dcqcn, "ns3::RdmaDcqcn");
BENCHMARK_CAPTURE(OnAck, Hpcc, "ns3::RdmaHpcc");
BENCHMARK_CAPTURE(OnAck, Timely, "ns3::RdmaTimely");
BENCHMARK_CAPTURE(OnAck, Dctcp, "ns3::RdmaDctcp");
BENCHMARK_CAPTURE(OnAck, HpccPint, "ns3::RdmaHpccPint");
BENCHMARK_CAPTURE(OnAck, Swift, "ns3::RdmaSwift");

} // namespace
