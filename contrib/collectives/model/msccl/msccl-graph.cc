/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "msccl-graph.h"

#include "collectives/model/collective/divide-up.h"
#include "collectives/model/graph/channel-graph.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

constexpr uint32_t SLOTS = 8; ///< of a connection between servers

uint32_t
MostBlocks(const MscclProgram& program)
{
    const auto most = std::ranges::max_element(program.gpus, {}, [](const auto& blocks) {
        return blocks.size();
    });
    return static_cast<uint32_t>(most->size());
}

} // namespace

uint64_t
MscclGraph::SliceBytes(NcclProtocol protocol)
{
    constexpr uint64_t CHUNK_STEPS = 4; // of Simple: MSCCL_CHUNKSTEPS
    return StepBytes(protocol) * (protocol == NcclProtocol::Simple ? CHUNK_STEPS : 1);
}

MscclGraph::MscclGraph(std::shared_ptr<const MscclProgram> program, const CollectiveTask& task)
    : FlowGraph(static_cast<uint32_t>(program->gpus.size()), MostBlocks(*program), SLOTS),
      m_program(std::move(program)),
      m_chunkBytes(task.request.bytes / m_program->chunks),
      m_slices(DivideUp(m_chunkBytes, SliceBytes(m_program->protocol)))
{
    for (uint32_t gpu = 0; gpu < GetRanks(); ++gpu)
    {
        AddGpu(gpu);
    }
}

void
MscclGraph::AddGpu(uint32_t gpu)
{
    const auto& blocks = m_program->gpus[gpu];
    std::vector<std::vector<Counts>> known(blocks.size());
    for (uint32_t b = 0; b < blocks.size(); ++b)
    {
        known[b].resize(blocks[b].steps.size());
    }
    auto& connections = m_connections.emplace_back(GetLaneCount());
    for (uint32_t b = 0; b < blocks.size(); ++b)
    {
        const MscclBlock& block = blocks[b];
        Connection& connection = connections[b];
        connection.needs.resize(blocks.size());
        for (uint32_t s = 0; s < block.steps.size(); ++s)
        {
            const MscclStep& step = block.steps[s];
            connection.needs = NeedsOf(gpu, b, s, known);
            connection.receives += step.receives ? 1 : 0;
            if (step.sends)
            {
                connection.sendings.push_back({step.chunks, connection.needs});
            }
        }
        if (block.sendsTo)
        {
            connection.receiver = *m_program->FindReceiver(*block.sendsTo, gpu, block.channel);
        }
        if (block.receivesFrom)
        {
            connection.sender =
                m_program->FindSender(*block.receivesFrom, gpu, block.channel).value_or(0);
        }
    }
}

const MscclGraph::Counts&
MscclGraph::NeedsOf(uint32_t gpu,
                    uint32_t block,
                    uint32_t step,
                    std::vector<std::vector<Counts>>& known) const
{
    Counts& needs = known[block][step];
    if (!needs.empty())
    {
        return needs;
    }
    Counts found(known.size());
    const auto include = [&](const Counts& others) {
        std::ranges::transform(found, others, found.begin(), [](uint32_t a, uint32_t b) {
            return std::max(a, b);
        });
    };
    const MscclStep& own = m_program->gpus[gpu][block].steps[step];
    if (step > 0)
    {
        include(NeedsOf(gpu, block, step - 1, known));
    }
    if (own.block)
    {
        include(NeedsOf(gpu, *own.block, own.blockStep, known));
    }
    found[block] += own.receives ? 1 : 0;
    return needs = std::move(found);
}

Lane
MscclGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const auto& blocks = m_program->gpus[rank];
    const bool isUsed =
        index < blocks.size() &&
        (outbound ? blocks[index].sendsTo.has_value() : m_connections[rank][index].receives > 0);
    if (!isUsed)
    {
        return {};
    }
    Lane lane;
    lane.peer = outbound ? *blocks[index].sendsTo : *blocks[index].receivesFrom;
    const uint32_t from = outbound ? rank : lane.peer;
    const uint32_t block = outbound ? index : GetPeerLane(rank, index);
    lane.channel = m_program->gpus[from][block].channel;
    lane.tag = static_cast<uint8_t>(lane.channel);
    lane.messages = m_slices * m_connections[from][block].sendings.size();
    return lane;
}

uint64_t
MscclGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const auto& sendings = m_connections[rank][outbound].sendings;
    const uint64_t slice = SliceBytes(m_program->protocol);
    const uint64_t begin = message / sendings.size() * slice;
    return sendings[message % sendings.size()].chunks * std::min(slice, m_chunkBytes - begin);
}

LaneRange
MscclGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    return Lanes(0, static_cast<uint32_t>(m_program->gpus[rank].size()));
}

LaneRange
MscclGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return Lanes(0, static_cast<uint32_t>(m_program->gpus[rank].size()));
}

uint64_t
MscclGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    const Connection& connection = m_connections[rank][outbound];
    const uint64_t slice = message / connection.sendings.size();
    const uint64_t inSlice = m_connections[rank][inbound].receives;
    const uint32_t now = connection.sendings[message % connection.sendings.size()].needs[inbound];
    // All of a block's steps are done for the slice before, so all messages that they needed have
    // come.
    const uint64_t before = slice == 0 ? 0 : (slice - 1) * inSlice + connection.needs[inbound];
    return std::max(before, now == 0 ? 0 : slice * inSlice + now);
}

uint32_t
MscclGraph::GetPeerLane(uint32_t rank, uint32_t inbound) const
{
    return m_connections[rank][inbound].sender;
}

} // namespace AstraSim
