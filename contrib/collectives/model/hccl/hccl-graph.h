/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HCCL_GRAPH_H
#define HCCL_GRAPH_H

#include "hccl-plan.h"

#include "ns3/flow-graph.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Flows of a collective of HCCL's: phases, one after the other, within servers and between.
 *
 * Each rank owns a block of the data, or of the sums. In a phase, a rank has one lane to each rank
 * that it sends to. A message waits for all messages of earlier phases. If it passes data on that
 * came in the same phase, it waits for the messages with these data, too.
 */
class HcclGraph : public FlowGraph
{
  public:
    HcclGraph(const CollectiveRequest& request, HcclPlan plan);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;

    const HcclPlan& GetPlan() const
    {
        return m_plan;
    }

    /// @return lanes of a phase
    LaneRange LanesOf(uint32_t phase) const
    {
        return {m_first[phase], m_first[phase + 1]};
    }

    /// @return the number of a lane's phase
    uint32_t PhaseOf(uint32_t lane) const;

    /// Servers, and places within a server, from the sender of a lane to its receiver.
    struct Distance
    {
        uint32_t servers;
        uint32_t places;
    };

    Distance DistanceOf(uint32_t lane) const;

  protected:
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

  private:
    /// @return lanes that a phase of that kind needs
    uint32_t CountLanes(HcclPhase::Kind kind) const;
    uint64_t CountMessages(uint32_t sender, uint32_t lane) const;
    /// @return bytes of the block that the rank there owns
    uint64_t BlockAt(uint32_t server, uint32_t place) const;
    /// @return bytes of the blocks of all ranks at a place of their servers, or of one server
    uint64_t BlocksOfPlace(uint32_t place) const;
    uint64_t BlocksOfServer(uint32_t server) const;
    /// @return bytes of a server's part between servers: its blocks, or that of one place
    uint64_t NetPart(const HcclPhase& phase, uint32_t server, uint32_t place) const;
    uint64_t MeshBytes(const HcclPhase& phase, uint32_t server, uint32_t place) const;
    uint64_t NhrBytes(uint32_t rank, uint32_t lane) const;
    uint64_t ExchangeBytes(uint32_t from, uint32_t to, HcclPhase::Kind kind) const;
    /// @return whether a lane of a pipeline leads to the next server
    bool IsRingLane(uint32_t lane) const;
    /// @return the server @p steps back on the ring, which owns the part that arrives from there
    uint32_t ServerBefore(uint32_t server, uint64_t steps) const;

    CollectiveRequest m_request;
    HcclPlan m_plan;
    std::vector<uint32_t> m_first; ///< lane of each phase, and one more
};

} // namespace AstraSim

#endif /* HCCL_GRAPH_H */
