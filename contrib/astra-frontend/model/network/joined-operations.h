/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef JOINED_OPERATIONS_H
#define JOINED_OPERATIONS_H

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace AstraSim
{

/// A list of ranks that take part in operations together.
struct MemberSet
{
    uint32_t number{0};                              ///< of the list, from 0
    boost::unordered_flat_map<int, uint32_t> places; ///< place in the list, by rank
};

/// Lists of ranks, each known by a number.
class MemberSets
{
  public:
    /// @return the entry of @p members; made at its first use, stays at its address
    const MemberSet& Find(std::span<const int> members)
    {
        const auto found = m_sets.find(members);
        if (found != m_sets.end())
        {
            return found->second;
        }
        const auto number = static_cast<uint32_t>(m_sets.size());
        MemberSet& set = m_sets[{members.begin(), members.end()}];
        set.number = number;
        for (const int member : members)
        {
            set.places.emplace(member, static_cast<uint32_t>(set.places.size()));
        }
        return set;
    }

  private:
    struct ByContent
    {
        using is_transparent = void;

        bool operator()(std::span<const int> a, std::span<const int> b) const
        {
            return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
        }
    };

    std::map<std::vector<int>, MemberSet, ByContent> m_sets;
};

/**
 * @ingroup astra-frontend
 * @brief Operations that the members of a set join in any order: the n-th calls of all members with
 * one tag belong together.
 *
 * @tparam Operation the state of one operation; copied
 */
template <typename Operation>
class JoinedOperations
{
  public:
    /**
     * @param set the members @param tag tells operations of a set apart
     * @param place of the member that joins
     * @param open makes the operation, if this member is the first
     * @return the operation; forgotten here once every member has joined
     */
    template <typename Open>
    Operation Join(const MemberSet& set, int tag, uint32_t place, Open open)
    {
        const auto it = m_queues.try_emplace({set.number, tag}).first;
        Queue& queue = it->second;
        queue.nextOf.resize(set.places.size());
        const uint64_t position = queue.nextOf[place]++ - queue.first;
        if (position == queue.operations.size())
        {
            queue.operations.push_back({open(), 0});
        }
        const Operation operation = queue.operations[position].first;
        ++queue.operations[position].second;
        while (!queue.operations.empty() && queue.operations.front().second == set.places.size())
        {
            queue.operations.pop_front();
            ++queue.first;
        }
        if (queue.operations.empty())
        {
            m_queues.erase(it); // every member has joined as often as every other
        }
        return operation;
    }

  private:
    /// Operations of one (set, tag), in order; each member joins them one after the other.
    struct Queue
    {
        std::deque<std::pair<Operation, uint32_t>> operations; ///< with how many have joined
        uint64_t first{0};                                     ///< how many older ones are gone
        std::vector<uint64_t> nextOf;                          ///< per member: number of the
                                                               ///< operation it joins next
    };

    std::map<std::pair<uint32_t, int>, Queue> m_queues;
};

} // namespace AstraSim

#endif /* JOINED_OPERATIONS_H */
