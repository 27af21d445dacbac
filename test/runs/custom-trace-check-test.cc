/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../workload/chakra-file.h"
#include "simulator/records/custom-trace-check.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace
{

constexpr uint64_t MIB = 1 << 20;

/// @return what each of @p ranks ranks sends and receives
std::vector<CustomTraceBytes>
Alike(std::size_t ranks, uint64_t bytes)
{
    return {ranks, CustomTraceBytes{bytes, bytes}};
}

std::string
MisfitOf(CollectiveOp op, uint64_t bytes, const std::vector<CustomTraceBytes>& ranks)
{
    return DescribeCustomMisfit(op, bytes, ranks);
}

/// A prefix of ring AllReduce traces on four ranks, made for @p bytes.
std::string
WriteRing(uint64_t bytes)
{
    const auto folder = std::filesystem::path(::testing::TempDir()) / "custom-trace-check";
    std::filesystem::create_directories(folder);
    const std::string prefix = (folder / ("ring" + std::to_string(bytes))).string();
    constexpr int RANKS = 4;
    for (int rank = 0; rank < RANKS; ++rank)
    {
        ChakraFile file;
        for (uint64_t step = 0; step < 2 * (RANKS - 1); ++step)
        {
            file.Send(2 * step, (rank + 1) % RANKS, bytes / RANKS, {});
            file.Receive(2 * step + 1, (rank + RANKS - 1) % RANKS, bytes / RANKS, {});
        }
        file.Write(prefix + "." + std::to_string(rank) + ".et");
    }
    return prefix;
}

/// @return what is said of AllReduces of these sizes that run @p prefix
std::vector<std::string>
SaidOf(const std::string& prefix, const std::vector<uint64_t>& sizes)
{
    SystemConfig system;
    system.allReduce = {{NativeAlgorithm::Kind::Custom, true, {}, prefix}};
    system.preferredDatasetSplits = 1;
    std::vector<std::string> said;
    CustomTraceCheck check(system, [&said](const std::string& line) { said.push_back(line); });
    const CommGroup group{0, GroupKind::Dp, "DP", {0, 1, 2, 3}};
    for (const uint64_t bytes : sizes)
    {
        CollectiveRecord record{};
        record.group = &group;
        record.op = CollectiveOp::AllReduce;
        record.bytes = bytes;
        check.CollectiveStarted(record);
    }
    return said;
}

} // namespace

TEST(CustomTraces, SuitTheSizesThatAnAlgorithmCanHave)
{
    // n = 4. A ring sends and receives 2 (n-1) parts of 1/4; direct algorithms n-1 whole payloads,
    // or n-1 parts; a broadcast's root alone sends.
    EXPECT_EQ(MisfitOf(CollectiveOp::AllReduce, MIB, Alike(4, 6 * MIB / 4)), "");
    EXPECT_EQ(MisfitOf(CollectiveOp::AllReduce, MIB, Alike(4, 3 * MIB)), "");
    EXPECT_EQ(MisfitOf(CollectiveOp::AllGather, MIB, Alike(4, 3 * MIB / 4)), "");
    EXPECT_EQ(MisfitOf(CollectiveOp::ReduceScatter, MIB, Alike(4, 3 * MIB / 4)), "");
    EXPECT_EQ(MisfitOf(CollectiveOp::AllToAll, MIB, Alike(4, 3 * MIB / 4)), "");
    // Parts are whole bytes: 4 parts of 1,000,003 / 4.
    EXPECT_EQ(MisfitOf(CollectiveOp::AllToAll, 1'000'003, Alike(4, 3 * uint64_t{250'000})), "");
    // A tree of AllGather: a rank hands on its own part, and gets all others from another.
    EXPECT_EQ(MisfitOf(CollectiveOp::AllGather, MIB, {4, {MIB / 4, 3 * MIB / 4}}), "");
    EXPECT_EQ(MisfitOf(CollectiveOp::ReduceScatter, MIB, {4, {3 * MIB / 4, MIB / 4}}), "");
}

TEST(CustomTraces, OfAnotherSizeAreNamed)
{
    EXPECT_THAT(
        MisfitOf(CollectiveOp::AllReduce, 8 * MIB, Alike(4, 6 * MIB / 4)),
        HasSubstr("its rank 0 sends 1572864 bytes, and in an AllReduce of 8388608 bytes on 4 "
                  "ranks each sends no less than 6291456"));
    EXPECT_THAT(MisfitOf(CollectiveOp::AllReduce, MIB, Alike(4, 8 * 6 * MIB / 4)),
                HasSubstr("no more than 3145728"));
    EXPECT_THAT(MisfitOf(CollectiveOp::AllGather, MIB, {4, {MIB / 4, MIB / 4}}),
                HasSubstr("rank 0 receives 262144 bytes"));
    EXPECT_THAT(MisfitOf(CollectiveOp::ReduceScatter, MIB, {4, {MIB / 4, MIB / 4}}),
                HasSubstr("rank 0 sends 262144 bytes"));
    EXPECT_THAT(MisfitOf(CollectiveOp::AllToAll, MIB, Alike(4, MIB / 4)),
                HasSubstr("no less than"));
    // One rank that sends nothing cannot take part.
    auto ranks = Alike(4, 6 * MIB / 4);
    ranks[2].sent = 0;
    EXPECT_THAT(MisfitOf(CollectiveOp::AllReduce, MIB, ranks),
                HasSubstr("its rank 2 sends 0 bytes"));
}

TEST(CustomTraces, AreToldOfOnce)
{
    const std::string prefix = WriteRing(MIB);
    EXPECT_THAT(SaidOf(prefix, {MIB, MIB, MIB}), ElementsAre());
    EXPECT_THAT(SaidOf(prefix, {8 * MIB, 8 * MIB}),
                ElementsAre(HasSubstr(prefix + ": its rank 0 sends 1572864 bytes")));
    EXPECT_THAT(SaidOf(prefix, {MIB, 2 * MIB, MIB}),
                ElementsAre(HasSubstr("carries out AllReduces of 1048576 and of 2097152 bytes; the "
                                      "trace is used as it is")));
    EXPECT_THAT(SaidOf(WriteRing(8 * MIB), {MIB}), ElementsAre(HasSubstr("no more than 3145728")));
}
