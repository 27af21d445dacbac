/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FluidTransfers: rates that are worked out for several changes together, beside rates that are
 * worked out for each.
 */
#include "astra-frontend/model/flow/fluid-transfers.h"

#include "ns3/event-loop.h"

#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

using AstraSim::EventLoop;
using AstraSim::FluidTransfers;
using AstraSim::MaxMinSolver;
using AstraSim::TimePs;

namespace
{

constexpr uint64_t FLUID_RATE_BPS = 100'000'000'000;
constexpr double FLUID_BYTES_PER_PS = 100e9 / 8e12;

/// Hosts on a switch; each sends messages to each other one, the next when one is through.
class AllToAll
{
  public:
    AllToAll(uint32_t hosts, uint32_t messages, double waitingShare)
        : m_transfers(m_loop)
    {
        m_transfers.SetWaitingShare(waitingShare);
        for (uint32_t link = 0; link < 2 * hosts; ++link)
        {
            m_transfers.AddLink(FLUID_RATE_BPS);
        }
        std::mt19937 random(7);
        for (uint32_t src = 0; src < hosts; ++src)
        {
            for (uint32_t dst = 0; dst < hosts; ++dst)
            {
                if (dst != src)
                {
                    auto& pair = m_pairs.emplace_back(std::make_unique<Pair>());
                    pair->all = this;
                    pair->links = {{src, 1}, {hosts + dst, 1}};
                    for (uint32_t i = 0; i < messages; ++i)
                    {
                        pair->sizes.push_back(100'000.0 + random() % 100'000);
                    }
                }
            }
        }
    }

    /// Run it.
    void Run()
    {
        for (const auto& pair : m_pairs)
        {
            pair->SendNext();
        }
        m_loop.Run();
        m_transfers.UpdateCarried();
    }

    /// @return by message, when it was through
    std::vector<double> Ends() const
    {
        std::vector<double> ends;
        for (const auto& pair : m_pairs)
        {
            EXPECT_EQ(pair->ends.size(), pair->sizes.size());
            ends.insert(ends.end(), pair->ends.begin(), pair->ends.end());
        }
        return ends;
    }

    /// @return bytes that a host has to send
    double BytesOf(uint32_t host) const
    {
        double bytes = 0;
        for (const auto& pair : m_pairs)
        {
            for (const double size : pair->sizes)
            {
                bytes += pair->links[0].resource == host ? size : 0;
            }
        }
        return bytes;
    }

    const FluidTransfers& GetTransfers() const
    {
        return m_transfers;
    }

  private:
    struct Pair
    {
        AllToAll* all{nullptr};
        std::vector<MaxMinSolver::Use> links;
        std::vector<double> sizes;
        std::vector<double> ends;

        void SendNext()
        {
            FluidTransfers::Request request;
            request.uses = links;
            request.bytes = sizes[ends.size()];
            request.idleRate = FLUID_BYTES_PER_PS;
            request.owner = this;
            request.onReached = [](void*) {};
            request.onDrained = [](void* arg) {
                auto& pair = *static_cast<Pair*>(arg);
                pair.ends.push_back(static_cast<double>(pair.all->m_loop.Now()));
                if (pair.ends.size() < pair.sizes.size())
                {
                    pair.SendNext();
                }
            };
            all->m_transfers.Start(request);
        }
    };

    EventLoop m_loop;
    FluidTransfers m_transfers;
    std::vector<std::unique_ptr<Pair>> m_pairs;
};

} // namespace

TEST(FluidTransfers, ChangesThatConcernManyFlowsWaitForEachOther)
{
    constexpr uint32_t HOSTS = 32;
    AllToAll each(HOSTS, 2, 0);
    AllToAll together(HOSTS, 2, 0.01);
    each.Run();
    together.Run();
    EXPECT_LT(together.GetTransfers().GetSolver().GetFillCount(),
              each.GetTransfers().GetSolver().GetFillCount() / 2);
    const auto exact = each.Ends();
    const auto batched = together.Ends();
    double sum = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
    {
        sum += batched[i] / exact[i] - 1;
        EXPECT_NEAR(batched[i] / exact[i], 1, 0.02) << i;
    }
    EXPECT_NEAR(sum / static_cast<double>(exact.size()), 0, 0.001) << "no bias";
    for (uint32_t host = 0; host < HOSTS; ++host)
    {
        const double bytes = together.BytesOf(host);
        EXPECT_NEAR(together.GetTransfers().GetCarried(host), bytes, 1e-3 * bytes);
    }
}

// The next message of a pair begins as the last one ends, so no rate changes.
TEST(FluidTransfers, MessagesInARowAreSolvedOnce)
{
    AllToAll one(2, 1, 0);
    AllToAll many(2, 100, 0);
    one.Run();
    many.Run();
    EXPECT_EQ(many.GetTransfers().GetSolver().GetFillCount(),
              one.GetTransfers().GetSolver().GetFillCount());
    const double bytes = many.BytesOf(0);
    EXPECT_NEAR(many.Ends()[99], bytes / FLUID_BYTES_PER_PS, 100);
}

TEST(FluidTransfers, FewFlowsAreSolvedAtOnce)
{
    AllToAll each(4, 8, 0);
    AllToAll together(4, 8, 0.01);
    each.Run();
    together.Run();
    EXPECT_EQ(each.Ends(), together.Ends());
}

/// Three transfers that take turns at a link, which is cut at a time and goes on over another one.
class CutTransfers
{
  public:
    static constexpr double BYTES = 10'500 + 33'000 + 70'000;

    /// @param rateBps of the first link, until the cut
    CutTransfers(uint64_t rateBps, TimePs cut)
        : m_transfers(m_loop)
    {
        m_transfers.AddLink(rateBps);
        m_transfers.AddLink(FLUID_RATE_BPS);
        for (const double bytes : {10'500, 33'000, 70'000})
        {
            FluidTransfers::Request request;
            request.uses = m_first;
            request.bytes = bytes;
            request.frameBytes = 1000;
            request.idleRate = FLUID_BYTES_PER_PS;
            request.owner = this;
            request.onReached = [](void*) {};
            request.onDrained = [](void* arg) {
                auto& self = *static_cast<CutTransfers*>(arg);
                self.m_end = self.m_loop.Now();
            };
            m_transfers.Start(request);
        }
        m_loop.Schedule(
            cut,
            [](void* self) { static_cast<CutTransfers*>(self)->Cut(); },
            this);
        m_loop.Run();
        m_transfers.UpdateCarried();
    }

    double CarriedByFirst() const
    {
        return m_transfers.GetCarried(0);
    }

    double CarriedBySecond() const
    {
        return m_transfers.GetCarried(1);
    }

    TimePs GetEnd() const
    {
        return m_end;
    }

  private:
    void Cut()
    {
        m_transfers.SetLinkRate(0, 0);
        std::vector<AstraSim::FluidTransfer*> left;
        m_transfers.ForEach([&](AstraSim::FluidTransfer& each) { left.push_back(&each); });
        for (AstraSim::FluidTransfer* each : left)
        {
            m_transfers.Move(*each, m_second, MaxMinSolver::NO_CAP);
        }
    }

    std::vector<MaxMinSolver::Use> m_first{{0, 1}};
    std::vector<MaxMinSolver::Use> m_second{{1, 1}};
    EventLoop m_loop;
    FluidTransfers m_transfers;
    TimePs m_end{0};
};

TEST(FluidTransfers, ALinkThatIsCutHasCarriedWhatItSent)
{
    // Before and after the first is through.
    for (const TimePs cut : {1'234'567, 2'000'000, 5'432'100})
    {
        const CutTransfers run(FLUID_RATE_BPS, cut);
        const double before = static_cast<double>(cut) * FLUID_BYTES_PER_PS;
        EXPECT_NEAR(run.CarriedByFirst(), before, 1);
        EXPECT_NEAR(run.CarriedBySecond(), CutTransfers::BYTES - before, 1);
        const double end = CutTransfers::BYTES / FLUID_BYTES_PER_PS;
        EXPECT_NEAR(static_cast<double>(run.GetEnd()), end, 100);
    }
}

TEST(FluidTransfers, ALinkThatIsDownFromTheStartCarriesNothing)
{
    const CutTransfers run(0, 1'000'000);
    EXPECT_EQ(run.CarriedByFirst(), 0);
    EXPECT_NEAR(run.CarriedBySecond(), CutTransfers::BYTES, 1e-6);
}

namespace
{

/// A message from one host to another over a switch.
struct OneMessage
{
    uint32_t src;
    uint32_t dst;
    TimePs start;
    double bytes;
};

/// @return FluidTransfers::GetUncertainPs() after messages between 4 hosts
TimePs
UncertainPsOf(const std::vector<OneMessage>& messages)
{
    constexpr uint32_t HOSTS = 4;
    EventLoop loop;
    FluidTransfers transfers(loop);
    for (uint32_t link = 0; link < 2 * HOSTS; ++link)
    {
        transfers.AddLink(FLUID_RATE_BPS);
    }
    for (const OneMessage& message : messages)
    {
        loop.Schedule(message.start, [&transfers, message] {
            const MaxMinSolver::Use links[] = {{message.src, 1}, {HOSTS + message.dst, 1}};
            FluidTransfers::Request request;
            request.uses = links;
            request.bytes = message.bytes;
            request.frameBytes = 1000;
            request.idleRate = FLUID_BYTES_PER_PS;
            request.onReached = [](void*) {};
            request.onDrained = [](void*) {};
            transfers.Start(request);
        });
    }
    loop.Run();
    return transfers.GetUncertainPs();
}

} // namespace

TEST(FluidTransfers, PacketsWouldQueueWhereSendersShareALinkBehindTheirOwn)
{
    constexpr double BYTES = 1e6;
    constexpr auto ALONE = static_cast<TimePs>(BYTES / FLUID_BYTES_PER_PS);
    EXPECT_EQ(UncertainPsOf({{0, 1, 0, BYTES}}), 0);
    EXPECT_EQ(UncertainPsOf({{0, 1, 0, BYTES}, {2, 3, 0, BYTES}}), 0) << "no link in common";
    EXPECT_EQ(UncertainPsOf({{0, 1, 0, BYTES}, {0, 2, 0, BYTES}}), 0) << "turns at one NIC";
    EXPECT_EQ(UncertainPsOf({{0, 1, 0, BYTES}, {0, 1, ALONE / 2, BYTES}}), 0) << "turns at one NIC";
    // The first has half of its bytes left when the second begins, and has half of the link then.
    EXPECT_NEAR(UncertainPsOf({{0, 1, 0, BYTES}, {2, 1, ALONE / 2, BYTES}}), ALONE, 1000);
    // Three share from the start; the short one is through after 3 * 0.5, the others 2 * 0.5 later.
    EXPECT_NEAR(UncertainPsOf({{0, 1, 0, BYTES}, {2, 1, 0, BYTES}, {3, 1, 0, BYTES / 2}}),
                1.5 * ALONE + ALONE,
                1000);
    // A sender of two messages gives each half; the receiver of one of them has another one, too.
    EXPECT_GT(UncertainPsOf({{0, 1, 0, BYTES}, {0, 2, 0, BYTES}, {3, 1, 0, BYTES}}), ALONE);
    // Times that are apart add up, times that overlap count once.
    EXPECT_NEAR(UncertainPsOf({{0, 1, 0, BYTES},
                               {2, 1, 0, BYTES},
                               {1, 0, 0, BYTES},
                               {3, 0, 0, BYTES},
                               {0, 1, 10 * ALONE, BYTES},
                               {2, 1, 10 * ALONE, BYTES}}),
                4 * ALONE,
                1000);
}
