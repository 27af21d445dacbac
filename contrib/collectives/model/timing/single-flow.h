/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SINGLE_FLOW_H
#define SINGLE_FLOW_H

#include "ns3/flow-graph.h"

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief One flow of a collective, written out: the exchange form of SimAI's flow models.
 *
 * Made from a TimedGraph for inspection and tests only; a run never stores it. src and dst are
 * ranks of the network; the switches that carry out the operations of a set of members (the
 * NVSwitch of a node, the switches between nodes) have a number of their own: one above all ranks
 * of the group, plus the set's.
 */
struct SingleFlow
{
    uint64_t id{0};
    int src{0};
    int dst{0};
    uint64_t bytes{0};
    std::vector<int> prev;              ///< ranks it waits to hear from
    std::vector<uint64_t> parallelDeps; ///< flows that must arrive at src before it may start
    std::vector<uint64_t> childFlowIds; ///< flows that wait for it
    uint32_t channel{0};
    uint64_t chunk{0};      ///< number within its connection
    uint64_t chunkCount{0}; ///< flows of its connection
    ConnType type{ConnType::Ring};
};

/// Flows, number i at index i. @param ranks the network's rank of each index of the group
std::vector<SingleFlow> BuildSingleFlows(const FlowGraph& graph, const std::vector<int>& ranks);

/// @return flows on the longest chain of dependencies
/// @throw ns3::InputError if the dependencies form a cycle
uint64_t CountSteps(const std::vector<SingleFlow>& flows);

/// Write flows as comma-separated values with a header line; lists inside a cell are
/// blank-separated.
void WriteSingleFlowsCsv(std::ostream& out, const std::vector<SingleFlow>& flows);

/// Write flows as a Graphviz picture: a box per flow, an arrow per dependency.
void WriteSingleFlowsDot(std::ostream& out, const std::vector<SingleFlow>& flows);

} // namespace AstraSim

#endif /* SINGLE_FLOW_H */
