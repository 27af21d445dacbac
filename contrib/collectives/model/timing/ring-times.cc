/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ring-times.h"

namespace AstraSim
{

namespace
{

/// @return passes for each step of 8 GPUs' blocks, which send, pass on, and take: NCCL's rates of
/// LL and LL128 are those of 8 GPUs
double
PassesPerStep(CollectiveOp op)
{
    return op == CollectiveOp::AllReduce ? 15.0 / 14 : 8.0 / 7;
}

} // namespace

RingTimes::RingTimes(std::shared_ptr<const RingGraph> graph,
                     const ChannelSpeeds& speeds,
                     std::optional<TimePs> givenLatency)
    : ChannelTimes(graph, speeds, givenLatency),
      m_graph(std::move(graph))
{
}

LaneTimes
RingTimes::GetTimes(uint32_t rank, uint32_t index, bool outbound, const Lane& lane) const
{
    LaneTimes times = ChannelTimes::GetTimes(rank, index, outbound, lane);
    const bool inOneNode = GetShape().GetNodes() == 1;
    if (times.slots == 1 && (!HasOwnLatency() || (inOneNode && !GetSpeeds().passes.areWhole)))
    {
        times.latency /= m_graph->GetSlices(index);
    }
    const uint64_t inLoop = m_graph->GetMessagesOfLoop(index);
    if (HasOwnLatency() && inOneNode && GetProtocol() == NcclProtocol::Simple && inLoop > 0)
    {
        times.withLatency = static_cast<uint32_t>(inLoop);
    }
    if (m_graph->MergesSteps())
    {
        const bool onceAround = HasOwnLatency() && inOneNode;
        times.messageBytes = m_graph->GetSliceBytes(index, onceAround);
    }
    const double wordsGBps = GetSpeeds().channelGBps * PassesPerStep(m_graph->GetOp());
    const bool sendsWords =
        HasOwnLatency() && wordsGBps > 0 && GetProtocol() != NcclProtocol::Simple;
    if (sendsWords && outbound && Crosses(rank, lane))
    {
        WriteWholeSlots(times, wordsGBps);
    }
    else if (sendsWords)
    {
        times.rateCapBps = static_cast<uint64_t>(wordsGBps * 8e9);
        if (!outbound)
        {
            // Words of LL and LL128 are there when their flags are. Taking them is one more pass.
            times.latency = 0;
            times.takeSpeed = 1;
        }
    }
    if (m_graph->ServesNetwork(rank, index))
    {
        // The plan's speed is of steps that pass on: three accesses.
        times.psPerAccess = 1000 / (3 * GetSpeeds().blockGBps);
        times.takeAccesses = TakeAccesses(m_graph->GetOp());
    }
    return times;
}

uint32_t
RingTimes::GetSendAccesses(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const RingGraph::Position position = m_graph->Locate(outbound, message);
    const uint32_t step = position.step + position.steps / 2; // those in the middle pass on
    if (GetProtocol() == NcclProtocol::Simple)
    {
        return SendAccesses(m_graph->GetOp(), m_graph->GetRanks(), step);
    }
    // Words from the node are written as they arrive; those of the rank or of a slot, all at once.
    return step == 0 || m_graph->ReceivesAcross(rank, outbound) ? 1 : 0;
}

uint32_t
RingTimes::SendAccesses(CollectiveOp op, uint32_t ranks, uint32_t step)
{
    // A step that passes on reads a slot and writes another, and either writes the output or reads
    // the data that it adds. The first writes the output in AllGather only (out of place); the one
    // in the middle of AllReduce does all (src/device/prims_simple.h, genericOp).
    if (step == 0 && op != CollectiveOp::AllGather)
    {
        return 2;
    }
    return op == CollectiveOp::AllReduce && step + 1 == ranks ? 4 : 3;
}

} // namespace AstraSim
