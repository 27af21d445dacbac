/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/flow/max-min-solver.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>
#include <vector>

using AstraSim::MaxMinSolver;
using Use = MaxMinSolver::Use;
using FlowId = MaxMinSolver::FlowId;

namespace
{

FlowId
AddFlow(MaxMinSolver& solver, std::vector<Use> uses, double cap = MaxMinSolver::NO_CAP)
{
    return solver.Add(uses, cap);
}

TEST(MaxMinSolver, SharesOneLinkEqually)
{
    MaxMinSolver solver;
    const uint32_t link = solver.AddResource(90);
    std::vector<FlowId> flows;
    for (int i = 0; i < 3; ++i)
    {
        flows.push_back(AddFlow(solver, {{link, 1}}));
    }
    EXPECT_EQ(solver.Solve().size(), 3U);
    for (const FlowId flow : flows)
    {
        EXPECT_DOUBLE_EQ(solver.GetRate(flow), 30);
    }
}

TEST(MaxMinSolver, GivesACappedFlowsShareToTheOthers)
{
    MaxMinSolver solver;
    const uint32_t link = solver.AddResource(90);
    const FlowId slow = AddFlow(solver, {{link, 1}}, 10);
    const FlowId a = AddFlow(solver, {{link, 1}});
    const FlowId b = AddFlow(solver, {{link, 1}}, 70);
    solver.Solve();
    EXPECT_DOUBLE_EQ(solver.GetRate(slow), 10);
    EXPECT_DOUBLE_EQ(solver.GetRate(a), 40);
    EXPECT_DOUBLE_EQ(solver.GetRate(b), 40);
}

// The parking lot of Bertsekas and Gallager: a long flow over three links of 1, one flow on the
// first, two on the second, one on the third. The second link gives 1/3 to each of its three; the
// others take what the long flow leaves.
TEST(MaxMinSolver, SolvesTheParkingLot)
{
    MaxMinSolver solver;
    const uint32_t x = solver.AddResource(1);
    const uint32_t y = solver.AddResource(1);
    const uint32_t z = solver.AddResource(1);
    const FlowId along = AddFlow(solver, {{x, 1}, {y, 1}, {z, 1}});
    const FlowId onX = AddFlow(solver, {{x, 1}});
    const FlowId onY = AddFlow(solver, {{y, 1}});
    const FlowId alsoOnY = AddFlow(solver, {{y, 1}});
    const FlowId onZ = AddFlow(solver, {{z, 1}});
    solver.Solve();
    EXPECT_NEAR(solver.GetRate(along), 1.0 / 3, 1e-9);
    EXPECT_NEAR(solver.GetRate(onY), 1.0 / 3, 1e-9);
    EXPECT_NEAR(solver.GetRate(alsoOnY), 1.0 / 3, 1e-9);
    EXPECT_NEAR(solver.GetRate(onX), 2.0 / 3, 1e-9);
    EXPECT_NEAR(solver.GetRate(onZ), 2.0 / 3, 1e-9);

    // Without the two on the second link, the long flow shares the outer ones by halves.
    solver.Remove(onY);
    solver.Remove(alsoOnY);
    solver.Solve();
    EXPECT_NEAR(solver.GetRate(along), 0.5, 1e-9);
    EXPECT_NEAR(solver.GetRate(onX), 0.5, 1e-9);
    EXPECT_NEAR(solver.GetRate(onZ), 0.5, 1e-9);
}

// Two flows in opposite directions of a cable whose acknowledgements take a tenth of the way back:
// r + r / 10 = 11.
TEST(MaxMinSolver, CountsWeights)
{
    MaxMinSolver solver;
    const uint32_t there = solver.AddResource(11);
    const uint32_t back = solver.AddResource(11);
    const FlowId a = AddFlow(solver, {{there, 1}, {back, 0.1F}});
    const FlowId b = AddFlow(solver, {{back, 1}, {there, 0.1F}});
    solver.Solve();
    EXPECT_NEAR(solver.GetRate(a), 10, 1e-6);
    EXPECT_NEAR(solver.GetRate(b), 10, 1e-6);
    EXPECT_NEAR(solver.GetLoad(there), 11, 1e-6);
}

// Four flows fill the way back of a flow whose acknowledgements take a hundredth of its rate there:
// they share what those leave, and do not slow the flow down to their own rate.
TEST(MaxMinSolver, WhatFollowsAFlowDoesNotHoldIt)
{
    MaxMinSolver solver;
    const uint32_t there = solver.AddResource(10);
    const uint32_t back = solver.AddResource(10);
    std::vector<FlowId> others;
    for (int i = 0; i < 4; ++i)
    {
        others.push_back(AddFlow(solver, {{back, 1}}));
    }
    const FlowId flow = AddFlow(solver, {{there, 1}, {back, 0.01F, true}});
    solver.Solve();
    EXPECT_NEAR(solver.GetRate(flow), 10, 1e-6);
    for (const FlowId other : others)
    {
        EXPECT_NEAR(solver.GetRate(other), 9.9 / 4, 1e-6);
    }
    EXPECT_NEAR(solver.GetLoad(back), 10, 1e-6);

    solver.Remove(flow);
    solver.Solve();
    EXPECT_NEAR(solver.GetRate(others.front()), 2.5, 1e-6);
}

// As in CountsWeights.
TEST(MaxMinSolver, WhatFollowsFlowsTakesItsPart)
{
    MaxMinSolver solver;
    const uint32_t there = solver.AddResource(11);
    const uint32_t back = solver.AddResource(11);
    const FlowId a = AddFlow(solver, {{there, 1}, {back, 0.1F, true}});
    const FlowId b = AddFlow(solver, {{back, 1}, {there, 0.1F, true}});
    solver.Solve();
    EXPECT_NEAR(solver.GetRate(a), 10, 1e-6);
    EXPECT_NEAR(solver.GetRate(b), 10, 1e-6);
}

// Of a resource of 10 what follows takes 8 at most, but no more than half counts: flows go on.
TEST(MaxMinSolver, WhatFollowsFlowsLeavesHalf)
{
    MaxMinSolver solver;
    const uint32_t there = solver.AddResource(100);
    const uint32_t back = solver.AddResource(10);
    AddFlow(solver, {{there, 1}, {back, 0.08F, true}});
    const FlowId other = AddFlow(solver, {{back, 1}});
    solver.Solve();
    EXPECT_NEAR(solver.GetRate(other), 5, 1e-6);
}

// Held by the link before, a flow has to leave room all the same: 0.8 of the 10 go to what follows
// b.
TEST(MaxMinSolver, WhatFollowsFlowsTakesItsPartWhereNobodyIsHeld)
{
    MaxMinSolver solver;
    const uint32_t first = solver.AddResource(10);
    const uint32_t shared = solver.AddResource(10);
    const uint32_t other = solver.AddResource(10);
    const FlowId a = AddFlow(solver, {{first, 1}, {shared, 1}});
    const FlowId b = AddFlow(solver, {{other, 1}, {shared, 0.08F, true}});
    solver.Solve();
    EXPECT_NEAR(solver.GetRate(b), 10, 1e-6);
    EXPECT_NEAR(solver.GetRate(a), 9.2, 1e-6);
    EXPECT_LE(solver.GetLoad(shared), 10 * (1 + 1e-9));
}

TEST(MaxMinSolver, LeavesOthersAloneWhereNothingIsFull)
{
    MaxMinSolver solver;
    const uint32_t link = solver.AddResource(100);
    for (int i = 0; i < 5; ++i)
    {
        AddFlow(solver, {{link, 1}}, 10);
        EXPECT_EQ(solver.Solve().size(), 1U);
    }
    EXPECT_EQ(solver.GetFillCount(), 5U);
}

TEST(MaxMinSolver, StopsFlowsOnALinkThatIsCutAndRestartsThem)
{
    MaxMinSolver solver;
    const uint32_t link = solver.AddResource(10);
    const FlowId flow = AddFlow(solver, {{link, 1}});
    solver.Solve();
    solver.SetCapacity(link, 0);
    solver.Solve();
    EXPECT_EQ(solver.GetRate(flow), 0);
    const FlowId late = AddFlow(solver, {{link, 1}});
    solver.Solve();
    EXPECT_EQ(solver.GetRate(late), 0);
    solver.SetCapacity(link, 10);
    solver.Solve();
    EXPECT_DOUBLE_EQ(solver.GetRate(flow), 5);
    EXPECT_DOUBLE_EQ(solver.GetRate(late), 5);
}

/// The solver's problem, kept in the simplest form.
struct Reference
{
    struct Flow
    {
        std::vector<Use> uses;
        double cap;
    };

    std::vector<double> capacities;
    std::map<FlowId, Flow> flows;

    /// Raise all rates together; stop those that meet their cap or a full resource.
    std::map<FlowId, double> Rates() const
    {
        std::map<FlowId, double> rates;
        while (rates.size() < flows.size())
        {
            double level = std::numeric_limits<double>::infinity();
            for (const auto& [id, flow] : flows)
            {
                if (!rates.contains(id))
                {
                    level = std::min(level, flow.cap);
                }
            }
            std::vector<double> shares(capacities.size());
            for (uint32_t r = 0; r < capacities.size(); ++r)
            {
                double left = capacities[r];
                double weights = 0;
                for (const auto& [id, flow] : flows)
                {
                    for (const Use& use : flow.uses)
                    {
                        if (use.resource == r)
                        {
                            const auto it = rates.find(id);
                            left -= it == rates.end() ? 0 : it->second * use.weight;
                            weights += it == rates.end() ? use.weight : 0;
                        }
                    }
                }
                shares[r] = weights > 0 ? std::max(left, 0.0) / weights
                                        : std::numeric_limits<double>::infinity();
                level = std::min(level, shares[r]);
            }
            std::vector<FlowId> stopped;
            for (const auto& [id, flow] : flows)
            {
                const bool full = std::any_of(flow.uses.begin(), flow.uses.end(), [&](Use use) {
                    return shares[use.resource] <= level * (1 + 1e-9);
                });
                if (!rates.contains(id) && (flow.cap <= level || full))
                {
                    stopped.push_back(id);
                }
            }
            for (const FlowId id : stopped)
            {
                rates[id] = level;
            }
        }
        return rates;
    }
};

/// No rate is off by more than a tolerance: no link carries more than that above its capacity, and
/// each flow has its cap or crosses a link that is as full, and on which none is faster.
void
CheckFairWithin(double tolerance, const MaxMinSolver& solver, const Reference& reference)
{
    std::vector<double> loads(reference.capacities.size());
    std::vector<double> fastest(reference.capacities.size());
    for (const auto& [id, flow] : reference.flows)
    {
        for (const Use& use : flow.uses)
        {
            loads[use.resource] += use.weight * solver.GetRate(id);
            fastest[use.resource] = std::max(fastest[use.resource], solver.GetRate(id));
        }
    }
    constexpr double ROUNDING = 1e-9;
    for (std::size_t r = 0; r < loads.size(); ++r)
    {
        ASSERT_LE(loads[r], reference.capacities[r] * (1 + tolerance) + ROUNDING);
    }
    for (const auto& [id, flow] : reference.flows)
    {
        const double rate = solver.GetRate(id);
        ASSERT_LE(rate, flow.cap);
        const bool isHeld = std::ranges::any_of(flow.uses, [&, id = id](const Use& use) {
            const uint32_t r = use.resource;
            return loads[r] >= reference.capacities[r] * (1 - tolerance) - ROUNDING &&
                   rate >= fastest[r] * (1 - tolerance) - ROUNDING;
        });
        ASSERT_TRUE(isHeld || rate >= flow.cap * (1 - ROUNDING)) << "flow " << id;
    }
}

/// Random flows come, go and have their links' capacities changed, in batches; after each batch
/// every rate must be that of the reference, or as fair within a tolerance.
void
CompareWithReference(uint32_t seed,
                     uint32_t resources,
                     uint32_t pathLength,
                     uint32_t batches,
                     double tolerance = 0)
{
    std::mt19937 random(seed);
    const auto draw = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
    MaxMinSolver solver(tolerance > 0 ? tolerance : 1e-9);
    Reference reference;
    for (uint32_t r = 0; r < resources; ++r)
    {
        reference.capacities.push_back(10 + draw(90));
        solver.AddResource(reference.capacities.back());
    }
    for (uint32_t batch = 0; batch < batches; ++batch)
    {
        for (uint32_t change = draw(4) + 1; change > 0; --change)
        {
            const uint32_t kind = draw(20);
            if (kind == 0)
            {
                const uint32_t r = draw(resources);
                reference.capacities[r] = draw(3) ? 10 + draw(90) : 0;
                solver.SetCapacity(r, reference.capacities[r]);
            }
            else if (kind < 9 && !reference.flows.empty())
            {
                const auto it = std::next(reference.flows.begin(),
                                          draw(static_cast<uint32_t>(reference.flows.size())));
                solver.Remove(it->first);
                reference.flows.erase(it);
            }
            else
            {
                std::vector<Use> uses;
                for (uint32_t hop = draw(pathLength) + 1; hop > 0; --hop)
                {
                    const uint32_t r = draw(resources);
                    if (std::none_of(uses.begin(), uses.end(), [r](Use use) {
                            return use.resource == r;
                        }))
                    {
                        uses.push_back({r, draw(3) ? 1.0F : 0.125F});
                    }
                }
                const double cap = draw(3) ? MaxMinSolver::NO_CAP : 1 + draw(30);
                const FlowId id = solver.Add(uses, cap);
                ASSERT_FALSE(reference.flows.contains(id));
                reference.flows[id] = {uses, cap};
            }
        }
        solver.Solve();
        if (tolerance > 0)
        {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", batch " << batch);
            ASSERT_NO_FATAL_FAILURE(CheckFairWithin(tolerance, solver, reference));
            continue;
        }
        for (const auto& [id, rate] : reference.Rates())
        {
            ASSERT_NEAR(solver.GetRate(id), rate, 1e-6 * (1 + rate))
                << "seed " << seed << ", batch " << batch << ", flow " << id;
        }
    }
}

TEST(MaxMinSolver, AgreesWithProgressiveFillingOnRandomInput)
{
    for (uint32_t seed = 1; seed <= 20; ++seed)
    {
        CompareWithReference(seed, 3 + seed % 12, 1 + seed % 4, 60);
    }
}

TEST(MaxMinSolver, IsFairWithinItsTolerance)
{
    for (uint32_t seed = 1; seed <= 40; ++seed)
    {
        for (const double tolerance : {0.001, 0.005, 0.02})
        {
            CompareWithReference(seed, 3 + seed % 12, 1 + seed % 4, 200, tolerance);
        }
    }
}

// Each flow has a NIC of its own and all share an uplink: one that comes takes a hundredth of each
// of the others' rates. Within the tolerance it does so without touching them.
TEST(MaxMinSolver, SmallChangesAddUpUntilTheyReachTheTolerance)
{
    constexpr double TOLERANCE = 0.05;
    MaxMinSolver solver(TOLERANCE);
    const uint32_t uplink = solver.AddResource(100);
    std::vector<FlowId> flows;
    for (int i = 0; i < 100; ++i)
    {
        flows.push_back(AddFlow(solver, {{uplink, 1}, {solver.AddResource(10), 1}}));
    }
    solver.Solve();
    for (int i = 1; i <= 5; ++i)
    {
        flows.push_back(AddFlow(solver, {{uplink, 1}, {solver.AddResource(10), 1}}));
        EXPECT_EQ(solver.Solve().size(), 1U) << i;
        EXPECT_DOUBLE_EQ(solver.GetRate(flows.back()), 1);
    }
    flows.push_back(AddFlow(solver, {{uplink, 1}, {solver.AddResource(10), 1}}));
    EXPECT_EQ(solver.Solve().size(), flows.size());
    for (const FlowId flow : flows)
    {
        EXPECT_NEAR(solver.GetRate(flow), 100.0 / 106, 1e-9);
    }
}

TEST(MaxMinSolver, ChangesOnlyWhatAChangeConcerns)
{
    // Many pairs of links, each with two flows; one flow more concerns its own pair.
    MaxMinSolver solver;
    std::vector<uint32_t> links;
    for (int pair = 0; pair < 100; ++pair)
    {
        links.push_back(solver.AddResource(10));
        AddFlow(solver, {{links.back(), 1}});
        AddFlow(solver, {{links.back(), 1}});
    }
    solver.Solve();
    const uint64_t before = solver.GetFillCount();
    AddFlow(solver, {{links[42], 1}});
    EXPECT_EQ(solver.Solve().size(), 3U);
    EXPECT_LE(solver.GetFillCount() - before, 4U); // the new one alone, then all three
}

} // namespace
