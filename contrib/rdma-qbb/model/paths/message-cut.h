/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MESSAGE_CUT_H
#define MESSAGE_CUT_H

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace ns3
{

class ClusterTopology;

/// The part of a message on one connection.
struct MessagePart
{
    uint32_t port;  ///< chooses among the ports that begin a path: the remainder counts
    uint64_t bytes; ///< at least 1
    double share;   ///< of the message's speed limit

    /// @return its share of a speed limit; 0 for none
    uint64_t ShareOf(uint64_t rateCapBps) const
    {
        return static_cast<uint64_t>(static_cast<double>(rateCapBps) * share);
    }
};

/**
 * @ingroup rdma-qbb
 * @brief Cuts messages from one host to another into parts, a connection for each.
 *
 * Between servers a message takes all NICs that begin a path, in proportion to their rates, and on
 * each as many queue pairs as QPS_PER_CONNECTION says. Within a server it takes the NVLink to one
 * NVSwitch, which its channel chooses, or all of them in proportion where their rates differ. A
 * message of fewer frames than connections has one part per frame.
 */
class MessageCut
{
  public:
    using Parts = boost::container::small_vector<MessagePart, 4>;

    static constexpr uint16_t ALL_PLANES = UINT16_MAX;

    /// Leaves messages whole.
    MessageCut() = default;

    /// @param rates of the ports of all connections, of any unit
    explicit MessageCut(std::vector<uint64_t> rates)
        : m_rates(std::move(rates))
    {
    }

    /// @param host that sends @param ports that begin a path, not empty
    /// @param queuePairs on each NIC
    MessageCut(const ClusterTopology& topology,
               uint32_t host,
               const std::vector<uint16_t>& ports,
               uint32_t queuePairs);

    /**
     * @param bytes of the message, not 0
     * @param framePayload bytes of a full frame
     * @param channel the port of a message that stays whole, and the first of one that does not
     * @param plane the only port that may be taken, by its number; ALL_PLANES: no such limit
     * @return its parts; the first is always there
     */
    Parts Divide(uint64_t bytes,
                 uint64_t framePayload,
                 uint32_t channel,
                 uint16_t plane = ALL_PLANES) const;

  private:
    std::vector<uint64_t> m_rates; ///< of the ports of all connections; empty: messages stay whole
};

} // namespace ns3

#endif /* MESSAGE_CUT_H */
