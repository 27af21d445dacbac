/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hot path: a line per message, of which a collective has millions.
 */
#include "fct-writer.h"

#include "fabric-identity.h"

#include <algorithm>
#include <string_view>

namespace ns3
{

FctWriter::FctWriter(const ClusterTopology& topology, const std::string& path)
    : m_file(path),
      m_addresses(topology.hostCount)
{
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        char text[TextLine::ROOM];
        TextLine address(text);
        address.Hex8(HostAddress(topology, host));
        std::ranges::copy(address.View(), m_addresses[host].begin());
    }
}

void
FctWriter::Write(const FctRecord& record)
{
    const auto address = [this](uint32_t host) {
        return std::string_view(m_addresses[host].data(), m_addresses[host].size());
    };
    TextLine line(m_file.Room());
    line.Text(address(record.src))
        .Space()
        .Text(address(record.dst))
        .Space()
        .Decimal(record.sport)
        .Space()
        .Decimal(record.dport)
        .Space()
        .Decimal(record.bytes)
        .Space()
        .Decimal(NearestNs(record.startPs))
        .Space()
        .Decimal(NearestNs(record.fctPs))
        .Space()
        .Decimal(NearestNs(record.idealPs))
        .End();
    m_file.Take(line);
}

} // namespace ns3
