/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MESSAGE_PATHS_H
#define MESSAGE_PATHS_H

#include "ns3/message-cut.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <optional>
#include <span>

namespace AstraSim
{

/// A message from rank to rank, with its ports and times. Times in picoseconds.
struct MessagePath
{
    uint32_t egress;        ///< the port it leaves its source by
    uint32_t ingress;       ///< the port it enters its destination by
    TimePs egressTime;      ///< how long it occupies the one
    TimePs ingressTime;     ///< and the other
    TimePs alone;           ///< first bit sent to last bit delivered when nothing is in its way
    TimePs limited;         ///< the same at its own speed limit; not less than alone
    TimePs acknowledgement; ///< from its delivery until its sender knows
};

/**
 * @ingroup astra-frontend
 * @brief The machine of an analytical network: the time of a message alone, and the
 * ports that messages share.
 */
class MessagePaths
{
  public:
    virtual ~MessagePaths() = default;

    /// @return number of ranks
    virtual uint32_t GetRankCount() const = 0;

    /// @return number of ports; ports are numbered from 0
    virtual uint32_t GetPortCount() const = 0;

    /// @return the parts of a message, each over ports of its own. @param channel,plane see
    /// ns3::MessageCut
    virtual ns3::MessageCut::Parts Cut(uint32_t,
                                       uint32_t,
                                       uint64_t wireBytes,
                                       uint32_t channel,
                                       uint16_t plane)
    {
        return ns3::MessageCut().Divide(wireBytes, wireBytes, channel, plane);
    }

    /**
     * @param src,dst different ranks
     * @param port chooses among the ports
     * @param wireBytes not 0
     * @param rateCapBps speed limit; 0 for none
     * @return the path, or nothing if there is none
     */
    virtual std::optional<MessagePath> Find(uint32_t src,
                                            uint32_t dst,
                                            uint32_t port,
                                            uint64_t wireBytes,
                                            uint64_t rateCapBps) = 0;

    /// @return whether one switch that can reduce and multicast joins the ranks
    virtual bool ShareReducingSwitch(std::span<const int> ranks) const = 0;
};

} // namespace AstraSim

#endif /* MESSAGE_PATHS_H */
