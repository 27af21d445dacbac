/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/csv-rows.h"
#include "simulator/records/collectives-writer.h"
#include "simulator/records/end-to-end-writer.h"
#include "simulator/records/timeline-writer.h"

#include "ns3/input-error.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace AstraSim;
using ::testing::HasSubstr;
using ::testing::Not;

namespace
{

class Writers : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        m_folder = std::filesystem::path(::testing::TempDir()) /
                   ::testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(m_folder);
    }

    void TearDown() override
    {
        std::filesystem::remove_all(m_folder);
    }

    std::string Path(const std::string& name) const
    {
        return (m_folder / name).string();
    }

    std::string Text(const std::string& name) const
    {
        std::ifstream file(Path(name));
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    /// @return the events of timeline.json that are no names
    nlohmann::json Events() const
    {
        nlohmann::json found = nlohmann::json::array();
        for (const auto& event : nlohmann::json::parse(Text("timeline.json")))
        {
            if (event["ph"] != "M")
            {
                found.push_back(event);
            }
        }
        return found;
    }

    /// An AllReduce of 1 MB over 4 ranks in 20 us: algbw 50 GB/s, busbw 75 GB/s. The last rank
    /// begins half-way, from which on it is 150 GB/s.
    CollectiveRecord Record(uint32_t layer, uint32_t pass, TimePs start, TimePs end) const
    {
        return {7,
                "layer",
                {layer, pass, TrainingPhase::Forward},
                &m_group,
                CollectiveOp::AllReduce,
                1'000'000,
                &m_choice,
                start,
                end,
                (start + end) / 2};
    }

    std::filesystem::path m_folder;
    CommGroup m_group{1, GroupKind::Tp, "TP0", {0, 1, 2, 3}};
    CollectiveChoice m_choice{"Ring", "Simple", 2, 24, 0};
};

} // namespace

TEST_F(Writers, CollectivesHaveARowEachAsTheyEnd)
{
    CollectivesWriter writer(Path("collectives.csv"));
    writer.CollectiveEnded(Record(0, 1, 1'000'000, 21'000'000));
    writer.Finish();
    const auto rows = CsvRows(Text("collectives.csv"));
    ASSERT_EQ(rows.size(), 1);
    for (const auto& [name, cell] : {std::pair("id", "7"),
                                     {"layer", "layer"},
                                     {"pass", "1"},
                                     {"phase", "fwd"},
                                     {"group", "TP0"},
                                     {"ranks", "4"},
                                     {"op", "AllReduce"},
                                     {"bytes", "1000000"},
                                     {"algorithm", "Ring"},
                                     {"protocol", "Simple"},
                                     {"channels", "2"},
                                     {"start_ns", "1000.000"},
                                     {"end_ns", "21000.000"},
                                     {"algbw", "50.000000"},
                                     {"busbw", "75.000000"},
                                     {"flows", "24"},
                                     {"last_start_ns", "11000.000"},
                                     {"busbw_last_start", "150.000000"}})
    {
        EXPECT_EQ(rows[0].at(name), cell) << name;
    }
}

TEST_F(Writers, CollectivesBeyondTheLimitAreCountedAndNeededNoMore)
{
    CollectivesWriter writer(Path("collectives.csv"));
    writer.SetLimit(2);
    for (int i = 0; i < 3; ++i)
    {
        EXPECT_EQ(writer.NeedsEach(), i < 2);
        writer.CollectiveEnded(Record(0, 0, 1000, 2000 + i));
    }
    writer.WorkedInStep({m_group.ranks, "layer", {}, 0, &m_group, {}, 0, &m_choice, 5});
    writer.Finish();
    EXPECT_EQ(CsvRows(Text("collectives.csv")).size(), 2);
    EXPECT_EQ(writer.CountLeftOut(), 1 + 5);
}

TEST_F(Writers, WorkInStepIsTheSumOfItsParts)
{
    const auto write = [this](const std::string& name, auto tell) {
        EndToEndWriter writer(Path(name), "run", {"layer"}, 4);
        tell(writer);
        for (int rank = 0; rank < 4; ++rank)
        {
            writer.RankFinished(rank, 50'000'000);
        }
        writer.Finish();
        return Text(name);
    };
    const WorkloadPosition position{0, 3, TrainingPhase::Forward};
    const auto each = write("each.csv", [&](EndToEndWriter& writer) {
        for (const TimePs start : {1'000'000, 22'000'000})
        {
            const TimePs end = start + 20'000'000;
            for (int rank = 0; rank < 4; ++rank)
            {
                writer.ComputeEnded({rank, "layer", position, start - 1'000'000, start});
                writer.WaitEnded(
                    {rank, "layer", position, GroupKind::Tp, WaitReason::Collective, start, end});
            }
            writer.CollectiveEnded(Record(0, 3, start, end));
        }
    });
    const auto together = write("together.csv", [&](EndToEndWriter& writer) {
        writer.WorkedInStep({m_group.ranks,
                             "layer",
                             position,
                             2'000'000,
                             &m_group,
                             CollectiveOp::AllReduce,
                             1'000'000,
                             &m_choice,
                             2,
                             20'000'000,
                             42'000'000});
    });
    EXPECT_EQ(each, together);
}

TEST_F(Writers, CollectivesThatEndAtOnceComeInTheOrderOfTheirBeginnings)
{
    CollectivesWriter writer(Path("collectives.csv"));
    for (const auto& [id, end] : {std::pair(9, 2000), {3, 2000}, {5, 2000}, {4, 3000}, {2, 3000}})
    {
        CollectiveRecord record = Record(0, 0, 1000, end);
        record.id = static_cast<uint64_t>(id);
        writer.CollectiveEnded(record);
    }
    writer.Finish();
    std::istringstream rows(Text("collectives.csv"));
    std::string ids;
    for (std::string row; std::getline(rows, row);)
    {
        ids += row.substr(0, row.find(',')) + " ";
    }
    EXPECT_EQ(ids, "id 3 5 9 2 4 ");
}

TEST_F(Writers, EndToEndAddsPassesAndTakesTheSlowestGroup)
{
    EndToEndWriter writer(Path("EndToEnd.csv"), "run", {"first", "second"}, 2);
    const WorkloadPosition forward{0, 0, TrainingPhase::Forward};
    const WorkloadPosition weights{1, 0, TrainingPhase::WeightGradient};
    for (const int rank : {0, 1})
    {
        writer.ComputeEnded({rank, "first", forward, 0, 10'000'000});
        writer.ComputeEnded({rank, "second", weights, 0, 4'000'000});
        writer.WaitEnded({rank,
                          "first",
                          forward,
                          GroupKind::Tp,
                          WaitReason::Collective,
                          10'000'000,
                          10'000'000 + (rank + 1) * 10'000'000});
        writer.WaitEnded({rank,
                          "first",
                          forward,
                          GroupKind::Pp,
                          WaitReason::OtherRanks,
                          40'000'000,
                          46'000'000});
    }
    writer.CollectiveEnded(Record(0, 0, 10'000'000, 20'000'000)); // one group
    writer.CollectiveEnded(Record(0, 0, 10'000'000, 30'000'000)); // a slower one
    writer.CollectiveEnded(Record(0, 1, 50'000'000, 70'000'000)); // the next pass
    writer.RankFinished(0, 70'000'000); // idle for 30 us: part of the bubble
    writer.RankFinished(1, 100'000'000);
    EXPECT_FALSE(std::filesystem::exists(Path("EndToEnd.csv"))) << "a cut-off run leaves none";
    writer.Finish();
    EXPECT_EQ(
        Text("EndToEnd.csv"),
        "File name, Expose DP comm, Expose DP_EP comm, Expose TP comm, Expose_EP_comm, "
        "Expose_PP_comm, Expose_CP_comm, Expose_other_comm, bubble time, total comp, "
        "total exposed comm, Total time\n"
        "run,0.000000 (0.00%),0.000000 (0.00%),15.000000 (15.00%),0.000000 (0.00%),0.000000 "
        "(0.00%),0.000000 (0.00%),0.000000 (0.00%),"
        "21.000000 (21.00%),14.000000 (14.00%),15.000000 (15.00%),100.000000\n"
        "layer_name,run,fwd compute,wg compute,ig compute,fwd exposed comm,wg exposed comm,"
        "ig exposed comm,fwd total comm,algbw,busbw,wg total comm,algbw,busbw,ig total "
        "comm,algbw,busbw,workload finished at\n"
        "first,run,10.000000,0.000000,0.000000,15.000000,,,40.000000,50.000000,75.000000,,,,,,,"
        "70.000000\n"
        "second,run,0.000000,4.000000,0.000000,,,,,,,,,,,,,0.000000\n"
        "SUM,run,10.000000,4.000000,0.000000,15.000000,,,40.000000,50.000000,75.000000,,,,,,,"
        "100.000000\n"
        "total exposed comm,15.000000,total comp,14.000000,total time,100.000000\n");
}

TEST_F(Writers, EndToEndLeavesOutLayersOfWhichNothingHappens)
{
    EndToEndWriter writer(Path("EndToEnd.csv"), "run", {"unused", "empty"}, 1);
    writer.LayerFinished(0, {1, 0, TrainingPhase::Forward}, 0);
    writer.RankFinished(0, 1000);
    writer.Finish();
    EXPECT_THAT(Text("EndToEnd.csv"), Not(HasSubstr("unused,")));
    EXPECT_THAT(Text("EndToEnd.csv"), HasSubstr("empty,"));
}

TEST_F(Writers, TimelineShowsFlowsThatOverlap)
{
    TimelineWriter writer(Path("timeline.json"), 2, 100);
    writer.FlowEnded({1, 0, 4096, 3, 7, 2'000'000, 5'000'000});
    writer.FlowEnded({1, FlowRecord::IN_NETWORK, 1, 0, 0, 1'000'000, 4'000'000});
    writer.FlowEnded({2, 0, 1, 0, 0, 0, 1});
    writer.Finish();
    const auto events = Events();
    ASSERT_EQ(events.size(), 4);
    EXPECT_EQ(events[0]["ph"], "b");
    EXPECT_EQ(events[1]["ph"], "e");
    EXPECT_EQ(events[0]["id"], events[1]["id"]);
    EXPECT_NE(events[0]["id"], events[2]["id"]);
    EXPECT_EQ(events[0]["args"],
              nlohmann::json({{"bytes", 4096}, {"channel", 3}, {"collective", 7}}));
    EXPECT_EQ(events[1]["ts"], 5.0);
    EXPECT_EQ(events[2]["name"], "in network");
}

TEST_F(Writers, RefuseAFolderThatCannotBeWritten)
{
    EXPECT_THROW(CollectivesWriter("/nonexistent/collectives.csv"), ns3::InputError);
    EndToEndWriter writer("/nonexistent/EndToEnd.csv", "run", {}, 1);
    EXPECT_THROW(writer.Finish(), ns3::InputError);
}

TEST_F(Writers, TimelineIsChromeTraceFormatWithinItsBounds)
{
    TimelineWriter writer(Path("timeline.json"), 2, 3);
    const WorkloadPosition position{4, 1, TrainingPhase::InputGradient};
    writer.ComputeEnded({0, "a\"b", position, 1'000'000, 3'500'000});
    writer.ComputeEnded({2, "not shown", position, 0, 1});
    writer.StreamPhaseEnded(
        {1, 9, "layer", CollectiveOp::AllReduce, 2, 0, 5, 1000, 4'000'000, 6'000'000});
    writer.WaitEnded(
        {1, "layer", position, GroupKind::Pp, WaitReason::OtherRanks, 4'000'000, 6'000'000});
    writer.ComputeEnded({0, "over the limit", position, 0, 1});
    writer.Finish();
    EXPECT_EQ(writer.GetDropped(), 1);
    const auto events = Events();
    ASSERT_EQ(events.size(), 3);
    EXPECT_EQ(events[0]["name"], "a\"b");
    EXPECT_EQ(events[0]["ph"], "X");
    EXPECT_EQ(events[0]["ts"], 1.0);
    EXPECT_EQ(events[0]["dur"], 2.5);
    EXPECT_EQ(events[0]["args"]["phase"], "ig");
    EXPECT_EQ(events[1]["pid"], 1);
    EXPECT_EQ(events[1]["args"]["chunk"], 2);
    EXPECT_EQ(events[2]["name"], "bubble");
}

TEST_F(Writers, TimelineNamesEachRankAndThreadOnceForViewers)
{
    TimelineWriter writer(Path("timeline.json"), 2, 100);
    const WorkloadPosition position{};
    for (const int rank : {1, 0, 1})
    {
        writer.ComputeEnded({rank, "layer", position, 0, 1'000'000});
        writer.StreamPhaseEnded(
            {rank, 9, "layer", CollectiveOp::AllReduce, 0, 0, 3, 1000, 0, 1'000'000});
    }
    writer.Finish();
    std::map<std::pair<int, int>, std::string> threads;
    std::map<int, std::string> ranks;
    int names = 0;
    for (const auto& event : nlohmann::json::parse(Text("timeline.json")))
    {
        if (event["ph"] == "M")
        {
            ++names;
            const std::string name = event["args"]["name"];
            (event["name"] == "process_name" ? ranks[event["pid"]]
                                             : threads[{event["pid"], event["tid"]}]) = name;
        }
    }
    EXPECT_EQ(names, 6);
    EXPECT_EQ(ranks, (std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
    EXPECT_EQ((threads[{0, 0}]), "computation");
    EXPECT_EQ((threads[{1, 5}]), "stream queue 3");
}
