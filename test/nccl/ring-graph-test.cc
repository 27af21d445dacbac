/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/graph/ring-graph.h"
#include "collectives/model/graph/ring-order.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-chooser.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "collectives/model/nccl/nccl-options.h"
#include "collectives/model/timing/ring-times.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include "ns3/collective-types.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

namespace AstraSim
{

namespace
{

/// Bytes as symbols: for each 16-byte unit of the buffer, which ranks' contributions it holds.
using Buffer = std::vector<std::multiset<uint32_t>>;

constexpr uint64_t UNIT = 16;

/// Executes a ring on symbols, sending whatever may be sent, in rank order or its reverse.
class SymbolicRing
{
  public:
    SymbolicRing(CollectiveOp op,
                 uint32_t ranks,
                 uint32_t gpus,
                 const RingLayout& layout,
                 uint64_t bytes)
        : m_op(op)
    {
        MachineModel machine;
        machine.gpusPerServer = gpus;
        const GroupShape shape(FirstRanks(ranks), machine);
        CollectiveRequest request;
        request.op = op;
        request.bytes = bytes;
        m_graph = std::make_unique<RingGraph>(request, shape, layout);
        m_buffers.assign(ranks, Buffer((bytes + UNIT - 1) / UNIT));
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint64_t unit = 0; unit < m_buffers[rank].size(); ++unit)
            {
                // AllGather: a rank has its own chunks only, which are marked on the way out.
                if (op != CollectiveOp::AllGather)
                {
                    m_buffers[rank][unit] = {rank};
                }
            }
        }
    }

    /// @return whether all messages could be sent
    bool Run()
    {
        const uint32_t ranks = m_graph->GetRanks();
        std::vector<std::vector<uint64_t>> sent(ranks);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            sent[rank].assign(m_graph->GetLaneCount(), 0);
        }
        for (bool moved = true; moved;)
        {
            moved = false;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint32_t lane = 0; lane < sent[rank].size(); ++lane)
                {
                    const Lane out = m_graph->GetOutbound(rank, lane);
                    const Lane in = m_graph->GetInbound(rank, lane);
                    const uint64_t message = sent[rank][lane];
                    if (message == out.messages ||
                        m_graph->GetNeeds(rank, lane, message, lane) > sent[in.peer][lane])
                    {
                        continue;
                    }
                    EXPECT_EQ(m_graph->GetBytes(rank, lane, message),
                              m_graph->GetInboundBytes(out.peer, lane, message));
                    Move(rank, out.peer, lane, message);
                    ++sent[rank][lane];
                    moved = true;
                }
            }
        }
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint32_t lane = 0; lane < sent[rank].size(); ++lane)
            {
                if (sent[rank][lane] != m_graph->GetOutbound(rank, lane).messages)
                {
                    return false;
                }
            }
        }
        return true;
    }

    /// @return whether a rank's unit holds every rank's contribution exactly once
    bool IsComplete(uint32_t rank, uint64_t unit) const
    {
        std::multiset<uint32_t> all;
        for (uint32_t i = 0; i < m_graph->GetRanks(); ++i)
        {
            all.insert(i);
        }
        return m_buffers[rank][unit] == all;
    }

    const Buffer& GetBuffer(uint32_t rank) const
    {
        return m_buffers[rank];
    }

  private:
    void Move(uint32_t from, uint32_t to, uint32_t channel, uint64_t message)
    {
        const auto position = m_graph->Locate(channel, message);
        const uint32_t place = m_graph->PlaceOf(from, channel);
        const uint32_t chunk = m_graph->ChunkOf(place, position.step);
        const auto [offset, bytes] = m_graph->SliceRange(channel, position, chunk);
        const uint32_t ranks = m_graph->GetRanks();
        const bool reduces = m_op == CollectiveOp::ReduceScatter ||
                             (m_op == CollectiveOp::AllReduce && position.step < ranks - 1);
        for (uint64_t byte = 0; byte < bytes; byte += UNIT)
        {
            const uint64_t unit = (m_graph->GetSplit().GetBegin(channel) + offset + byte) / UNIT;
            auto& source = m_buffers[from][unit];
            auto& target = m_buffers[to][unit];
            if (m_op == CollectiveOp::AllGather && position.step == 0)
            {
                source = {from};
            }
            if (reduces)
            {
                target.insert(source.begin(), source.end());
            }
            else
            {
                target = source;
            }
        }
    }

    CollectiveOp m_op;
    std::unique_ptr<RingGraph> m_graph;
    std::vector<Buffer> m_buffers;
};

RingLayout
MakeLayout(uint32_t channels, NcclProtocol protocol = NcclProtocol::Simple)
{
    RingLayout layout;
    layout.channels = channels;
    layout.protocol = protocol;
    return layout;
}

} // namespace

TEST(RingGraph, EveryRankEndsWithTheSumOfAllContributionsOnce)
{
    for (uint32_t ranks = 1; ranks <= 33; ++ranks)
    {
        for (const uint32_t channels : {1U, 3U})
        {
            const uint64_t bytes = 16 * (ranks * channels * 5 + 3);
            SymbolicRing ring(CollectiveOp::AllReduce, ranks, 8, MakeLayout(channels), bytes);
            ASSERT_TRUE(ring.Run()) << ranks << " ranks";
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint64_t unit = 0; unit < ring.GetBuffer(rank).size(); ++unit)
                {
                    ASSERT_TRUE(ring.IsComplete(rank, unit))
                        << ranks << " ranks, rank " << rank << ", unit " << unit;
                }
            }
        }
    }
}

TEST(RingGraph, ReduceScatterLeavesEachPartComplete)
{
    for (uint32_t ranks = 2; ranks <= 33; ++ranks)
    {
        SymbolicRing ring(CollectiveOp::ReduceScatter, ranks, 8, MakeLayout(2), 16 * ranks * 2 * 4);
        ASSERT_TRUE(ring.Run());
        for (uint64_t unit = 0; unit < ring.GetBuffer(0).size(); ++unit)
        {
            uint32_t owners = 0;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                owners += ring.IsComplete(rank, unit);
            }
            ASSERT_EQ(owners, 1U) << ranks << " ranks, unit " << unit;
        }
    }
}

TEST(RingGraph, AllGatherBringsEveryPartToEveryRankFromItsOwner)
{
    for (uint32_t ranks = 2; ranks <= 33; ++ranks)
    {
        SymbolicRing ring(CollectiveOp::AllGather, ranks, 8, MakeLayout(2), 16 * ranks * 2 * 4);
        ASSERT_TRUE(ring.Run());
        std::map<uint32_t, uint64_t> unitsOf;
        for (uint64_t unit = 0; unit < ring.GetBuffer(0).size(); ++unit)
        {
            const auto& holder = ring.GetBuffer(0)[unit];
            ASSERT_EQ(holder.size(), 1U);
            ++unitsOf[*holder.begin()];
            for (uint32_t rank = 1; rank < ranks; ++rank)
            {
                ASSERT_EQ(ring.GetBuffer(rank)[unit], holder);
            }
        }
        ASSERT_EQ(unitsOf.size(), ranks);
        for (const auto& [rank, units] : unitsOf)
        {
            EXPECT_EQ(units, 8U) << "equal parts";
        }
    }
}

TEST(RingGraph, BytesOnTheWireMatchTheClosedForm)
{
    for (const NcclProtocol protocol :
         {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
    {
        // Large enough for several loops of each protocol.
        const uint64_t bytes = 96ULL << 20;
        const MachineModel machine;
        const GroupShape shape(FirstRanks(4), machine);
        CollectiveRequest request;
        request.op = CollectiveOp::AllReduce;
        request.bytes = bytes;
        const RingGraph graph(request, shape, MakeLayout(2, protocol));
        uint64_t moved = 0;
        for (uint32_t rank = 0; rank < 4; ++rank)
        {
            for (uint32_t lane = 0; lane < 2; ++lane)
            {
                for (uint64_t m = 0; m < graph.GetOutbound(rank, lane).messages; ++m)
                {
                    moved += graph.GetBytes(rank, lane, m);
                }
            }
        }
        EXPECT_EQ(moved, 2 * 3 * bytes) << ToString(protocol); // n ranks x 2 (n-1)/n x bytes
    }
}

TEST(RingOrder, CrossingsStayOnOneRailWithAnEvenNumberOfNodes)
{
    MachineModel machine;
    machine.gpusPerServer = 8;
    const GroupShape shape(FirstRanks(32), machine);
    for (uint32_t channel = 0; channel < 8; ++channel)
    {
        const auto order = RingOrder(shape, channel, true);
        ASSERT_EQ(std::set<uint32_t>(order.begin(), order.end()).size(), 32U);
        for (std::size_t i = 0; i < order.size(); ++i)
        {
            const uint32_t from = order[i];
            const uint32_t to = order[(i + 1) % order.size()];
            if (from / 8 != to / 8)
            {
                EXPECT_EQ(from % 8, to % 8) << "channel " << channel;
            }
        }
    }
}

TEST(NcclCostModel, RingLatencyIsTheSumOfItsSteps)
{
    // 8 H100, one node, LL: 6.6 + 14 x 0.6 us, and the bandwidth of what is a tiny message.
    MachineModel machine;
    const NcclOptions options;
    const NcclCostModel model(machine, options);
    const GroupShape shape(FirstRanks(8), machine);
    const NcclPlan plan =
        model.Evaluate(NcclAlgorithm::Ring, NcclProtocol::Ll, CollectiveOp::AllReduce, shape, 8);
    // LL has 141 GB/s of bus bandwidth at most.
    const double algGBps = 141.0 * 8 / 14;
    EXPECT_NEAR(plan.predicted / 1e6, 6.6 + 14 * 0.6 + 8 / (algGBps * 1e3), 1e-3);
    EXPECT_EQ(plan.channels, 1U);
}

TEST(NcclCostModel, SmallMessagesTakeLowLatencyAndLargeOnesBandwidth)
{
    MachineModel machine;
    NcclOptions options;
    const NcclCostModel model(machine, options);
    const GroupShape shape(FirstRanks(8), machine);
    const auto choose = [&](uint64_t bytes) {
        return NcclChooser(model)
            .Choose(CollectiveOp::AllReduce, shape, GroupKind::Tp, bytes)
            ->protocol;
    };
    EXPECT_EQ(choose(1024), NcclProtocol::Ll);
    EXPECT_EQ(choose(1ULL << 30), NcclProtocol::Simple);
}

TEST(NcclCostModel, NvlsNeedsHopperOneNodeASwitchAndTheUsersConsent)
{
    MachineModel machine;
    NcclOptions options;
    const NcclCostModel model(machine, options);
    const GroupShape node(FirstRanks(8), machine);
    const GroupShape two(FirstRanks(16), machine);
    const auto possible = [&](const GroupShape& shape) {
        return model.IsPossible(NcclAlgorithm::Nvls,
                                NcclProtocol::Simple,
                                CollectiveOp::AllReduce,
                                shape);
    };
    EXPECT_TRUE(possible(node));
    EXPECT_FALSE(possible(two));
    options.nvlsEnable = false;
    EXPECT_FALSE(possible(node));
    options.nvlsEnable = true;
    machine.switchesJoinServers = false;
    EXPECT_FALSE(possible(node));
    machine.switchesJoinServers = true;
    machine.gpu = FindGpuProfile("A100");
    EXPECT_FALSE(possible(node));
}

TEST(RingGraph, ASingleByteGoesRoundAndNothingSendsNothing)
{
    const auto sent = [&](uint64_t bytes) {
        CollectiveRequest request;
        request.op = CollectiveOp::AllReduce;
        request.bytes = bytes;
        const RingGraph graph(request, GroupShape(FirstRanks(4), MachineModel{}), MakeLayout(1));
        uint64_t sum = 0;
        for (uint32_t rank = 0; rank < 4; ++rank)
        {
            for (uint64_t message = 0; message < graph.GetOutbound(rank, 0).messages; ++message)
            {
                sum += graph.GetBytes(rank, 0, message);
            }
        }
        return sum;
    };
    // Three times on its way to the sum, and three times back.
    EXPECT_EQ(sent(1), 2U * 3);
    EXPECT_EQ(sent(2), 2U * 2 * 3);
    EXPECT_EQ(sent(0), 0U);
}

// A merged lane carries the same bytes, and no message waits for one of the same number or later.
TEST(RingGraph, MessagesOfSeveralStepsCarryTheBytesOfAllOfThem)
{
    for (const auto op :
         {CollectiveOp::AllReduce, CollectiveOp::AllGather, CollectiveOp::ReduceScatter})
    {
        for (const uint32_t ranks : {2U, 3U, 16U, 129U})
        {
            for (const uint64_t bytes : {uint64_t{1} << 20, (uint64_t{5} << 30) + 48})
            {
                RingLayout layout = MakeLayout(2);
                CollectiveRequest request;
                request.op = op;
                request.bytes = bytes;
                const GroupShape shape(FirstRanks(ranks), MachineModel());
                const RingGraph each(request, shape, layout);
                layout.stepsPerMessage = 16;
                const RingGraph merged(request, shape, layout);
                const uint64_t messages = merged.GetOutbound(1, 1).messages;
                EXPECT_LE(messages, each.GetOutbound(1, 1).messages);
                EXPECT_EQ(messages, merged.GetInbound(1, 1).messages);
                uint64_t sum = 0;
                uint64_t needed = 0;
                for (uint64_t message = 0; message < messages; ++message)
                {
                    const auto position = merged.Locate(1, message);
                    EXPECT_LE(position.steps, 16U);
                    EXPECT_TRUE(position.steps == 1 || (message > 0 && message + 1 < messages));
                    sum += merged.GetBytes(1, 1, message);
                    const uint64_t needs = merged.GetNeeds(1, 1, message, 1);
                    EXPECT_LE(needed, needs) << "of the message before";
                    EXPECT_LE(needs, message) << "it has been sent before this one";
                    needed = needs;
                }
                uint64_t expected = 0;
                for (uint64_t message = 0; message < each.GetOutbound(1, 1).messages; ++message)
                {
                    expected += each.GetBytes(1, 1, message);
                }
                EXPECT_EQ(sum, expected) << ranks << " ranks, " << bytes << " bytes";
            }
        }
    }
}

TEST(RingGraph, StepsOfProtocolsWithFlagsStayMessages)
{
    RingLayout layout = MakeLayout(1, NcclProtocol::Ll128);
    layout.stepsPerMessage = 16;
    CollectiveRequest request;
    request.op = CollectiveOp::AllGather;
    request.bytes = 1 << 20;
    const RingGraph graph(request, GroupShape(FirstRanks(16), MachineModel()), layout);
    EXPECT_FALSE(graph.MergesSteps());
    EXPECT_EQ(graph.Locate(0, 7).steps, 1U);
}

namespace
{

/// Servers of two GPUs each, with one channel through all of them.
struct PairsOfGpus
{
    RingGraph Ring(const CollectiveRequest& request,
                   uint32_t ranks,
                   std::optional<TimePs> latency = {}) const
    {
        MachineModel machine;
        machine.gpusPerServer = 2;
        RingLayout own = layout;
        own.byBlocks = !latency;
        return {request, GroupShape(FirstRanks(ranks), machine), own};
    }

    RingLayout layout;
    ChannelSpeeds speeds;
};

} // namespace

TEST(RingGraph, OnlyLanesWithinANodeHaveTheRateOfAChannel)
{
    PairsOfGpus pairs;
    pairs.speeds.channelGBps = 20;
    pairs.speeds.intraLatency = 700;
    pairs.speeds.net.latency = 2600;
    pairs.speeds.net.slowStarts[1].latency = 5;
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 4096; // a slice each
    const RingGraph graph = pairs.Ring(request, 4);
    const TimedLanes lanes = TimesOf<RingTimes>(graph, pairs.speeds, std::nullopt);
    uint32_t within = 0;
    for (uint32_t rank = 0; rank < 4; ++rank)
    {
        const Lane lane = graph.GetOutbound(rank, 0);
        const bool inside = lane.peer / 2 == rank / 2;
        within += inside;
        const LaneTimes times = lanes.Out(rank, 0);
        EXPECT_EQ(times.rateCapBps, inside ? 160'000'000'000U : 0U) << rank;
        EXPECT_EQ(times.latency, inside ? 700 : 2600) << rank;
        EXPECT_EQ(times.slowStarts[1].latency, inside ? 0 : 5) << rank;
    }
    EXPECT_EQ(within, 2U);
}

// AllGather and ReduceScatter of 128 MiB to 8 GiB on 2 servers of 8 H200 or B200
// (docs/source/data/measurements): what a step takes besides copying is twice what NCCL counts for
// a message, as a chunk has two slices. In one server, it is once that.
TEST(RingGraph, EachSliceOfSimpleHasTheLatencyOfAStepBetweenServersOnly)
{
    PairsOfGpus pairs;
    pairs.speeds.intraLatency = 3400;
    pairs.speeds.net.latency = 14000;
    CollectiveRequest request;
    request.op = CollectiveOp::AllGather;
    const auto latency = [&](uint32_t ranks, uint64_t bytes, std::optional<TimePs> given = {}) {
        request.bytes = bytes;
        const RingGraph graph = pairs.Ring(request, ranks, given);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            const Lane lane = graph.GetOutbound(rank, 0);
            if (lane.peer / 2 == rank / 2)
            {
                return TimesOf<RingTimes>(graph, pairs.speeds, given).Out(rank, 0).latency;
            }
        }
        return TimePs{-1};
    };
    constexpr uint64_t WHOLE = 32768; // a chunk of this size has one slice
    EXPECT_EQ(latency(4, 4 * WHOLE), 3400);
    EXPECT_EQ(latency(4, 4 * 2 * WHOLE), 3400) << "each of two slices";
    EXPECT_EQ(latency(2, 2 * WHOLE), 3400);
    EXPECT_EQ(latency(2, 2 * 2 * WHOLE), 3400 / 2) << "two slices share it";
    EXPECT_EQ(latency(4, 4 * 2 * WHOLE, 3000), 3000 / 2) << "AS_SEND_LAT is that of a chunk";
    pairs.speeds.passes.areWhole = true;
    EXPECT_EQ(latency(2, 2 * 2 * WHOLE), 3400) << "Ampere";
}

TEST(RingGraph, TheLastStepOfANeighbourInTheNodeIsCopiedOnceAllIsSent)
{
    PairsOfGpus pairs;
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 4096; // a slice in each of six steps
    const RingGraph graph = pairs.Ring(request, 4);
    for (uint32_t rank = 0; rank < 4; ++rank)
    {
        const Lane lane = graph.GetInbound(rank, 0);
        ASSERT_EQ(lane.messages, 6U);
        const bool inside = lane.peer / 2 == rank / 2;
        for (uint64_t message = 0; message < 6; ++message)
        {
            const auto copy = graph.GetOwnCopy(rank, 0, message);
            EXPECT_EQ(copy, inside && message == 5 ? std::optional<uint64_t>(6) : std::nullopt)
                << "rank " << rank << ", message " << message;
        }
    }
}

// AllGather on 2 GPUs (AIConfigurator's tables): LL moves half of what blocks of 8 GPUs move, which
// make 8 passes in 7 steps.
TEST(RingGraph, TakingWordsWithFlagsIsOnePassMore)
{
    for (const NcclProtocol protocol :
         {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
    {
        PairsOfGpus pairs;
        pairs.layout.protocol = protocol;
        pairs.speeds.channelGBps = 7;
        pairs.speeds.intraLatency = 600;
        CollectiveRequest request;
        request.op = CollectiveOp::AllGather;
        request.bytes = 65536;
        const RingGraph graph = pairs.Ring(request, 2);
        const TimedLanes times = TimesOf<RingTimes>(graph, pairs.speeds, std::nullopt);
        const bool hasFlags = protocol != NcclProtocol::Simple;
        EXPECT_TRUE(graph.GetOwnCopy(0, 0, 0)) << "of the only step";
        EXPECT_EQ(times.Out(0, 0).rateCapBps, (hasFlags ? 8 : 7) * 8'000'000'000ULL);
        EXPECT_EQ(times.In(0, 0).rateCapBps, times.Out(0, 0).rateCapBps);
        EXPECT_EQ(times.In(0, 0).takeSpeed, hasFlags ? 1U : 2U);
        EXPECT_EQ(times.In(0, 0).latency == 0, hasFlags) << "words are there when their flags are";
        EXPECT_GT(times.Out(0, 0).latency, 0);
        const RingGraph across = pairs.Ring(request, 4);
        for (uint32_t rank = 0; rank < 4; ++rank)
        {
            const Lane in = across.GetInbound(rank, 0);
            EXPECT_EQ(across.GetOwnCopy(rank, 0, in.messages - 1).has_value(),
                      hasFlags || in.peer / 2 == rank / 2);
        }
    }
}

} // namespace AstraSim
