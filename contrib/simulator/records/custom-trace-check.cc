/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "custom-trace-check.h"

#include "astra-frontend/model/chakra/chakra-trace.h"

#include "ns3/input-file.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace AstraSim
{

namespace
{

/// Bounds of the bytes that a rank sends or receives.
struct ByteRange
{
    uint64_t least;
    uint64_t most;
};

/// @return bounds of the bytes that a rank sends, then of those that it receives
std::pair<ByteRange, ByteRange>
BoundsOf(CollectiveOp op, uint64_t bytes, uint64_t ranks)
{
    const uint64_t part = bytes / ranks;
    const uint64_t others = part * (ranks - 1);
    // The whole payload goes to each other rank, or through each of them.
    const uint64_t most = bytes * (ranks - 1);
    switch (op)
    {
    case CollectiveOp::AllGather:
        return {{part, most}, {others, most}};
    case CollectiveOp::ReduceScatter:
        return {{others, most}, {part, most}};
    default: // AllReduce and AllToAll
        return {{others, most}, {others, most}};
    }
}

std::vector<CustomTraceBytes>
ReadTrace(const std::string& prefix)
{
    std::vector<CustomTraceBytes> ranks;
    const auto path = [&] { return prefix + "." + std::to_string(ranks.size()) + ".et"; };
    while (ns3::InputExists(path()))
    {
        CustomTraceBytes rank;
        ChakraTrace trace(path());
        for (ChakraNode node; trace.Next(node);)
        {
            rank.sent += node.type == ChakraNode::Type::Send ? node.commBytes : 0;
            rank.received += node.type == ChakraNode::Type::Receive ? node.commBytes : 0;
        }
        ranks.push_back(rank);
    }
    return ranks;
}

} // namespace

std::string
DescribeCustomMisfit(CollectiveOp op, uint64_t bytes, const std::vector<CustomTraceBytes>& ranks)
{
    const auto [sends, receives] = BoundsOf(op, bytes, ranks.size());
    const auto describe = [&](std::size_t rank, const char* verb, uint64_t found, ByteRange range) {
        const char* than = found < range.least ? "no less than " : "no more than ";
        return fmt::format(
            "its rank {} {} {} bytes, and in an {} of {} bytes on {} ranks each {} {}{}",
            rank,
            verb,
            found,
            ToString(op),
            bytes,
            ranks.size(),
            verb,
            than,
            found < range.least ? range.least : range.most);
    };
    const auto fits = [](uint64_t found, ByteRange range) {
        return range.least <= found && found <= range.most;
    };
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    {
        if (!fits(ranks[rank].sent, sends))
        {
            return describe(rank, "sends", ranks[rank].sent, sends);
        }
        if (!fits(ranks[rank].received, receives))
        {
            return describe(rank, "receives", ranks[rank].received, receives);
        }
    }
    return "";
}

CustomTraceCheck::CustomTraceCheck(const SystemConfig& system,
                                   std::function<void(const std::string&)> warn)
    : m_system(system),
      m_warn(std::move(warn))
{
}

void
CustomTraceCheck::CollectiveStarted(const CollectiveRecord& record)
{
    const auto& algorithms = m_system.AlgorithmsOf(record.op);
    if (record.isMessage || algorithms.empty() ||
        algorithms.front().kind != NativeAlgorithm::Kind::Custom)
    {
        return;
    }
    const std::string& prefix = algorithms.front().customPath;
    const auto [place, isNew] = m_traces.try_emplace({prefix, record.op});
    Trace& trace = place->second;
    if (isNew)
    {
        trace.ranks = ReadTrace(prefix);
        trace.firstBytes = record.bytes;
    }
    if (trace.isWarned || trace.ranks.size() != record.group->ranks.size())
    {
        return; // a trace of other ranks is refused where the collective is planned
    }
    if (const std::string misfit = DescribeMisfit(trace, record); !misfit.empty())
    {
        trace.isWarned = true;
        m_warn(fmt::format("{}: {}; the trace is used as it is, with its own sizes and so its own "
                           "time",
                           prefix,
                           misfit));
    }
}

std::string
CustomTraceCheck::DescribeMisfit(const Trace& trace, const CollectiveRecord& record) const
{
    if (record.bytes != trace.firstBytes)
    {
        return fmt::format("it was made for one size, and carries out {}s of {} and of {} bytes",
                           ToString(record.op),
                           trace.firstBytes,
                           record.bytes);
    }
    // Each chunk runs the whole trace.
    const uint64_t chunk = record.bytes / m_system.preferredDatasetSplits;
    return DescribeCustomMisfit(record.op, std::max<uint64_t>(chunk, 1), trace.ranks);
}

} // namespace AstraSim
