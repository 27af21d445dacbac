/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/estimate/busbw-table.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace AstraSim
{
namespace
{

BusbwTable
BusbwTableOf(const std::string& text)
{
    std::istringstream input(text);
    return BusbwTable::Read(input, "busbw.yaml");
}

std::string
ErrorOf(const std::string& text)
{
    try
    {
        BusbwTableOf(text);
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "";
}

TEST(BusbwTable, ReadsSimAisSpelling)
{
    const BusbwTable table = BusbwTableOf("test\nTP:\nallreduce,: 300\nalltoall,: 230.5\nDP:\n"
                                          "allreduce,: null\nallgather,: 380\nPP:\nbusbw: 47.5");
    EXPECT_EQ(table.Find(GroupKind::Tp, CollectiveOp::AllReduce), 300);
    EXPECT_EQ(table.Find(GroupKind::Tp, CollectiveOp::AllToAll), 230.5);
    EXPECT_EQ(table.Find(GroupKind::Tp, CollectiveOp::AllGather), std::nullopt);
    EXPECT_EQ(table.Find(GroupKind::Dp, CollectiveOp::AllReduce), std::nullopt);
    EXPECT_EQ(table.Find(GroupKind::Dp, CollectiveOp::AllGather), 380);
    EXPECT_EQ(table.Find(GroupKind::Pp, CollectiveOp::SendRecv), 47.5);
}

TEST(BusbwTable, ReadsOrdinaryYamlTheSame)
{
    const BusbwTable table =
        BusbwTableOf("# measured\nEP:\n  alltoall: 80   # GB/s\n\n  'ReduceScatter': ~\nDP_EP:\n"
                     "  allreduce: 10\n");
    EXPECT_EQ(table.Find(GroupKind::Ep, CollectiveOp::AllToAll), 80);
    EXPECT_EQ(table.Find(GroupKind::Ep, CollectiveOp::ReduceScatter), std::nullopt);
    EXPECT_EQ(table.Find(GroupKind::DpEp, CollectiveOp::AllReduce), 10);
}

TEST(BusbwTable, ReplicasOfExpertsTakeDpsBandwidthsUnlessTheyHaveTheirOwn)
{
    EXPECT_EQ(BusbwTableOf("DP:\nallgather: 380\n").Find(GroupKind::DpEp, CollectiveOp::AllGather),
              380);
    EXPECT_EQ(BusbwTableOf("DP:\nallgather: 380\nDP_EP:\nallreduce: 9\n")
                  .Find(GroupKind::DpEp, CollectiveOp::AllGather),
              std::nullopt);
}

TEST(BusbwTable, NamesLineAndNearestNameOfAMistake)
{
    using testing::HasSubstr;
    using testing::StartsWith;
    EXPECT_THAT(ErrorOf("TP:\nallreduse,: 3\n"),
                AllOf(StartsWith("busbw.yaml:2:"), HasSubstr("nearest is allreduce")));
    EXPECT_THAT(ErrorOf("TQ:\n"), AllOf(StartsWith("busbw.yaml:1:"), HasSubstr("TP")));
    EXPECT_THAT(ErrorOf("TP:\nallreduce: fast\n"), HasSubstr("busbw.yaml:2: 'fast'"));
    EXPECT_THAT(ErrorOf("TP:\nallreduce: -3\n"), HasSubstr("above 0"));
    EXPECT_THAT(ErrorOf("TP:\nallreduce: 0\n"), HasSubstr("above 0"));
    EXPECT_THAT(ErrorOf("allreduce: 3\n"), HasSubstr("before any group"));
    EXPECT_THAT(ErrorOf("PP:\nallreduce: 3\n"), HasSubstr("does not belong to group PP"));
    EXPECT_THAT(ErrorOf("TP:\nbusbw: 3\n"), HasSubstr("does not belong to group TP"));
    EXPECT_THAT(ErrorOf("TP:\nallreduce: 3\nDP:\nallreduce: 3\nTP:\nallreduce: null\n"),
                HasSubstr("busbw.yaml:6: 'allreduce' of group TP occurs twice"));
    EXPECT_THAT(ErrorOf("title\nTP:\nallreduce 3\n"), HasSubstr("busbw.yaml:3:"));
}

} // namespace
} // namespace AstraSim
