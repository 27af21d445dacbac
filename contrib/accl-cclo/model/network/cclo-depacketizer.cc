/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-depacketizer.h"

#include "ns3/buffer.h"

#include <algorithm>
#include <utility>

namespace ns3
{

void
CcloDepacketizer::TakeHeader(const uint8_t* bytes, uint32_t count)
{
    std::copy_n(bytes, count, m_header.begin() + m_headerBytes);
    m_headerBytes += count;
    if (m_headerBytes < CcloHeader::BYTES)
    {
        return;
    }
    Buffer buffer;
    buffer.AddAtStart(CcloHeader::BYTES);
    buffer.Begin().Write(m_header.data(), CcloHeader::BYTES);
    m_message = {};
    m_message.header.Deserialize(buffer.Begin());
    m_remaining = m_message.header.count;
    if (m_isPadded)
    {
        m_remaining = (m_remaining + CcloHeader::BYTES - 1) / CcloHeader::BYTES * CcloHeader::BYTES;
    }
    if (m_contents)
    {
        m_message.data.reserve(m_remaining);
    }
}

void
CcloDepacketizer::Take(const Packet& packet, const Sink& sink)
{
    CcloBytes bytes(packet.GetSize());
    packet.CopyData(bytes.data(), packet.GetSize());
    const uint8_t* at = bytes.data();
    const uint8_t* const end = at + bytes.size();
    while (at < end)
    {
        const auto left = static_cast<uint64_t>(end - at);
        if (m_headerBytes < CcloHeader::BYTES)
        {
            const auto count =
                static_cast<uint32_t>(std::min<uint64_t>(left, CcloHeader::BYTES - m_headerBytes));
            TakeHeader(at, count);
            at += count;
        }
        else
        {
            const uint64_t count = std::min(left, m_remaining);
            if (m_contents)
            {
                m_message.data.insert(m_message.data.end(), at, at + count);
            }
            m_remaining -= count;
            at += count;
        }
        if (m_headerBytes == CcloHeader::BYTES && m_remaining == 0)
        {
            m_headerBytes = 0;
            if (m_contents)
            {
                m_message.data.resize(m_message.header.count); // without padding
            }
            sink(std::move(m_message));
        }
    }
}

} // namespace ns3
