/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The choice between a new network and a copy of the process that has kept the beginning.
 */
#include "astra-frontend/model/fastforward/cheapest-simulation.h"

#include <gtest/gtest.h>

using AstraSim::CheapestSimulation;
using AstraSim::PartOutcome;
using AstraSim::PartPattern;
using AstraSim::PatternSimulation;

namespace
{

/// Counts the patterns that it is asked for.
class Counting : public PatternSimulation
{
  public:
    PartOutcome Simulate(const PartPattern&) override
    {
        ++asked;
        return {};
    }

    int asked{0};
};

} // namespace

TEST(CheapestSimulation, ACopyIsAskedOnceTheBeginningTakesLongerThanACopy)
{
    constexpr uint64_t COPY = 100;
    Counting fresh;
    Counting side;
    CheapestSimulation cheapest(fresh, side, COPY);
    cheapest.Simulate({});
    cheapest.SimulateLonger({}, 0);
    cheapest.SimulateLonger({}, COPY);
    EXPECT_EQ(fresh.asked, 3);
    EXPECT_EQ(side.asked, 0);
    cheapest.SimulateLonger({}, COPY + 1);
    EXPECT_EQ(fresh.asked, 3);
    EXPECT_EQ(side.asked, 1);
    cheapest.SimulateAgain({});
    EXPECT_EQ(fresh.asked, 4) << "nothing of it has been kept";
}
