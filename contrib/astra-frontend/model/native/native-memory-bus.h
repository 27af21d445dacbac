/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_MEMORY_BUS_H
#define NATIVE_MEMORY_BUS_H

#include "ns3/clock-range.h"
#include "ns3/rank-network.h"

#include <cstdint>

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
 * @ingroup astra-frontend
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
    /// @param network the NPU's clock; borrowed @param config borrowed
    NativeMemoryBus(RankNetwork& network, const MemoryBusConfig& config)
        : m_network(&network),
          m_config(&config)
    {
    }

    /**
     * @param bytes size of the message
     * @param reduce whether it is reduced with local data before it goes on
     * @param handler called with @p arg when it is at the MA
     */
    void send_from_NPU_to_MA(uint64_t bytes, bool reduce, MessageHandler handler, void* arg)
    {
        Transfer(m_toMa, bytes, reduce, handler, arg);
    }

    /// The other direction, with the same parameters.
    void send_from_MA_to_NPU(uint64_t bytes, bool reduce, MessageHandler handler, void* arg)
    {
        Transfer(m_toNpu, bytes, reduce, handler, arg);
    }

    /// @return time to read or write @p bytes of local memory, in ps
    TimePs MemoryAccess(uint64_t bytes) const
    {
        return m_config->localMemBandwidth > 0
                   ? ns3::RoundToPs(static_cast<double>(bytes) * 1000.0 /
                                    m_config->localMemBandwidth)
                   : 0;
    }

  private:
    void Transfer(TimePs& busyUntil,
                  uint64_t bytes,
                  bool reduce,
                  MessageHandler handler,
                  void* arg);

    RankNetwork* m_network;
    const MemoryBusConfig* m_config;
    TimePs m_toMa{0}; ///< when the direction is free
    TimePs m_toNpu{0};
};

} // namespace AstraSim

#endif /* NATIVE_MEMORY_BUS_H */
