/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_MACHINE_H
#define IDLE_MACHINE_H

#include "astra-frontend/model/flow/flow-level-network.h"
#include "astra-frontend/model/network/topology-shapes.h"
#include "collectives/model/group/mock-nccl-group.h"

#include "ns3/cluster-topology.h"
#include "ns3/collective-implementation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace AstraSim
{

/// The network on which an IdleMachine carries out collectives.
struct IdleNetwork
{
    /// Payload of a full frame, as in the shipped SimAI.conf.
    static constexpr uint32_t FRAME_BYTES = 9000;

    /// Outlives its user; null: servers as the machine's numbers describe them, whose NICs meet in
    /// an ideal switch.
    const ns3::ClusterTopology* topology{nullptr};
    FlowLevelConfig config{.networkFrames = {.mtuPayload = FRAME_BYTES},
                           .nvlinkFrames = {FRAME_BYTES, 0, 0, 0}};
    /// Without a topology: rate of the NICs' links over the line rate that the machine has.
    double nicRatePart{1};
};

/**
 * @ingroup astra-frontend
 * @brief How long collectives take on a machine that does nothing else: their messages, carried out
 * as flows (FlowLevelFabric) on the links of the topology, or on those that the machine's numbers
 * describe.
 *
 * A collective with many more messages than MOST_FLOWS is carried out in two smaller forms of the
 * same plan, and its time follows from theirs on a straight line: with fewer servers, as each
 * further server adds the same steps to a ring and each doubling the same level to NVLS-Tree; and
 * with fewer bytes, as a pipeline that is full takes the same time for each further loop.
 *
 * Groups of the same shape share one result (TopologyShapes), so hashes choose among paths for the
 * first of them only.
 *
 * Left out: other traffic, but for groups of the same kind at NICs that GPUs share. CollNet's
 * collectives take NCCL's own prediction, since no machine says how its network reduces.
 */
class IdleMachine
{
  public:
    /// Most messages of a collective that is carried out on all servers.
    static constexpr uint64_t MOST_FLOWS = 200'000;

    /// @param nccl chooses, and has the machine; outlives the object
    /// @param mostFlows see MOST_FLOWS
    explicit IdleMachine(const MockNcclGroup& nccl,
                         IdleNetwork network = {},
                         uint64_t mostFlows = MOST_FLOWS);

    /**
     * @param group,request the collective, which all ranks begin together
     * @param offer the choice for it
     * @return when its last rank is through
     */
    TimePs GetTime(const CommGroup& group,
                   const CollectiveRequest& request,
                   const CollectiveOffer& offer) const;

  private:
    /// A collective, or a smaller form of one.
    struct Case
    {
        CommGroup group;
        CollectiveRequest request;
        std::vector<uint32_t> servers; ///< in the order of the group's ranks
        const CollectiveOffer* offer;  ///< for the whole collective
        std::shared_ptr<const CollectivePlan> plan;

        uint64_t CountFlows() const
        {
            return plan->GetChoice().flows;
        }
    };

    /// Tells results apart: shape of the group, places in its servers, collective and choice.
    using Key = std::tuple<std::vector<uint64_t>,
                           std::vector<uint32_t>,
                           CollectiveOp,
                           uint64_t,
                           int,
                           std::vector<uint64_t>,
                           const CollectiveAlgorithm*,
                           std::string,
                           uint32_t>;

    /// @return the key of a collective's result
    Key KeyOf(const CommGroup& group,
              const CollectiveRequest& request,
              const CollectiveOffer& offer) const;
    /// @return the time of a collective that has no result yet
    TimePs FindTime(const CommGroup& group,
                    const CollectiveRequest& request,
                    const CollectiveOffer& offer) const;
    /// @return a collective, or a smaller form of one, with its plan
    Case MakeCase(const CollectiveOffer& offer, CommGroup group, CollectiveRequest request) const;
    /// @return the group with its servers numbered from 0
    CommGroup Renumber(const CommGroup& group) const;
    /// @return a case with the first servers only. @param whole the case with all servers
    Case OnServers(const Case& whole, uint32_t servers) const;
    /// @return a case with the bytes divided by @p divisor
    Case WithBytes(const Case& whole, uint64_t divisor) const;
    /// @return whether the time with all servers follows from that with fewer
    bool CanShrink(const Case& whole) const;
    /// @return whether a case needs no fewer servers
    bool HasFewFlows(const Case& each) const;
    /// @return whether each server has the same number and places of ranks, so that a case with
    /// fewer servers has the same form
    bool IsRegular(const Case& whole) const;
    /// @return the time of a case; found with fewer bytes if it has too many messages
    TimePs TimeOfBytes(const Case& each) const;
    /// @return a topology for a case, as the machine's numbers describe it
    ns3::ClusterTopology MakeTopology(const Case& each) const;
    /// @return the time of a case, with all its messages simulated
    TimePs Execute(const Case& each) const;

    const MockNcclGroup& m_nccl;
    IdleNetwork m_network;
    std::optional<TopologyShapes> m_shapes; ///< on a topology
    uint64_t m_mostFlows;
    mutable std::map<Key, TimePs> m_times;
};

} // namespace AstraSim

#endif /* IDLE_MACHINE_H */
