/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "single-flow.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <tuple>

namespace AstraSim
{

namespace
{

/// Makes @p child depend on @p parent, on both sides.
void
Depend(std::vector<SingleFlow>& flows, uint64_t child, uint64_t parent)
{
    flows[child].parallelDeps.push_back(parent);
    flows[parent].childFlowIds.push_back(child);
    auto& prev = flows[child].prev;
    if (std::ranges::find(prev, flows[parent].src) == prev.end())
    {
        prev.push_back(flows[parent].src);
    }
}

/// Makes the flows of a graph: those out of ranks first, then those out of switches.
class FlowWriter
{
  public:
    FlowWriter(const FlowGraph& graph, const std::vector<int>& ranks)
        : m_graph(graph),
          m_ranks(ranks),
          m_firstSwitch(1 + *std::ranges::max_element(ranks))
    {
    }

    std::vector<SingleFlow> Write()
    {
        m_flows.reserve(m_graph.CountFlows());
        for (uint32_t rank = 0; rank < m_graph.GetRanks(); ++rank)
        {
            for (uint32_t i = 0; i < m_graph.GetLaneCount(); ++i)
            {
                AddOutbound(rank, i);
            }
        }
        for (uint32_t rank = 0; rank < m_graph.GetRanks(); ++rank)
        {
            for (uint32_t i = 0; i < m_graph.GetLaneCount(); ++i)
            {
                AddResults(rank, i);
            }
        }
        uint64_t child = 0;
        for (uint32_t rank = 0; rank < m_graph.GetRanks(); ++rank)
        {
            for (uint32_t i = 0; i < m_graph.GetLaneCount(); ++i)
            {
                const Lane lane = m_graph.GetOutbound(rank, i);
                const uint64_t flows = lane.kind == LaneKind::Copy ? 0 : lane.messages;
                for (uint64_t message = 0; message < flows; ++message, ++child)
                {
                    DependOnSources(child, rank, i, message);
                }
            }
        }
        return std::move(m_flows);
    }

  private:
    using Connection = std::tuple<uint32_t, uint32_t, uint32_t>; // source, destination, tag
    using Operation = std::pair<uint32_t, uint32_t>;             // set of members, tag
    using InboundLane = std::pair<uint32_t, uint32_t>;           // rank, lane

    int SwitchOf(const Lane& lane) const
    {
        return m_firstSwitch + static_cast<int>(lane.members);
    }

    SingleFlow& Add(const Lane& lane, uint64_t message, uint64_t bytes)
    {
        SingleFlow& flow = m_flows.emplace_back();
        flow.id = m_flows.size() - 1;
        flow.bytes = bytes;
        flow.channel = lane.channel;
        flow.chunk = message;
        flow.chunkCount = lane.messages;
        flow.type = lane.type;
        return flow;
    }

    void AddOutbound(uint32_t rank, uint32_t index)
    {
        const Lane lane = m_graph.GetOutbound(rank, index);
        if (lane.messages == 0 || lane.kind == LaneKind::Copy)
        {
            return;
        }
        const bool toSwitch = lane.kind != LaneKind::Message;
        if (toSwitch)
        {
            m_contributions[{lane.members, lane.tag}].push_back(m_flows.size());
        }
        else
        {
            m_firstFlow[{rank, lane.peer, lane.tag}] = m_flows.size();
        }
        for (uint64_t message = 0; message < lane.messages; ++message)
        {
            SingleFlow& flow = Add(lane, message, m_graph.GetBytes(rank, index, message));
            flow.src = m_ranks[rank];
            flow.dst = toSwitch ? SwitchOf(lane) : m_ranks[lane.peer];
        }
    }

    void AddResults(uint32_t rank, uint32_t index)
    {
        const Lane lane = m_graph.GetInbound(rank, index);
        if (lane.messages == 0 || lane.kind == LaneKind::Message || lane.kind == LaneKind::Copy)
        {
            return;
        }
        m_firstResult[{rank, index}] = m_flows.size();
        for (uint64_t message = 0; message < lane.messages; ++message)
        {
            const uint64_t bytes = m_graph.GetInboundBytes(rank, index, message);
            SingleFlow& flow = Add(lane, message, bytes);
            flow.src = SwitchOf(lane);
            flow.dst = m_ranks[rank];
            for (const uint64_t first : m_contributions.at({lane.members, lane.tag}))
            {
                Depend(m_flows, m_flows.size() - 1, first + message);
            }
        }
    }

    void DependOnSources(uint64_t child, uint32_t rank, uint32_t index, uint64_t message)
    {
        for (const uint32_t source : m_graph.GetSources(rank, index))
        {
            const Lane in = m_graph.GetInbound(rank, source);
            const uint64_t needs = m_graph.GetNeeds(rank, index, message, source);
            if (in.messages == 0 || needs == 0 || in.kind == LaneKind::Copy)
            {
                continue;
            }
            // Arrivals are in order, so a flow need not name those that earlier messages have
            // waited for. It names at least the last one, so that every flow has a parent.
            const uint64_t before =
                message > 0 ? m_graph.GetNeeds(rank, index, message - 1, source) : 0;
            const uint64_t first = in.kind == LaneKind::Message
                                       ? m_firstFlow.at({in.peer, rank, in.tag})
                                       : m_firstResult.at({rank, source});
            for (uint64_t k = std::min(before, needs - 1); k < needs; ++k)
            {
                Depend(m_flows, child, first + k);
            }
        }
    }

    const FlowGraph& m_graph;
    const std::vector<int>& m_ranks;
    int m_firstSwitch;
    std::vector<SingleFlow> m_flows;
    std::map<Connection, uint64_t> m_firstFlow;
    std::map<Operation, std::vector<uint64_t>> m_contributions;
    std::map<InboundLane, uint64_t> m_firstResult;
};

template <typename T>
void
WriteList(std::ostream& out, const std::vector<T>& list)
{
    const char* separator = "";
    for (const T& item : list)
    {
        out << separator << item;
        separator = " ";
    }
}

} // namespace

std::vector<SingleFlow>
BuildSingleFlows(const FlowGraph& graph, const std::vector<int>& ranks)
{
    return FlowWriter(graph, ranks).Write();
}

uint64_t
CountSteps(const std::vector<SingleFlow>& flows)
{
    uint64_t steps = 0;
    std::vector<std::size_t> waitsFor(flows.size());
    std::vector<uint64_t> depth(flows.size(), 0);
    std::vector<uint64_t> ready;
    for (const SingleFlow& flow : flows)
    {
        waitsFor[flow.id] = flow.parallelDeps.size();
        if (flow.parallelDeps.empty())
        {
            ready.push_back(flow.id);
        }
    }
    std::size_t done = 0;
    for (; done < ready.size(); ++done)
    {
        const SingleFlow& flow = flows[ready[done]];
        steps = std::max(steps, depth[flow.id] + 1);
        for (const uint64_t child : flow.childFlowIds)
        {
            depth[child] = std::max(depth[child], depth[flow.id] + 1);
            if (--waitsFor[child] == 0)
            {
                ready.push_back(child);
            }
        }
    }
    if (done != flows.size())
    {
        throw ns3::InputError("flows", 0, "their dependencies form a cycle", "none");
    }
    return steps;
}

void
WriteSingleFlowsCsv(std::ostream& out, const std::vector<SingleFlow>& flows)
{
    out << "flow_id,src,dest,flow_size,prev,parallel_deps,child_flow_id,channel_id,chunk_id,"
           "chunk_count,conn_type\n";
    for (const SingleFlow& flow : flows)
    {
        out << flow.id << ',' << flow.src << ',' << flow.dst << ',' << flow.bytes << ',';
        WriteList(out, flow.prev);
        out << ',';
        WriteList(out, flow.parallelDeps);
        out << ',';
        WriteList(out, flow.childFlowIds);
        out << ',' << flow.channel << ',' << flow.chunk << ',' << flow.chunkCount << ','
            << ToString(flow.type) << '\n';
    }
}

void
WriteSingleFlowsDot(std::ostream& out, const std::vector<SingleFlow>& flows)
{
    out << "digraph flows {\n  node [shape=box];\n";
    for (const SingleFlow& flow : flows)
    {
        out << "  f" << flow.id << " [label=\"" << flow.src << " -> " << flow.dst << "\\n"
            << flow.bytes << " B, channel " << flow.channel << ", chunk " << flow.chunk << "\"];\n";
        for (const uint64_t child : flow.childFlowIds)
        {
            out << "  f" << flow.id << " -> f" << child << ";\n";
        }
    }
    out << "}\n";
}

} // namespace AstraSim
