/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CACHE_LOAD_H
#define CACHE_LOAD_H

#include "ns3/clock-range.h"
#include "ns3/rank-network.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace AstraSim
{

/// A rank that keeps a part of a replica's cache.
struct CacheRank
{
    uint32_t place; ///< in its instance
    uint32_t jobRank;
    uint32_t shard;      ///< of tensor parallelism
    uint32_t firstLayer; ///< of its stage
    uint32_t endLayer;
    bool isCopy; ///< another rank keeps the same heads
};

/**
 * @ingroup astra-frontend
 * @brief Blocks of a sequence on their way from slower memories to a replica's GPUs, layer by
 * layer.
 *
 * A link of each GPU brings one layer after the other at a steady rate; messages of the network
 * come when they come.
 */
class CacheLoad
{
  public:
    /// @param ranks of the replica; borrowed @param layers of the model
    CacheLoad(const std::vector<CacheRank>& ranks, uint32_t layers)
        : m_ranks(ranks),
          m_layers(layers)
    {
    }

    /// Layer n of a rank's stage, from 1, comes over a link at @p begin + n * @p psPerLayer.
    void AddLink(TimePs begin, double psPerLayer)
    {
        m_links.emplace_back(begin, psPerLayer);
    }

    /// A message with layers of the rank at @p place is under way.
    void Expect(uint32_t place, uint32_t firstLayer, uint32_t endLayer)
    {
        m_awaited.resize(std::max<std::size_t>(m_awaited.size(), (place + 1ULL) * m_layers));
        Count(place, firstLayer, endLayer, 1);
        ++m_messages;
    }

    /// Such a message has come.
    void Arrived(uint32_t place, uint32_t firstLayer, uint32_t endLayer)
    {
        Count(place, firstLayer, endLayer, UINT32_MAX);
        --m_messages;
        if (m_onArrival)
        {
            m_onArrival(place);
        }
    }

    /// Call @p onArrival with the place of its rank when a message has come.
    void OnArrival(std::function<void(uint32_t place)> onArrival)
    {
        m_onArrival = std::move(onArrival);
    }

    /// @return when a layer is on @p rank; nothing while messages of it are under way
    std::optional<TimePs> ReadyAt(const CacheRank& rank, uint32_t layer) const
    {
        const std::size_t index = std::size_t{rank.place} * m_layers + layer;
        if (index < m_awaited.size() && m_awaited[index] > 0)
        {
            return std::nullopt;
        }
        TimePs ready = 0;
        for (const auto& [begin, psPerLayer] : m_links)
        {
            const TimePs time = ns3::RoundToPs(psPerLayer * (layer - rank.firstLayer + 1));
            ready = std::max(ready, ns3::AddPs(begin, time));
        }
        return ready;
    }

    /// @return when all of it is on all ranks; nothing while messages are under way
    std::optional<TimePs> ReadyAt() const
    {
        if (m_messages > 0)
        {
            return std::nullopt;
        }
        TimePs ready = 0;
        for (const CacheRank& rank : m_ranks)
        {
            ready = std::max(ready, *ReadyAt(rank, rank.endLayer - 1));
        }
        return ready;
    }

  private:
    void Count(uint32_t place, uint32_t firstLayer, uint32_t endLayer, uint32_t by)
    {
        for (uint32_t layer = firstLayer; layer < endLayer; ++layer)
        {
            m_awaited[std::size_t{place} * m_layers + layer] += by;
        }
    }

    const std::vector<CacheRank>& m_ranks;
    uint32_t m_layers;
    std::vector<std::pair<TimePs, double>> m_links;
    std::vector<uint32_t> m_awaited; ///< messages, by place and layer
    uint32_t m_messages{0};
    std::function<void(uint32_t)> m_onArrival;
};

} // namespace AstraSim

#endif /* CACHE_LOAD_H */
