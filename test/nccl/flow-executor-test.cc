/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/loopback-network.h"
#include "collectives/model/collective/flow-executor.h"

#include "ns3/gpu-model.h"
#include "ns3/input-error.h"

#include <gtest/gtest.h>
#include <memory>
#include <utility>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr TimePs MICROSECOND = 1000000;
constexpr uint64_t MESSAGES = 10;
constexpr uint64_t BYTES = 1000;
constexpr uint32_t SLOTS = 2;

/// Rank 0 sends to 1, which passes on to 2, and so on; the last copies what it gets.
class Line : public FlowGraph
{
  public:
    /// @param empty how many messages without bytes come first
    /// @param copies whether the last rank copies each message out of its slot
    Line(uint32_t ranks, bool holds, bool copies, uint64_t empty, uint64_t messages = MESSAGES)
        : FlowGraph(ranks, 1, SLOTS),
          m_copies(copies),
          m_empty(empty),
          m_messages(messages)
    {
        SetHoldsSlots(holds);
    }

    uint64_t GetBytes(uint32_t, uint32_t, uint64_t message) const override
    {
        return message < m_empty ? 0 : BYTES;
    }

    LaneRange GetSources(uint32_t rank, uint32_t) const override
    {
        return Lanes(0, rank > 0 ? 1 : 0);
    }

    uint64_t GetNeeds(uint32_t, uint32_t, uint64_t message, uint32_t) const override
    {
        return message + 1;
    }

    std::optional<uint64_t> GetOwnCopy(uint32_t rank, uint32_t, uint64_t) const override
    {
        return m_copies && rank + 1 == GetRanks() ? std::optional<uint64_t>(0) : std::nullopt;
    }

  protected:
    Lane GetLane(uint32_t rank, uint32_t, bool outbound) const override
    {
        Lane lane;
        const bool isUsed = outbound ? rank + 1 < GetRanks() : rank > 0;
        lane.peer = isUsed ? (outbound ? rank + 1 : rank - 1) : 0;
        lane.messages = isUsed ? m_messages : 0;
        return lane;
    }

  private:
    bool m_copies;
    uint64_t m_empty;
    uint64_t m_messages;
};

/// A Line of three whose middle passes the first message on and copies the others.
class Tap : public Line
{
  public:
    Tap()
        : Line(3, true, false, 0)
    {
    }

    std::optional<uint64_t> GetOwnCopy(uint32_t rank, uint32_t, uint64_t message) const override
    {
        return rank == 1 && message > 0 ? std::optional<uint64_t>(0) : std::nullopt;
    }

  private:
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override
    {
        Lane lane = Line::GetLane(rank, index, outbound);
        lane.messages = rank == (outbound ? 1 : 2) ? 1 : lane.messages;
        return lane;
    }
};

/// A Line of three whose first connection is within a server and whose second is between two.
class Border : public GpuModel
{
  public:
    LaneTimes GetTimes(uint32_t rank, uint32_t, bool, const Lane& lane) const override
    {
        LaneTimes times;
        times.slots = rank + lane.peer == 1 ? 1 : 2 * SLOTS;
        return times;
    }
};

/// A GPU whose blocks write each byte once into a buffer that the NIC reads.
class Writer : public UniformGpu
{
  public:
    using UniformGpu::UniformGpu;

    uint32_t GetSendAccesses(uint32_t, uint32_t, uint64_t) const override
    {
        return 1;
    }
};

/// The ranks of a graph on a network in memory.
class Chain
{
  public:
    Chain(uint32_t ranks, bool holds, const LaneTimes& times = {}, uint64_t empty = 0)
        : Chain(std::make_shared<Line>(ranks, holds, times.rateCapBps > 0, empty),
                std::make_shared<UniformGpu>(times))
    {
    }

    explicit Chain(std::shared_ptr<const FlowGraph> graph,
                   std::shared_ptr<const GpuModel> gpu = std::make_shared<UniformGpu>())
        : network(static_cast<int>(graph->GetRanks()), MICROSECOND, 0),
          m_graph(std::move(graph)),
          m_gpu(std::move(gpu)),
          m_shared(std::make_shared<FlowRanks>(m_graph->GetRanks())),
          m_done(m_graph->GetRanks()),
          m_executors(m_graph->GetRanks())
    {
        for (uint32_t rank = 0; rank < m_graph->GetRanks(); ++rank)
        {
            m_group.ranks.push_back(static_cast<int>(rank));
        }
    }

    void Start(uint32_t rank)
    {
        m_executors[rank] =
            std::make_unique<FlowExecutor>(FlowExecution({m_graph, m_gpu}, m_group),
                                           m_shared,
                                           rank,
                                           network.At(static_cast<int>(rank)),
                                           0,
                                           MessageInfo{},
                                           [this, rank]() { m_done[rank] = network.Now(); });
        m_executors[rank]->Start();
    }

    TimePs DoneAt(uint32_t rank) const
    {
        return m_done[rank];
    }

    LoopbackNetwork network;

  private:
    CommGroup m_group;
    std::shared_ptr<const FlowGraph> m_graph;
    std::shared_ptr<const GpuModel> m_gpu;
    std::shared_ptr<FlowRanks> m_shared;
    std::vector<TimePs> m_done;
    std::vector<std::unique_ptr<FlowExecutor>> m_executors;
};

} // namespace

TEST(FlowExecutor, MessagesStayInTheirSlotsUntilTheReceiverHasPassedThemOn)
{
    Chain chain(3, true);
    chain.Start(0);
    chain.Start(1);
    chain.network.Run();
    // Rank 2 has not begun: both its slots are full, and both slots of rank 1 behind them.
    EXPECT_EQ(chain.network.Messages(), 2 * SLOTS + SLOTS);
    chain.Start(2);
    chain.network.Run();
    EXPECT_EQ(chain.network.Messages(), 2 * MESSAGES);
    EXPECT_GT(chain.DoneAt(2), 0);
}

TEST(FlowExecutor, WhatANetworkIsToCarryLeavesItsSlotForABuffer)
{
    Chain chain(std::make_shared<Line>(3, true, false, 0), std::make_shared<Border>());
    chain.Start(0);
    chain.Start(1);
    chain.network.Run();
    // Rank 2, across the network, has not begun: the buffers at both ends are full, and the slots
    // of rank 1 behind them.
    EXPECT_EQ(chain.network.Messages(), 2 * SLOTS + (2 * SLOTS + SLOTS));
    chain.Start(2);
    chain.network.Run();
    EXPECT_EQ(chain.network.Messages(), 2 * MESSAGES);
    EXPECT_GT(chain.DoneAt(2), 0);
}

TEST(FlowExecutor, ACpuThatServesANicStartsOneMessageAfterTheOther)
{
    const auto doneAt = [](bool occupies, uint64_t above, double psPerByte = 0) {
        LaneTimes lane;
        lane.slots = MESSAGES;
        lane.slowStarts[0] = {above, 3 * MICROSECOND, occupies, psPerByte};
        Chain chain(2, false, lane);
        chain.network.DelayStarts();
        chain.Start(0);
        chain.Start(1);
        chain.network.Run();
        return chain.DoneAt(1);
    };
    // The network takes 1 us. Messages of 1000 bytes are all on their way at once, unless each
    // keeps the CPU busy for 3 us.
    EXPECT_EQ(doneAt(false, BYTES), 1 * MICROSECOND);
    EXPECT_EQ(doneAt(false, BYTES - 1), (3 + 1) * MICROSECOND);
    EXPECT_EQ(doneAt(true, BYTES), 1 * MICROSECOND);
    EXPECT_EQ(doneAt(true, BYTES - 1), (3 * MESSAGES + 1) * MICROSECOND);
    // A CPU that moves the bytes itself, at 1 ns each, is busy for 1 us more; the message leaves
    // meanwhile.
    EXPECT_EQ(doneAt(true, BYTES - 1, 1000), ((3 + 1) * (MESSAGES - 1) + 3 + 1) * MICROSECOND);
    EXPECT_EQ(doneAt(true, BYTES, 1000), 1 * MICROSECOND);
    EXPECT_EQ(doneAt(false, BYTES - 1, 1000), (3 + 1) * MICROSECOND);
}

TEST(FlowExecutor, ACpuServesAMessageOnceTheBlockHasWrittenIt)
{
    const auto doneAt = [](TimePs block, TimePs cpu, uint64_t empty) {
        LaneTimes lane;
        lane.slots = MESSAGES;
        lane.psPerAccess = static_cast<double>(block) / BYTES;
        lane.slowStarts[0] = {0, cpu, true};
        Chain chain(std::make_shared<Line>(2, false, false, empty), std::make_shared<Writer>(lane));
        chain.network.DelayStarts();
        chain.Start(0);
        chain.Start(1);
        chain.network.Run();
        return chain.DoneAt(1);
    };
    constexpr TimePs NETWORK = 1 * MICROSECOND;
    constexpr auto ALL = static_cast<TimePs>(MESSAGES);
    constexpr TimePs SHORT = 2 * MICROSECOND;
    constexpr TimePs LONG = 5 * MICROSECOND;
    EXPECT_EQ(doneAt(SHORT, LONG, 0), SHORT + ALL * LONG + NETWORK) << "the CPU sets the pace";
    EXPECT_EQ(doneAt(LONG, SHORT, 0), ALL * LONG + SHORT + NETWORK) << "the block sets the pace";
    EXPECT_EQ(doneAt(LONG, SHORT, 1), (ALL - 1) * LONG + SHORT + NETWORK) << "one without bytes";
}

TEST(FlowExecutor, TheFirstMessageOfAConnectionTakesACpuLonger)
{
    LaneTimes lane;
    lane.slots = MESSAGES;
    lane.slowStarts[0] = {0, 3 * MICROSECOND, true, 0, 2 * MICROSECOND};
    Chain chain(2, false, lane);
    chain.network.DelayStarts();
    chain.Start(0);
    chain.Start(1);
    chain.network.Run();
    // The network takes 1 us; the CPU prepares one message after the other.
    EXPECT_EQ(chain.DoneAt(1), (3 + 2 * (static_cast<TimePs>(MESSAGES) - 1) + 1) * MICROSECOND);

    // Over four connections, four messages are the first of one.
    lane.connections = 4;
    Chain spread(2, false, lane);
    spread.network.DelayStarts();
    spread.Start(0);
    spread.Start(1);
    spread.network.Run();
    EXPECT_EQ(spread.DoneAt(1),
              (3 * 4 + 2 * (static_cast<TimePs>(MESSAGES) - 4) + 1) * MICROSECOND);
}

TEST(FlowExecutor, SendersThatBeginLateLearnWhichSlotsAreFree)
{
    // Ranks 1 and 2 are past the messages without bytes long before rank 0 begins.
    constexpr uint64_t EMPTY = 3 * SLOTS;
    Chain chain(3, true, {}, EMPTY);
    chain.Start(2);
    chain.Start(1);
    chain.network.Run();
    EXPECT_EQ(chain.network.Messages(), 0U);
    chain.Start(0);
    chain.network.Run();
    EXPECT_EQ(chain.network.Messages(), 2 * (MESSAGES - EMPTY));
    EXPECT_GT(chain.DoneAt(0), 0);
    EXPECT_GT(chain.DoneAt(2), 0);
}

TEST(FlowExecutor, MessagesWithoutBytesNeedNoReceiver)
{
    Chain chain(2, true, {}, MESSAGES);
    chain.Start(0);
    chain.network.Run();
    EXPECT_EQ(chain.network.Messages(), 0U);
    chain.Start(1);
    chain.network.Run();
    EXPECT_EQ(chain.network.Now(), 0);
}

TEST(FlowExecutor, ArrivalFreesASlotWhereTheGraphSaysSo)
{
    Chain chain(3, false);
    chain.Start(0);
    chain.Start(1);
    chain.network.Run();
    EXPECT_EQ(chain.network.Messages(), 2 * MESSAGES);
}

TEST(FlowExecutor, TheLastRankCopiesOneMessageAfterTheOther)
{
    // 1000 bytes at 8 Gb/s last 1 us, half of that in the own memory, and each copy waits 3 us
    // first.
    LaneTimes copying;
    copying.latency = 3 * MICROSECOND;
    copying.rateCapBps = 8000000000;
    Chain chain(2, true, copying);
    chain.Start(0);
    chain.Start(1);
    chain.network.Run();
    EXPECT_EQ(chain.DoneAt(1), MICROSECOND + static_cast<TimePs>(MESSAGES) * 7 * MICROSECOND / 2);
}

TEST(FlowExecutor, OnlyTheFirstMessagesWaitWhereLaterOnesFindTheGpuAtWork)
{
    constexpr TimePs WITH_LATENCY = 4;
    LaneTimes lane;
    lane.latency = 3 * MICROSECOND;
    lane.withLatency = WITH_LATENCY;
    lane.slots = 1; // one message after the other, each of which the network carries in 1 us
    Chain sending(2, false, lane);
    sending.network.DelayStarts();
    sending.Start(0);
    sending.Start(1);
    sending.network.Run();
    EXPECT_EQ(sending.DoneAt(1), (3 * WITH_LATENCY + static_cast<TimePs>(MESSAGES)) * MICROSECOND);

    // So do the last rank's copies, of 2 us each.
    lane.slots = 0;
    lane.rateCapBps = 2000000000;
    Chain copying(2, true, lane);
    copying.Start(0);
    copying.Start(1);
    copying.network.Run();
    EXPECT_EQ(copying.DoneAt(1),
              (1 + 3 * WITH_LATENCY + 2 * static_cast<TimePs>(MESSAGES)) * MICROSECOND);
}

TEST(FlowExecutor, ACopiedMessageIsOutOfItsSlotThoughOthersArePassedOn)
{
    Chain chain(std::make_shared<Tap>());
    for (uint32_t rank = 0; rank < 3; ++rank)
    {
        chain.Start(rank);
    }
    chain.network.Run();
    EXPECT_EQ(chain.network.Messages(), MESSAGES + 1);
    EXPECT_GT(chain.DoneAt(0), 0);
    EXPECT_GT(chain.DoneAt(1), 0);
}

TEST(FlowExecutor, RefusesMoreMessagesThanItCanCount)
{
    const auto start = [](uint64_t messages) {
        Chain(std::make_shared<Line>(2, true, false, 0, messages)).Start(0);
    };
    EXPECT_THROW(start(uint64_t{1} << 31), ns3::InputError);
    EXPECT_NO_THROW(start((uint64_t{1} << 31) - 1));
}

TEST(CopyTime, PassesThatAreCutShortLastAsLongAsWholeOnes)
{
    LaneTimes lane;
    lane.latency = 2 * MICROSECOND;
    lane.rateCapBps = 8000000000; // 1000 bytes per us
    lane.passBytes = 1000;
    EXPECT_EQ(CopyTimeOf(lane, 1500, 1).latency, 2 * MICROSECOND) << "passes of any length";
    lane.wholePasses = true;
    const CopyTime two = CopyTimeOf(lane, 1500, 1);
    EXPECT_EQ(two.latency, 2 * MICROSECOND + MICROSECOND / 2); // 1500 bytes take two passes of 1 us
    EXPECT_EQ(two.duration, MICROSECOND + MICROSECOND / 2);
    // Less than a pass: its waiting is the latency.
    EXPECT_EQ(CopyTimeOf(lane, 500, 1).latency, 2 * MICROSECOND);
    EXPECT_EQ(CopyTimeOf(lane, 500, 1).duration, MICROSECOND / 2);
    // Each byte of data is two on the wire.
    EXPECT_EQ(CopyTimeOf(lane, 2000, 2).latency, 2 * MICROSECOND);
    EXPECT_EQ(CopyTimeOf(lane, 2000, 2).duration, 4 * MICROSECOND);
}

TEST(CopyTime, FlagsInTheDataAreWaitedForInEachPass)
{
    LaneTimes lane;
    lane.latency = 2 * MICROSECOND;
    lane.rateCapBps = 8000000000;
    lane.passBytes = 1000;
    lane.waitsEachPass = true;
    EXPECT_EQ(CopyTimeOf(lane, 3000, 1).latency, 6 * MICROSECOND);
    EXPECT_EQ(CopyTimeOf(lane, 10, 1).latency, 2 * MICROSECOND);
}

TEST(CopyTime, WithoutARateTheNetworkAloneSetsThePace)
{
    LaneTimes lane;
    lane.latency = MICROSECOND;
    lane.passBytes = 1000;
    const CopyTime copy = CopyTimeOf(lane, 1500, 1);
    EXPECT_EQ(copy.latency, MICROSECOND);
    EXPECT_EQ(copy.duration, 0);
}

} // namespace AstraSim
