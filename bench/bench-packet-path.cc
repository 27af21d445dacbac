/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The packet path, part by part: a frame from host to switch to host with its acknowledgement, a
 * frame through a switch's buffer, the choice of a path, an acknowledgement at its sender.
 */
#include "../contrib/rdma-qbb/test/text-fabric.h"
#include "programs/frame/ns3-flags.h"

#include "ns3/flow-hash.h"
#include "ns3/qbb-frame-pool.h"
#include "ns3/switch-mmu.h"

#include <benchmark/benchmark.h>
#include <string>

namespace
{

using namespace ns3;

/// Hosts around one switch; ends with its object.
class Star : public BuiltFabric
{
  public:
    Star(uint32_t hosts, const std::string& conf)
        : BuiltFabric(Text(hosts), conf)
    {
    }

  private:
    /// @return the topology, after what comes before a fabric
    static std::string Text(uint32_t hosts)
    {
        UsePicoseconds();
        UseFastSimulator();
        return TextFabric::Star(hosts, "400Gbps", "500ns");
    }
};

/// One queue pair, one message: each frame crosses two links and its acknowledgement two.
void
HostSwitchHost(benchmark::State& state)
{
    constexpr uint64_t FRAMES = 1000;
    Star star(2, "CC_MODE " + std::to_string(state.range(0)) + "\nPACKET_PAYLOAD_SIZE 1000\n");
    RdmaQueuePair* qp = star.fabric->GetDriver(0)->Connect(1, {});
    uint64_t hops = 0;
    for (auto _ : state)
    {
        star.fabric->GetHw(0).PostMessage(*qp, FRAMES * 1000, nullptr, nullptr);
        Simulator::Run();
        hops += 4 * FRAMES;
    }
    state.SetItemsProcessed(static_cast<int64_t>(hops));
}

BENCHMARK(HostSwitchHost)->ArgName("cc_mode")->Arg(0)->Arg(1)->Arg(3);

/// A frame is admitted, looked at for a pause and for a mark, and released; ports take turns.
void
BufferOfSwitch(benchmark::State& state)
{
    const auto ports = static_cast<uint32_t>(state.range(0));
    Star star(ports, "BUFFER_SIZE 64\n");
    SwitchMmu& mmu = *star.fabric->GetSwitch(ports)->GetMmu();
    uint32_t in = 0;
    for (auto _ : state)
    {
        const uint32_t out = (in * 7 + 3) % ports;
        benchmark::DoNotOptimize(mmu.Admit(in, out, 3, 9082));
        benchmark::DoNotOptimize(mmu.ShouldPause(in, 3));
        mmu.Release(in, out, 3, 9082);
        benchmark::DoNotOptimize(mmu.ShouldResume(in, 3));
        benchmark::DoNotOptimize(mmu.ShouldMark(out, 3));
        in = in + 1 == ports ? 0 : in + 1;
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(BufferOfSwitch)->ArgName("ports")->Arg(8)->Arg(128);

/// The hash of a flow becomes one of several equal ports.
void
EcmpOfSwitch(benchmark::State& state)
{
    const auto choices = static_cast<uint32_t>(state.range(0));
    uint32_t hash = 1;
    for (auto _ : state)
    {
        benchmark::DoNotOptimize(hash = hash * 3 + EcmpChoice(hash, 12345, choices));
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(EcmpOfSwitch)->ArgName("ports")->Arg(60);

/// A frame is taken from the pool and given back.
void
PoolOfFrames(benchmark::State& state)
{
    QbbFramePool pool;
    for (auto _ : state)
    {
        QbbFrame* frame = pool.Allocate();
        benchmark::DoNotOptimize(frame);
        pool.Free(frame);
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(PoolOfFrames);

} // namespace
