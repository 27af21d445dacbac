/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/nccl/nccl-options.h"
#include "collectives/model/nccl/network-table.h"

#include "ns3/input-error.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace AstraSim
{

namespace
{

NetworkTable
KindsOf(const std::string& rows)
{
    NetworkTable table = NetworkTable::GetBuiltIn();
    table.AddRows(rows, "kinds.yaml");
    return table;
}

std::string
KindMistakeIn(const std::string& rows)
{
    try
    {
        KindsOf(rows);
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST(NetworkTable, KindsThatAreBuiltInBeginWithNone)
{
    const NetworkTable& table = NetworkTable::GetBuiltIn();
    EXPECT_EQ(table.GetAll().front().name, "none");
    EXPECT_EQ(table.GetAll().front().efficiency, 1);
    EXPECT_THAT(table.GetNames(), testing::StartsWith("none, InfiniBand, RoCE"));
    EXPECT_EQ(NetworkTable::GetBuiltInNames(), table.GetNames());
    ASSERT_NE(table.Find("efa-P4D"), nullptr) << "capital letters do not count";
    EXPECT_EQ(table.Find("EFA-p4d")->slotTrips, 4U);
    EXPECT_EQ(table.Find("EFA")->stepUs, table.Find("EFA-p5")->stepUs) << "no version is named";
    EXPECT_EQ(table.Find("pigeon"), nullptr);
    EXPECT_EQ(table.Find("Slingshot-16M"), nullptr) << "runs with that setting refute it";
}

TEST(NetworkTable, ARowGivesWhatDiffersFromNoneOrFromTheRowItIsLike)
{
    const NetworkTable table = KindsOf("- name: Mine\n"
                                       "  of: a NIC of ours\n"
                                       "  efficiency: {is: 0.9, by: ib_write_bw, tables: [mine]}\n"
                                       "  step_us: 2.5\n"
                                       "  without: [LL, NVLS]\n"
                                       "  slow_starts:\n"
                                       "    - {above: 100, us: 1}\n"
                                       "    - {above: 200, us: 2, gbps: 4, occupies: true}\n"
                                       "- name: Mine-2\n"
                                       "  like: mine\n"
                                       "  packet_bytes: 1024\n"
                                       "  told_us: 7\n"
                                       "  slot_trips: 2\n"
                                       "  simple_from: 4096\n"
                                       "  without: [LL128]\n");
    const NetworkKind& mine = *table.Find("Mine");
    EXPECT_EQ(mine.efficiency, 0.9);
    EXPECT_EQ(mine.stepUs, 2.5);
    EXPECT_EQ(mine.packetBytes, 0U);
    EXPECT_EQ(mine.slotTrips, 1U);
    EXPECT_FALSE(mine.allowsLl);
    EXPECT_TRUE(mine.allowsLl128);
    EXPECT_FALSE(mine.allowsNvls);
    ASSERT_EQ(mine.slowStarts.size(), 2U);
    EXPECT_FALSE(mine.slowStarts[0].occupies);
    EXPECT_TRUE(mine.slowStarts[1].occupies);
    EXPECT_EQ(mine.slowStarts[0].GBps, 0) << "the NIC fetches its messages";
    EXPECT_EQ(mine.slowStarts[1].GBps, 4);
    EXPECT_EQ(mine.slowStarts[1].above, 200U);

    const NetworkKind& second = *table.Find("Mine-2");
    EXPECT_EQ(second.efficiency, 0.9);
    EXPECT_EQ(second.packetBytes, 1024U);
    EXPECT_EQ(second.toldUs, 7);
    EXPECT_EQ(second.slotTrips, 2U);
    EXPECT_EQ(second.simpleFrom, 4096U);
    EXPECT_TRUE(second.allowsLl) << "without replaces the other row's";
    EXPECT_FALSE(second.allowsLl128);
    EXPECT_EQ(second.slowStarts.size(), 2U);
}

TEST(NetworkTable, ARowReplacesTheBuiltInOneOfItsName)
{
    const NetworkTable table = KindsOf("- {name: roce, efficiency: 0.5}\n");
    EXPECT_EQ(table.Find("RoCE")->efficiency, 0.5);
    EXPECT_EQ(table.GetAll().size(), NetworkTable::GetBuiltIn().GetAll().size());
}

TEST(NetworkTable, MistakesNameFileAndLine)
{
    using testing::HasSubstr;
    using testing::StartsWith;
    const auto expect = [](const std::string& rows, const std::string& text) {
        EXPECT_THAT(KindMistakeIn(rows), HasSubstr(text)) << rows;
    };
    expect("name: x\n", "kinds.yaml:1: this is not a list; expected a list of kinds");
    expect("- name: [\n", "kinds.yaml:2: is not YAML");
    expect("- 5\n", "kinds.yaml:1: this entry has no keys");
    expect("- name: x\n- of: y\n", "kinds.yaml:2: this kind of network has no name");
    expect("- name: x\n  stepus: 1\n", "kinds.yaml:2: unknown key 'stepus'; expected name, like");
    expect("- name: x\n  step_us: 1\n  step_us: 2\n", "kinds.yaml:3: the key 'step_us' occurs");
    expect("- name: x\n  step_us: -1\n",
           "kinds.yaml:2: step_us is '-1'; expected a number from 0 to");
    expect("- name: x\n  step_us: nan\n", "kinds.yaml:2: step_us is 'nan'");
    expect("- name: x\n  step_us: 1us\n", "kinds.yaml:2: step_us is '1us'");
    expect("- name: x\n  step_us: [1]\n", "kinds.yaml:2: step_us is not a word");
    expect("- name: x\n  efficiency: 1.1\n",
           "kinds.yaml:2: efficiency is '1.1'; expected a number from");
    expect("- name: x\n  efficiency: 0\n", "kinds.yaml:2: efficiency is '0'");
    expect("- name: x\n  slot_trips: 0\n",
           "kinds.yaml:2: slot_trips is '0'; expected a whole number from 1");
    expect("- name: x\n  packet_bytes: 1.5\n", "kinds.yaml:2: packet_bytes is '1.5'");
    expect("- name: x\n  step_us: {by: y}\n", "kinds.yaml:2: step_us is not a word");
    expect("- name: x\n  step_us: {is: 1, of: y}\n", "kinds.yaml:2: unknown key 'of'");
    expect("- name: x\n  without: LL\n", "kinds.yaml:2: without is not a list");
    expect("- name: x\n  without: [Simple]\n", "kinds.yaml:2: without has 'Simple'; expected a");
    expect("- name: x\n  slow_starts: 1\n", "kinds.yaml:2: slow_starts is not a list of at most");
    expect("- name: x\n  slow_starts:\n    - {above: 1}\n", "kinds.yaml:3: a slow start lacks");
    expect("- name: x\n  slow_starts:\n    - {above: 9, us: 1}\n    - {above: 9, us: 2}\n",
           "kinds.yaml:4: a start above 9 bytes follows one above 9; expected rising limits");
    expect("- name: x\n  slow_starts:\n    - {above: 9, us: 1, occupies: maybe}\n",
           "kinds.yaml:3: occupies is 'maybe'; expected true or false");
    expect("- name: x\n  slow_starts:\n    - {above: 9, us: 1, gbps: 0}\n",
           "kinds.yaml:3: gbps is '0'; expected GB/s");
    expect("- name: x\n  like: y\n", "kinds.yaml:2: like is 'y'; expected an earlier row");
    expect("- name: x\n- name: X\n", "kinds.yaml:2: the table has X twice");
    EXPECT_THROW(NetworkTable::Read("/nowhere/kinds.yaml"), ns3::InputError);
}

TEST(NcclOptions, AKindMayBeARowOfTheUsersTable)
{
    const std::string path = testing::TempDir() + "kinds.yaml";
    std::ofstream(path) << "- {name: Mine, step_us: 3}\n";
    const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
        return name == "AS_NETWORK_TABLE"  ? std::optional(path)
               : name == "AS_NETWORK_KIND" ? std::optional<std::string>("mine")
                                           : std::nullopt;
    };
    EXPECT_EQ(NcclOptions::FromEnvironment(lookup).networkKind.stepUs, 3);
    std::ofstream(path) << "- {name: Mine, step_us: fast}\n";
    EXPECT_THROW(NcclOptions::FromEnvironment(lookup), ns3::InputError);
}

} // namespace AstraSim
