/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/inference/input/drawn-requests.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace AstraSim;

namespace
{

/// Mean and coefficient of variation of some values.
struct Moments
{
    double mean;
    double variation;

    template <typename Values>
    explicit Moments(const Values& values)
    {
        double sum = 0;
        double squares = 0;
        for (const double value : values)
        {
            sum += value;
            squares += value * value;
        }
        const auto count = static_cast<double>(values.size());
        mean = sum / count;
        variation = std::sqrt(squares / count - mean * mean) / mean;
    }
};

DrawnRequests
Description(uint64_t count, double perSecond)
{
    DrawnRequests description;
    description.count = count;
    description.perSecond = perSecond;
    description.prompt = *DrawnCount::Parse("100");
    description.output = *DrawnCount::Parse("10");
    return description;
}

std::vector<double>
GapsInSeconds(const std::vector<ServingRequest>& requests)
{
    std::vector<double> gaps;
    TimePs last = 0;
    for (const auto& request : requests)
    {
        gaps.push_back(static_cast<double>(request.arrival - last) / 1e12);
        last = request.arrival;
    }
    return gaps;
}

} // namespace

TEST(DrawnRequests, HaveTheRateAndSizesAskedFor)
{
    DrawnRequests description = Description(100'000, 40);
    description.prompt = *DrawnCount::Parse("uniform 10 30");
    description.output = *DrawnCount::Parse("exponential 50");
    const auto requests = DrawRequests(description);
    double prompts = 0;
    double outputs = 0;
    for (const auto& request : requests)
    {
        ASSERT_GE(request.promptTokens, 10);
        ASSERT_LE(request.promptTokens, 30);
        prompts += request.promptTokens;
        outputs += request.outputTokens;
    }
    // Standard deviations of the means: 0.3 % of gaps, 0.02 of prompts, 0.16 of outputs.
    const double seconds = static_cast<double>(requests.back().arrival) / 1e12;
    EXPECT_NEAR(100'000 / seconds, 40, 0.4);
    EXPECT_NEAR(prompts / 100'000, 20, 0.08);
    EXPECT_NEAR(outputs / 100'000, 50.5, 0.7); // rounding up adds a half
    EXPECT_EQ(DrawRequests(description)[777].arrival, requests[777].arrival);
    // So does a common beginning: one of four, drawn evenly.
    description.sharedTokens = 16;
    description.sharedPrefixes = 4;
    const auto shared = DrawRequests(description);
    std::array<double, 4> drawn{};
    for (const auto& request : shared)
    {
        ++drawn.at(request.prefix.at(0));
    }
    EXPECT_NEAR(*std::min_element(drawn.begin(), drawn.end()), 25'000, 600); // 4 deviations
    EXPECT_EQ(shared[777].arrival, requests[777].arrival);
    EXPECT_EQ(shared[777].outputTokens, requests[777].outputTokens);
    // Other sizes leave the arrivals as they are; another seed does not.
    description.prompt = *DrawnCount::Parse("10");
    EXPECT_EQ(DrawRequests(description)[777].arrival, requests[777].arrival);
    description.seed = 2;
    EXPECT_NE(DrawRequests(description)[777].arrival, requests[777].arrival);
}

TEST(DrawnRequests, GapsHaveTheCoefficientOfVariationOfTheirBurstiness)
{
    // Of gamma distributed gaps it is 1 / sqrt(shape), whatever the rate.
    for (const double burstiness : {0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 100.0})
    {
        SCOPED_TRACE(burstiness);
        DrawnRequests description = Description(200'000, 40);
        description.burstiness = burstiness;
        const Moments gaps(GapsInSeconds(DrawRequests(description)));
        const double variation = 1 / std::sqrt(burstiness);
        EXPECT_NEAR(gaps.mean * 40, 1, 4 * variation / std::sqrt(200'000));
        EXPECT_NEAR(gaps.variation / variation, 1, 0.03);
    }
    DrawnRequests even = Description(5, 4);
    even.burstiness = std::numeric_limits<double>::infinity();
    for (const double gap : GapsInSeconds(DrawRequests(even)))
    {
        EXPECT_EQ(gap, 0.25);
    }
}

TEST(DrawnRequests, LengthsHaveTheMeanAndDeviationOfTheirDistribution)
{
    for (const auto& [deviation, tolerance] : {std::pair{50.0, 0.005}, std::pair{1500.0, 0.03}})
    {
        DrawnRequests description = Description(200'000, 1);
        description.prompt =
            *DrawnCount::Parse("lognormal 1000 " + std::to_string(static_cast<int>(deviation)));
        std::vector<double> lengths;
        for (const auto& request : DrawRequests(description))
        {
            lengths.push_back(request.promptTokens);
        }
        const Moments moments(lengths);
        EXPECT_NEAR(moments.mean / 1000, 1, tolerance);
        EXPECT_NEAR(moments.variation * 1000 / deviation, 1, 3 * tolerance);
        // Half of them are below the median, mean / sqrt(1 + variation^2).
        const double median = 1000 / std::sqrt(1 + std::pow(deviation / 1000, 2));
        const auto below = std::count_if(lengths.begin(), lengths.end(), [median](double length) {
            return length < median;
        });
        EXPECT_NEAR(static_cast<double>(below), 100'000, 1000);
    }
}

TEST(DrawnRequests, BurstsArriveTogetherAtTheSameRate)
{
    DrawnRequests description = Description(100'000, 40);
    description.burst = 8;
    const auto requests = DrawRequests(description);
    for (std::size_t i = 0; i < requests.size(); ++i)
    {
        ASSERT_EQ(requests[i].arrival, requests[i / 8 * 8].arrival);
    }
    EXPECT_NE(requests[7].arrival, requests[8].arrival);
    EXPECT_NEAR(40 * static_cast<double>(requests.back().arrival) / 1e12, 100'000, 4 * 8 * 112);
}

TEST(DrawnRequests, AnInfiniteRateSendsAllAtOnce)
{
    const auto requests = DrawRequests(Description(9, std::numeric_limits<double>::infinity()));
    EXPECT_EQ(requests.size(), 9);
    EXPECT_EQ(requests.back().arrival, 0);
}

TEST(DrawnRequests, ATurnHasTheConversationBeforeIt)
{
    DrawnRequests description = Description(7, 1);
    description.turns = *DrawnCount::Parse("3");
    description.turnTokens = *DrawnCount::Parse("20");
    description.thinkMs = *DrawnCount::Parse("5");
    description.sharedTokens = 32;
    const auto requests = DrawRequests(description);
    ASSERT_EQ(requests.size(), 7); // the third session is cut
    const std::array<uint32_t, 7> prompts = {100, 130, 160, 100, 130, 160, 100};
    for (std::size_t i = 0; i < 7; ++i)
    {
        EXPECT_EQ(requests[i].promptTokens, prompts[i]);
        EXPECT_EQ(requests[i].session, i / 3);
        EXPECT_EQ(requests[i].arrival, requests[i / 3 * 3].arrival);
        EXPECT_EQ(requests[i].think, 5'000'000'000);
        // All have the same text of 32 tokens, then those of their own conversation.
        EXPECT_EQ(requests[i].ContentOf(1, 16), requests[0].ContentOf(1, 16));
        EXPECT_EQ(requests[i].ContentOf(2, 16), requests[i / 3 * 3].ContentOf(2, 16));
    }
    EXPECT_NE(requests[0].ContentOf(2, 16), requests[3].ContentOf(2, 16));
    // 110 tokens of prompt and output are six whole blocks.
    EXPECT_TRUE(requests[0].ContentOf(5, 16));
    EXPECT_FALSE(requests[0].ContentOf(6, 16));
    description.turnTokens = {};
    EXPECT_EQ(DrawRequests(description)[1].promptTokens, 210); // as many as the first prompt
}
