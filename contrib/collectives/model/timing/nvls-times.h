/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NVLS_TIMES_H
#define NVLS_TIMES_H

#include "collectives/model/graph/nvls-graph.h"
#include "step-times.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace AstraSim
{

/// Speeds of copies and of NVSwitches in NVLS and NVLS-Tree.
struct NvlsSpeeds
{
    double hunkUs{0};    ///< of an iteration of a warp that copies
    double aloneUs{0};   ///< the same while nothing else loads the memory; 0: as long
    double inflation{1}; ///< bytes on NVLinks per byte that is added or multicast
};

/**
 * @ingroup collectives
 * @brief Times of GPUs in an NvlsGraph: operations of NVSwitches, trees between nodes, and copies.
 */
class NvlsTimes : public StepTimes
{
  public:
    NvlsTimes(std::shared_ptr<const NvlsGraph> graph,
              const ChannelSpeeds& speeds,
              const NvlsSpeeds& nvls,
              std::optional<TimePs> givenLatency);

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;

  private:
    /// @return the copy speed of a channel's warps that scatter or gather; 0 for no limit
    double CopyGBps(uint32_t rank, uint32_t tree, bool scatters) const;
    LaneTimes CopyTimes(uint32_t rank, uint32_t tree, bool scatters) const;
    LaneTimes SwitchTimes(uint32_t rank, const Lane& lane) const;
    LaneTimes BetweenNodes() const;

    std::shared_ptr<const NvlsGraph> m_graph;
    NvlsSpeeds m_nvls;
};

} // namespace AstraSim

#endif /* NVLS_TIMES_H */
