/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_LEVEL_CHECK_H
#define FLOW_LEVEL_CHECK_H

#include "astra-frontend/model/flow/flow-level-network.h"
#include "astra-frontend/model/flow/fluid-check.h"

#include "ns3/link-use.h"

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Looks over a FlowLevelFabric (--check): its transfers, and that each link has carried the
 * messages that were sent over it, with their headers and acknowledgements, and nothing else.
 */
class FlowLevelCheck
{
  public:
    /// Bytes around the payload on the links.
    struct Overhead
    {
        ns3::FrameSizes network;      ///< frames between servers
        ns3::FrameSizes nvlink;       ///< frames on NVLink
        uint64_t ackIntervalBytes{1}; ///< payload per acknowledgement; 1: one per frame
        bool hasLinkEvents{false};    ///< messages may change their path
    };

    /**
     * @param loop,fabric outlive the object; nothing has been sent
     * @param use counts the messages of the fabric; outlives the object
     * @param report receives each violation
     */
    FlowLevelCheck(const EventLoop& loop,
                   FlowLevelFabric& fabric,
                   const ns3::LinkUse& use,
                   const Overhead& overhead,
                   FluidCheck::Report report);

    /// The simulation is over. @param drained whether nothing was left to simulate
    void Finish(bool drained);

  private:
    /// @return bytes of all acknowledgements, at most: they may come back another way
    double MostAckBytes() const;
    void CheckPort(uint32_t node, uint16_t port, double mostAckBytes);

    FlowLevelFabric& m_fabric;
    const ns3::LinkUse& m_use;
    Overhead m_overhead;
    FluidCheck::Report m_report;
    FluidCheck m_transfers;
};

} // namespace AstraSim

#endif /* FLOW_LEVEL_CHECK_H */
