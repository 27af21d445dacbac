/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "in-network-queue.h"

#include <algorithm>
#include <set>
#include <utility>

namespace ns3
{

void
InNetworkQueue::Enter(std::vector<uint32_t> switches, std::function<void()> begin)
{
    m_waiting.push_back({std::move(switches), std::move(begin)});
    Admit();
}

void
InNetworkQueue::Leave(const std::vector<uint32_t>& switches)
{
    for (const uint32_t node : switches)
    {
        --m_taken[node];
    }
    Admit();
}

void
InNetworkQueue::Admit()
{
    std::set<uint32_t> awaited; // by an operation that asked before
    std::vector<std::function<void()>> begun;
    for (auto it = m_waiting.begin(); it != m_waiting.end();)
    {
        const bool hasPlaces = std::ranges::all_of(it->switches, [&](uint32_t node) {
            return m_taken[node] < m_places && !awaited.contains(node);
        });
        if (!hasPlaces)
        {
            awaited.insert(it->switches.begin(), it->switches.end());
            ++it;
            continue;
        }
        for (const uint32_t node : it->switches)
        {
            ++m_taken[node];
        }
        begun.push_back(std::move(it->begin));
        it = m_waiting.erase(it);
    }
    for (const auto& begin : begun)
    {
        begin();
    }
}

} // namespace ns3
