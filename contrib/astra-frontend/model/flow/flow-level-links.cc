/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FlowLevelFabric: links that fail and come back. A link that is cut stops what is on it at once;
 * routes follow after routeUpdateDelay, and what was on its way continues from the byte it stood
 * at.
 */
#include "flow-level-network.h"
#include "flow-level-operation.h"

namespace AstraSim
{

void
FlowLevelFabric::ScheduleLinkEvents()
{
    for (const ns3::LinkChange& change : m_config.linkChanges)
    {
        m_loop.Schedule(change.timePs, [this, change] {
            for (const uint32_t link : change.links)
            {
                SetLinkUp(link, change.up);
            }
            m_loop.Schedule(m_config.routeUpdateDelay, [this] { UpdateRoutes(); });
        });
    }
}

void
FlowLevelFabric::SetLinkUp(uint32_t link, bool up)
{
    const uint64_t rate = up ? m_router.GetTopology().links[link].rateBps : 0;
    m_router.SetLinkUp(link, up);
    m_transfers.SetLinkRate(2 * link, rate);
    m_transfers.SetLinkRate(2 * link + 1, rate);
}

void
FlowLevelFabric::UpdateRoutes()
{
    m_router.Recompute();
    m_switchPorts.clear();
    std::vector<FluidTransfer*> underWay;
    m_transfers.ForEach([&](FluidTransfer& transfer) { underWay.push_back(&transfer); });
    for (FluidTransfer* transfer : underWay)
    {
        Reroute(*transfer);
    }
    std::vector<Part*> waiting;
    waiting.swap(m_withoutPath);
    for (Part* part : waiting)
    {
        if (!Begin(part))
        {
            m_withoutPath.push_back(part);
        }
    }
}

void
FlowLevelFabric::Reroute(FluidTransfer& transfer)
{
    Part& part = *static_cast<Part*>(transfer.owner);
    if (part.operation)
    {
        return; // an operation stays with its NVSwitch
    }
    const Message& message = *part.message;
    const bool reachable = m_router.Move(message.src, message.dst, part.start);
    if (part.connection)
    {
        part.connection->start = part.start;
    }
    if (!reachable || !m_router.Follow(message.src, message.dst, part.start, m_path, &m_back))
    {
        return; // it stays on its dead links, at rate 0
    }
    const bool nvlink = m_router.GetTopology().IsNvLink(m_path.hops.front().link);
    const ns3::FrameSizes& sizes = nvlink ? m_config.nvlinkFrames : m_config.networkFrames;
    FluidTransfers::Request request;
    const TimePs tail = part.tail;
    Time(part, m_path, sizes, part.connection ? part.connection->rateCapBps : 0, request);
    if (transfer.reached)
    {
        part.tail = tail; // its delivery is under way
    }
    FillUses(part, nvlink, sizes);
    m_transfers.Move(transfer, m_uses, request.cap);
}

} // namespace AstraSim
