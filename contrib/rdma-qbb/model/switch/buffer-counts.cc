/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "buffer-counts.h"

namespace ns3
{

void
BufferCounts::SetReserve(uint64_t bytes)
{
    m_reserve = bytes;
    m_sharedUsed = 0;
    for (const Ingress& in : m_ingress)
    {
        m_sharedUsed += SharedOf(in);
    }
}

uint64_t
BufferCounts::CountCommonBytes(uint8_t losslessMask) const
{
    uint64_t bytes = m_sharedUsed;
    for (uint8_t priority = 1; priority < PRIORITIES; ++priority)
    {
        for (uint32_t port = 0; port < m_ports && !(losslessMask >> priority & 1); ++port)
        {
            const Ingress& in = Of(port, priority);
            bytes += in.bytes - SharedOf(in);
        }
    }
    return bytes;
}

} // namespace ns3
