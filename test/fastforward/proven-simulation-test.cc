/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Patterns that flows simulate where packets cannot differ by more than an error.
 */
#include "astra-frontend/model/fastforward/proven-simulation.h"

#include <gtest/gtest.h>
#include <limits>

using AstraSim::PartOutcome;
using AstraSim::PartPattern;
using AstraSim::PatternSimulation;
using AstraSim::ProvenSimulation;
using AstraSim::TimePs;

namespace
{

/// Has one outcome for every pattern.
class Fixed : public PatternSimulation
{
  public:
    Fixed(TimePs end, TimePs doubt)
    {
        m_outcome.ends = {{end / 2, end}, {AstraSim::NO_TIME}};
        m_outcome.doubtPs = doubt;
    }

    PartOutcome Simulate(const PartPattern&) override
    {
        return m_outcome;
    }

  private:
    PartOutcome m_outcome;
};

/// @return the last end that is taken if flows have this doubt about theirs, 1000, and packets 2000
TimePs
EndWith(TimePs doubt, double maxError)
{
    Fixed flows(1000, doubt);
    Fixed packets(2000, 0);
    ProvenSimulation proven(flows, packets, maxError);
    const TimePs end = proven.Simulate({}).LastEnd();
    EXPECT_EQ(proven.CountProven(), end == 1000 ? 1 : 0);
    return end;
}

} // namespace

TEST(ProvenSimulation, FlowsStandForPacketsUpToTheError)
{
    EXPECT_EQ(EndWith(0, 0), 1000);
    EXPECT_EQ(EndWith(1, 0), 2000);
    EXPECT_EQ(EndWith(10, 0.01), 1000);
    EXPECT_EQ(EndWith(11, 0.01), 2000);
    EXPECT_EQ(EndWith(std::numeric_limits<TimePs>::max(), 1), 2000) << "no bound";
}
