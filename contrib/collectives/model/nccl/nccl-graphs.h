/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_GRAPHS_H
#define NCCL_GRAPHS_H

#include "collectives/model/graph/channel-graph.h"
#include "nccl-algorithm.h"
#include "nccl-options.h"
#include "nccl-plan.h"

#include "ns3/gpu-model.h"

#include <memory>

namespace AstraSim
{

/// @return the layout of a plan's channels, with defaults for an algorithm's own members. A latency
/// that the user gives stands for the work of blocks.
template <typename Layout = ChannelLayout>
Layout
LayoutOf(const NcclOptions& options, const NcclPlan& plan)
{
    Layout layout;
    static_cast<ChannelLayout&>(
        layout) = {plan.protocol, plan.channels, options.GetSimpleStep(), !options.sendLatency};
    return layout;
}

/// @return graph and times of an algorithm without parameters of its own
template <typename Graph, typename Times>
TimedGraph
MakeTimed(const NcclOptions& options,
          const CollectiveRequest& request,
          const GroupShape& shape,
          const NcclPlan& plan)
{
    auto graph = std::make_shared<const Graph>(request, shape, LayoutOf(options, plan));
    return {graph, std::make_shared<const Times>(graph, plan.speeds, options.sendLatency)};
}

} // namespace AstraSim

#endif /* NCCL_GRAPHS_H */
