/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_GRAPH_H
#define NATIVE_GRAPH_H

#include "ns3/collective-algorithm.h"
#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"
#include "ns3/step-order.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The messages of one of ASTRA-sim's algorithms, whose ranks take them step by step.
 *
 * The buffer is cut in blocks of equal size; GetBlocks() says which of them a message carries, so
 * that tests can follow the data.
 *
 * A system file names such an algorithm without the prefix of its name: "ring", or "oneRing" for
 * one flat group over all dimensions. A static object makes one known, from any file of a program:
 *
 * @code
 * const CollectiveAlgorithm RING("native-ring", NativeRules<NativeRing>());
 * @endcode
 */
class NativeGraph : public FlowGraph, public StepOrder
{
  public:
    /// @param task of servers, one a rank, only the number counts @param lanes of a rank
    NativeGraph(const CollectiveTask& task, uint32_t lanes)
        : FlowGraph(static_cast<uint32_t>(task.servers.size()), lanes, 1),
          m_op(task.request.op),
          m_bytes(task.request.bytes)
    {
    }

    const StepOrder* GetStepOrder() const override
    {
        return this;
    }

    LaneRange GetSources(uint32_t, uint32_t) const override
    {
        return Lanes(0, 0);
    }

    LaneRange GetTargets(uint32_t, uint32_t, uint64_t) const override
    {
        return Lanes(0, 0);
    }

    /**
     * @return the blocks that a message of an outbound lane carries: 0..n-1 (AllToAll: sender * n +
     * receiver; trees: one per sequence)
     */
    virtual std::vector<uint32_t> GetBlocks(uint32_t rank,
                                            uint32_t outbound,
                                            uint64_t message) const = 0;

  protected:
    /// @return bytes of @p count of the n blocks; at least 1
    uint64_t BytesOf(uint64_t count) const;

    /// @return messages of a lane between ranks that exchange blocks: of a ReduceScatter, then of
    /// an AllGather, which an AllReduce has both
    uint32_t MessagesPerLane() const
    {
        return m_op == CollectiveOp::AllReduce ? 2 : 1;
    }

    /// @return whether such a message belongs to a ReduceScatter
    bool Reduces(uint64_t message) const
    {
        return m_op == CollectiveOp::ReduceScatter ||
               (m_op == CollectiveOp::AllReduce && message == 0);
    }

    /// @return a step that sends and receives on the lanes of the same number
    static FlowStep Exchange(uint32_t lane, bool reduces)
    {
        return {lane, lane, reduces};
    }

    CollectiveOp m_op;
    uint64_t m_bytes;
};

/// The library of ASTRA-sim's algorithms. It makes no offers: system files choose.
inline constexpr const char* NATIVE_LIBRARY = "ASTRA-sim";

/// The beginning of its algorithms' names.
inline constexpr std::string_view NATIVE_PREFIX = "native-";

/// @return the algorithm that a system file names; null if there is none
inline const CollectiveAlgorithm*
FindNative(std::string_view name)
{
    return CollectiveAlgorithm::Find(std::string(NATIVE_PREFIX).append(name));
}

/// @return whether a system file may say how many steps of an algorithm are under way at a time
inline bool
TakesWindow(const CollectiveAlgorithm& algorithm)
{
    CollectiveTask task;
    task.window = 1;
    return algorithm.GetRules().can(task);
}

/**
 * @tparam Graph the algorithm's NativeGraph
 * @param takesWindow whether it heeds CollectiveTask::window
 * @return rules of an algorithm of NATIVE_LIBRARY
 */
template <typename Graph>
CollectiveAlgorithm::Rules
NativeRules(bool takesWindow = false)
{
    CollectiveAlgorithm::Rules rules;
    rules.can = [takesWindow](const CollectiveTask& task) { return takesWindow || !task.window; };
    rules.graph = [](const CollectiveTask& task) -> std::shared_ptr<const FlowGraph> {
        return std::make_shared<Graph>(task);
    };
    rules.choice = CollectiveAlgorithm::Choice::ByLibrary;
    rules.library = NATIVE_LIBRARY;
    return rules;
}

} // namespace AstraSim

#endif /* NATIVE_GRAPH_H */
