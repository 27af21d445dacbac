/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LIBRARY_OPTIONS_H
#define LIBRARY_OPTIONS_H

#include "ns3/collective-algorithm.h"
#include "ns3/collective-types.h"
#include "ns3/rank-network.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace AstraSim
{

class EngineAllReduce;

/// Algorithms, or protocols, from which a user lets libraries choose; none named: all.
template <typename E>
class NcclChoices
{
  public:
    NcclChoices() = default;

    /// Those of all collectives.
    NcclChoices(std::initializer_list<E> all)
        : m_all(all)
    {
    }

    void SetAll(std::vector<E> choices)
    {
        m_all = std::move(choices);
    }

    void Set(CollectiveOp op, std::vector<E> choices)
    {
        m_of[op] = std::move(choices);
    }

    /// @return whether the user has named any for a collective
    bool AreGiven(CollectiveOp op) const
    {
        return !Of(op).empty();
    }

    /// @return whether the user has named them for this collective alone
    bool AreOwn(CollectiveOp op) const
    {
        return m_of.contains(op);
    }

    bool Allow(CollectiveOp op, E choice) const
    {
        const std::vector<E>& choices = Of(op);
        return choices.empty() || std::ranges::find(choices, choice) != choices.end();
    }

  private:
    const std::vector<E>& Of(CollectiveOp op) const
    {
        const auto own = m_of.find(op);
        return own == m_of.end() ? m_all : own->second;
    }

    std::vector<E> m_all;
    std::map<CollectiveOp, std::vector<E>> m_of;
};

/// Settings of a user that all libraries share; the names are those of the environment variables.
struct LibraryOptions
{
    NcclChoices<const CollectiveAlgorithm*> algorithms; ///< NCCL_ALGO
    bool selectByRules{false};                          ///< NCCL_SELECT rules instead of model
    std::optional<TimePs> sendLatency; ///< AS_SEND_LAT: before each flow, and nothing else
    /// AS_ENGINE_ALLREDUCE: its AllReduce takes the place of libraries' where it has one; null:
    /// none
    const EngineAllReduce* engine{nullptr};
};

} // namespace AstraSim

#endif /* LIBRARY_OPTIONS_H */
