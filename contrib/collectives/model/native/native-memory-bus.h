/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_MEMORY_BUS_H
#define NATIVE_MEMORY_BUS_H

#include "ns3/clock-range.h"
#include "ns3/gpu-model.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Parameters of the memory bus between an NPU and its message agent.
struct MemoryBusConfig
{
    TimePs endpointDelay{10'000};     ///< ps per message, where the bus is not shared
    TimePs localReductionDelay{1000}; ///< ps to start the reduction of a message on a shared bus
    double localMemBandwidth{0};      ///< GB/s; 0 for infinitely fast
    bool shared{false};               ///< transfers follow LogGP on one bus per direction
    double L{0};                      ///< LogGP latency, ns
    double o{0};                      ///< LogGP overhead at each end, ns
    double g{0};                      ///< LogGP gap between messages, ns
    double G{0};                      ///< LogGP gap per byte, ns
};

/**
 * @ingroup collectives
 * @brief The way of messages between an NPU's memory and the message agent (MA) at its network
 * port.
 *
 * Unshared, every message takes the endpoint delay. Shared, the messages of a direction follow each
 * other as in the LogGP model: a message occupies the bus for o + (bytes - 1) G, the next may start
 * a gap g later, and it arrives L + o after it has left. A message that is to be reduced is then
 * read twice and written once at the local memory's bandwidth; reductions of an NPU do not delay
 * each other, as in ASTRA-sim.
 */
class NativeMemoryBus
{
  public:
    /// @param config borrowed
    explicit NativeMemoryBus(const MemoryBusConfig& config)
        : m_config(&config)
    {
    }

    /**
     * A message takes the bus.
     * @param toAgent whether it goes to the MA, or to memory
     * @param bytes size of the message
     * @param reduces whether it is reduced with local data before it goes on
     * @return how long it takes from @p now on
     */
    TimePs Occupy(bool toAgent, uint64_t bytes, bool reduces, TimePs now);

  private:
    const MemoryBusConfig* m_config;
    TimePs m_agentFree{0}; ///< when the direction to the MA is free
    TimePs m_memoryFree{0};
};

/// Finds the memory bus of a rank of the network.
using MemoryBusLookup = std::function<NativeMemoryBus&(int rank)>;

/**
 * @ingroup collectives
 * @brief An NPU of ASTRA-sim, which runs the graphs of its native collectives.
 *
 * A message leaves when it has passed the memory bus; a received one passes the bus back (and is
 * reduced there if the step says so) before the next step of its sequence begins. So a ring of s
 * steps takes (s + 1) endpoint delays, s messages on the network, and three memory accesses per
 * message that is reduced.
 */
class NativeGpu : public UniformGpu
{
  public:
    /// @param ranks of the network, by their index in the group
    NativeGpu(std::vector<int> ranks, MemoryBusLookup busOf)
        : m_ranks(std::move(ranks)),
          m_busOf(std::move(busOf))
    {
    }

    TimePs OccupyBus(uint32_t rank,
                     bool outbound,
                     uint64_t bytes,
                     bool reduces,
                     TimePs now) const override
    {
        return m_busOf(m_ranks[rank]).Occupy(outbound, bytes, reduces, now);
    }

  private:
    std::vector<int> m_ranks;
    MemoryBusLookup m_busOf;
};

} // namespace AstraSim

#endif /* NATIVE_MEMORY_BUS_H */
