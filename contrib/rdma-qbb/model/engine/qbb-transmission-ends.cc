/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-transmission-ends.h"

#include "ns3/qbb-net-device.h"

#include <algorithm>

namespace ns3
{

namespace
{

constexpr uint32_t PORT_BITS = 16;
constexpr uint64_t TIME = UINT64_MAX << PORT_BITS;

/// Ends are close together: the difference of two tells the earlier one even where the time's
/// highest bits are lost.
bool
IsEarlier(uint64_t a, uint64_t b)
{
    return static_cast<int64_t>(a - b) < 0;
}

} // namespace

QbbTransmissionEnds::QbbTransmissionEnds()
    : m_event(Create<Event>(this))
{
}

QbbTransmissionEnds::~QbbTransmissionEnds()
{
    m_event->Detach();
}

void
QbbTransmissionEnds::AddPort(QbbNetDevice* device)
{
    m_ports.push_back(device);
}

void
QbbTransmissionEnds::AddEnd(uint16_t port)
{
    const int64_t timePs = m_ports[port]->PeekBusyUntilPs();
    const Key key = static_cast<Key>(timePs) << PORT_BITS | port;
    if (m_first == m_ends.size() || IsEarlier(m_ends.back(), key))
    {
        m_ends.push_back(key);
    }
    else
    {
        m_ends.insert(std::upper_bound(m_ends.begin() + m_first, m_ends.end(), key, IsEarlier),
                      key);
    }
    m_duePs = std::min(m_duePs, timePs);
    if (m_punctual)
    {
        Await(*m_ports[port]);
    }
}

void
QbbTransmissionEnds::Await(const QbbNetDevice& device)
{
    m_event->ScheduleAt(device.GetNodeId(), device.PeekBusyUntilPs());
}

void
QbbTransmissionEnds::SettleDue(int64_t nowPs)
{
    if (m_settling)
    {
        return; // somebody asks a port in the middle of its sending
    }
    m_settling = true;
    do
    {
        const int64_t timePs = m_duePs;
        const Key end = m_ends[m_first];
        QbbNetDevice* device = PortOf(end);
        if (++m_first == m_ends.size())
        {
            m_ends.clear();
            m_first = 0;
            m_duePs = NEVER;
        }
        else
        {
            const Key next = m_ends[m_first];
            m_duePs += static_cast<int64_t>((next & TIME) - (end & TIME)) >> PORT_BITS;
            PortOf(next)->FetchAhead();
        }
        device->OnTransmissionEnd(timePs);
    } while (m_duePs <= nowPs);
    m_settling = false;
    if (m_first >= m_ports.size())
    {
        m_ends.erase(m_ends.begin(), m_ends.begin() + static_cast<std::ptrdiff_t>(m_first));
        m_first = 0;
    }
}

void
QbbTransmissionEnds::Clear()
{
    m_ends.clear();
    m_first = 0;
    m_duePs = NEVER;
    m_ports.clear();
}

void
QbbTransmissionEnds::SetPunctual(bool punctual)
{
    if (punctual && !m_punctual)
    {
        for (std::size_t i = m_first; i < m_ends.size(); ++i)
        {
            Await(*PortOf(m_ends[i]));
        }
    }
    m_punctual = punctual;
}

} // namespace ns3
