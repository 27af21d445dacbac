/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef JOINED_OPERATIONS_H
#define JOINED_OPERATIONS_H

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <boost/functional/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <unordered_map>
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
    struct Hash
    {
        using is_transparent = void;

        std::size_t operator()(std::span<const int> members) const
        {
            return boost::hash_range(members.begin(), members.end());
        }
    };

    struct Equal
    {
        using is_transparent = void;

        bool operator()(std::span<const int> a, std::span<const int> b) const
        {
            return std::ranges::equal(a, b);
        }
    };

    std::unordered_map<std::vector<int>, MemberSet, Hash, Equal> m_sets;
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
        const uint64_t key = uint64_t{set.number} << 32 | static_cast<uint32_t>(tag);
        const auto it = m_queues.try_emplace(key).first;
        Queue& queue = it->second;
        queue.nextOf.resize(set.places.size());
        const uint32_t position = queue.nextOf[place]++ - queue.first;
        if (position == queue.operations.size())
        {
            queue.operations.push_back({open(), 0});
        }
        const Operation operation = queue.operations[position].first;
        ++queue.operations[position].second;
        if (queue.operations.front().second == set.places.size())
        {
            // All members have joined those before it, so it is one at a time.
            queue.operations.erase(queue.operations.begin());
            ++queue.first;
        }
        if (queue.operations.empty())
        {
            m_queues.erase(it); // every member has joined as often as every other
        }
        return operation;
    }

  private:
    /// Operations of one (set, tag), in order; each member joins them one after the other. Numbers
    /// start again from 0 when every member has joined as often as every other.
    struct Queue
    {
        /// With how many have joined.
        boost::container::small_vector<std::pair<Operation, uint32_t>, 2> operations;
        uint32_t first{0}; ///< how many older ones are gone
        /// Per member: number of the operation it joins next.
        boost::container::small_vector<uint32_t, 8> nextOf;
    };

    boost::unordered_flat_map<uint64_t, Queue> m_queues; ///< by number of the set and tag
};

} // namespace AstraSim

#endif /* JOINED_OPERATIONS_H */
