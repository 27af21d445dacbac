/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HCCL_LAYOUT_H
#define HCCL_LAYOUT_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief A group's ranks by server and by place within it: the two levels of HCCL's algorithms.
 *
 * Where servers have different numbers of ranks, each rank is a server of its own, as in HCCL.
 */
class HcclLayout
{
  public:
    /// @param servers of each rank, numbered from 0
    explicit HcclLayout(const std::vector<uint32_t>& servers)
    {
        std::vector<std::vector<uint32_t>> members;
        for (uint32_t rank = 0; rank < servers.size(); ++rank)
        {
            members.resize(std::max<std::size_t>(members.size(), servers[rank] + 1));
            members[servers[rank]].push_back(rank);
        }
        const bool isEven = std::ranges::all_of(members, [&](const auto& each) {
            return each.size() == members.front().size();
        });
        m_places = isEven ? static_cast<uint32_t>(members.front().size()) : 1;
        m_at.resize(servers.size());
        for (uint32_t rank = 0; !isEven && rank < servers.size(); ++rank)
        {
            Put(rank, rank);
        }
        for (const auto& each : members)
        {
            for (uint32_t i = 0; isEven && i < each.size(); ++i)
            {
                Put(each[i], static_cast<uint32_t>(m_ranks.size()));
            }
        }
    }

    /// @return the layout with one rank per server
    static HcclLayout Flat(uint32_t ranks)
    {
        std::vector<uint32_t> servers(ranks);
        std::iota(servers.begin(), servers.end(), 0);
        return HcclLayout(servers);
    }

    uint32_t GetRanks() const
    {
        return static_cast<uint32_t>(m_ranks.size());
    }

    /// @return the number of servers
    uint32_t GetServers() const
    {
        return GetRanks() / m_places;
    }

    /// @return ranks of each server
    uint32_t GetPlaces() const
    {
        return m_places;
    }

    uint32_t ServerOf(uint32_t rank) const
    {
        return m_at[rank] / m_places;
    }

    uint32_t PlaceOf(uint32_t rank) const
    {
        return m_at[rank] % m_places;
    }

    uint32_t RankAt(uint32_t server, uint32_t place) const
    {
        return m_ranks[server * m_places + place];
    }

  private:
    void Put(uint32_t rank, uint32_t at)
    {
        m_ranks.push_back(rank);
        m_at[rank] = at;
    }

    uint32_t m_places;
    std::vector<uint32_t> m_ranks; ///< server by server
    std::vector<uint32_t> m_at;    ///< by rank: where it is in m_ranks
};

} // namespace AstraSim

#endif /* HCCL_LAYOUT_H */
