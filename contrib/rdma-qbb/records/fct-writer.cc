/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hot path: a line per message, of which a collective has millions.
 */
#include "fct-writer.h"

#include "rdma-qbb/fabric/fabric-identity.h"

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
        std::ranges::copy(TextLine(text).Hex8(HostAddress(topology, host)).View(),
                          m_addresses[host].begin());
    }
}

void
FctWriter::Spell(const FctRecord& record, Repeated& repeated)
{
    char text[TextLine::ROOM];
    repeated.middle =
        TextLine(text).Space().Decimal(record.dport).Space().Decimal(record.bytes).Space().View();
    repeated.end = TextLine(text).Space().Decimal(NearestNs(record.idealPs)).End().View();
    repeated.bytes = record.bytes;
    repeated.idealPs = record.idealPs;
    repeated.dport = record.dport;
}

void
FctWriter::Write(const FctRecord& record)
{
    constexpr uint64_t MIX = 0x9e37'79b9'7f4a'7c15; // 2^64 / golden ratio: Knuth's hash
    const uint64_t key = record.bytes ^ static_cast<uint64_t>(record.idealPs) << 16 ^ record.dport;
    Repeated& repeated = m_repeated[key * MIX >> (64 - REPEATED_BITS)];
    if (repeated.bytes != record.bytes || repeated.idealPs != record.idealPs ||
        repeated.dport != record.dport) [[unlikely]]
    {
        Spell(record, repeated);
    }
    const auto address = [this](uint32_t host) {
        return std::string_view(m_addresses[host].data(), m_addresses[host].size());
    };
    TextLine line(m_file.Room());
    line.Text(address(record.src))
        .Space()
        .Text(address(record.dst))
        .Space()
        .Decimal(record.sport)
        .Text(repeated.middle)
        .Decimal(NearestNs(record.startPs))
        .Space()
        .Decimal(NearestNs(record.fctPs))
        .Text(repeated.end);
    m_file.Take(line);
}

} // namespace ns3
