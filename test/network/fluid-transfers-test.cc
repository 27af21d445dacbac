/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FluidTransfers: rates that are worked out for several changes together, beside rates that are
 * worked out for each.
 */
#include "astra-frontend/model/flow/fluid-transfers.h"

#include "ns3/event-loop.h"

#include <cmath>
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

TEST(FluidTransfers, FewFlowsAreSolvedAtOnce)
{
    AllToAll each(4, 8, 0);
    AllToAll together(4, 8, 0.01);
    each.Run();
    together.Run();
    EXPECT_EQ(each.Ends(), together.Ends());
}
