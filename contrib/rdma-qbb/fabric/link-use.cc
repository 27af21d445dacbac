/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-use.h"

#include "ns3/qbb-processes.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace ns3
{

namespace
{

/// @return "; NAME 12%", the first without "; "
std::string
Item(bool first, const std::string& name, double percent)
{
    return (first ? "" : "; ") + name + " " + std::to_string(std::lrint(percent)) + "%";
}

} // namespace

LinkUse::LinkUse(const ClusterTopology& topology)
{
    uint32_t ports = 0;
    std::vector<uint32_t> firstPort;
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        firstPort.push_back(ports);
        ports += static_cast<uint32_t>(topology.Ports(node).size());
    }
    m_firstPort = std::make_shared<const std::vector<uint32_t>>(std::move(firstPort));
    m_runs.resize(ports);
    m_ports.resize(ports);
}

LinkUse
LinkUse::PartOf(const LinkUse& whole)
{
    LinkUse part;
    part.m_firstPort = whole.m_firstPort;
    part.m_isPart = true;
    return part;
}

uint32_t
LinkUse::FindSlot(uint32_t index)
{
    const auto [it, isNew] = m_slots.try_emplace(index, static_cast<uint32_t>(m_ports.size()));
    if (isNew)
    {
        m_ports.emplace_back();
        m_runs.emplace_back();
    }
    return it->second;
}

void
LinkUse::Add(uint32_t index, const Port& from)
{
    EndRuns(index);
    Port& to = m_ports[index];
    to.messages += from.messages;
    to.bytes += from.bytes;
    for (const Purpose& purpose : from.purposes)
    {
        AddPurpose(to, purpose);
    }
    for (const Pair& pair : from.pairs)
    {
        AddPair(to, pair);
    }
}

void
LinkUse::Merge(const LinkUse& part)
{
    QbbBytes bytes;
    part.Put(bytes);
    for (const QbbBytes& each : FromAllProcesses(bytes))
    {
        QbbByteReader reader(each);
        MergeFrom(reader);
    }
}

void
LinkUse::Put(QbbBytes& bytes) const
{
    PutValue(bytes, uint64_t{m_slots.size()});
    for (const auto& [index, slot] : m_slots)
    {
        EndRuns(slot);
        const Port& port = m_ports[slot];
        PutValue(bytes, index);
        PutValue(bytes, port.messages);
        PutValue(bytes, port.bytes);
        PutValues(bytes, port.purposes);
        PutValues(bytes, port.pairs);
    }
}

void
LinkUse::MergeFrom(QbbByteReader& reader)
{
    for (auto left = reader.Get<uint64_t>(); left > 0; --left)
    {
        const auto index = reader.Get<uint32_t>();
        Port port;
        port.messages = reader.Get<uint64_t>();
        port.bytes = reader.Get<uint64_t>();
        reader.GetValues(port.purposes);
        reader.GetValues(port.pairs);
        Add(index, port);
    }
}

LinkUse::Run&
LinkUse::Begin(uint32_t index, uint32_t src, uint32_t dst, uint16_t purpose)
{
    Runs& runs = m_runs[index];
    if (runs.first.messages && !runs.second.messages && !runs.first.isAlone)
    {
        runs.second = {0, 0, src, dst, purpose, false};
        return runs.second;
    }
    EndRuns(index);
    // A port without room for two more pairs has one run only: a new pair displaces the smallest
    // one, which depends on the order in which runs end. Sums do not.
    runs.first = {0, 0, src, dst, purpose, m_ports[index].pairs.size() + 2 > PAIRS_KEPT};
    return runs.first;
}

void
LinkUse::EndRuns(uint32_t index) const
{
    Port& port = m_ports[index];
    Runs& runs = m_runs[index];
    for (Run* run : {&runs.first, &runs.second})
    {
        if (run->messages)
        {
            Put(port, *run);
        }
        *run = {};
    }
}

void
LinkUse::Put(Port& port, const Run& run)
{
    port.messages += run.messages;
    port.bytes += run.bytes;
    AddPurpose(port, {run.purpose, run.bytes});
    AddPair(port, {run.src, run.dst, run.bytes, 0});
}

void
LinkUse::AddPurpose(Port& port, const Purpose& purpose)
{
    const auto known = std::ranges::find(port.purposes, purpose.purpose, &Purpose::purpose);
    if (known != port.purposes.end())
    {
        known->bytes += purpose.bytes;
    }
    else
    {
        port.purposes.push_back(purpose);
    }
}

void
LinkUse::AddPair(Port& port, const Pair& added)
{
    Pair* least = nullptr;
    for (Pair& pair : port.pairs)
    {
        if (pair.src == added.src && pair.dst == added.dst)
        {
            pair.bytes += added.bytes;
            pair.inherited += added.inherited;
            return;
        }
        if (!least || pair.bytes < least->bytes)
        {
            least = &pair;
        }
    }
    if (port.pairs.size() < PAIRS_KEPT)
    {
        port.pairs.push_back(added);
        return;
    }
    const uint64_t before = least->bytes;
    *least = {added.src, added.dst, before + added.bytes, before + added.inherited};
}

std::string
LinkUse::DescribePurposes(uint32_t node, uint16_t port, const std::vector<std::string>& names) const
{
    const Port& used = Of(node, port);
    std::vector<Purpose> sorted = used.purposes;
    std::ranges::sort(sorted, [](const Purpose& a, const Purpose& b) {
        return std::tuple(b.bytes, a.purpose) < std::tuple(a.bytes, b.purpose);
    });
    std::string text;
    for (const Purpose& each : sorted)
    {
        if (each.bytes > 0 && each.purpose < names.size() && !names[each.purpose].empty())
        {
            text += Item(text.empty(),
                         names[each.purpose],
                         100.0 * static_cast<double>(each.bytes) / static_cast<double>(used.bytes));
        }
    }
    return text;
}

std::string
LinkUse::DescribePairs(uint32_t node, uint16_t port, std::size_t limit) const
{
    const Port& used = Of(node, port);
    std::vector<Pair> sorted = used.pairs;
    const auto own = [](const Pair& pair) { return pair.bytes - pair.inherited; };
    std::ranges::sort(sorted, [&own](const Pair& a, const Pair& b) {
        return std::tuple(own(b), a.src, a.dst) < std::tuple(own(a), b.src, b.dst);
    });
    std::string text;
    for (std::size_t i = 0; i < std::min(limit, sorted.size()); ++i)
    {
        const double share =
            100.0 * static_cast<double>(own(sorted[i])) / static_cast<double>(used.bytes);
        if (share >= 1)
        {
            const std::string pair =
                std::to_string(sorted[i].src) + ">" + std::to_string(sorted[i].dst);
            text += Item(text.empty(), pair, share);
        }
    }
    return text;
}

} // namespace ns3
