/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "forwarding-table.h"

#include <algorithm>
#include <numeric>

namespace ns3
{

const constinit std::array<uint16_t, 4096> ForwardingTable::ALL_PORTS = [] {
    std::array<uint16_t, 4096> ports{};
    std::iota(ports.begin(), ports.end(), uint16_t{0});
    return ports;
}();

void
ForwardingTable::SetPorts(Entry& entry, std::span<const uint16_t> ports)
{
    if (ports.empty())
    {
        return;
    }
    const std::size_t first = ports.front();
    entry.isRun = first + ports.size() <= ALL_PORTS.size() &&
                  std::equal(ports.begin(), ports.end(), ALL_PORTS.begin() + first);
    if (entry.isRun)
    {
        entry.offset = static_cast<uint32_t>(first);
        return;
    }
    entry.offset = static_cast<uint32_t>(m_ports.size());
    m_ports.insert(m_ports.end(), ports.begin(), ports.end());
}

} // namespace ns3
