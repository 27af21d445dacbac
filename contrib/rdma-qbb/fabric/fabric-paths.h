/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_PATHS_H
#define FABRIC_PATHS_H

#include "fabric-frame-sizes.h"

#include "ns3/connection-planner.h"
#include "ns3/fabric-routes.h"
#include "ns3/path-survey.h"
#include "ns3/rdma-driver.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ns3
{

struct FabricParts;

/**
 * @ingroup rdma-qbb
 * @brief The paths of a fabric's connections: where new ones start, and where open ones go on when
 * routes change.
 */
class FabricPaths : public RdmaPathPlanner
{
  public:
    /**
     * @param fabric,routes outlive the object
     * @param sizes of the fabric's frames
     * @param use how many of the shortest paths the packets of a connection take
     * @param queuePairs of a message on each NIC
     */
    FabricPaths(const FabricParts& fabric,
                FabricRoutes& routes,
                const FabricFrameSizes& sizes,
                PathUse use,
                uint32_t queuePairs);

    /// Connections over the network use these instead of base RTT and product of their own pair.
    void UseGlobally(const FabricExtremes& extremes)
    {
        m_global = extremes;
    }

    /// Note how much the fabric's network switches can hold, and for which priorities they
    /// have PFC; before the first connection.
    void NoteBuffers();

    /// @return the largest values of any two hosts
    FabricExtremes FindExtremes() const
    {
        return ns3::FindExtremes(m_planner.GetSurvey(), m_network);
    }

    /// @return whether the frames of a connection may take one path after the other
    bool MayPart() const
    {
        return m_planner.GetSurvey().Parts();
    }

    RdmaPath PlanPath(uint32_t src, uint32_t dst, const RdmaConnectionOptions& options) override;

    /// @return how messages from one host to another are cut
    const MessageCut& FindCut(uint32_t src, uint32_t dst)
    {
        return *m_planner.Find(src, dst).cut;
    }

    /// @return column "ideal" of FCT files for a message, in picoseconds; 0 without a path
    int64_t GetIdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes)
    {
        return m_planner.GetIdealFctPs(src, dst, bytes);
    }

    /// Work out all routes again, and move queue pairs from NIC ports that no longer begin a path
    /// to ports that do.
    void Follow(const LinkState& links);

    /// @return lines naming the queue pairs with data left and no path between their hosts
    std::vector<std::string> DescribeCutOff() const;

  private:
    /// @return the path of a connection's frames from a port on, where switches do not change it
    PathInfo Follow(uint32_t src, uint32_t dst, uint16_t firstPort, uint32_t hash) const;
    PathLimits LimitsOf(ConnectionPlanner::Pair& pair,
                        uint32_t src,
                        uint32_t dst,
                        const ConnectionStart& start) const;
    /// @return time in which a full buffer drains into the slowest link of a path
    int64_t DrainPs(const PathLimits& limits) const;
    void MoveQueuePairs(RdmaHw& hw);

    const FabricParts& m_fabric;
    FabricRoutes& m_routes;
    FrameSizes m_network;
    ConnectionPlanner m_planner;
    std::optional<FabricExtremes> m_global;
    uint64_t m_bufferBytes{0};         ///< of the switch that holds most
    uint8_t m_losslessMask{UINT8_MAX}; ///< priorities for which all switches have PFC
};

} // namespace ns3

#endif /* FABRIC_PATHS_H */
