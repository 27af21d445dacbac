/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../nccl/symbolic-graph.h"
#include "collectives/model/graph/all-pairs-graph.h"
#include "collectives/model/graph/chain-graph.h"
#include "collectives/model/graph/direct-graph.h"
#include "collectives/model/graph/pat-graph.h"
#include "collectives/model/graph/ring-graph.h"
#include "collectives/model/graph/tree-graph.h"
#include "simulator/physical/reduced-collectives.h"

#include "ns3/input-error.h"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

namespace
{

/// Two channels of Simple, without what GPUs do besides.
template <typename Layout>
Layout
TwoChannels()
{
    Layout layout;
    layout.channels = 2;
    layout.byBlocks = false;
    return layout;
}

std::unique_ptr<FlowGraph>
MakeGraph(const std::string& algorithm, const CollectiveRequest& request, uint32_t ranks)
{
    const GroupShape shape = MakeShape(ranks, algorithm == "PAT" ? 1 : 4);
    if (algorithm == "Ring")
    {
        return std::make_unique<RingGraph>(request, shape, TwoChannels<RingLayout>());
    }
    if (algorithm == "Tree")
    {
        return std::make_unique<TreeGraph>(request, shape, TwoChannels<TreeLayout>());
    }
    if (algorithm == "PAT")
    {
        return std::make_unique<PatGraph>(request, shape, TwoChannels<ChannelLayout>());
    }
    if (algorithm == "AllPairs")
    {
        return std::make_unique<AllPairsGraph>(request.bytes, ranks);
    }
    if (algorithm == "Chain")
    {
        return std::make_unique<ChainGraph>(request, shape, TwoChannels<ChainLayout>());
    }
    return std::make_unique<DirectGraph>(request, shape, PairLayout{.byBlocks = false});
}

/// Moves the data of all ranks as the graph allows.
class Machine
{
  public:
    Machine(const FlowGraph& graph, const CollectiveRequest& request)
        : m_graph(graph),
          m_received(graph.GetRanks(), std::vector<uint64_t>(graph.GetLaneCount()))
    {
        for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
        {
            m_ranks.push_back(std::make_unique<RankBuffers>(graph, request, rank, 3));
        }
    }

    /// @param lost message that changes on its way; by number in the order of sending
    void Run(uint64_t lost = UINT64_MAX)
    {
        std::vector<std::vector<uint64_t>> sent = m_received;
        uint64_t number = 0;
        for (bool moved = true; moved;)
        {
            moved = false;
            for (uint32_t rank = 0; rank < m_graph.GetRanks(); ++rank)
            {
                for (uint32_t lane = 0; lane < m_graph.GetLaneCount(); ++lane)
                {
                    const Lane out = m_graph.GetOutbound(rank, lane);
                    if (sent[rank][lane] < out.messages && IsReady(rank, lane, sent[rank][lane]))
                    {
                        Deliver(rank, lane, out, sent[rank][lane]++, number++ == lost);
                        moved = true;
                    }
                }
            }
        }
    }

    /// @return ranks whose result is wrong
    uint32_t CountMistakes() const
    {
        uint32_t count = 0;
        for (const auto& rank : m_ranks)
        {
            count += rank->FindMistake().has_value();
        }
        return count;
    }

  private:
    bool IsReady(uint32_t rank, uint32_t lane, uint64_t message) const
    {
        for (const uint32_t source : m_graph.GetSources(rank, lane))
        {
            if (m_received[rank][source] < m_graph.GetNeeds(rank, lane, message, source))
            {
                return false;
            }
        }
        return true;
    }

    uint32_t InboundOf(uint32_t from, uint32_t lane, const Lane& out) const
    {
        for (uint32_t inbound = 0; inbound < m_graph.GetLaneCount(); ++inbound)
        {
            const Lane in = m_graph.GetInbound(out.peer, inbound);
            if (in.messages && in.peer == from && m_graph.GetPeerLane(out.peer, inbound) == lane)
            {
                return inbound;
            }
        }
        ADD_FAILURE() << "nobody receives";
        return 0;
    }

    void Deliver(uint32_t rank, uint32_t lane, const Lane& out, uint64_t message, bool isLost)
    {
        const uint32_t inbound = InboundOf(rank, lane, out);
        const uint64_t bytes = m_graph.GetBytes(rank, lane, message);
        if (bytes > 0)
        {
            void* to = m_ranks[out.peer]->GetIncoming(inbound, message);
            std::memcpy(to, m_ranks[rank]->GetOutgoing(lane, message), bytes);
            if (isLost)
            {
                std::memset(to, 0, bytes);
            }
            m_ranks[out.peer]->Arrived(inbound, message);
        }
        ++m_received[out.peer][inbound];
    }

    const FlowGraph& m_graph;
    std::vector<std::unique_ptr<RankBuffers>> m_ranks;
    std::vector<std::vector<uint64_t>> m_received;
};

struct Case
{
    const char* algorithm;
    CollectiveOp op;
};

class ReducedData : public testing::TestWithParam<Case>
{
  protected:
    CollectiveRequest RequestFor(uint32_t ranks, uint64_t bytes) const
    {
        CollectiveRequest request = Request(GetParam().op, bytes);
        request.root =
            GetParam().op == CollectiveOp::Broadcast || GetParam().op == CollectiveOp::Reduce
                ? static_cast<int>(ranks - 1)
                : 0;
        if (GetParam().op == CollectiveOp::AllToAllV)
        {
            for (uint32_t pair = 0; pair < ranks * ranks; ++pair)
            {
                request.bytesPerPair.push_back(pair % 5 == 0 ? 0 : 1000 * pair + 3);
            }
        }
        return request;
    }

    static uint32_t MaxRanks()
    {
        return GetParam().op == CollectiveOp::SendRecv ? 2 : 9;
    }
};

} // namespace

TEST_P(ReducedData, EveryRankEndsWithWhatTheOperationMeans)
{
    for (uint32_t ranks = 2; ranks <= MaxRanks(); ++ranks)
    {
        for (const uint64_t bytes :
             {uint64_t{ranks} * 4, uint64_t{ranks} * 300000, uint64_t{1001} * ranks})
        {
            const CollectiveRequest request = RequestFor(ranks, bytes);
            const auto graph = MakeGraph(GetParam().algorithm, request, ranks);
            Machine machine(*graph, request);
            machine.Run();
            EXPECT_EQ(machine.CountMistakes(), 0U) << ranks << " ranks, " << bytes << " bytes";
        }
    }
}

TEST_P(ReducedData, AMessageThatChangesOnItsWayIsFound)
{
    const uint32_t ranks = MaxRanks() == 2 ? 2 : 5;
    const CollectiveRequest request = RequestFor(ranks, uint64_t{ranks} * 4000);
    const auto graph = MakeGraph(GetParam().algorithm, request, ranks);
    for (uint64_t lost = 0; lost < ranks - 1; ++lost)
    {
        Machine machine(*graph, request);
        machine.Run(lost);
        EXPECT_GT(machine.CountMistakes(), 0U) << "message " << lost;
    }
}

TEST_P(ReducedData, AMessageCarriesAsManyBytesOfTheDataAsItHas)
{
    const uint32_t ranks = MaxRanks() == 2 ? 2 : 7;
    const auto graph =
        MakeGraph(GetParam().algorithm, RequestFor(ranks, uint64_t{ranks} * 70000), ranks);
    uint64_t messages = 0;
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        for (uint32_t lane = 0; lane < graph->GetLaneCount(); ++lane)
        {
            for (uint64_t m = 0; m < graph->GetOutbound(rank, lane).messages; ++m, ++messages)
            {
                const auto payload = graph->GetPayload(rank, lane, m);
                ASSERT_TRUE(payload);
                EXPECT_EQ(payload->bytes, graph->GetBytes(rank, lane, m));
            }
        }
    }
    EXPECT_GT(messages, 0U);
}

TEST(ReducedCollectives, AGraphThatDoesNotTellItsPayloadIsRefused)
{
    const CollectiveRequest request = Request(CollectiveOp::AllReduce, 4096);
    const AllPairsGraph graph(request.bytes, 4, 1);
    EXPECT_THROW(RankBuffers(graph, request, 0, 0), ns3::InputError);
}

INSTANTIATE_TEST_SUITE_P(Algorithms,
                         ReducedData,
                         testing::Values(Case{"Ring", CollectiveOp::AllReduce},
                                         Case{"Ring", CollectiveOp::AllGather},
                                         Case{"Ring", CollectiveOp::ReduceScatter},
                                         Case{"Tree", CollectiveOp::AllReduce},
                                         Case{"AllPairs", CollectiveOp::AllReduce},
                                         Case{"PAT", CollectiveOp::AllGather},
                                         Case{"PAT", CollectiveOp::ReduceScatter},
                                         Case{"Chain", CollectiveOp::Broadcast},
                                         Case{"Chain", CollectiveOp::Reduce},
                                         Case{"Direct", CollectiveOp::AllToAll},
                                         Case{"Direct", CollectiveOp::AllToAllV},
                                         Case{"Direct", CollectiveOp::Gather},
                                         Case{"Direct", CollectiveOp::Scatter},
                                         Case{"Direct", CollectiveOp::SendRecv}),
                         [](const auto& info) {
                             return std::string(info.param.algorithm) + ToString(info.param.op);
                         });

} // namespace AstraSim
