/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-level-check.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace AstraSim
{

namespace
{

using ns3::ClusterTopology;

std::string
NameOf(const ClusterTopology& topology, uint32_t directedLink)
{
    const auto& link = topology.links[directedLink / 2];
    const bool fromB = directedLink % 2;
    return fmt::format("node {} port {}",
                       fromB ? link.b : link.a,
                       (fromB ? link.portB : link.portA) + 1);
}

/// @return frames that so many messages of so many bytes have at most
double
MostFrames(const ns3::LinkUse::Port& used, uint64_t payloadOfFrame)
{
    return static_cast<double>(used.bytes) / static_cast<double>(payloadOfFrame) +
           static_cast<double>(used.messages);
}

} // namespace

FlowLevelCheck::FlowLevelCheck(const EventLoop& loop,
                               FlowLevelFabric& fabric,
                               const ns3::LinkUse& use,
                               const Overhead& overhead,
                               FluidCheck::Report report)
    : m_fabric(fabric),
      m_use(use),
      m_overhead(overhead),
      m_report(report),
      m_transfers(loop, fabric.GetTransfers(), std::move(report), [&fabric](uint32_t link) {
          return NameOf(fabric.GetTopology(), link);
      })
{
}

double
FlowLevelCheck::MostAckBytes() const
{
    const ClusterTopology& topology = m_fabric.GetTopology();
    const uint64_t perAck =
        std::max<uint64_t>(m_overhead.network.mtuPayload, m_overhead.ackIntervalBytes);
    double bytes = 0;
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        const uint32_t node = topology.NodeOfHost(host);
        for (uint16_t port = 0; port < topology.Ports(node).size(); ++port)
        {
            bytes += MostFrames(m_use.Of(node, port), perAck) * m_overhead.network.ackWireBytes;
        }
    }
    return bytes;
}

void
FlowLevelCheck::CheckPort(uint32_t node, uint16_t port, double mostAckBytes)
{
    const ClusterTopology& topology = m_fabric.GetTopology();
    const uint32_t link = topology.Ports(node)[port].link;
    const uint32_t directed = FlowRouter::DirectedLink(topology, link, node);
    const bool nvlink = topology.IsNvLink(link);
    const ns3::FrameSizes& sizes = nvlink ? m_overhead.nvlink : m_overhead.network;
    const ns3::LinkUse::Port& sent = m_use.Of(node, port);
    const double headers = std::max(sizes.dataOverhead, sizes.minWireBytes);
    const double least = static_cast<double>(sent.bytes);
    const double most =
        least + MostFrames(sent, sizes.mtuPayload) * headers + (nvlink ? 0 : mostAckBytes);
    const double carried = m_fabric.GetTransfers().GetCarried(directed);
    // Shares of a message that is spread over links are rounded.
    const double slack = 1 + static_cast<double>(sent.messages) + 1e-6 * most;
    if (carried < least - slack || carried > most + slack)
    {
        m_report(fmt::format("{} has carried {:.0f} bytes; its messages have {:.0f}, and at most "
                             "{:.0f} with headers and acknowledgements",
                             NameOf(topology, directed),
                             carried,
                             least,
                             most));
    }
}

void
FlowLevelCheck::Finish(bool drained)
{
    m_transfers.Finish(drained);
    if (!drained || m_overhead.hasLinkEvents)
    {
        return;
    }
    const ClusterTopology& topology = m_fabric.GetTopology();
    const double mostAckBytes = MostAckBytes();
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        for (uint16_t port = 0; port < topology.Ports(node).size(); ++port)
        {
            CheckPort(node, port, mostAckBytes);
        }
    }
}

} // namespace AstraSim
