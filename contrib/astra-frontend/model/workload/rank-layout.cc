/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-layout.h"

#include "ns3/input-error.h"

#include <algorithm>

namespace AstraSim
{

RankLayout::RankLayout(const ParallelSizes& sizes,
                       const std::vector<int>& ranks,
                       const std::string& file)
    : m_everyGroupIsWorld(sizes.everyGroupIsWorld),
      m_tp(std::max(sizes.tp, 1U)),
      m_ep(std::max(sizes.ep, 1U)),
      m_pp(std::max(sizes.pp, 1U)),
      m_cp(std::max(sizes.cp, 1U)),
      m_etp(sizes.etp ? sizes.etp : m_tp)
{
    const auto world = static_cast<uint32_t>(ranks.size());
    const uint64_t inner = uint64_t{m_tp} * m_pp;
    if (world % inner != 0)
    {
        throw ns3::InputError(file,
                              1,
                              "TP " + std::to_string(m_tp) + " x PP " + std::to_string(m_pp) +
                                  " does not divide " + std::to_string(world) + " ranks",
                              "TP x DP x PP = number of ranks");
    }
    m_dp = static_cast<uint32_t>(world / inner);
    m_stageRanks = world / m_pp;
    const uint64_t ofExperts = uint64_t{m_etp} * m_ep;
    if (m_stageRanks % ofExperts != 0)
    {
        const bool isFolded = m_etp != m_tp;
        throw ns3::InputError(file,
                              1,
                              "EP " + std::to_string(m_ep) +
                                  (isFolded ? " x ETP " + std::to_string(m_etp) : "") +
                                  " does not divide " + (isFolded ? "TP x DP " : "DP ") +
                                  std::to_string(isFolded ? m_stageRanks : m_dp),
                              isFolded ? "ETP x EP x DP_EP = TP x DP" : "EP x DP_EP = DP");
    }
    if (m_dp % m_cp != 0)
    {
        throw ns3::InputError(file,
                              1,
                              "CP " + std::to_string(m_cp) + " does not divide DP " +
                                  std::to_string(m_dp),
                              "a multiple of CP, whose ranks DP counts");
    }
    uint32_t id = 0;
    for (const auto kind : {GroupKind::Tp,
                            GroupKind::Dp,
                            GroupKind::Ep,
                            GroupKind::DpEp,
                            GroupKind::Pp,
                            GroupKind::Cp})
    {
        auto& groups = m_groups[static_cast<std::size_t>(kind)];
        groups.resize(world / GetSize(kind));
        for (uint32_t rank = 0; rank < world; ++rank)
        {
            groups[GroupIndex(kind, rank)].ranks.push_back(ranks[rank]);
        }
        for (auto& group : groups)
        {
            group.id = id++;
            group.kind = kind;
            group.name = ToString(kind) + std::to_string(&group - groups.data());
        }
    }
}

uint32_t
RankLayout::GetSize(GroupKind kind) const
{
    if (m_everyGroupIsWorld)
    {
        return m_stageRanks;
    }
    switch (kind)
    {
    case GroupKind::Tp:
        return m_tp;
    case GroupKind::Dp:
        return m_dp;
    case GroupKind::Ep:
        return m_ep;
    case GroupKind::DpEp:
        return m_stageRanks / (m_etp * m_ep);
    case GroupKind::Pp:
        return m_pp;
    case GroupKind::Cp:
        return m_cp;
    case GroupKind::Custom:
        break;
    }
    return 1;
}

uint32_t
RankLayout::GroupIndex(GroupKind kind, uint32_t jobRank) const
{
    if (m_everyGroupIsWorld)
    {
        return 0;
    }
    const uint32_t stage = jobRank / m_stageRanks;
    const uint32_t inTp = jobRank % m_tp;
    const uint32_t replica = jobRank % m_stageRanks / m_tp;
    // Experts may be cut into fewer parts than other layers; then EP spans TP groups.
    const uint32_t inEtp = jobRank % m_stageRanks % m_etp;
    const uint32_t expertReplica = jobRank % m_stageRanks / m_etp;
    switch (kind)
    {
    case GroupKind::Tp:
        return jobRank / m_tp;
    case GroupKind::Dp:
        return stage * m_tp + inTp;
    case GroupKind::Ep:
        return (stage * GetSize(GroupKind::DpEp) + expertReplica / m_ep) * m_etp + inEtp;
    case GroupKind::DpEp:
        return (stage * m_ep + expertReplica % m_ep) * m_etp + inEtp;
    case GroupKind::Pp:
        return jobRank % m_stageRanks;
    case GroupKind::Cp:
        return (stage * (m_dp / m_cp) + replica / m_cp) * m_tp + inTp;
    case GroupKind::Custom:
        break;
    }
    return 0;
}

} // namespace AstraSim
