/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Rendezvous notifications: what peers say, and what calls find among it.
#include "cclo-firmware.h"

#include <algorithm>
#include <utility>

namespace ns3
{

bool
CcloFirmware::ReserveNotification()
{
    if (m_notifications.size() + m_reserved >= m_notificationDepth)
    {
        return false;
    }
    ++m_reserved;
    return true;
}

void
CcloFirmware::OnNotification(const CcloHeader& header)
{
    --m_reserved;
    m_notifications.push_back({.type = header.type,
                               .communicator = header.communicator,
                               .rank = header.source,
                               .tag = header.tag,
                               .address = header.address,
                               .host = header.host,
                               .count = header.count});
    ++m_progress;
    if (m_wait != Wait::Move && m_wait != Wait::Fifo && m_wait != Wait::RetryFifo)
    {
        Wake();
    }
}

CcloTask
CcloFirmware::SendAddress(uint32_t rank, uint64_t address, uint32_t count, uint32_t tag)
{
    co_await Spend(m_notificationLatency);
    CcloMessage message;
    message.header.type = CcloMessageType::RendezvousAddress;
    message.header.source = LocalRank();
    message.header.tag = tag;
    message.header.count = count;
    message.header.address = address;
    message.header.communicator = m_currentIdentity;
    message.header.host = CcloMemory::KindOf(address) == CcloMemoryKind::Host;
    const uint32_t session = World().Get(rank, CcloCommunicator::SESSION);
    message.header.session = static_cast<uint16_t>(session);
    m_network->Send(session, std::move(message), 0);
    co_return CcloError::NONE;
}

template <typename Fits>
CcloTask
CcloFirmware::TryNotification(Fits fits)
{
    const auto looked = static_cast<int64_t>(std::max<std::size_t>(m_notifications.size(), 1));
    co_await Spend(m_notificationLatency * looked);
    // A rank of one communicator is another host than the same rank of another, and two calls on
    // the same hosts may each wait for it.
    const auto found =
        std::find_if(m_notifications.begin(), m_notifications.end(), [&](const Notification& n) {
            return n.communicator == m_currentIdentity && fits(n);
        });
    if (found == m_notifications.end())
    {
        co_return CcloError::NOT_READY;
    }
    m_taken = *found;
    m_notifications.erase(found);
    if (m_released)
    {
        m_released();
    }
    co_return CcloError::NONE;
}

CcloTask
CcloFirmware::TryAddress(uint32_t rank, uint32_t tag)
{
    return TryNotification([rank, tag](const Notification& n) {
        return n.type == CcloMessageType::RendezvousAddress && n.rank == rank &&
               (n.tag == tag || n.tag == CCLO_TAG_ANY);
    });
}

CcloTask
CcloFirmware::TryAnyAddress()
{
    m_served.resize(Size());
    const uint32_t status = co_await TryNotification([this](const Notification& n) {
        return n.type == CcloMessageType::RendezvousAddress && n.tag == CCLO_TAG_ANY &&
               n.rank < m_served.size() && !m_served[n.rank];
    });
    if (status == CcloError::NONE)
    {
        m_served[m_taken.rank] = true;
    }
    co_return status;
}

CcloTask
CcloFirmware::TryCompletion(uint32_t rank, uint32_t tag, uint64_t begin, uint64_t end)
{
    return TryNotification([=](const Notification& n) {
        return n.type == CcloMessageType::RendezvousDone && (rank == ANY_RANK || n.rank == rank) &&
               (n.tag == tag || n.tag == CCLO_TAG_ANY || tag == CCLO_TAG_ANY) &&
               n.address >= begin && n.address < end;
    });
}

CcloTask
CcloFirmware::AwaitAddress(uint32_t rank, uint32_t tag)
{
    for (;;)
    {
        const uint64_t seen = m_progress;
        if (co_await TryAddress(rank, tag) == CcloError::NONE)
        {
            co_return CcloError::NONE;
        }
        while (seen == m_progress)
        {
            co_await WaitFor(Wait::Address, rank);
        }
    }
}

CcloTask
CcloFirmware::AwaitAnyAddress()
{
    for (;;)
    {
        const uint64_t seen = m_progress;
        if (co_await TryAnyAddress() == CcloError::NONE)
        {
            co_return CcloError::NONE;
        }
        while (seen == m_progress)
        {
            co_await WaitFor(Wait::Address);
        }
    }
}

CcloTask
CcloFirmware::AwaitCompletion(uint32_t rank, uint64_t begin, uint64_t end)
{
    for (;;)
    {
        const uint64_t seen = m_progress;
        if (co_await TryCompletion(rank, CCLO_TAG_ANY, begin, end) == CcloError::NONE)
        {
            co_return CcloError::NONE;
        }
        while (seen == m_progress)
        {
            co_await WaitFor(Wait::Completion, rank);
        }
    }
}

} // namespace ns3
