/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDEAL_FCT_H
#define IDEAL_FCT_H

#include "path-survey.h"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Time of a message that is alone in the network: the "ideal" column of fct.txt.
 *
 * The time until the sender has the last acknowledgement when nothing else is on the network and
 * only links limit it, over the fastest of the shortest paths. So no flow's slowdown is below 1,
 * and that of a flow alone, on paths of equal rates, is 1. Where switches spread the packets of a
 * flow over several paths, all links at one distance from the source carry them together, and a
 * short last packet may overtake the packets before it.
 *
 * Most pairs of hosts have paths like those of other pairs, so paths are kept by kind.
 */
class IdealFct
{
  public:
    /// Index of a pair of hosts that was not looked up.
    static constexpr uint32_t UNKNOWN = UINT32_MAX;

    /// @param survey of the paths; borrowed
    explicit IdealFct(const PathSurvey& survey);

    /// @return the number of the kind of paths between two connected hosts; valid until routes
    /// change
    uint32_t KindOf(uint32_t src, uint32_t dst);

    /// @return the time that a message takes alone over paths of a kind
    int64_t Of(uint32_t kind, uint64_t bytes, const FrameSizes& sizes) const;

  private:
    /// Rates and delays of a path's links, from the source on.
    using Profile = std::vector<std::pair<uint64_t, int64_t>>;

    /// Sets of paths over which a message takes the same time.
    struct Kind
    {
        std::vector<PathInfo> paths;    ///< without duplicates
        std::vector<uint64_t> levelBps; ///< rate of all links at each distance, if frames spread
    };

    /// @return the paths from a node by some of its ports to a host, without duplicates
    std::vector<Profile> ProfilesBy(uint32_t node,
                                    std::span<const uint16_t> ports,
                                    uint32_t dst) const;
    std::vector<Profile> ProfilesOf(uint32_t src, uint32_t dst) const;

    const PathSurvey& m_survey;
    std::map<std::pair<std::vector<Profile>, std::vector<uint64_t>>, uint32_t> m_numbers;
    std::vector<Kind> m_kinds;
};

} // namespace ns3

#endif /* IDEAL_FCT_H */
