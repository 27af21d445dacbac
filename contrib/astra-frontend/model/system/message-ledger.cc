/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-ledger.h"

#include "collectives/model/collective/traffic-purpose.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace AstraSim
{

void
MessageLedger::Send(uint64_t id, const MessageEndRecord& left)
{
    m_messages.emplace(Key{left.src, left.dst, left.tag}, Message{id, left});
}

std::optional<TimePs>
MessageLedger::Receive(const MessageEndRecord& came,
                       const Workload& workload,
                       RunObserver& observer)
{
    const auto [begin, end] = m_messages.equal_range({came.src, came.dst, came.tag});
    if (begin == end)
    {
        return std::nullopt;
    }
    const auto oldest = std::min_element(begin, end, [](const auto& a, const auto& b) {
        return a.second.id < b.second.id;
    });
    const auto [id, left] = oldest->second;
    if (left.bytes != came.bytes)
    {
        throw ns3::InputError(workload.GetFileName(),
                              0,
                              fmt::format("rank {} receives {} bytes from rank {}, which sent {}",
                                          came.dst,
                                          came.bytes,
                                          came.src,
                                          left.bytes),
                              "the same size on both sides");
    }
    m_messages.erase(oldest);
    const CommGroup pair = PairOfMessage(came.src, came.dst, left.purpose);
    const CollectiveChoice choice{"P2P", "-", 1, 1, 0};
    observer.CollectiveEnded({.id = id,
                              .layer = workload.GetLayerName(left.position.layer),
                              .position = left.position,
                              .group = &pair,
                              .op = CollectiveOp::SendRecv,
                              .bytes = came.bytes,
                              .choice = &choice,
                              .start = left.time,
                              .end = std::max(came.time, left.time), // clocks may differ
                              .lastStart = left.time,
                              .isMessage = true});
    return left.time;
}

std::vector<std::string>
MessageLedger::Describe() const
{
    std::vector<std::pair<uint64_t, std::string>> messages;
    for (const auto& [key, message] : m_messages)
    {
        messages.emplace_back(
            message.id,
            fmt::format(
                "a message of {} bytes from rank {} to rank {} has been sent and not received",
                message.left.bytes,
                key.src,
                key.dst));
    }
    std::ranges::sort(messages);
    std::vector<std::string> lines;
    for (auto& [id, line] : messages)
    {
        lines.push_back(std::move(line));
    }
    return lines;
}

} // namespace AstraSim
