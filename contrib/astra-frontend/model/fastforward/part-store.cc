/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-store.h"

#include <utility>

namespace AstraSim
{

uint64_t
PartStore::BytesOf(const Entry& entry)
{
    constexpr uint64_t LIST_AND_MAP = 96; // their nodes, besides the entry itself
    return LIST_AND_MAP + sizeof(Entry) - sizeof(PartOutcome) + entry.outcome.MemoryBytes();
}

PartStore::Entry*
PartStore::Find(const Digest& key)
{
    const auto found = m_places.find(key);
    if (found == m_places.end())
    {
        return nullptr;
    }
    m_entries.splice(m_entries.begin(), m_entries, found->second);
    return &*found->second;
}

PartStore::Entry*
PartStore::Put(const Digest& key, PartOutcome outcome)
{
    m_entries.push_front({key, std::move(outcome)});
    m_places[key] = m_entries.begin();
    m_bytes += BytesOf(m_entries.front());
    // The newest stays whatever its size: who put it there is about to read it.
    while (m_bytes > m_limit && m_entries.size() > 1)
    {
        m_bytes -= BytesOf(m_entries.back());
        m_places.erase(m_entries.back().key);
        m_entries.pop_back();
        ++m_forgotten;
    }
    return &m_entries.front();
}

} // namespace AstraSim
