/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MSCCL_GRAPH_H
#define MSCCL_GRAPH_H

#include "msccl-program.h"

#include "ns3/collective-algorithm.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The flows of a program of MSCCL's.
 *
 * Lane b out of a GPU is that of its thread block b. A step that sends waits for the messages that
 * its block, and the steps that it waits for, have to receive before. Steps that add or copy within
 * a GPU take no time of their own.
 */
class MscclGraph : public FlowGraph
{
  public:
    /// @return bytes of a chunk that all steps are carried out for at once, at most
    static uint64_t SliceBytes(NcclProtocol protocol);

    MscclGraph(std::shared_ptr<const MscclProgram> program, const CollectiveTask& task);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;
    uint32_t GetPeerLane(uint32_t rank, uint32_t inbound) const override;

  private:
    /// Messages received by each of a GPU's blocks.
    using Counts = std::vector<uint32_t>;

    /// A step that sends.
    struct Sending
    {
        uint32_t chunks;
        Counts needs; ///< before it, in the same slice
    };

    /// A thread block.
    struct Connection
    {
        std::vector<Sending> sendings; ///< of a slice
        uint32_t receives{0};          ///< in a slice
        Counts needs;                  ///< of all its steps
        uint32_t receiver{0};          ///< the block at its peer that it sends to
        uint32_t sender{0};            ///< the block at its peer that it receives from
    };

    void AddGpu(uint32_t gpu);
    /// @return the messages that a step and all before it need. @param known by block and step
    const Counts& NeedsOf(uint32_t gpu,
                          uint32_t block,
                          uint32_t step,
                          std::vector<std::vector<Counts>>& known) const;
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

    std::shared_ptr<const MscclProgram> m_program;
    uint64_t m_chunkBytes;
    uint64_t m_slices;                                  ///< of a chunk
    std::vector<std::vector<Connection>> m_connections; ///< by GPU and block
};

} // namespace AstraSim

#endif /* MSCCL_GRAPH_H */
