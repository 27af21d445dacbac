/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Hold model: with n events pending, take the earliest and insert one a random delay after it. The
// time per iteration is that of one RemoveNext() and one Insert().

#include "ns3/object-factory.h"
#include "ns3/scheduler.h"

#include <array>
#include <benchmark/benchmark.h>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

using namespace ns3;

namespace
{

/// How far ahead events are inserted, in picoseconds.
enum class Delays
{
    Fabric, ///< a link: 25 ns or 500 ns, and the time of a frame; 1 in 256 a timer of 4 ms
    Spread, ///< exponential with a mean of 1 ns for each pending event
};

std::vector<uint64_t>
MakeDelays(Delays kind, int64_t pending)
{
    std::mt19937_64 random(1);
    std::vector<uint64_t> delays(1 << 16);
    std::exponential_distribution<double> spread(1.0 / (1000.0 * static_cast<double>(pending)));
    constexpr std::array<uint64_t, 4> HOPS{25000 + 1280, 500000 + 1640, 500000 + 181640, 1280};
    for (uint64_t& delay : delays)
    {
        delay = static_cast<uint64_t>(spread(random)) + 1;
        if (kind == Delays::Fabric)
        {
            delay = random() % 256 ? HOPS[random() % 4] + random() % 20000 : 4'000'000'000;
        }
    }
    return delays;
}

void
Hold(benchmark::State& state, const char* type, Delays kind)
{
    const std::vector<uint64_t> delays = MakeDelays(kind, state.range(0));
    const Ptr<Scheduler> scheduler = ObjectFactory(type).Create<Scheduler>();
    uint32_t uid = 0;
    std::size_t i = 0;
    for (; uid < state.range(0); ++uid)
    {
        scheduler->Insert({nullptr, {delays[i++ % delays.size()], uid, 0}});
    }
    const auto hold = [&] {
        Scheduler::Event event = scheduler->RemoveNext();
        event.key.m_ts += delays[i++ % delays.size()];
        event.key.m_uid = uid++;
        scheduler->Insert(event);
    };
    for (int64_t warm = 0; warm < 4 * state.range(0); ++warm)
    {
        hold();
    }
    for (auto _ : state)
    {
        hold();
    }
    state.SetItemsProcessed(state.iterations());
}

} // namespace

#define HOLD(NAME)                                                                                 \
    BENCHMARK_CAPTURE(Hold, NAME##_fabric, "ns3::" #NAME, Delays::Fabric)                          \
        ->RangeMultiplier(10)                                                                      \
        ->Range(1000, 100000);                                                                     \
    BENCHMARK_CAPTURE(Hold, NAME##_spread, "ns3::" #NAME, Delays::Spread)                          \
        ->RangeMultiplier(10)                                                                      \
        ->Range(1000, 100000)

HOLD(TimingWheelScheduler);
HOLD(MapScheduler);
HOLD(HeapScheduler);
HOLD(CalendarScheduler);
