/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/inference/batch-scheduler.h"

#include "ns3/request-router.h"

#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace
{

/// Sequences, and a scheduler whose steps end at once.
class Scheduling
{
  public:
    explicit Scheduling(InstancePool pool, double tokenBytes = 0)
        : m_pool(std::move(pool)),
          scheduler(m_pool, tokenBytes)
    {
        m_sequences.reserve(16);
    }

    /// @param prefix and @param prefixTokens as ServingRequest has them
    Sequence& Enqueue(uint32_t prompt,
                      uint32_t output,
                      std::vector<uint64_t> prefix = {},
                      uint32_t prefixTokens = 0)
    {
        Sequence& sequence = m_sequences.emplace_back();
        m_requests.push_back({0, prompt, output, std::move(prefix), prefixTokens});
        sequence.request = &m_requests.back();
        sequence.id = static_cast<uint32_t>(m_sequences.size() - 1);
        sequence.prompt = prompt;
        sequence.output = output;
        scheduler.Enqueue(sequence);
        return sequence;
    }

    /// @return "id:tokens" of each sequence of the next step
    std::vector<std::string> Step(TimePs now = 0)
    {
        std::vector<std::string> text;
        for (const BatchItem& item : scheduler.Form(now))
        {
            text.push_back(std::to_string(item.sequence->id) + ":" + std::to_string(item.count));
            scheduler.Complete(item, now);
            if (item.sequence->generated == item.sequence->output)
            {
                scheduler.Remove(*item.sequence, now);
            }
        }
        return text;
    }

  private:
    InstancePool m_pool;
    std::vector<Sequence> m_sequences;
    std::deque<ServingRequest> m_requests;

  public:
    BatchScheduler scheduler;
};

InstancePool
Pool(uint64_t blocks, uint32_t blockTokens, uint32_t batchTokens)
{
    InstancePool pool;
    pool.blocks = blocks;
    pool.blockTokens = blockTokens;
    pool.maxBatchTokens = batchTokens;
    return pool;
}

std::unique_ptr<RequestRouter>
Router(const std::string& name)
{
    return PolicyKind<RequestRouter>::Create({name});
}

} // namespace

TEST(BatchScheduler, ChunksOfPromptsFillWhatDecodingLeaves)
{
    Scheduling run(Pool(100, 10, 8));
    run.Enqueue(3, 3);
    run.Enqueue(10, 2);
    EXPECT_THAT(run.Step(), ElementsAre("0:3", "1:5"));
    EXPECT_THAT(run.Step(), ElementsAre("0:1", "1:5"));
    EXPECT_THAT(run.Step(), ElementsAre("0:1", "1:1"));
    EXPECT_TRUE(run.Step().empty());
    EXPECT_EQ(run.scheduler.GetBlocks().GetUsed(), 0);
    EXPECT_EQ(run.scheduler.GetBlocks().GetPeak(), 3); // 1 of 5 tokens, 2 of 11
}

TEST(BatchScheduler, WithoutChunksPromptsComeBeforeDecoding)
{
    InstancePool pool = Pool(100, 10, 8);
    pool.chunkedPrefill = false;
    Scheduling run(pool);
    run.Enqueue(3, 3);
    run.Enqueue(5, 2);
    run.Enqueue(20, 1); // above the limit: a step of its own
    EXPECT_THAT(run.Step(), ElementsAre("0:3", "1:5"));
    EXPECT_THAT(run.Step(), ElementsAre("2:20"));
    EXPECT_THAT(run.Step(), ElementsAre("0:1", "1:1"));
    EXPECT_THAT(run.Step(), ElementsAre("0:1"));
}

TEST(BatchScheduler, MixedBatchesDecodeBesideWholePrompts)
{
    InstancePool pool = Pool(100, 10, 8);
    pool.chunkedPrefill = false;
    pool.mixedBatches = true;
    Scheduling run(pool);
    run.Enqueue(3, 4);
    run.Enqueue(6, 2);  // beside the first one it would be above the limit
    run.Enqueue(20, 1); // above the limit: the only prompt of a step
    EXPECT_THAT(run.Step(), ElementsAre("0:3"));
    EXPECT_THAT(run.Step(), ElementsAre("0:1", "1:6"));
    EXPECT_THAT(run.Step(), ElementsAre("0:1", "1:1", "2:20"));
    EXPECT_THAT(run.Step(), ElementsAre("0:1"));
}

TEST(BatchScheduler, DraftsNeedRoomInTheStepAndNoBlocksBeyondTheOutput)
{
    InstancePool pool = Pool(2 * 13, 1, 20);
    pool.speculation = {10, 0, 0}; // nothing is accepted
    Scheduling run(pool);
    run.Enqueue(10, 4);
    run.Enqueue(10, 4);
    EXPECT_THAT(run.Step(), ElementsAre("0:10", "1:10"));
    for (const char* first : {"0:11", "0:11", "0:11", "1:11", "1:11", "1:11"})
    {
        EXPECT_THAT(run.Step(), ElementsAre(first));
    }
    EXPECT_THAT(run.Step(), IsEmpty());
    EXPECT_EQ(run.scheduler.GetPreemptions(), 0);
}

TEST(BatchScheduler, AtMostSoManySequencesRun)
{
    InstancePool pool = Pool(100, 10, 100);
    pool.maxSequences = 2;
    Scheduling run(pool);
    run.Enqueue(3, 1);
    run.Enqueue(3, 2);
    run.Enqueue(3, 1);
    EXPECT_THAT(run.Step(), ElementsAre("0:3", "1:3"));
    EXPECT_THAT(run.Step(), ElementsAre("1:1", "2:3"));
}

TEST(BatchScheduler, TheYoungestIsPreemptedAndComputedAgain)
{
    // 4 blocks of 2 tokens. Both prompts of 4 fill them; the fifth token of the first needs one.
    Scheduling run(Pool(4, 2, 100));
    run.Enqueue(4, 3);
    Sequence& young = run.Enqueue(4, 3);
    EXPECT_THAT(run.Step(), ElementsAre("0:4", "1:4"));
    EXPECT_THAT(run.Step(), ElementsAre("0:1"));
    EXPECT_EQ(young.preemptions, 1);
    EXPECT_EQ(young.blocks, 0);
    EXPECT_THAT(run.Step(), ElementsAre("0:1")); // its sixth token fits; it ends
    // The prompt and the token that it had made: three blocks.
    EXPECT_THAT(run.Step(), ElementsAre("1:5"));
    EXPECT_EQ(young.generated, 2);
    EXPECT_THAT(run.Step(), ElementsAre("1:1"));
    EXPECT_EQ(run.scheduler.GetPreemptions(), 1);
    EXPECT_EQ(run.scheduler.GetBlocks().GetUsed(), 0);
}

TEST(BatchScheduler, NothingIsPreemptedWhereOutputsFitBeforeTheyBegin)
{
    InstancePool pool;
    pool.blockTokens = 4;
    pool.blocks = 5;
    pool.capacity = {"guaranteed_no_evict"};
    Scheduling run(pool);
    run.Enqueue(4, 9); // keeps 12 tokens, three blocks
    run.Enqueue(4, 6); // nine, three blocks: there are two
    EXPECT_THAT(run.Step(), ElementsAre("0:4"));
    for (int token = 1; token < 9; ++token)
    {
        EXPECT_THAT(run.Step(), ElementsAre("0:1"));
    }
    EXPECT_THAT(run.Step(), ElementsAre("1:4"));
    EXPECT_EQ(run.scheduler.GetPreemptions(), 0);
}

TEST(BatchScheduler, APreemptedSequenceMayBeSwappedInstead)
{
    InstancePool pool = Pool(4, 2, 100);
    pool.preemption = {"swap", {{"swap_gbps", "20"}}};
    Scheduling run(pool, 0.2); // 0.2 bytes a token at 20 GB/s: 10 ps
    run.Enqueue(4, 3);
    Sequence& young = run.Enqueue(4, 3);
    EXPECT_THAT(run.Step(0), ElementsAre("0:4", "1:4"));
    EXPECT_THAT(run.Step(100), ElementsAre("0:1"));
    EXPECT_EQ(young.readyAt, 140); // 4 tokens have left by then
    EXPECT_THAT(run.Step(120), ElementsAre("0:1"));
    EXPECT_TRUE(run.Step(130).empty());
    EXPECT_EQ(run.scheduler.GetNextWake(130), 140);
    EXPECT_TRUE(run.Step(140).empty()); // and come back
    EXPECT_EQ(run.scheduler.GetNextWake(140), 180);
    EXPECT_THAT(run.Step(180), ElementsAre("1:1"));
    EXPECT_EQ(young.generated, 2);
}

TEST(BatchScheduler, ReservedBlocksComeWithTheCache)
{
    Scheduling run(Pool(4, 2, 100));
    Sequence coming;
    coming.prompt = 5;
    coming.output = 3;
    EXPECT_TRUE(run.scheduler.Reserve(coming, 6, 0));
    EXPECT_EQ(run.scheduler.GetFreeBlocks(), 1);
    Sequence other;
    EXPECT_FALSE(run.scheduler.Reserve(other, 3, 0));
    coming.generated = 1;
    coming.computed = 5;
    run.scheduler.Admit(coming, 0);
    EXPECT_THAT(run.Step(), ElementsAre("0:1"));
    EXPECT_EQ(coming.blocks, 3);
    EXPECT_THAT(run.Step(), ElementsAre("0:1"));
    EXPECT_EQ(run.scheduler.GetBlocks().GetUsed(), 0);
}

TEST(BatchScheduler, ACacheThatWaitsToRunMakesRoomForOneThatGrows)
{
    InstancePool pool = Pool(4, 2, 100);
    pool.maxSequences = 1;
    Scheduling run(pool);
    std::vector<Sequence> coming(2);
    for (Sequence& sequence : coming)
    {
        sequence.prompt = 3;
        sequence.output = 4;
        EXPECT_TRUE(run.scheduler.Reserve(sequence, 4, 0));
        sequence.generated = 1;
        sequence.computed = 3;
        run.scheduler.Admit(sequence, 0);
    }
    run.Step();
    EXPECT_EQ(coming[1].preemptions, 0); // four tokens fit into two blocks
    run.Step();                          // the fifth takes a block of the other
    EXPECT_EQ(coming[1].preemptions, 1);
    EXPECT_EQ(coming[1].computed, 0);
    run.Step();
    EXPECT_EQ(coming[0].generated, 4);
    run.Step();
    EXPECT_EQ(coming[1].generated, 2); // its four tokens, again
}

TEST(RequestRouter, FollowsItsPolicy)
{
    Scheduling few(Pool(100, 10, 100));
    Scheduling large(Pool(1000, 10, 100));
    few.Enqueue(100, 1);
    large.Enqueue(500, 1);
    const std::vector<RequestRouter::Target> targets = {{{0, 0}, &large.scheduler, 0},
                                                        {{1, 0}, &few.scheduler, 0},
                                                        {{2, 0}, &few.scheduler, 0}};
    const auto turns = Router("round_robin");
    EXPECT_EQ(turns->Choose(targets, {}), 0);
    EXPECT_EQ(turns->Choose(targets, {}), 1);
    EXPECT_EQ(turns->Choose(targets, {}), 2);
    EXPECT_EQ(turns->Choose(targets, {}), 0);
    EXPECT_EQ(Router("least_loaded")->Choose(targets, {}), 1); // 100 tokens, not 500
    EXPECT_EQ(Router("kv_aware")->Choose(targets, {}), 0);     // 950 blocks, not 90
}

TEST(BatchScheduler, APromptBeginsAfterTheBlocksThatAreInTheCache)
{
    // Blocks of 4 tokens. The first 9 tokens are the same: two whole blocks.
    Scheduling run(Pool(100, 4, 100));
    run.Enqueue(11, 2, {7}, 9);
    Sequence& second = run.Enqueue(10, 1, {7}, 9);
    // In one step nobody has computed them yet.
    EXPECT_THAT(run.Step(), ElementsAre("0:11", "1:10"));
    EXPECT_EQ(second.cached, 0);
    // The second has ended; its first two blocks were those of the first one by then.
    EXPECT_EQ(run.scheduler.GetBlocks().GetUsed(), 3);
    Sequence& third = run.Enqueue(9, 1, {7}, 9);
    EXPECT_EQ(run.scheduler.CountCached(third), 2);
    EXPECT_THAT(run.Step(), ElementsAre("0:1", "2:1"));
    EXPECT_EQ(third.cached, 8);
    EXPECT_EQ(run.scheduler.GetBlocks().GetUsed(), 0);
    // Another content, and a prompt that is shorter than two blocks and a token.
    EXPECT_EQ(run.scheduler.CountCached(run.Enqueue(11, 1, {8}, 9)), 0);
    EXPECT_EQ(run.scheduler.CountCached(run.Enqueue(8, 1, {7}, 9)), 1);
}

TEST(BatchScheduler, PartsOfAPromptAreSharedUpToTheFirstThatDiffers)
{
    Scheduling run(Pool(100, 4, 100));
    run.Enqueue(24, 1, {1, 2, 3}, 8);
    run.Step();
    EXPECT_EQ(run.scheduler.CountCached(run.Enqueue(30, 1, {1, 2, 4}, 8)), 4);
    EXPECT_EQ(run.scheduler.CountCached(run.Enqueue(30, 1, {1, 2, 3}, 8)), 6);
    EXPECT_EQ(run.scheduler.CountCached(run.Enqueue(30, 1, {5, 2, 3}, 8)), 0);
}

TEST(BatchScheduler, WithoutPrefixCachingEveryPromptIsComputed)
{
    InstancePool pool = Pool(100, 4, 100);
    pool.prefixCaching = false;
    Scheduling run(pool);
    run.Enqueue(9, 1, {7}, 9);
    run.Step();
    run.Enqueue(9, 1, {7}, 9);
    EXPECT_THAT(run.Step(), ElementsAre("1:9"));
}

TEST(BatchScheduler, BlocksThatNobodyUsesGiveWayTheOldestAndTheEndsFirst)
{
    // 6 blocks of 4 tokens: the two prefixes of two blocks each are left, one after the other.
    Scheduling run(Pool(6, 4, 100));
    run.Enqueue(8, 1, {1}, 8);
    run.Step();
    run.Enqueue(8, 1, {2}, 8);
    run.Step();
    EXPECT_EQ(run.scheduler.GetBlocks().GetFree(), 6);
    Sequence& first = run.Enqueue(9, 1, {1}, 8);
    Sequence& second = run.Enqueue(9, 1, {2}, 8);
    EXPECT_EQ(run.scheduler.CountCached(first), 2);
    EXPECT_EQ(run.scheduler.CountCached(second), 2);
    // Three blocks, two of them shared; then both once more: everything fits.
    EXPECT_THAT(run.Step(), ElementsAre("2:1", "3:1"));
    // 12 new tokens take three blocks: the one of each pair's end goes, of the oldest pair first.
    run.Enqueue(12, 1);
    run.Step();
    EXPECT_EQ(run.scheduler.CountCached(first), 1);
    EXPECT_EQ(run.scheduler.CountCached(second), 2);
    run.Enqueue(20, 1);
    run.Step();
    EXPECT_EQ(run.scheduler.CountCached(first), 0);
    EXPECT_EQ(run.scheduler.CountCached(second), 1);
}

TEST(RequestRouter, KvAwareGoesWhereThePromptIsUnlessThatIsMuchFuller)
{
    Scheduling here(Pool(1000, 4, 10'000));
    Scheduling there(Pool(1000, 4, 10'000));
    here.Enqueue(40, 1, {7}, 40);
    here.Step();
    Sequence& request = there.Enqueue(40, 1, {7}, 40);
    there.Step();
    there.Enqueue(400, 2); // evicts nothing
    const std::vector<RequestRouter::Target> targets = {{{0, 0}, &there.scheduler},
                                                        {{1, 0}, &here.scheduler}};
    const auto router = Router("kv_aware");
    Sequence coming = request;
    coming.generated = 0;
    EXPECT_EQ(router->Choose(targets, coming), 1); // the same blocks there, and 100 wait elsewhere
    here.Enqueue(80, 2);
    here.Step(); // 20 blocks in use
    Scheduling empty(Pool(1000, 4, 10'000));
    const std::vector<RequestRouter::Target> others = {{{0, 0}, &empty.scheduler},
                                                       {{1, 0}, &here.scheduler}};
    EXPECT_EQ(router->Choose(others, coming), 0); // 10 to compute, or 1 to compute and 21 in use
}
