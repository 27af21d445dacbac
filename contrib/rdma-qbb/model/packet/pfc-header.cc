/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pfc-header.h"

#include <ostream>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(PfcHeader);

constexpr uint32_t FIELDS_BYTES = 2 + 2 + 8 * 2;

Mac48Address
PfcHeader::Destination()
{
    return Mac48Address("01:80:c2:00:00:01");
}

void
PfcHeader::Print(std::ostream& os) const
{
    const char* separator = "";
    for (std::size_t priority = 0; priority < pauseQuanta.size(); ++priority)
    {
        if (enableVector >> priority & 1)
        {
            os << separator << "priority " << priority << ": " << pauseQuanta[priority]
               << " quanta";
            separator = ", ";
        }
    }
}

void
PfcHeader::Serialize(Buffer::Iterator start) const
{
    Buffer::Iterator i = start;
    i.WriteHtonU16(m_opcode);
    i.WriteHtonU16(enableVector);
    for (const uint16_t quanta : pauseQuanta)
    {
        i.WriteHtonU16(quanta);
    }
    i.WriteU8(0, BYTES - FIELDS_BYTES);
}

uint32_t
PfcHeader::Deserialize(Buffer::Iterator start)
{
    Buffer::Iterator i = start;
    m_opcode = i.ReadNtohU16();
    enableVector = static_cast<uint8_t>(i.ReadNtohU16());
    for (uint16_t& quanta : pauseQuanta)
    {
        quanta = i.ReadNtohU16();
    }
    return BYTES;
}

} // namespace ns3
