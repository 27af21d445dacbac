/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/inference/step-cost.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace AstraSim;

namespace
{

/// 1000 TFLOP/s, half of which products reach; 1000 GB/s; 4 SMs.
InstancePool
Pool(std::vector<OperatorRow> rows)
{
    InstancePool pool;
    pool.gpu = GpuRoofline{1000, 0.5, 0.25, 1000, 1, 4};
    pool.rows = std::move(rows);
    return pool;
}

OperatorRow
Row(OperatorKind kind, std::array<double, 4> figures)
{
    OperatorRow row;
    row.name = "row";
    row.kind = kind;
    row.lastLayer = UINT32_MAX;
    row.figures = figures;
    return row;
}

TimePs
TimeOf(const OperatorRow& row, const StepShape& shape)
{
    const InstancePool pool = Pool({row});
    return StepCost(pool, 1).TimeOf(row, shape);
}

/// A product of 8192 x 8192 weights with factors of few bits.
/// @param tflops that it reaches @param factorBytes of a factor, with its share of a scale
void
ExpectProduct(FactorType factors, double tflops, double factorBytes)
{
    auto row = Row(OperatorKind::Matmul, {8192, 8192, 1});
    row.factors = factors;
    InstancePool pool = Pool({row});
    pool.gpu->eightBitTflops = 2000;
    pool.gpu->eightBitMatmul = 0.75;
    pool.gpu->fourBitTflops = 4000;
    pool.gpu->fourBitMatmul = 0.5;
    StepShape shape;
    shape.tokens = 4096;
    EXPECT_EQ(StepCost(pool, 1).TimeOf(row, shape),
              std::llround(2.0 * 4096 * 8192 * 8192 / (tflops * 1e12) * 1e12));
    shape.tokens = 1;
    // Results have two bytes each.
    EXPECT_EQ(StepCost(pool, 1).TimeOf(row, shape),
              std::llround(((8192 + 8192.0 * 8192) * factorBytes + 2.0 * 8192) / 1e12 * 1e12));
}

} // namespace

TEST(StepShape, CountsScoresAndCachesOfPromptsAndDecodingSequences)
{
    StepShape shape;
    shape.Add(0, 4, false, true);   // 1 + 2 + 3 + 4 scores
    shape.Add(10, 2, false, false); // 11 + 12
    shape.Add(99, 1, true, true);
    EXPECT_EQ(shape.tokens, 7);
    EXPECT_EQ(shape.promptTokens, 6);
    EXPECT_EQ(shape.sampled, 2);
    EXPECT_EQ(shape.promptScores, 10 + 23);
    EXPECT_EQ(shape.promptCached, 4 + 12);
    EXPECT_EQ(shape.decodeCached, 100);
}

TEST(StepCost, AVerificationReadsACacheOnceAndComputesEachOfItsTokens)
{
    StepShape shape;
    shape.Add(996, 4, true, true, 3);
    EXPECT_EQ(shape.tokens, 4);
    EXPECT_EQ(shape.sampled, 4) << "each has logits";
    EXPECT_EQ(shape.decodingSequences, 1);
    // Attention reaches 250 operations a picosecond.
    EXPECT_EQ(TimeOf(Row(OperatorKind::Attention, {1000, 1, 0}), shape), 4 * 1000 * 1000 / 250);
    EXPECT_EQ(TimeOf(Row(OperatorKind::Attention, {1, 1000, 10}), shape), 1000 * 1000 + 4 * 10);
}

TEST(StepShape, AWindowLimitsWhatATokenAttendsTo)
{
    StepShape shape;
    shape.window = 3;
    shape.Add(0, 5, false, true);  // 1 + 2 + 3 + 3 + 3 scores
    shape.Add(2, 2, false, false); // 3 + 3
    shape.Add(9, 2, false, false); // 3 + 3
    shape.Add(99, 1, true, true);
    shape.Add(1, 1, true, true);
    EXPECT_EQ(shape.windowPromptScores, 12 + 6 + 6);
    EXPECT_EQ(shape.windowPromptCached, 5 + 4 + 5);
    EXPECT_EQ(shape.windowDecodeCached, 3 + 2);
    EXPECT_EQ(shape.promptScores, 15 + 7 + 21);
}

TEST(InstancePool, LayersWithAWindowKeepItsBlocksOnly)
{
    InstancePool pool;
    pool.blockTokens = 16;
    EXPECT_EQ(pool.BlocksOf(1600), 100);
    pool.layers = 6;
    pool.windowLayers = 5;
    pool.window = 64; // four blocks, or parts of five
    // A block has the tokens of one of the six layers.
    EXPECT_EQ(pool.BlocksOf(80), 6 * 5);
    EXPECT_EQ(pool.BlocksOf(1600), 100 + 5 * 5);
    pool.windowLayers = 4; // now of two layers
    EXPECT_EQ(pool.BlocksOf(1600), (2 * 100 + 4 * 5) / 2);
    pool.windowLayers = 6;
    EXPECT_EQ(pool.BlocksOf(1600), 5);
}

TEST(StepCost, AProductIsBoundByWorkOrByBytes)
{
    const auto row = Row(OperatorKind::Matmul, {1024, 8192, 1});
    StepShape many;
    many.tokens = 4096;
    // 2 m n k at 500 TFLOP/s; 256 x 128 tiles fill all SMs in whole waves.
    EXPECT_EQ(TimeOf(row, many), std::llround(2.0 * 4096 * 1024 * 8192 / 500e12 * 1e12));
    StepShape one;
    one.tokens = 1;
    EXPECT_EQ(TimeOf(row, one), std::llround(2.0 * (8192 + 8192 * 1024 + 1024) / 1e12 * 1e12));
    EXPECT_EQ(TimeOf(row, StepShape()), 0);
}

TEST(StepCost, ProductsOfEightBitFloatsReadHalfAndComputeAtTheirOwnPeak)
{
    ExpectProduct(FactorType::Fp8, 1500, 1);
}

TEST(StepCost, ProductsOfFourBitFloatsReadTheirScalesToo)
{
    ExpectProduct(FactorType::Nvfp4, 2000, 9.0 / 16); // of 16 factors, 8 bytes and their scale's
}

TEST(OperatorTimes, PowersOfCoordinatesComeBackBetweenPointsAndEndsStayOrGrow)
{
    OperatorTimes times;
    times.Add(2, {{4, 2 * 4 * 4}, {64, 2 * 64 * 64}}); // first x second squared
    times.Add(32, {{4, 32 * 4 * 4}, {64, 32 * 64 * 64}});
    EXPECT_DOUBLE_EQ(times.At(2, 4), 32);
    EXPECT_NEAR(times.At(8, 16), 8 * 16 * 16, 1e-9);
    EXPECT_DOUBLE_EQ(times.At(1, 1), times.At(2, 4));
    EXPECT_DOUBLE_EQ(times.At(64, 128), 2 * 2 * times.At(32, 64));
}

TEST(StepCost, MeasuredTimesTakeThePlaceOfTheRoofline)
{
    StepShape shape;
    shape.Add(100, 10, false, false); // 1,055 scores of 10 tokens
    shape.Add(499, 1, true, true);
    shape.Add(299, 1, true, true); // 800 cached tokens of two sequences
    shape.instanceTokens = 40;
    auto product = Row(OperatorKind::Matmul, {1024, 1024, 1});
    product.times.Add(1, {{12, 7}});
    EXPECT_EQ(TimeOf(product, shape), 7000);
    product.place = OperatorPlace::Last; // for the two that get a token
    product.times.Add(1, {{2, 3}, {12, 7}});
    EXPECT_EQ(TimeOf(product, shape), 3000);
    auto experts = Row(OperatorKind::Experts, {1024, 1024, 8, 1});
    experts.times.Add(1, {{20, 5}, {40, 9}});
    EXPECT_EQ(TimeOf(experts, shape), 9000);
    auto attention = Row(OperatorKind::Attention, {1, 1, 1});
    const TimePs roofline = TimeOf(attention, shape);
    attention.times.Add(10, {{105.5, 11}});
    attention.decodingTimes.Add(2, {{400, 13}});
    EXPECT_EQ(TimeOf(attention, shape), 24000);
    attention.mixedTimes.Add(2, {{400, 20}});
    EXPECT_EQ(TimeOf(attention, shape), 31000) << "the step has a prompt";
    attention.mixedTimes = {};
    attention.decodingTimes = {};
    EXPECT_LT(TimeOf(attention, shape) - 11000, roofline); // each kind on its own
    EXPECT_GT(TimeOf(attention, shape), 11000);
}

TEST(StepCost, AStepTakesItsLaunchesUnlessAGraphHasThem)
{
    auto first = Row(OperatorKind::Linear, {1000, 0, 0, 0});
    first.op = CollectiveOp::AllReduce;
    first.bytesPerToken = 1;
    InstancePool pool = Pool({first, Row(OperatorKind::Linear, {3000, 0, 0, 0})});
    pool.tp = 2;
    StepShape shape;
    shape.Add(10, 1, true, true);
    // Kernels of 1, 3, 1 and 3 us, with a collective after the first and the third.
    const auto segments = [&] {
        std::vector<std::pair<TimePs, TimePs>> found;
        for (const auto& segment : StepCost(pool, 2).Program(0, shape, false))
        {
            found.emplace_back(segment.compute, segment.launched);
        }
        return found;
    };
    using Segments = std::vector<std::pair<TimePs, TimePs>>;
    constexpr TimePs US = 1'000'000;
    const Segments alone{{1 * US, 1 * US}, {4 * US, 4 * US}, {3 * US, 3 * US}};
    EXPECT_EQ(segments(), alone);
    pool.launch = 2 * US; // the third kernel is there at 6 us, the last one at 8
    EXPECT_EQ(segments(), (Segments{{1 * US, 2 * US}, {4 * US, 6 * US}, {3 * US, 8 * US}}));
    pool.launch = 4 * US;
    EXPECT_EQ(segments(), (Segments{{1 * US, 4 * US}, {4 * US, 12 * US}, {3 * US, 16 * US}}));
    shape.captured = true;
    EXPECT_EQ(segments(), alone);
}

TEST(StepCost, ExpertsThatGetNoTokenAreNotRead)
{
    // 8 experts on the rank; a token of the instance brings 2 tokens here.
    const auto row = Row(OperatorKind::Experts, {1024, 1024, 8, 2});
    const auto read = [](double experts, double m) {
        return std::llround(2 * experts * (m * 1024 + 1024.0 * 1024 + m * 1024));
    };
    StepShape shape;
    shape.instanceTokens = 1;
    EXPECT_EQ(TimeOf(row, shape), read(2, 1));
    shape.instanceTokens = 4;
    EXPECT_EQ(TimeOf(row, shape), read(8, 1));
    shape.instanceTokens = 5;
    EXPECT_EQ(TimeOf(row, shape), read(8, 2));
}

TEST(StepCost, AttentionOfPromptsComputesAndThatOfDecodingReads)
{
    // 1e6 operations a score at 250 TFLOP/s; 1000 bytes a cached token at 1000 GB/s.
    const auto row = Row(OperatorKind::Attention, {1e6, 1000, 0});
    StepShape shape;
    shape.Add(0, 999, false, true);
    EXPECT_EQ(TimeOf(row, shape), std::llround(999.0 * 500 * 1e6 / 250e12 * 1e12));
    StepShape decoding;
    decoding.Add(999, 1, true, true);
    EXPECT_EQ(TimeOf(row, decoding), std::max<TimePs>(1000 * 4000, 1000 * 1000));
    shape.Add(999, 1, true, true);
    EXPECT_EQ(TimeOf(row, shape), 999LL * 500 * 4000 + 1000 * 4000);
}

TEST(StepCost, AProgramJoinsRowsUpToCollectivesAndLayers)
{
    auto first = Row(OperatorKind::Linear, {10});
    first.place = OperatorPlace::First;
    auto compute = Row(OperatorKind::Linear, {1});
    auto reduce = Row(OperatorKind::Linear, {2});
    reduce.op = CollectiveOp::AllReduce;
    reduce.bytesPerToken = 8;
    auto second = Row(OperatorKind::Linear, {100});
    second.firstLayer = 1;
    second.lastLayer = 1;
    auto last = Row(OperatorKind::Linear, {1000});
    last.place = OperatorPlace::Last;
    InstancePool pool = Pool({first, compute, reduce, second, last});
    StepShape shape;
    shape.Add(0, 5, false, true);
    // Without anything to communicate, all is one segment.
    const auto whole = StepCost(pool, 3).Program(0, shape, false);
    ASSERT_EQ(whole.size(), 1);
    EXPECT_EQ(whole[0].compute, (10 + 3 * 3 + 100 + 1000) * 1000);
    pool.tp = 2;
    const auto program = StepCost(pool, 3).Program(0, shape, false);
    ASSERT_EQ(program.size(), 4);
    EXPECT_EQ(program[0].compute, (10 + 3) * 1000);
    EXPECT_EQ(program[0].bytes, 40);
    EXPECT_EQ(program[2].compute, (100 + 3) * 1000);
    EXPECT_EQ(program[3].compute, 1000 * 1000);
    EXPECT_EQ(program[3].op, CollectiveOp::None);
    pool.pp = 2;
    const StepCost staged(pool, 3);
    EXPECT_EQ(staged.LayersOf(0), (std::pair<uint32_t, uint32_t>(0, 2)));
    EXPECT_EQ(staged.LayersOf(1), (std::pair<uint32_t, uint32_t>(2, 3)));
    EXPECT_EQ(staged.StageOf(1), 0);
    EXPECT_EQ(staged.StageOf(2), 1);
    EXPECT_EQ(staged.Program(0, shape, true).back().layer, 1);
}
