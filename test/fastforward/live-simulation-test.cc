/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Parts that go on on the run's own network: messages end as they do without a FastForward, each is
 * carried once, and the work grows with their number.
 */
#include "astra-frontend/model/fastforward/forwarded-collectives.h"
#include "forwarded-messages.h"

#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

using AstraSim::FastForwardConfig;
using AstraSim::FastForwardReport;
using AstraSim::TimePs;
using fastforward::ExpectTheSame;
using fastforward::MayGoLive;
using fastforward::Message;
using fastforward::RandomMessages;
using fastforward::SendForwarded;
using fastforward::SendPlainly;
using fastforward::STAR;
using ns3::ClusterTopology;
using ns3::ReadTopology;

namespace
{

/// With exact times. A part goes live when something begins in it.
FastForwardConfig
Impatient()
{
    FastForwardConfig config{.tail = 0, .tolerance = 0};
    config.againWork = 0;
    return config;
}

/// Messages of 1 MiB, each to the host from which the next one goes, and begun before the one
/// before it is over. Alone each takes 85 us or more.
std::vector<Message>
Chain(int length)
{
    std::vector<Message> chain;
    for (int i = 0; i < length; ++i)
    {
        // Of different sizes, so that no pattern comes again.
        chain.push_back({i * TimePs{60'000'000},
                         i % 6,
                         (i + 1) % 6,
                         (uint64_t{1} << 20) + static_cast<uint64_t>(i) * 1000});
    }
    return chain;
}

/// A rank's part of a collective, and when it ended.
struct RankPart
{
    TimePs start;
    TimePs end{-1};
    std::unique_ptr<AstraSim::RankCollective> rank{};
};

/// AllReduces of overlapping groups of four ranks, which begin one after the other.
class OverlappingCollectives
{
  public:
    /// @param count of the collectives
    explicit OverlappingCollectives(int count)
    {
        std::mt19937 random(1);
        for (int i = 0; i < count; ++i)
        {
            for (int rank = 0; rank < 4; ++rank)
            {
                const auto late = static_cast<TimePs>(random() % 20) * 1'000'000;
                m_parts.push_back({i * TimePs{400'000'000} + late});
            }
        }
    }

    /// Have them begin on the networks of ranks. @param nccl carries them out
    void Schedule(fastforward::EventLoop& loop,
                  AstraSim::CollectiveImplementation& nccl,
                  const std::function<AstraSim::RankNetwork&(int)>& network)
    {
        for (std::size_t i = 0; i < m_parts.size(); ++i)
        {
            loop.Schedule(m_parts[i].start, [this, i, &loop, &nccl, network] {
                const int first = static_cast<int>(i / 4 % 3) * 2;
                AstraSim::CommGroup group;
                group.ranks = {first, first + 1, first + 2, first + 3};
                AstraSim::CollectiveRequest request;
                request.op = AstraSim::CollectiveOp::AllReduce;
                // Of different sizes, so that no pattern comes again.
                request.bytes = (4 << 20) + i / 4 * 4096;
                m_plans.push_back(nccl.Plan(group, request));
                RankPart& part = m_parts[i];
                part.rank = m_plans.back()->CreateRank(static_cast<uint32_t>(i % 4),
                                                       network(group.ranks[i % 4]),
                                                       static_cast<int>(i / 4) * 256,
                                                       {},
                                                       [&part, &loop] { part.end = loop.Now(); });
                part.rank->Start();
            });
        }
    }

    const std::deque<RankPart>& GetParts() const
    {
        return m_parts;
    }

  private:
    std::deque<RankPart> m_parts;
    std::vector<std::shared_ptr<const AstraSim::CollectivePlan>> m_plans;
};

} // namespace

TEST(LiveSimulation, AChainIsCarriedOnceHoweverLongItIs)
{
    const ClusterTopology topology = ReadTopology(STAR);
    std::vector<uint64_t> work;
    for (const int length : {100, 200, 400})
    {
        std::vector<Message> plain = Chain(length);
        std::vector<Message> forwarded = plain;
        SendPlainly(topology, plain);
        const FastForwardReport report =
            SendForwarded(topology, forwarded, Impatient(), MayGoLive::Yes);
        ExpectTheSame(forwarded, plain);
        EXPECT_EQ(report.carried.flows, static_cast<uint64_t>(length));
        EXPECT_GT(report.live, static_cast<uint64_t>(length) / 2);
        work.push_back(report.simulatedWork);
    }
    EXPECT_EQ(work[2] - work[1], 200U) << "each further message is simulated once";
    EXPECT_EQ(work[1] - work[0], 100U);
}

TEST(LiveSimulation, RandomTrafficIsThatOfTheNetworkItself)
{
    const ClusterTopology topology = ReadTopology(STAR);
    uint64_t live = 0;
    int exact = 0;
    for (uint32_t seed = 1; seed <= 40; ++seed)
    {
        std::vector<Message> plain = RandomMessages(seed, 60);
        std::vector<Message> forwarded = plain;
        SendPlainly(topology, plain);
        const FastForwardReport report =
            SendForwarded(topology, forwarded, Impatient(), MayGoLive::Yes);
        SCOPED_TRACE("seed " + std::to_string(seed));
        bool isExact = true;
        for (std::size_t i = 0; i < plain.size(); ++i)
        {
            // Where a link is full to the solver's tolerance, its rates depend on their past, and a
            // part that goes live has them worked out once more.
            EXPECT_NEAR(forwarded[i].arrived,
                        plain[i].arrived,
                        1e-3 * (plain[i].arrived - plain[i].at));
            isExact = isExact && forwarded[i].arrived == plain[i].arrived;
        }
        exact += isExact;
        EXPECT_EQ(report.carried.flows, 60U);
        live += report.live;
    }
    EXPECT_GT(live, 400U);
    EXPECT_GE(exact, 35);
}

TEST(LiveSimulation, QuietLinksAreReusedAgain)
{
    const ClusterTopology topology = ReadTopology(STAR);
    // After a chain, equal messages that are alone.
    std::vector<Message> plain = Chain(100);
    for (TimePs i = 0; i < 50; ++i)
    {
        plain.push_back({10'000'000'000 + i * 1'000'000'000, 0, 1, 1 << 20});
    }
    std::vector<Message> forwarded = plain;
    SendPlainly(topology, plain);
    const FastForwardReport report =
        SendForwarded(topology, forwarded, Impatient(), MayGoLive::Yes);
    ExpectTheSame(forwarded, plain);
    EXPECT_EQ(report.carried.flows, 150U);
    EXPECT_GE(report.reusedWork, 49U);
}

TEST(LiveSimulation, CollectivesEndAsOnTheNetworkItself)
{
    const ClusterTopology topology = ReadTopology(STAR);
    fastforward::MockNcclGroup nccl(AstraSim::MachineOfTopology(topology), {});
    OverlappingCollectives plain(60);
    {
        fastforward::EventLoop loop;
        fastforward::FlowLevelFabric fabric(loop, topology, {});
        plain.Schedule(loop, nccl, [&fabric](int rank) -> AstraSim::RankNetwork& {
            return fabric.GetNetwork(rank);
        });
        loop.Run();
    }
    OverlappingCollectives forwarded(60);
    FastForwardConfig config;
    config.againWork = 0;
    fastforward::ForwardedFlows flows(topology, config, MayGoLive::Yes);
    AstraSim::ForwardedCollectives collectives(flows.nccl, flows.forward, flows.shapes);
    forwarded.Schedule(flows.loop, collectives, [&flows](int rank) -> AstraSim::RankNetwork& {
        return flows.network.GetNetwork(rank);
    });
    flows.loop.Run();
    EXPECT_GT(flows.forward.GetReport().live, 50U);
    for (std::size_t i = 0; i < plain.GetParts().size(); ++i)
    {
        const RankPart& expected = plain.GetParts()[i];
        ASSERT_GT(expected.end, expected.start);
        EXPECT_NEAR(forwarded.GetParts()[i].end,
                    expected.end,
                    0.02 * static_cast<double>(expected.end - expected.start))
            << "part " << i;
    }
}
