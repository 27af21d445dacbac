/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "single-flow.h"

#include "nvls-collective.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <tuple>

namespace AstraSim
{

namespace
{

/// Adds @p parent to what @p child waits for, on both sides.
void
Depend(std::vector<SingleFlow>& flows, uint64_t child, uint64_t parent)
{
    flows[child].parallelDeps.push_back(parent);
    flows[parent].childFlowIds.push_back(child);
    auto& prev = flows[child].prev;
    if (std::find(prev.begin(), prev.end(), flows[parent].src) == prev.end())
    {
        prev.push_back(flows[parent].src);
    }
}

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
    using Connection = std::tuple<uint32_t, uint32_t, uint32_t>; // source, destination, tag
    std::map<Connection, uint64_t> firstFlow;
    std::vector<SingleFlow> flows;
    flows.reserve(graph.CountFlows());
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t i = 0; i < graph.GetOutboundCount(rank); ++i)
        {
            const Lane lane = graph.GetOutbound(rank, i);
            if (lane.messages > 0)
            {
                firstFlow[{rank, lane.peer, lane.tag}] = flows.size();
            }
            for (uint64_t message = 0; message < lane.messages; ++message)
            {
                SingleFlow& flow = flows.emplace_back();
                flow.id = flows.size() - 1;
                flow.src = ranks[rank];
                flow.dst = ranks[lane.peer];
                flow.bytes = graph.GetBytes(rank, i, message);
                flow.channel = lane.channel;
                flow.chunk = message;
                flow.chunkCount = lane.messages;
                flow.type = lane.type;
                flow.latency = lane.latency;
                flow.rateCapBps = lane.rateCapBps;
            }
        }
    }
    uint64_t child = 0;
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t i = 0; i < graph.GetOutboundCount(rank); ++i)
        {
            const uint64_t messages = graph.GetOutbound(rank, i).messages;
            for (uint64_t message = 0; message < messages; ++message, ++child)
            {
                for (const uint32_t source : graph.GetSources(rank, i))
                {
                    const Lane in = graph.GetInbound(rank, source);
                    const uint64_t needs = graph.GetNeeds(rank, i, message, source);
                    if (in.messages == 0 || needs == 0)
                    {
                        continue;
                    }
                    // Arrivals are in order: those that earlier messages needed are implied, but
                    // for the last, which stays so that every flow names what it came from.
                    const uint64_t before =
                        message > 0 ? graph.GetNeeds(rank, i, message - 1, source) : 0;
                    const uint64_t first = firstFlow.at({in.peer, rank, in.tag});
                    for (uint64_t k = std::min(before, needs - 1); k < needs; ++k)
                    {
                        Depend(flows, child, first + k);
                    }
                }
            }
        }
    }
    return flows;
}

std::vector<SingleFlow>
BuildNvlsSingleFlows(uint64_t bytes, uint32_t channels, const std::vector<int>& ranks, int nvswitch)
{
    std::vector<SingleFlow> flows;
    const auto count = static_cast<uint32_t>(ranks.size());
    const uint64_t chunkBytes = NvlsCollective::ChunkSize(bytes, count, channels);
    for (uint32_t head = 0; head < count; ++head)
    {
        const uint64_t share = NvlsCollective::ShareBytes(bytes, count, head);
        const uint64_t chunks = (share + chunkBytes - 1) / chunkBytes;
        for (uint64_t chunk = 0; chunk < chunks; ++chunk)
        {
            const uint64_t begin = chunk * chunkBytes;
            const auto add = [&](int src, int dst) {
                SingleFlow& flow = flows.emplace_back();
                flow.id = flows.size() - 1;
                flow.src = src;
                flow.dst = dst;
                flow.bytes = std::min(chunkBytes, share - begin);
                flow.channel = head;
                flow.chunk = chunk;
                flow.chunkCount = chunks;
                flow.type = ConnType::Nvls;
                return flow.id;
            };
            std::vector<uint64_t> up;
            for (const int rank : ranks)
            {
                up.push_back(add(rank, nvswitch));
            }
            const uint64_t sum = add(nvswitch, ranks[head]);
            for (const uint64_t parent : up)
            {
                Depend(flows, sum, parent);
            }
            const uint64_t store = add(ranks[head], nvswitch);
            Depend(flows, store, sum);
            for (const int rank : ranks)
            {
                Depend(flows, add(nvswitch, rank), store);
            }
        }
    }
    return flows;
}

FlowDagSummary
SummarizeFlows(const std::vector<SingleFlow>& flows, uint64_t rateBps, double wireInflation)
{
    FlowDagSummary summary;
    std::vector<std::size_t> waitsFor(flows.size());
    std::vector<uint64_t> depth(flows.size(), 0);
    std::vector<TimePs> start(flows.size(), 0);
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
        const uint64_t rate = flow.rateCapBps ? std::min(flow.rateCapBps, rateBps) : rateBps;
        const double bits = 8.0 * static_cast<double>(flow.bytes) * wireInflation;
        const TimePs end =
            start[flow.id] + flow.latency + std::llround(bits * 1e12 / static_cast<double>(rate));
        summary.critical = std::max(summary.critical, end);
        summary.steps = std::max(summary.steps, depth[flow.id] + 1);
        for (const uint64_t child : flow.childFlowIds)
        {
            start[child] = std::max(start[child], end);
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
    return summary;
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
