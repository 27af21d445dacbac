/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-cut.h"

#include "ns3/cluster-topology.h"

#include <algorithm>
#include <iterator>

namespace ns3
{

MessageCut::MessageCut(const ClusterTopology& topology,
                       uint32_t host,
                       const std::vector<uint16_t>& ports,
                       uint32_t queuePairs)
{
    const auto all = topology.Ports(topology.NodeOfHost(host));
    const auto rateOf = [&](uint16_t port) { return topology.links[all[port].link].rateBps; };
    const uint64_t first = rateOf(ports.front());
    const bool nvlink = topology.IsNvLink(all[ports.front()].link);
    const bool even =
        std::ranges::all_of(ports, [&](uint16_t port) { return rateOf(port) == first; });
    if (nvlink && even)
    {
        return;
    }
    for (uint32_t pair = 0; pair < (nvlink ? 1 : queuePairs); ++pair)
    {
        std::ranges::transform(ports, std::back_inserter(m_rates), rateOf);
    }
}

MessageCut::Parts
MessageCut::Divide(uint64_t bytes, uint64_t framePayload, uint32_t channel, uint16_t plane) const
{
    Parts parts;
    if (plane != ALL_PLANES || m_rates.size() < 2)
    {
        parts.push_back({plane == ALL_PLANES ? channel : plane, bytes, 1});
        return parts;
    }
    const uint64_t frames = (bytes - 1) / framePayload + 1;
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(m_rates.size(), frames));
    const auto rateOf = [&](uint32_t part) {
        return static_cast<double>(m_rates[(channel + part) % m_rates.size()]);
    };
    double total = 0;
    for (uint32_t part = 0; part < count; ++part)
    {
        total += rateOf(part);
    }
    parts.reserve(count);
    double rates = 0;
    uint64_t begin = 0;
    for (uint32_t part = 0; part < count; ++part)
    {
        rates += rateOf(part);
        const auto end = part + 1 == count
                             ? bytes
                             : static_cast<uint64_t>(static_cast<double>(bytes) * rates / total);
        if (end > begin)
        {
            parts.push_back({channel + part, end - begin, rateOf(part) / total});
        }
        begin = end;
    }
    return parts;
}

} // namespace ns3
