/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A collective engine of this file, in runs of SimAI_simulator that do and do not name it.
 */
#include "programs/frame/run-failures.h"
#include "run-fixture.h"

#include "ns3/collective-engine.h"

#include <gmock/gmock.h>
#include <utility>

namespace AstraSim
{
namespace
{

constexpr TimePs TOOK_PS = 7'000'000;

/// A rank that is done TOOK_PS after its start.
class WaitingRank : public RankCollective
{
  public:
    WaitingRank(RankNetwork& network, std::function<void()> done)
        : m_network(network),
          m_done(std::move(done))
    {
    }

    void Start() override
    {
        m_network.Schedule(
            TOOK_PS,
            [](void* rank) { static_cast<WaitingRank*>(rank)->m_done(); },
            this);
    }

    std::string DescribeWait() const override
    {
        return "a clock";
    }

  private:
    RankNetwork& m_network;
    std::function<void()> m_done;
};

class WaitingPlan : public CollectivePlan
{
  public:
    WaitingPlan()
        : CollectivePlan(CollectiveChoice{.algorithm = "Clock", .protocol = "-"})
    {
    }

    bool ChecksItself() const override
    {
        return true;
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t,
                                               RankNetwork& network,
                                               int,
                                               const MessageInfo&,
                                               std::function<void()> done) const override
    {
        return std::make_unique<WaitingRank>(network, std::move(done));
    }
};

/// An engine that has any collective take TOOK_PS, and that counts as many as it planned.
class ClockEngine : public CollectiveEngine
{
  public:
    static inline uint32_t made = 0;
    static inline bool areChecked = false;

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup&, const CollectiveRequest&) override
    {
        ++m_planned;
        return std::make_shared<WaitingPlan>();
    }

    uint64_t GetChecked() const override
    {
        return m_planned;
    }

  private:
    uint64_t m_planned{0};
};

const CollectiveEngine::Kind CLOCK("CLOCK",
                                   [](ns3::RdmaFabric&, const CollectiveEngine::Report& report) {
                                       ++ClockEngine::made;
                                       ClockEngine::areChecked = static_cast<bool>(report);
                                       return std::make_unique<ClockEngine>();
                                   });

class CollectiveEngineTest : public RunTest
{
  protected:
    CollectiveEngineTest()
    {
        ClockEngine::made = 0;
        Write("n", Star(4));
        Write("w", Layer(4, 4, "ALLREDUCE", 65536, "NONE", 0));
        Write("c", "CC_MODE 1\n");
    }

    Outcome RunWith(const Words& more)
    {
        Words words{"-w", "w", "-n", "n", "-c", "c", "-o", "out"};
        words.insert(words.end(), more.begin(), more.end());
        return Simulator(words);
    }

    /// Expect that the engine has carried out the only collective.
    void ExpectClock()
    {
        const auto rows = Rows("out/collectives.csv");
        ASSERT_EQ(rows.size(), 1U);
        EXPECT_EQ(rows[0].at("algorithm"), "Clock");
        EXPECT_EQ(std::stod(rows[0].at("end_ns")) - std::stod(rows[0].at("start_ns")),
                  TOOK_PS / 1000.0);
        EXPECT_EQ(ClockEngine::made, 1U);
    }
};

} // namespace

TEST_F(CollectiveEngineTest, ARunThatNamesNoneMakesNone)
{
    ExpectFinished(RunWith({"--check"}));
    ExpectFinished(RunWith({"--set", "COLLECTIVE_ENGINE=NCCL"}));
    EXPECT_EQ(ClockEngine::made, 0U);
}

TEST_F(CollectiveEngineTest, AConfNamesOne)
{
    ExpectFinished(RunWith({"--set", "COLLECTIVE_ENGINE=CLOCK"}));
    ExpectClock();
    EXPECT_EQ(ClockEngine::areChecked, RunFailures::IsDefault());
}

TEST_F(CollectiveEngineTest, ASystemFileNamesOneInSmallLetters)
{
    Write("s", R"({"all-reduce-implementation": ["clock"]})");
    ExpectFinished(RunWith({"--system-configuration", "s", "--check"}));
    ExpectClock();
    EXPECT_TRUE(ClockEngine::areChecked);
    EXPECT_EQ(Record("out")["checked_collectives"], 1);
}

TEST_F(CollectiveEngineTest, NamesOfOtherEnginesAndOtherNetworksAreRefused)
{
    ExpectRefused(RunWith({"--set", "COLLECTIVE_ENGINE=STOPWATCH"}),
                  "COLLECTIVE_ENGINE cannot be 'STOPWATCH'; expected NCCL or CLOCK");
    ExpectRefused(RunWith({"--set", "COLLECTIVE_ENGINE=CLOCK", "--network", "flow"}),
                  "COLLECTIVE_ENGINE is CLOCK, whose engines this network does not have");
    Write("s", R"({"all-reduce-implementation": ["stopwatch"]})");
    ExpectRefused(RunWith({"--system-configuration", "s"}),
                  "names the unknown algorithm 'stopwatch'");
    Write("s", R"({"all-reduce-implementation": ["clock"]})");
    ExpectRefused(RunWith({"--system-configuration", "s", "--network", "flow"}),
                  "a collective is left to CLOCK's engines, which this network does not have");
}

} // namespace AstraSim
