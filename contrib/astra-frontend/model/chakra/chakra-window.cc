/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chakra-window.h"

#include <algorithm>

namespace AstraSim
{

ChakraWindow::ChakraWindow(const std::string& path, std::size_t limit)
    : m_trace(path),
      m_limit(limit)
{
}

const ChakraNode*
ChakraWindow::Next()
{
    Fill();
    if (m_ready.empty())
    {
        if (m_ended && m_running == 0 && !m_nodes.empty())
        {
            FailStuck();
        }
        return nullptr;
    }
    Entry& entry = m_nodes.at(m_ready.top());
    m_ready.pop();
    entry.runs = true;
    ++m_running;
    return &entry.node;
}

void
ChakraWindow::Fill()
{
    while (!m_ended && (m_nodes.size() < m_limit || (m_ready.empty() && m_running == 0)))
    {
        ChakraNode node;
        if (!m_trace.Next(node))
        {
            m_ended = true;
            return;
        }
        Add(std::move(node));
    }
}

void
ChakraWindow::Add(ChakraNode&& node)
{
    const uint64_t id = node.id;
    if (m_nodes.contains(id) || IsFinished(id))
    {
        m_trace.Fail(id, "occurs twice", "each id once");
    }
    Entry& entry = m_nodes[id];
    entry.node = std::move(node);
    if (const auto waiting = m_waitingForUnread.find(id); waiting != m_waitingForUnread.end())
    {
        entry.dependents = std::move(waiting->second);
        m_waitingForUnread.erase(waiting);
    }
    for (const uint64_t dependency : entry.node.dependencies)
    {
        if (dependency == id)
        {
            m_trace.Fail(id, "depends on itself", "no cycle of dependencies");
        }
        if (IsFinished(dependency))
        {
            continue;
        }
        ++entry.missing;
        const auto found = m_nodes.find(dependency);
        auto& dependents =
            found != m_nodes.end() ? found->second.dependents : m_waitingForUnread[dependency];
        dependents.push_back(id);
    }
    if (entry.missing == 0)
    {
        m_ready.push(id);
    }
}

void
ChakraWindow::Finish(uint64_t id)
{
    const auto entry = m_nodes.extract(id);
    --m_running;
    MarkFinished(id);
    for (const uint64_t dependent : entry.mapped().dependents)
    {
        if (--m_nodes.at(dependent).missing == 0)
        {
            m_ready.push(dependent);
        }
    }
}

bool
ChakraWindow::IsFinished(uint64_t id) const
{
    const auto after = m_finished.upper_bound(id);
    return after != m_finished.begin() && std::prev(after)->second >= id;
}

void
ChakraWindow::MarkFinished(uint64_t id)
{
    auto after = m_finished.upper_bound(id);
    if (after != m_finished.begin() && std::prev(after)->second + 1 == id)
    {
        auto range = std::prev(after);
        range->second = id;
        if (after != m_finished.end() && after->first == id + 1)
        {
            range->second = after->second;
            m_finished.erase(after);
        }
        return;
    }
    if (after != m_finished.end() && after->first == id + 1)
    {
        const uint64_t last = after->second;
        m_finished.erase(after);
        m_finished.emplace(id, last);
        return;
    }
    m_finished.emplace(id, id);
}

void
ChakraWindow::FailStuck() const
{
    if (!m_waitingForUnread.empty())
    {
        const auto missing = std::ranges::min_element(m_waitingForUnread, [](auto& a, auto& b) {
            return a.first < b.first;
        });
        m_trace.Fail(missing->second.front(),
                     "depends on node " + std::to_string(missing->first) +
                         ", which is not in the trace",
                     "every dependency in the same file");
    }
    // Every node left waits for another one left: following any of them ends in a cycle.
    uint64_t id = std::ranges::min_element(m_nodes, [](auto& a, auto& b) {
                      return a.first < b.first;
                  })->first;
    std::vector<uint64_t> path;
    while (std::ranges::find(path, id) == path.end())
    {
        path.push_back(id);
        const auto& dependencies = m_nodes.at(id).node.dependencies;
        id = *std::ranges::find_if(dependencies,
                                   [this](uint64_t other) { return m_nodes.contains(other); });
    }
    std::string cycle;
    for (auto node = std::ranges::find(path, id); node != path.end(); ++node)
    {
        cycle += std::to_string(*node) + " -> ";
    }
    m_trace.Fail(id,
                 "depends on itself: " + cycle + std::to_string(id),
                 "no cycle of dependencies");
}

std::vector<std::string>
ChakraWindow::DescribeRunning() const
{
    std::vector<const ChakraNode*> running;
    for (const auto& [id, entry] : m_nodes)
    {
        if (entry.runs)
        {
            running.push_back(&entry.node);
        }
    }
    std::ranges::sort(running, [](auto* a, auto* b) { return a->id < b->id; });
    std::vector<std::string> lines;
    for (const auto* node : running)
    {
        lines.push_back("node " + std::to_string(node->id) + " (" + node->name + ")");
    }
    return lines;
}

} // namespace AstraSim
