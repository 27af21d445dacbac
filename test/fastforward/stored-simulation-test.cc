/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A StoredSimulation before one whose outcomes can be told from the question.
 */
#include "../support/scratch-directory.h"
#include "astra-frontend/model/fastforward/patterns/pattern-bytes.h"
#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"
#include "astra-frontend/model/fastforward/patterns/stored-simulation.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

using AstraSim::CollectiveOp;
using AstraSim::DiskStore;
using AstraSim::GroupKind;
using AstraSim::PartOperation;
using AstraSim::PartOutcome;
using AstraSim::PartPattern;
using AstraSim::PartRound;
using AstraSim::RepeatingSimulation;
using AstraSim::Sha256;
using AstraSim::StoredSimulation;
using AstraSim::TimedOperation;
using AstraSim::TimePs;

namespace fs = std::filesystem;

namespace
{

constexpr uint64_t LIMIT = 64 << 20;
const Sha256::Value FABRIC{1};

/// What comes of a pattern takes as long as it has bytes; repeated, that and the number of the
/// time.
class Arithmetic : public RepeatingSimulation
{
  public:
    PartOutcome Simulate(const PartPattern& pattern) override
    {
        ++asked;
        m_repeats = false;
        return OutcomeOf(pattern.front(), 0);
    }

    PartRound Repeat(const TimedOperation& first, const std::vector<TimePs>&) override
    {
        ++asked;
        m_repeats = true;
        ++m_repetitions;
        m_round = 0;
        m_first = *first.operation;
        m_starts = first.starts;
        return {m_starts, OutcomeOf({&m_first, m_starts}, 0)};
    }

    uint64_t GetRepetition() const override
    {
        return m_repeats ? m_repetitions : 0;
    }

    PartRound GoOn() override
    {
        ++asked;
        ++m_round;
        return {m_starts, OutcomeOf({&m_first, m_starts}, m_round)};
    }

    uint64_t asked{0};

  private:
    static PartOutcome OutcomeOf(const TimedOperation& timed, TimePs round)
    {
        PartOutcome outcome;
        for (const TimePs start : timed.starts)
        {
            outcome.ends.push_back(
                {start + static_cast<TimePs>(timed.operation->request.bytes) + round});
        }
        outcome.traffic.packetHops = timed.operation->request.bytes;
        return outcome;
    }

    bool m_repeats{false};
    uint64_t m_repetitions{0};
    TimePs m_round{0};
    PartOperation m_first;
    std::vector<TimePs> m_starts;
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
    /// @return what comes of a pattern of one operation, and whether it had to be simulated
    std::pair<PartOutcome, bool> Ask(const PartOperation& operation,
                                     const std::vector<TimePs>& starts = {0, 7},
                                     const Sha256::Value& configuration = FABRIC)
    {
        Arithmetic inner;
        DiskStore store(m_directory, LIMIT);
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
    const std::string m_directory{m_scratch.Path()};
};

} // namespace

TEST_F(StoredSimulationTest, WhatCameBeforeIsNotSimulated)
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

TEST_F(StoredSimulationTest, WhateverMattersInAPatternMakesAnotherOne)
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
        [](PartOperation& each) { each.info.nic = 1; },
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

TEST_F(StoredSimulationTest, NumbersThatOnlyRecordsTellMakeNoOther)
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

TEST_F(StoredSimulationTest, ASeriesGoesOnFromWhatIsStored)
{
    const PartOperation operation = AllReduceOf(1000);
    const std::vector<TimePs> gaps = {5, 6};
    for (const auto& [rounds, simulated] : {std::pair{3U, 3U}, {3U, 0U}, {5U, 5U}, {5U, 0U}})
    {
        Arithmetic inner;
        DiskStore store(m_directory, LIMIT);
        StoredSimulation stored(inner, store, FABRIC, false);
        for (uint32_t round = 0; round < rounds; ++round)
        {
            const PartRound found =
                round == 0 ? stored.Repeat({&operation, {0, 7}}, gaps) : stored.GoOn();
            EXPECT_EQ(found.starts, (std::vector<TimePs>{0, 7}));
            EXPECT_EQ(found.outcome.ends.front().front(), 1000 + TimePs{round});
        }
        EXPECT_EQ(inner.asked, simulated) << "a simulation begins with its first round";
    }
    Arithmetic inner;
    DiskStore store(m_directory, LIMIT);
    StoredSimulation stored(inner, store, FABRIC, false);
    stored.Repeat({&operation, {0, 7}}, {5, 7});
    EXPECT_EQ(inner.asked, 1U) << "other gaps";
}

// FastForward decides by what the simulation says of its repetition: it must not tell whether
// there is a store.
TEST_F(StoredSimulationTest, AnswersAsTheSimulationItselfWhateverIsAskedFor)
{
    for (uint32_t seed = 0; seed < 40; ++seed)
    {
        std::mt19937 random(seed);
        Arithmetic plain;
        Arithmetic inner;
        DiskStore store(m_directory, LIMIT);
        StoredSimulation stored(inner, store, FABRIC, false);
        for (uint32_t i = 0; i < 30; ++i)
        {
            const PartOperation operation = AllReduceOf(1000 + random() % 4);
            const TimedOperation timed{&operation, {0, static_cast<TimePs>(random() % 3)}};
            PartOutcome expected;
            PartOutcome found;
            switch (random() % 6)
            {
            case 0:
                expected = plain.Simulate({timed});
                found = stored.Simulate({timed});
                break;
            case 1:
                expected = plain.Repeat(timed, {1, 2}).outcome;
                found = stored.Repeat(timed, {1, 2}).outcome;
                break;
            default:
                if (plain.GetRepetition())
                {
                    expected = plain.GoOn().outcome;
                    found = stored.GoOn().outcome;
                }
            }
            EXPECT_EQ(expected.ends, found.ends);
            EXPECT_EQ(plain.GetRepetition(), stored.GetRepetition());
        }
    }
}

TEST_F(StoredSimulationTest, VerifyingFindsWhatIsWrongAndReplacesIt)
{
    const PartOperation operation = AllReduceOf(1000);
    const PartPattern pattern = {{&operation, {0, 7}}};
    Ask(operation);
    // The only file holds the outcome of another pattern, under a checksum of its own.
    {
        Arithmetic inner;
        DiskStore store(m_directory, LIMIT);
        DiskStore::Key key{};
        for (const auto& each : fs::recursive_directory_iterator(m_directory))
        {
            const std::string name = each.path().filename();
            if (each.is_regular_file() && name.size() == 2 * key.size() - 1)
            {
                const std::string digits = each.path().parent_path().filename().string() + name;
                for (std::size_t i = 0; i < key.size(); ++i)
                {
                    key[i] = static_cast<uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
                }
            }
        }
        PartRound wrong;
        wrong.outcome.ends = {{1}, {2}};
        store.Put(key, AstraSim::ToBytes(wrong));
    }
    for (const uint64_t wrong : {1U, 0U})
    {
        Arithmetic inner;
        DiskStore store(m_directory, LIMIT);
        StoredSimulation stored(inner, store, FABRIC, true);
        EXPECT_EQ(stored.Simulate(pattern).ends.front().front(), 1000);
        EXPECT_EQ(stored.GetReport().verifiedPatterns, 1U);
        EXPECT_EQ(stored.GetReport().wrongPatterns, wrong);
    }
}

TEST_F(StoredSimulationTest, WhatIsVerifiedIsSimulated)
{
    const PartOperation operation = AllReduceOf(1000);
    Arithmetic inner;
    DiskStore store(m_directory, LIMIT);
    StoredSimulation stored(inner, store, FABRIC, false);
    stored.Simulate({{&operation, {0, 7}}});
    stored.SimulateAgain({{&operation, {0, 7}}});
    EXPECT_EQ(inner.asked, 2U);
}
