/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_LAYOUT_H
#define RANK_LAYOUT_H

#include "layer-table.h"

#include "ns3/collective-types.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Groups of the ranks that share a layer, its data, its experts and its pipeline.
 *
 * Tensor parallelism is innermost and the pipeline outermost: a stage is world/pp consecutive
 * ranks, made of TP groups of consecutive ranks; the ranks at the same place of a stage's TP groups
 * are a DP group; EP consecutive TP groups exchange experts (EP), and the TP groups EP apart hold
 * the same experts (DP_EP); CP consecutive TP groups share a sequence (CP), as parts of DP; the
 * ranks at the same place of all stages are a PP group. With a tensor parallel size of experts
 * (ETP), EP and DP_EP groups are those of TP groups of that size: with ETP 1, EP groups are
 * consecutive ranks.
 */
class RankLayout
{
  public:
    /**
     * @param sizes group sizes; 0 counts as 1
     * @param ranks the network's rank of each rank of the job
     * @param file named in errors
     * @throw ns3::InputError if the sizes do not divide the number of ranks
     */
    RankLayout(const ParallelSizes& sizes, const std::vector<int>& ranks, const std::string& file);

    /// @return the group of @p kind that rank @p jobRank of the job is in
    const CommGroup& GetGroup(GroupKind kind, uint32_t jobRank) const
    {
        return m_groups[static_cast<std::size_t>(kind)][GroupIndex(kind, jobRank)];
    }

    /// @return number of ranks of a group of @p kind
    uint32_t GetSize(GroupKind kind) const;

    uint32_t GetStageCount() const
    {
        return m_pp;
    }

    uint32_t GetStage(uint32_t jobRank) const
    {
        return jobRank / m_stageRanks;
    }

    uint32_t GetRanksPerStage() const
    {
        return m_stageRanks;
    }

  private:
    uint32_t GroupIndex(GroupKind kind, uint32_t jobRank) const;

    bool m_everyGroupIsWorld;
    uint32_t m_tp;
    uint32_t m_ep;
    uint32_t m_pp;
    uint32_t m_cp;
    uint32_t m_etp;
    uint32_t m_dp;
    uint32_t m_stageRanks;
    std::array<std::vector<CommGroup>, 6> m_groups; ///< by GroupKind
};

} // namespace AstraSim

#endif /* RANK_LAYOUT_H */
