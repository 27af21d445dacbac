/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-rx-buffers.h"

#include "ns3/assert.h"

#include <algorithm>
#include <fmt/format.h>

namespace ns3
{

CcloRxBuffers::CcloRxBuffers(CcloExchangeMemory& exchange, CcloMemory& memory)
    : m_exchange(exchange),
      m_memory(memory),
      m_table(exchange.GetRxBuffers())
{
}

uint32_t
CcloRxBuffers::Get(uint32_t buffer, CcloRxBufferTable::Field field) const
{
    return m_exchange.Read(m_table.AddressOf(buffer, field));
}

void
CcloRxBuffers::Set(uint32_t buffer, CcloRxBufferTable::Field field, uint32_t value)
{
    m_exchange.Write(m_table.AddressOf(buffer, field), value);
}

uint64_t
CcloRxBuffers::AddressOf(uint32_t buffer) const
{
    return static_cast<uint64_t>(Get(buffer, CcloRxBufferTable::ADDRESS_HIGH)) << 32 |
           Get(buffer, CcloRxBufferTable::ADDRESS_LOW);
}

void
CcloRxBuffers::Start()
{
    m_count = m_exchange.Read(CcloExchangeMemory::RX_BUFFER_COUNT);
    m_size = m_table.GetBufferBytes(m_exchange);
    m_filled.resize(m_count);
    m_waiting.clear();
    m_waiting.reserve(m_count);
    m_enqueued.clear();
    for (uint32_t buffer = 0; buffer < m_count; ++buffer)
    {
        Set(buffer, CcloRxBufferTable::STATUS, CcloRxBufferTable::ENQUEUED);
        m_enqueued.push_back(buffer);
    }
}

uint32_t
CcloRxBuffers::Fill(const CcloHeader& header, std::span<const uint8_t> data)
{
    NS_ASSERT(HasEnqueued() && header.count <= m_size);
    const uint32_t buffer = m_enqueued.front();
    m_enqueued.pop_front();
    Set(buffer, CcloRxBufferTable::STATUS, CcloRxBufferTable::RESERVED);
    Set(buffer, CcloRxBufferTable::TAG, header.tag);
    Set(buffer, CcloRxBufferTable::LENGTH, header.count);
    Set(buffer, CcloRxBufferTable::SOURCE, header.source);
    Set(buffer, CcloRxBufferTable::SEQUENCE, header.sequence);
    const std::span<uint8_t> place = m_memory.At(AddressOf(buffer), header.count);
    std::copy_n(data.begin(), std::min(place.size(), data.size()), place.begin());
    m_filled[buffer] =
        {buffer, header.communicator, header.source, header.tag, header.sequence, header.count};
    return buffer;
}

void
CcloRxBuffers::Announce(uint32_t buffer)
{
    m_waiting.push_back(m_filled[buffer]);
}

CcloRxBuffers::Match
CcloRxBuffers::Seek(uint64_t communicator, uint32_t source, uint32_t tag, uint32_t sequence)
{
    Match match;
    for (auto waiting = m_waiting.begin(); waiting != m_waiting.end(); ++waiting)
    {
        ++match.scanned;
        const bool tagFits =
            waiting->tag == tag || waiting->tag == CCLO_TAG_ANY || tag == CCLO_TAG_ANY;
        if (tagFits && waiting->source == source && waiting->sequence == sequence &&
            waiting->communicator == communicator)
        {
            match.found = true;
            match.buffer = waiting->buffer;
            match.bytes = waiting->bytes;
            match.address = AddressOf(waiting->buffer);
            m_waiting.erase(waiting);
            return match;
        }
    }
    return match;
}

void
CcloRxBuffers::Release(uint32_t buffer)
{
    // ENQUEUED at once: the enqueuing engine would take less than a cycle.
    Set(buffer, CcloRxBufferTable::STATUS, CcloRxBufferTable::ENQUEUED);
    m_enqueued.push_back(buffer);
}

std::vector<std::string>
CcloRxBuffers::DescribeWaiting() const
{
    std::vector<std::string> lines;
    for (const Waiting& waiting : m_waiting)
    {
        lines.push_back(
            fmt::format("rx buffer {} holds {} bytes of rank {}, tag {}, sequence {}, "
                        "that no call has asked for",
                        waiting.buffer,
                        waiting.bytes,
                        waiting.source,
                        waiting.tag == CCLO_TAG_ANY ? "any" : std::to_string(waiting.tag),
                        waiting.sequence));
    }
    return lines;
}

} // namespace ns3
