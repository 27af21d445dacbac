/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/inference/front-end.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

using namespace AstraSim;
using testing::ElementsAre;

namespace
{

/// A front end, and requests by number.
class Servers
{
  public:
    Servers(TimePs work, TimePs latency, uint32_t servers = 1)
        : m_servers(work, latency, servers)
    {
        for (std::size_t i = 0; i < m_requests.size(); ++i)
        {
            m_requests[i].id = i;
        }
    }

    void Add(std::size_t number, TimePs now)
    {
        m_servers.Add(m_requests[number], now);
    }

    /// @return the times at which requests are through, in their order
    std::vector<TimePs> Finish()
    {
        std::vector<TimePs> times;
        uint64_t expected = 0;
        while (const auto next = m_servers.GetNext())
        {
            while (const Sequence* request = m_servers.Take(*next))
            {
                EXPECT_EQ(request->id, expected++);
                times.push_back(*next);
            }
        }
        return times;
    }

    FrontEnd m_servers;

  private:
    std::array<Sequence, 4> m_requests;
};

} // namespace

TEST(FrontEnd, WithoutWorkRequestsPassAtOnce)
{
    Servers servers(0, 0);
    servers.Add(0, 7);
    EXPECT_NE(servers.m_servers.Take(7), nullptr);
    EXPECT_EQ(servers.m_servers.Take(7), nullptr);
    EXPECT_FALSE(servers.m_servers.GetNext());
}

TEST(FrontEnd, ABurstGetsThroughTogether)
{
    Servers servers(100, 30);
    for (std::size_t i = 0; i < 4; ++i)
    {
        servers.Add(i, 50);
    }
    EXPECT_THAT(servers.Finish(), ElementsAre(480, 480, 480, 480));
}

TEST(FrontEnd, RequestsAtHandTakeTurns)
{
    // Alone for 60 of its 100, the first one then takes 2 x 40; the second one has 40 by then.
    Servers servers(100, 0);
    servers.Add(0, 0);
    servers.Add(1, 60);
    EXPECT_THAT(servers.Finish(), ElementsAre(140, 200));
}

TEST(FrontEnd, EachInstanceHasAServer)
{
    Servers servers(100, 0, 2);
    for (std::size_t i = 0; i < 3; ++i)
    {
        servers.Add(i, 0);
    }
    EXPECT_THAT(servers.Finish(), ElementsAre(150, 150, 150));
    Servers idle(100, 0, 2);
    idle.Add(0, 0);
    EXPECT_THAT(idle.Finish(), ElementsAre(100));
}
