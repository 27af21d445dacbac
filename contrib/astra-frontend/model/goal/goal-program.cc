/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "goal-program.h"

#include <algorithm>
#include <numeric>

namespace AstraSim
{

namespace
{

/// @return the place of the first of each number's entries. @param numberOf an entry
template <class Entries, class NumberOf>
std::vector<std::size_t>
FirstOfEach(const Entries& entries, std::size_t numbers, NumberOf numberOf)
{
    std::vector<std::size_t> first(numbers + 1, 0);
    for (const auto& entry : entries)
    {
        ++first[numberOf(entry) + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    return first;
}

} // namespace

uint32_t
GoalProgram::Add(const GoalOperation& operation)
{
    m_operations.push_back(operation);
    return static_cast<uint32_t>(m_operations.size() - 1);
}

void
GoalProgram::Add(const GoalDependency& dependency)
{
    m_dependencies.push_back(dependency);
    ++m_operations[dependency.after].missing;
}

std::size_t
GoalProgram::Finish()
{
    const auto after = [](const GoalDependency& dependency) { return dependency.after; };
    std::ranges::stable_sort(m_dependencies, {}, after);
    m_firstBefore = FirstOfEach(m_dependencies, m_operations.size(), after);
    m_before.reserve(m_dependencies.size());
    for (const GoalDependency& dependency : m_dependencies)
    {
        m_before.push_back(dependency.before);
    }
    std::ranges::stable_sort(m_dependencies, {}, &GoalDependency::before);
    m_firstAfter = FirstOfEach(m_dependencies,
                               m_operations.size(),
                               [](const GoalDependency& dependency) { return dependency.before; });
    return FindCycle();
}

std::size_t
GoalProgram::FindCycle() const
{
    std::vector<uint32_t> missing(m_operations.size());
    std::vector<uint32_t> ready;
    for (uint32_t i = 0; i < m_operations.size(); ++i)
    {
        missing[i] = m_operations[i].missing;
        if (missing[i] == 0)
        {
            ready.push_back(i);
        }
    }
    while (!ready.empty())
    {
        const uint32_t ended = ready.back();
        ready.pop_back();
        for (const GoalDependency& dependency : After(ended))
        {
            if (--missing[dependency.after] == 0)
            {
                ready.push_back(dependency.after);
            }
        }
    }
    return static_cast<std::size_t>(
        std::ranges::find_if(missing, [](uint32_t left) { return left > 0; }) - missing.begin());
}

std::span<const GoalDependency>
GoalProgram::After(uint32_t operation) const
{
    return std::span(m_dependencies)
        .subspan(m_firstAfter[operation], m_firstAfter[operation + 1] - m_firstAfter[operation]);
}

std::span<const uint64_t>
GoalProgram::Before(uint32_t operation) const
{
    return std::span(m_before).subspan(m_firstBefore[operation],
                                       m_firstBefore[operation + 1] - m_firstBefore[operation]);
}

} // namespace AstraSim
