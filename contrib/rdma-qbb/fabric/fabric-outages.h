/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_OUTAGES_H
#define FABRIC_OUTAGES_H

#include "ns3/link-changes.h"

#include <cstdint>
#include <vector>

namespace ns3
{

struct FabricParts;
class RdmaQueuePair;

/**
 * @ingroup rdma-qbb
 * @brief Counts the losses of each outage that a configuration asks for: frames on the links, and
 * the waits for retransmission timers that still ran when there was a path again.
 *
 * Frames are counted when links change, which is between all other events; waits at each timeout,
 * by the host whose timer it is.
 */
class FabricOutages
{
  public:
    /// @param fabric outlives the object @param updateDelayPs until routes follow a change of links
    FabricOutages(const FabricParts& fabric, int64_t updateDelayPs);

    /// Find the outages. @throw InputError for a link that is not there
    void Start();

    /// A link is about to go down, or to come up.
    void OnChange(uint32_t link, bool up);

    /// @return the outages that have begun, with their losses so far in all processes
    std::vector<LinkOutage> GetSoFar() const;

  private:
    /// An open outage of a link.
    struct Open
    {
        bool is{false};
        std::size_t outage{0};  ///< into m_outages
        uint64_t lostBefore{0}; ///< frames lost on the link until it went down
    };

    void OnTimeout(const RdmaQueuePair& qp);
    /// @return frames lost on a link by now, in this process
    uint64_t CountLost(uint32_t link) const;

    const FabricParts& m_fabric;
    int64_t m_updateDelayPs;
    std::vector<LinkOutage> m_outages;
    std::vector<Open> m_open;                             ///< by link
    std::vector<std::vector<LinkOutage::Losses>> m_waits; ///< by host and outage
};

} // namespace ns3

#endif /* FABRIC_OUTAGES_H */
