/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A StoredSimulation before one whose outcomes can be told from the question.
 */
#include "../support/scratch-directory.h"
#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"
#include "astra-frontend/model/fastforward/patterns/stored-simulation.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

using AstraSim::CollectiveOp;
using AstraSim::DiskStore;
using AstraSim::GroupKind;
using AstraSim::PartOperation;
using AstraSim::PartOutcome;
using AstraSim::PartPattern;
using AstraSim::PatternSimulation;
using AstraSim::Sha256;
using AstraSim::StoredSimulation;
using AstraSim::TimedOperation;
using AstraSim::TimePs;

namespace
{

constexpr uint64_t LIMIT = 64 << 20;
const Sha256::Value FABRIC{1};

/// A pattern takes as long as its first operation has bytes.
class Arithmetic : public PatternSimulation
{
  public:
    /// @param error of all ends
    explicit Arithmetic(TimePs error = 0)
        : m_error(error)
    {
    }

    PartOutcome Simulate(const PartPattern& pattern) override
    {
        ++asked;
        const TimedOperation& timed = pattern.front();
        PartOutcome outcome;
        for (const TimePs start : timed.starts)
        {
            outcome.ends.push_back(
                {start + static_cast<TimePs>(timed.operation->request.bytes) + m_error});
        }
        outcome.traffic.packetHops = timed.operation->request.bytes;
        outcome.isInterrupted = isInterrupted;
        return outcome;
    }

    PartOutcome SimulateLonger(const PartPattern& pattern, uint64_t work) override
    {
        known = work;
        return Simulate(pattern);
    }

    uint64_t asked{0};
    uint64_t known{0}; ///< of the last part, before something began in it
    bool isInterrupted{false};

  private:
    TimePs m_error;
};

PartOperation
AllReduceOf(uint64_t bytes)
{
    PartOperation operation;
    operation.group.ranks = {4, 5};
    operation.request.op = CollectiveOp::AllReduce;
    operation.request.bytes = bytes;
    return operation;
}

class StoredSimulationTest : public testing::Test
{
  protected:
    /// @return the outcome of a pattern of one operation, and whether it had to be simulated
    std::pair<PartOutcome, bool> Ask(const PartOperation& operation,
                                     const std::vector<TimePs>& starts = {0, 7},
                                     const Sha256::Value& configuration = FABRIC)
    {
        Arithmetic inner;
        DiskStore store(m_file, LIMIT);
        StoredSimulation stored(inner, store, configuration, false);
        PartOutcome outcome = stored.Simulate({{&operation, starts}});
        EXPECT_EQ(outcome.ends.front().front(),
                  starts[0] + static_cast<TimePs>(operation.request.bytes));
        EXPECT_EQ(outcome.ends.size(), starts.size());
        EXPECT_EQ(outcome.traffic.packetHops, operation.request.bytes);
        EXPECT_EQ(stored.GetReport().patterns + inner.asked, 1U);
        return {outcome, inner.asked > 0};
    }

    bool WasSimulated(const PartOperation& operation,
                      const std::vector<TimePs>& starts = {0, 7},
                      const Sha256::Value& configuration = FABRIC)
    {
        return Ask(operation, starts, configuration).second;
    }

    ns3::ScratchDirectory m_scratch;
    const std::string m_file{m_scratch / "store"};
};

} // namespace

TEST_F(StoredSimulationTest, AStoredPatternIsNotSimulated)
{
    const auto [first, isNew] = Ask(AllReduceOf(1000));
    EXPECT_TRUE(isNew);
    const auto [second, isNewAgain] = Ask(AllReduceOf(1000));
    EXPECT_FALSE(isNewAgain);
    EXPECT_EQ(first.ends, second.ends);
}

TEST_F(StoredSimulationTest, NothingIsReusedUnderAnotherConfiguration)
{
    Ask(AllReduceOf(1000));
    Sha256::Value other = FABRIC;
    other.back() ^= 1;
    EXPECT_TRUE(WasSimulated(AllReduceOf(1000), {0, 7}, other));
    EXPECT_FALSE(WasSimulated(AllReduceOf(1000), {0, 7}, other));
    EXPECT_FALSE(WasSimulated(AllReduceOf(1000)));
}

TEST_F(StoredSimulationTest, ADifferenceThatMattersMakesAnotherPattern)
{
    using Change = std::function<void(PartOperation&)>;
    const std::vector<Change> changes = {
        [](PartOperation& each) { each.isMessage = true; },
        [](PartOperation& each) {
            each.group.ranks = {5, 4};
        },
        [](PartOperation& each) { each.group.kind = GroupKind::Tp; },
        [](PartOperation& each) { each.request.op = CollectiveOp::AllGather; },
        [](PartOperation& each) { each.request.bytes = 1001; },
        [](PartOperation& each) { each.request.root = 1; },
        [](PartOperation& each) { each.request.bytesPerPair = {0}; },
        [](PartOperation& each) { each.info.collective = 1; },
        [](PartOperation& each) { each.info.channel = 1; },
        [](PartOperation& each) { each.info.plane = 1; },
        [](PartOperation& each) { each.info.isCredit = true; },
        [](PartOperation& each) { each.info.sendLatency = 1; },
        [](PartOperation& each) { each.info.wireInflation = 2; },
        [](PartOperation& each) { each.info.rateCapBps = 1; },
    };
    Ask(AllReduceOf(1000));
    for (std::size_t i = 0; i < changes.size(); ++i)
    {
        PartOperation changed = AllReduceOf(1000);
        changes[i](changed);
        EXPECT_TRUE(WasSimulated(changed)) << "change " << i;
        EXPECT_FALSE(WasSimulated(changed)) << "change " << i;
    }
    EXPECT_TRUE(WasSimulated(AllReduceOf(1000), {0, 8})) << "a picosecond later";
    EXPECT_FALSE(WasSimulated(AllReduceOf(1000)));
}

TEST_F(StoredSimulationTest, NumbersForRecordsMakeNoOtherPattern)
{
    PartOperation operation = AllReduceOf(1000);
    operation.info.collective = 1;
    Ask(operation);
    operation.info.collective = 17;
    operation.info.collectiveKey = 99;
    operation.info.purpose = 3;
    operation.group.id = 12;
    operation.group.name = "DP";
    EXPECT_FALSE(WasSimulated(operation));
}

TEST_F(StoredSimulationTest, VerifyingReplacesAWrongOutcome)
{
    const PartOperation operation = AllReduceOf(1000);
    const PartPattern pattern = {{&operation, {0, 7}}};
    {
        Arithmetic inner{3};
        DiskStore store(m_file, LIMIT);
        StoredSimulation stored(inner, store, FABRIC, false);
        EXPECT_EQ(stored.Simulate(pattern).ends.front().front(), 1003);
    }
    for (const uint64_t wrong : {1U, 0U})
    {
        Arithmetic inner;
        DiskStore store(m_file, LIMIT);
        StoredSimulation stored(inner, store, FABRIC, true);
        EXPECT_EQ(stored.Simulate(pattern).ends.front().front(), 1000);
        EXPECT_EQ(stored.GetReport().verifiedPatterns, 1U);
        EXPECT_EQ(stored.GetReport().wrongPatterns, wrong);
    }
}

TEST_F(StoredSimulationTest, AVerifiedPatternIsSimulated)
{
    const PartOperation operation = AllReduceOf(1000);
    Arithmetic inner;
    DiskStore store(m_file, LIMIT);
    StoredSimulation stored(inner, store, FABRIC, false);
    stored.Simulate({{&operation, {0, 7}}});
    stored.SimulateAgain({{&operation, {0, 7}}});
    EXPECT_EQ(inner.asked, 2U);
}

TEST_F(StoredSimulationTest, TheInnerSimulationLearnsWhatIsKnownOfAPart)
{
    const PartOperation operation = AllReduceOf(1000);
    Arithmetic inner;
    DiskStore store(m_file, LIMIT);
    StoredSimulation stored(inner, store, FABRIC, false);
    stored.SimulateLonger({{&operation, {0, 7}}}, 5);
    EXPECT_EQ(inner.known, 5U);
}

TEST_F(StoredSimulationTest, AnInterruptedPatternIsNeitherStoredNorWrong)
{
    const PartOperation operation = AllReduceOf(1000);
    for (const bool verifies : {false, true})
    {
        Arithmetic inner(verifies ? 1 : 0);
        inner.isInterrupted = true;
        DiskStore store(m_file, LIMIT);
        StoredSimulation stored(inner, store, FABRIC, verifies);
        EXPECT_TRUE(stored.Simulate({{&operation, {0, 7}}}).isInterrupted);
        EXPECT_EQ(stored.GetReport().wrongPatterns, 0U);
        EXPECT_EQ(WasSimulated(operation), !verifies) << "the first time alone";
    }
}
