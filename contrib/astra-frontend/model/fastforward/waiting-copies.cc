/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "waiting-copies.h"

#include <algorithm>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace AstraSim
{

namespace
{

ns3::QbbBytes
BytesOf(const PartOperation& operation)
{
    return ToBytes(PartPattern{{&operation, {}}});
}

/// @return whether the ranks that had begun began at the same times, and the others later than
/// @p last
bool
GoOn(const std::vector<TimePs>& before, const std::vector<TimePs>& longer, TimePs last)
{
    for (std::size_t rank = 0; rank < longer.size(); ++rank)
    {
        const TimePs known = rank < before.size() ? before[rank] : NO_TIME;
        const bool fits = known == NO_TIME ? longer[rank] == NO_TIME || longer[rank] > last
                                           : longer[rank] == known;
        if (!fits)
        {
            return false;
        }
    }
    return true;
}

} // namespace

WaitingCopies::~WaitingCopies()
{
    while (!m_copies.empty())
    {
        Remove(m_copies.back());
    }
}

WaitingCopies::Copy*
WaitingCopies::Find(const OwnedPattern& longer)
{
    std::vector<ns3::QbbBytes> operations;
    for (const OwnedOperation& timed : longer)
    {
        operations.push_back(BytesOf(timed.operation));
    }
    for (auto copy = m_copies.begin(); copy != m_copies.end(); ++copy)
    {
        const std::size_t known = copy->operations.size();
        bool goesOn =
            known <= operations.size() &&
            std::equal(copy->operations.begin(), copy->operations.end(), operations.begin());
        bool hasMore = known < operations.size();
        for (std::size_t i = 0; goesOn && i < operations.size(); ++i)
        {
            const auto& starts = longer[i].starts;
            static const std::vector<TimePs> none;
            const auto& before = i < known ? copy->starts[i] : none;
            goesOn = GoOn(before, starts, copy->last);
            hasMore = hasMore || before != starts;
        }
        if (goesOn && hasMore)
        {
            m_copies.splice(m_copies.begin(), m_copies, copy);
            return &m_copies.front();
        }
    }
    return nullptr;
}

WaitingCopies::Copy&
WaitingCopies::Add(pid_t process, int socket, const OwnedPattern& pattern)
{
    if (m_copies.size() == MOST)
    {
        const auto least =
            std::min_element(m_copies.rbegin(), m_copies.rend(), [](const Copy& a, const Copy& b) {
                return a.worth < b.worth;
            });
        m_spent = least->worth;
        Remove(*least);
    }
    Copy& added = m_copies.emplace_front(Copy{process, socket, {}, {}});
    Describe(added, pattern);
    return added;
}

void
WaitingCopies::Extend(Copy& copy, const OwnedPattern& pattern)
{
    Describe(copy, pattern);
}

void
WaitingCopies::Describe(Copy& copy, const OwnedPattern& pattern) const
{
    copy.worth = m_spent + pattern.size();
    copy.operations.clear();
    copy.starts.clear();
    for (const OwnedOperation& timed : pattern)
    {
        copy.operations.push_back(BytesOf(timed.operation));
        copy.starts.push_back(timed.starts);
        copy.last = std::max(copy.last, *std::ranges::max_element(timed.starts));
    }
}

void
WaitingCopies::Remove(Copy& copy)
{
    ::close(copy.socket); // it ends when it reads on
    ::waitpid(copy.process, nullptr, 0);
    m_copies.remove_if([&copy](const Copy& each) { return &each == &copy; });
}

void
WaitingCopies::LetGo()
{
    for (const Copy& copy : m_copies)
    {
        ::close(copy.socket);
    }
    m_copies.clear();
}

} // namespace AstraSim
