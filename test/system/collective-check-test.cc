/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/collective/collective-books.h"
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/graph/ring-graph.h"

#include <gmock/gmock.h>
#include <numeric>

using namespace AstraSim;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

namespace
{

CommGroup
MakeGroup(uint32_t ranks)
{
    CommGroup group;
    group.name = "TP";
    group.ranks.resize(ranks);
    std::iota(group.ranks.begin(), group.ranks.end(), 10); // the network's numbers are others
    return group;
}

/// Books of a ring AllReduce of 4 ranks in one channel, to be kept by hand.
class RingBooks : public testing::Test
{
  protected:
    RingBooks()
        : group(MakeGroup(4))
    {
        request.op = CollectiveOp::AllReduce;
        request.bytes = 4 * 1024;
        MachineModel machine;
        machine.gpusPerServer = 4;
        graph = std::make_unique<RingGraph>(request, GroupShape(group, machine), RingLayout());
        books = std::make_unique<CollectiveBooks>(
            group,
            request,
            graph.get(),
            "Ring",
            [this](const std::string& what) { failures.push_back(what); });
    }

    /// The next message of a rank leaves, and arrives at its peer.
    void Move(uint32_t rank, uint64_t message)
    {
        const Lane out = graph->GetOutbound(rank, 0);
        const uint64_t bytes = graph->GetBytes(rank, 0, message);
        books->Sent(rank, group.ranks[out.peer], out.tag, bytes);
        books->Received(out.peer, group.ranks[rank], out.tag, bytes);
    }

    CommGroup group;
    CollectiveRequest request;
    std::unique_ptr<FlowGraph> graph;
    std::unique_ptr<CollectiveBooks> books;
    std::vector<std::string> failures;
};

} // namespace

TEST_F(RingBooks, ARingInItsOrderHolds)
{
    const uint64_t messages = graph->GetOutbound(0, 0).messages;
    ASSERT_EQ(messages, 6U) << "2 (n - 1)";
    for (uint64_t message = 0; message < messages; ++message)
    {
        for (uint32_t rank = 0; rank < 4; ++rank)
        {
            Move(rank, message);
        }
    }
    for (uint32_t rank = 0; rank < 4; ++rank)
    {
        EXPECT_EQ(books->Done(rank), rank == 3);
    }
    EXPECT_THAT(failures, IsEmpty());
}

TEST_F(RingBooks, AMessageThatLeavesBeforeItsParentIsNamed)
{
    Move(0, 0);
    Move(0, 1); // needs the first message of rank 3
    EXPECT_THAT(
        failures,
        Contains(HasSubstr("rank 0 sends message 1 of lane 0 after 0 messages of lane 0; it "
                           "depends on 1")));
}

TEST_F(RingBooks, ARankThatIsDoneTooEarlyLacksMessagesAndData)
{
    for (uint32_t rank = 0; rank < 4; ++rank)
    {
        Move(rank, 0);
    }
    books->Done(1);
    EXPECT_THAT(failures, Contains(HasSubstr("rank 1 is done and has sent 1 of 6 messages")));
    EXPECT_THAT(failures, Contains(HasSubstr("rank 1 is done and has received 1 of 6 messages")));
    EXPECT_THAT(failures, Contains(HasSubstr("rank 1 is done without data of rank 2")));
    EXPECT_THAT(failures, Contains(HasSubstr("rank 1 is done with 1024 bytes; it needs 3024")));
}

TEST_F(RingBooks, WhatWasNotSentCannotArrive)
{
    const Lane out = graph->GetOutbound(0, 0);
    books->Received(out.peer, group.ranks[0], out.tag, 1024);
    EXPECT_THAT(failures, Contains(HasSubstr("receives 1024 bytes of rank 0 that were not sent")));
}

TEST_F(RingBooks, AMessageOfAnotherSizeIsNamed)
{
    const Lane out = graph->GetOutbound(0, 0);
    books->Sent(0, group.ranks[out.peer], out.tag, 1000);
    EXPECT_THAT(failures, Contains(HasSubstr("rank 0 sends 1000 bytes as message 0 of lane 0")));
}

TEST_F(RingBooks, WhatNobodyReceivesIsNamedInTheEnd)
{
    const uint64_t messages = graph->GetOutbound(0, 0).messages;
    for (uint64_t message = 0; message < messages; ++message)
    {
        for (uint32_t rank = 0; rank < 4; ++rank)
        {
            Move(rank, message);
        }
    }
    const Lane out = graph->GetOutbound(0, 0);
    books->Sent(0, group.ranks[out.peer], out.tag, 1024);
    for (uint32_t rank = 0; rank < 4; ++rank)
    {
        books->Done(rank);
    }
    EXPECT_THAT(failures, Contains(HasSubstr("sends more messages than it has")));
    EXPECT_THAT(failures, Contains(HasSubstr("has sent rank")));
}

TEST(CollectiveBooks, WhoDemandsWhatFollowsFromTheOperation)
{
    const CommGroup group = MakeGroup(3);
    std::vector<std::string> failures;
    const auto check = [&](CollectiveOp op, uint32_t rank) {
        CollectiveRequest request;
        request.op = op;
        request.bytes = 300;
        request.root = 1;
        if (op == CollectiveOp::AllToAllV)
        {
            request.bytesPerPair = {0, 5, 0, 0, 0, 7, 0, 0, 0}; // 0 to 1 and 1 to 2
        }
        failures.clear();
        CollectiveBooks books(group, request, nullptr, "Direct", [&](const std::string& what) {
            failures.push_back(what.substr(what.find(": ") + 2));
        });
        books.Done(rank);
        return failures;
    };
    using testing::ElementsAre;
    EXPECT_THAT(check(CollectiveOp::Broadcast, 1), IsEmpty());
    EXPECT_THAT(check(CollectiveOp::Broadcast, 0),
                ElementsAre("rank 0 is done without data of rank 1",
                            "rank 0 is done with 0 bytes; it needs 300"));
    EXPECT_THAT(check(CollectiveOp::Reduce, 0), IsEmpty());
    EXPECT_THAT(check(CollectiveOp::Gather, 1),
                ElementsAre("rank 1 is done without data of rank 0",
                            "rank 1 is done without data of rank 2",
                            "rank 1 is done with 0 bytes; it needs 168"));
    EXPECT_THAT(check(CollectiveOp::Scatter, 2),
                ElementsAre("rank 2 is done without data of rank 1",
                            "rank 2 is done with 0 bytes; it needs 84"));
    EXPECT_THAT(check(CollectiveOp::AllToAllV, 0), IsEmpty());
    EXPECT_THAT(check(CollectiveOp::AllToAllV, 2),
                ElementsAre("rank 2 is done without data of rank 1",
                            "rank 2 is done with 0 bytes; it needs 7"));
    EXPECT_EQ(check(CollectiveOp::AllGather, 0).size(), 3U);
}

TEST(CollectiveBooks, ABufferTooShortForAllHasNoShareForSome)
{
    const CommGroup group = MakeGroup(12);
    for (const auto& [bytes, isDemanded] : {std::pair{10U, false},
                                            {209U, false}, // twelve times 32 bytes are 384
                                            {360U, true},
                                            {384U, true}})
    {
        CollectiveRequest request;
        request.op = CollectiveOp::AllGather;
        request.bytes = bytes;
        std::vector<std::string> failures;
        CollectiveBooks books(group, request, nullptr, "Ring", [&](const std::string& what) {
            failures.push_back(what);
        });
        books.Done(0);
        EXPECT_EQ(!failures.empty(), isDemanded) << bytes;
    }
}
