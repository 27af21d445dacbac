/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include "astra-frontend/model/system/run-observer.h"

#include "ns3/cluster-topology.h"
#include "ns3/link-use.h"
#include "ns3/links-writer.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Work of one port of a network for collectives, from the first to the last of them.
struct LinkLoad
{
    uint32_t node;
    uint32_t peer;
    uint64_t rateBps;
    double busyNs;                               ///< time spent sending
    std::vector<ns3::LinkUse::Purpose> purposes; ///< bytes by TrafficPurpose()
};

/// @return the load of each port
std::vector<LinkLoad> LinkLoadsOf(const ns3::ClusterTopology& topology,
                                  const ns3::LinkCountersOf& counters,
                                  const ns3::LinkUse& use);

/**
 * @ingroup simulator
 * @brief The bound of each kind of collective: the class of links that has the busiest link.
 *
 * An operation of a kind of group is active in the union of the times from the last rank's start to
 * the last rank's end of its collectives. A link is busy with it for its share of the link's bytes.
 * `clustersim.results.verdict` says more, from the files of the run.
 */
class RunVerdict : public RunObserver
{
  public:
    void CollectiveEnded(const CollectiveRecord& record) override;

    /// Networks that know the load of links tell of each collective.
    bool NeedsEach() const override
    {
        return false;
    }

    /// The set-up of the run.
    struct Setting
    {
        TimePs sendLatency{0}; ///< AS_SEND_LAT's delay before each message; 0 if it is not set
        bool nvlsOff{false};   ///< whether NVSwitches could reduce but were told not to
    };

    /**
     * @param topology of the links
     * @param loads of all ports; none if the network does not know
     * @param setting other bounds of collectives
     * @return a line for each operation and kind of group, the longest active first
     */
    std::vector<std::string> Lines(const ns3::ClusterTopology& topology,
                                   const std::vector<LinkLoad>& loads,
                                   const Setting& setting) const;

  private:
    /// Times that do not overlap, in order of their ends.
    struct Activity
    {
        CollectiveOp op{CollectiveOp::None};
        GroupKind kind{GroupKind::Custom};
        std::size_t ranks{0}; ///< of the largest group
        uint64_t count{0};    ///< of collectives
        TimePs total{0};      ///< of their times from the last rank's start to the end
        std::vector<std::pair<TimePs, TimePs>> times;
    };

    std::map<uint16_t, Activity> m_activities; ///< by TrafficPurpose()
};

} // namespace AstraSim

#endif /* RUN_VERDICT_H */
